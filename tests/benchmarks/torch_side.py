"""The workloads in PyTorch: double backward, as its users write it, and its functional transforms.

`torch.compile` (2.13) is left out: it refuses double backward, fails on jvp of jvp ("ZeroTensors are immutable"), and
what it makes of nested `torch.func.grad` takes half a minute to compile and runs no faster.
"""

import functools

import numpy as np
import torch
from everyday import EVERYDAY
from everyday import MOVING as PARAMETERS
from loops import LOSSES, looped, root, unrolled
from matrices import MOVING, OF_MATRICES, by_cholesky
from residuals import NU, RESIDUALS, chain, mean_square, momentum_and_continuity, nested, rosenbrock
from simulations import MOVING as OF_SIMULATION
from simulations import SIMULATIONS
from waves import MOVING as OF_COMPLEX
from waves import WAVES

NAME, VERSION = "PyTorch", torch.__version__
BACKWARD_ORDER, NESTED_ORDER = 4, 3
"""Without common subexpressions nested derivatives take two or three times as long with every order."""


class Functions:
    """PyTorch's functions under NumPy's names."""

    asarray, broadcast_to, mean, sum = torch.asarray, torch.broadcast_to, torch.mean, torch.sum
    sin, tanh = torch.sin, torch.tanh


def push(f, x, v):
    return torch.func.jvp(f, (x,), (v,))


def gradient(values, x):
    """Return the gradient at every point, part of the graph that is differentiated again."""
    return torch.autograd.grad(values.sum(), x, create_graph=True)[0]


def burgers_backward(u, x, derivatives, workload):
    value = u(x)
    first = gradient(value, x)
    u_xx = gradient(first[:, 0], x)[:, 0]
    return [first[:, 1] + value * first[:, 0] - NU * u_xx]


def order_backward(u, x, derivatives, workload):
    direction = torch.asarray((1.0, 0.5), dtype=x.dtype)
    terms = [u(x)]
    for _ in range(workload.order):
        terms.append(gradient(terms[-1], x) @ direction)
    return terms


def plate_backward(u, x, derivatives, workload):
    first = gradient(u(x), x)
    laplacian = gradient(first[:, 0], x)[:, 0] + gradient(first[:, 1], x)[:, 1]
    first = gradient(laplacian, x)
    return [gradient(first[:, 0], x)[:, 0] + gradient(first[:, 1], x)[:, 1] - 1.0]


def navier_stokes_backward(u, x, derivatives, workload):
    f = u(x)
    first = torch.stack([gradient(f[:, i], x) for i in range(4)], dim=1)
    rows = []
    for i in range(3):
        second = [gradient(first[:, i, j], x)[:, j] for j in range(3)]
        rows.append(second[0] + second[1] + second[2])
    laplacian = torch.stack([*rows, torch.zeros_like(rows[0])], dim=1)
    return momentum_and_continuity(f, [first[:, :, i] for i in range(3)], first[:, :, 3], laplacian)


def burgers_hessian(u, x, derivatives, workload):
    def at(y):
        first, hessian = torch.func.grad(u)(y), torch.func.hessian(u)(y)
        return first[1] + u(y) * first[0] - NU * hessian[0, 0]

    return [torch.func.vmap(at)(x)]


def laplacian_hessian(u, x, derivatives, workload):
    return [torch.func.vmap(lambda y: torch.trace(torch.func.hessian(u)(y)))(x)]


def laplacian_directions(u, x, derivatives, workload):
    def second(v):
        def once(y):
            return push(u, y, v.expand_as(y))[1]

        return push(once, x, v.expand_as(x))[1]

    return [torch.func.vmap(second)(torch.eye(x.shape[1], dtype=x.dtype)).sum(0)]


BACKWARD = {
    "burgers": burgers_backward,
    "order": order_backward,
    "plate": plate_backward,
    "navier-stokes": navier_stokes_backward,
    "fit": RESIDUALS["fit"],
}
FUNCTIONAL = {
    "burgers": {"vmapped hessian": burgers_hessian},
    "laplacian": {"hessian": laplacian_hessian, "directions": laplacian_directions},
}


def backward(workload):
    """Return the loss, with its gradient where asked, by graphs that are differentiated again."""
    loss = mean_square(Functions, workload, BACKWARD[workload.kind])

    def computed(parameters, points):
        x = points.detach().requires_grad_(workload.kind != "fit")
        if not workload.gradient:
            return loss(parameters, x).detach()
        leaves = [leaf.detach().requires_grad_() for pair in parameters for leaf in pair]
        value = loss(list(zip(leaves[::2], leaves[1::2], strict=True)), x)
        return value.detach(), torch.autograd.grad(value, leaves, materialize_grads=True)

    return computed


def functional(workload, loss):
    """Return the loss, with its gradient where asked, by transforms of functions."""
    if not workload.gradient:
        return loss
    both = torch.func.grad_and_value(loss)

    def computed(parameters, points):
        derivative, value = both(parameters, points)
        return value, derivative

    return computed


def network_variants(workload):
    """Return the functions of (parameters, points) to time, by name."""
    found = {}
    if workload.kind in BACKWARD and workload.order <= BACKWARD_ORDER:
        found["double backward" if workload.kind != "fit" else "backward"] = backward(workload)
    if workload.group == "start":
        return found
    forms = {
        name: mean_square(Functions, workload, residuals)
        for name, residuals in FUNCTIONAL.get(workload.kind, {}).items()
    }
    if workload.kind in ("burgers", "order", "navier-stokes") and workload.order <= NESTED_ORDER:
        forms["nested jvp"] = mean_square(Functions, workload, RESIDUALS[workload.kind], nested(push, Functions))
    found.update((name, functional(workload, loss)) for name, loss in forms.items())
    return found


class LoopFunctions(Functions):
    """What loops need beside these."""

    stack, roll, concatenate, flip = torch.stack, torch.roll, torch.cat, torch.flip


def until_all_are_done(condition, step, carry):
    while bool(condition(carry).any()):
        carry = step(carry)
    return carry


def pulled_back(loss, moving):
    """Return a function to the value of a loss and its gradients in some arguments."""

    def derived(*arguments):
        given = [x.detach().requires_grad_() if i in moving else x for i, x in enumerate(arguments)]
        value = loss(*given)
        return value.detach(), torch.autograd.grad(value, [given[i] for i in moving])

    return derived


def loops(workload):
    """Return the derivative of a loop of Python."""
    if workload.kind == "newton":
        of = root(until_all_are_done)

        def slopes(a):
            x = a.detach().requires_grad_()
            return torch.autograd.grad(of(x).sum(), x)[0]

        return {"PyTorch": slopes}
    derived = pulled_back(LOSSES[workload.kind](LoopFunctions, unrolled), (0, 1) if workload.kind == "lstm" else (0,))
    return {"PyTorch": lambda *of: derived(*of)[1]}


class MatrixFunctions(Functions):
    """What functions of matrices need beside these."""

    linalg, exp, log, abs, max = torch.linalg, torch.exp, torch.log, torch.abs, torch.amax
    swapaxes, diagonal = torch.swapaxes, torch.diagonal


def matrices(workload):
    """Return derivatives of a function of matrices."""
    if workload.kind == "evidence":
        return evidence()
    loss, moving = OF_MATRICES[workload.kind](MatrixFunctions), MOVING[workload.kind]
    derived = pulled_back(loss, moving)
    return {"PyTorch": derived if workload.kind == "mixture" else lambda *of: derived(*of)[1]}


class EverydayFunctions(MatrixFunctions):
    """What everyday programs need beside these."""

    log1p, reshape = torch.log1p, torch.reshape


def everyday(workload):
    """Return a program's value with its derivative."""
    softmax, conv = functools.partial(torch.softmax, dim=-1), torch.nn.functional.conv2d
    loss = EVERYDAY[workload.kind](EverydayFunctions, {"softmax": softmax, "conv": conv})
    if workload.kind == "logistic":
        both, hessian = torch.func.grad_and_value(loss), torch.func.hessian(loss)
        return {"PyTorch functional": lambda *of: (*both(*of)[::-1], hessian(*of))}
    return {"PyTorch": pulled_back(loss, PARAMETERS[workload.kind])}


def evidence():
    """Return the forms of a Gaussian process's evidence with its Hessian."""
    cholesky = by_cholesky(
        MatrixFunctions, lambda a, b: torch.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0]
    )
    found = {}
    for name, form in {"solve": None, "Cholesky": cholesky}.items():
        loss = OF_MATRICES["evidence"](MatrixFunctions, form)

        def functional(params, *rest, loss=loss):
            return loss(params, *rest), torch.func.hessian(loss)(params, *rest)

        def double_backward(params, *rest, loss=loss):
            given = params.detach().requires_grad_()
            value = loss(given, *rest)
            (slope,) = torch.autograd.grad(value, given, create_graph=True)
            rows = [torch.autograd.grad(part, given, retain_graph=True)[0] for part in slope]
            return value.detach(), torch.stack(rows)

        found |= {f"PyTorch {name}, functional": functional, f"PyTorch {name}, double backward": double_backward}
    return found


looped.add_at = lambda n, index, values: torch.zeros(n, dtype=values.dtype).index_add(0, index.ravel(), values.ravel())


def waves(workload):
    """Return the value of a program of complex numbers with its derivative, in the others' convention."""
    derived = pulled_back(WAVES[workload.kind](torch, looped), OF_COMPLEX.get(workload.kind, (0,)))

    def conjugated(*of):
        value, slopes = derived(*of)
        return value, [slope.conj().resolve_conj() for slope in slopes]

    return {"PyTorch": conjugated}


def variants(workload):
    """Return the functions to time, by name."""
    if workload.kind == "pulses-hessian":  # minutes
        return {}
    if workload.group == "simulations":
        return {
            "PyTorch": pulled_back(SIMULATIONS[workload.kind](torch, looped), OF_SIMULATION.get(workload.kind, (0,)))
        }
    if workload.group == "complex":
        return waves(workload)
    if workload.group == "everyday":
        return everyday(workload)
    if workload.group == "linear-algebra":
        return matrices(workload)
    if workload.kind in ("lorenz-hessian", "long") or workload.group == "plain":
        return {}
    if workload.kind == "newton" or workload.kind in LOSSES:
        return loops(workload)
    if workload.kind == "import":
        return {"PyTorch": None}

    def f(x):
        return rosenbrock(Functions, x)

    def by_backward(x, function=f):
        y = x.detach().requires_grad_()
        return torch.autograd.grad(function(y), y)[0]

    def product(x, v):
        y = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(f(y), y, create_graph=True)
        return torch.autograd.grad(slope, y, v)[0]

    found = {
        "chain": {"backward": lambda x: by_backward(x, lambda y: chain(Functions, y, workload.order))},
        "rosenbrock-gradient": {"backward": by_backward},
        "rosenbrock-hvp": {
            "double backward": product,
            "forward over reverse": lambda x, v: push(torch.func.grad(f), x, v)[1],
        },
    }.get(workload.kind) or network_variants(workload)
    return {f"PyTorch {name}": function for name, function in found.items()}


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return torch.utils._pytree.tree_map(lambda leaf: torch.as_tensor(np.asarray(leaf)), arguments)


def wait(result):
    """Return when the result is computed."""


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf.detach()) for leaf in torch.utils._pytree.tree_leaves(result)]

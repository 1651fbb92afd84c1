"""The workloads in primad."""

import functools

import numpy as np
from everyday import EVERYDAY
from everyday import MOVING as PARAMETERS
from loops import LOSSES, looped, root, unrolled
from matrices import MOVING, OF_MATRICES
from residuals import (
    RESIDUALS,
    advanced,
    burgers,
    chain,
    conjugate_gradients,
    damped_step,
    field,
    mean_square,
    nested,
    rosenbrock,
)
from simulations import MOVING as OF_SIMULATION
from simulations import SIMULATIONS
from small import SMALL
from waves import MOVING as OF_COMPLEX
from waves import WAVES

import primad
import primad.numpy as pnp

NAME, VERSION = "primad", "the checkout"


def push(f, x, v):
    return primad.jvp(f, (x,), (v,))


def laplacian(u, x, derivatives, workload):
    return [primad.vmap(lambda y: np.trace(primad.hessian(u)(y)))(x)]


def scanned(step, carry, length):
    return primad.scan(lambda c, _: (step(c), None), carry, length=length)[0]


def loops(workload):
    """Return the derivative of a loop."""
    if workload.kind == "newton":
        of = root(primad.while_loop)  # forward, as JAX must
        return {"primad": primad.jit(primad.vmap(lambda a: primad.jvp(of, (a,), (1.0,))[1]))}
    loss = LOSSES[workload.kind](np, unrolled if workload.kind == "lorenz-python" else scanned)
    if workload.kind == "lorenz-hessian":
        return {"primad": primad.jit(lambda p, start: primad.hessian(lambda q: loss(q, start))(p)[:])}
    return {"primad": primad.jit(primad.grad(loss, (0, 1)) if workload.kind == "lstm" else primad.grad(loss))}


def gauss_newton(workload):
    """Return a step with the matrix JᵀJ."""

    def step(parameters, points):
        def residuals(p):
            return burgers(field(np, p, workload), points, nested(push, np), workload)[0]

        leaves = primad.recording.tree.leaves(primad.jacobian(residuals)(parameters))
        rows = np.concatenate([np.reshape(leaf, (len(points), -1)) for leaf in leaves], axis=1)
        return damped_step(np, np.linalg.solve, residuals(parameters), rows)

    return primad.jit(step)


def gauss_newton_products(workload):
    """Return a step by products with JᵀJ."""

    def residuals(parameters, points):
        return burgers(field(np, parameters, workload), points, nested(push, np), workload)[0]

    model, advance = primad.optimize.Residuals(residuals), primad.jit(advanced)

    def step(parameters, points):
        at = model.linearized(parameters, points)
        return at.value, conjugate_gradients(at.product, at.gradient, advance)

    return step


def of_network(workload):
    """Return the loss of a network, with its gradient if that is asked for."""
    residuals = laplacian if workload.kind == "laplacian" else RESIDUALS[workload.kind]
    loss = mean_square(np, workload, residuals, nested(push, np))
    return primad.value_and_grad(loss) if workload.gradient else loss


def matrices(workload):
    """Return the derivative of a function of matrices."""
    loss = OF_MATRICES[workload.kind](np)
    if workload.kind == "evidence":
        return primad.jit(lambda p, *rest: (loss(p, *rest), primad.hessian(lambda q: loss(q, *rest))(p)[:]))
    derive = primad.value_and_grad if workload.kind == "mixture" else primad.grad
    return primad.jit(derive(loss, MOVING[workload.kind]))


def everyday(workload):
    """Return a program's value with its derivative."""
    softmax, conv = functools.partial(primad.nn.softmax, axis=-1), primad.nn.conv
    loss = EVERYDAY[workload.kind](np, {"softmax": softmax, "conv": conv})
    if workload.kind == "logistic":
        derive = primad.value_and_grad(loss)
        return primad.jit(lambda w, *of: (*derive(w, *of), primad.hessian(lambda v: loss(v, *of))(w)[:]))
    return primad.jit(primad.value_and_grad(loss, PARAMETERS[workload.kind]))


def fold(step, carry, rows, length):
    return primad.scan(lambda c, row: (step(c, row), None), carry, rows, length=length)[0]


fold.add_at = looped.add_at = lambda n, index, values: pnp.add_at(np.zeros(n), index, values)


def simulations(workload):
    """Return the value of a simulation with its gradient."""
    loss = SIMULATIONS[workload.kind](np, looped if workload.looped else fold)
    return {"primad": primad.jit(primad.value_and_grad(loss, OF_SIMULATION.get(workload.kind, 0)))}


def waves(workload):
    """Return the value of a program of complex numbers with its derivative."""
    loss = WAVES[workload.kind](np, fold)
    derive = primad.value_and_grad(loss, OF_COMPLEX.get(workload.kind, 0))
    if workload.kind == "pulses-hessian":
        return primad.jit(lambda p, *of: (*derive(p, *of), primad.hessian(lambda q: loss(q, *of))(p)[:]))
    return primad.jit(derive)


def variants(workload):
    """Return the functions to time, by name."""
    if workload.group == "simulations":
        return simulations(workload)
    if workload.group == "complex":
        return {"primad": waves(workload)}
    if workload.group == "plain":
        return {"primad": primad.grad(SMALL[workload.kind](np))}
    if workload.group == "everyday":
        return {"primad": everyday(workload)}
    if workload.group == "linear-algebra":
        return {"primad": matrices(workload)}
    if workload.kind == "newton" or workload.kind in LOSSES:
        return loops(workload)
    if workload.kind == "gauss-newton":
        return {"primad": gauss_newton(workload)}
    if workload.kind == "gauss-newton-products":
        return {"primad": gauss_newton_products(workload)}
    if workload.kind == "import":
        return {"primad": None}
    if workload.kind == "chain":
        return {"primad": primad.grad(lambda x: chain(np, x, workload.order))}
    if workload.kind == "rosenbrock-gradient":
        return {"primad": primad.jit(primad.grad(lambda x: rosenbrock(np, x)))}
    if workload.kind == "rosenbrock-hvp":
        return {"primad": primad.jit(lambda x, v: primad.hvp(lambda y: rosenbrock(np, y), x, v))}
    return {"primad": primad.jit(of_network(workload))}


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return arguments


def wait(result):
    """Return when the result is computed."""


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf) for leaf in primad.recording.tree.leaves(result)]

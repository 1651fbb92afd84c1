"""The workloads in HIPS autograd."""

from importlib.metadata import version

import autograd
import autograd.numpy as anp
import numpy as np
from loops import looped
from residuals import NU, RESIDUALS, chain, mean_square, rosenbrock, spread
from simulations import MOVING as OF_SIMULATION
from simulations import SIMULATIONS
from small import SMALL
from waves import MOVING, WAVES

NAME, VERSION = "HIPS autograd", version("autograd")
NESTED_ORDER = 2
"""Without common subexpressions the time trebles with every order; four derivatives of a plate take minutes."""


def along(f, direction):
    return lambda x: autograd.make_jvp(f)(x)(spread(np, direction, x))[1]


def by_forward(u, direction, order):
    """Return `derivatives` by nested forward mode."""

    def derivatives(x):
        f, terms = u, [u(x)]
        for _ in range(order):
            f = along(f, direction)
            terms.append(f(x))
        return terms

    return derivatives


def by_reverse(u, direction, order):
    """Return `derivatives` by nested reverse mode."""

    def derivatives(x):
        f, terms = u, [u(x)]
        for _ in range(order):
            f = pulled(f, direction)
            terms.append(f(x))
        return terms

    return derivatives


def pulled(f, direction):
    pull = autograd.elementwise_grad(f)
    return lambda x: anp.dot(pull(x), anp.array(direction))


def burgers_reverse(u, x, derivatives, workload):
    first = autograd.elementwise_grad(u)
    slopes = first(x)
    u_xx = autograd.elementwise_grad(lambda y: first(y)[:, 0])(x)[:, 0]
    return [slopes[:, 1] + u(x) * slopes[:, 0] - NU * u_xx]


def losses(workload):
    """Return the losses to time, by name."""
    if workload.kind == "fit":
        return {"": mean_square(anp, workload, RESIDUALS["fit"])}
    if workload.kind == "plate" or workload.order > NESTED_ORDER:
        return {}
    found = {"nested jvp": mean_square(anp, workload, RESIDUALS[workload.kind], by_forward)}
    if workload.kind == "burgers":
        found["elementwise_grad"] = mean_square(anp, workload, burgers_reverse)
    elif workload.kind == "order":
        found["elementwise_grad"] = mean_square(anp, workload, RESIDUALS["order"], by_reverse)
    return found


def variants(workload):
    """Return the functions to time, by name."""
    if workload.kind == "pulses-hessian":  # minutes
        return {}
    if workload.kind == "assembly":  # it has no sum by index
        return {}
    if workload.group == "simulations":
        loss = SIMULATIONS[workload.kind](anp, looped)
        return {NAME: autograd.value_and_grad(loss, OF_SIMULATION.get(workload.kind, 0))}
    if workload.group == "complex":
        return {NAME: autograd.value_and_grad(WAVES[workload.kind](anp, looped), MOVING.get(workload.kind, 0))}
    if workload.group in ("start", "burgers-large", "loops", "long", "linear-algebra"):
        return {}
    if workload.group == "plain":
        return {NAME: autograd.grad(SMALL[workload.kind](anp))}
    if workload.kind == "chain":
        return {NAME: autograd.grad(lambda x: chain(anp, x, workload.order))}

    def f(x):
        return rosenbrock(anp, x)

    if workload.kind == "rosenbrock-gradient":
        return {NAME: autograd.grad(f)}
    if workload.kind == "rosenbrock-hvp":
        return {
            f"{NAME} reverse over reverse": autograd.hessian_vector_product(f),
            f"{NAME} forward over reverse": lambda x, v: autograd.make_jvp(autograd.grad(f))(x)(v)[1],
        }
    if workload.kind not in RESIDUALS:
        return {}
    return {
        f"{NAME} {name}".strip(): autograd.value_and_grad(loss) if workload.gradient else loss
        for name, loss in losses(workload).items()
    }


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return arguments


def wait(result):
    """Return when the result is computed."""


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in as_numpy(part)]
    return [np.asarray(result)]

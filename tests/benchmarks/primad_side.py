"""The workloads in primad."""

import numpy as np
from residuals import RESIDUALS, chain, mean_square, nested, rosenbrock

import primad

NAME, VERSION = "primad", "the checkout"


def push(f, x, v):
    return primad.jvp(f, (x,), (v,))


def laplacian(u, x, derivatives, workload):
    return [primad.vmap(lambda y: np.trace(primad.hessian(u)(y)))(x)]


def variants(workload):
    """Return the functions to time, by name."""
    if workload.kind == "import":
        return {"primad": None}
    if workload.kind == "chain":
        return {"primad": primad.grad(lambda x: chain(np, x, workload.order))}
    if workload.kind == "rosenbrock-gradient":
        return {"primad": primad.jit(primad.grad(lambda x: rosenbrock(np, x)))}
    if workload.kind == "rosenbrock-hvp":
        return {"primad": primad.jit(lambda x, v: primad.hvp(lambda y: rosenbrock(np, y), x, v))}
    residuals = laplacian if workload.kind == "laplacian" else RESIDUALS[workload.kind]
    loss = mean_square(np, workload, residuals, nested(push, np))
    return {"primad": primad.jit(primad.value_and_grad(loss) if workload.gradient else loss)}


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return arguments


def wait(result):
    """Return when the result is computed."""


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf) for leaf in primad.tree.leaves(result)]

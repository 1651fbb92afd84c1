"""The workloads in JAX, in the forms that its users write and the best that we know."""

from functools import partial

import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.sparse.linalg
import numpy as np
from everyday import EVERYDAY
from everyday import MOVING as PARAMETERS
from loops import LOSSES, looped, root
from matrices import MOVING, OF_MATRICES, by_cholesky
from residuals import (
    DAMPING_OF_PRODUCTS,
    ITERATIONS,
    NU,
    RESIDUALS,
    burgers,
    chain,
    conjugate_gradients,
    damped_step,
    field,
    mean_square,
    momentum_and_continuity,
    nested,
    rosenbrock,
    spread,
)
from simulations import MOVING as OF_SIMULATION
from simulations import SIMULATIONS
from waves import MOVING as OF_COMPLEX
from waves import WAVES

jax.config.update("jax_enable_x64", True)
NAME, VERSION = "JAX", jax.__version__
NESTED_ORDER = {False: 8, True: 6}
"""Compiling nested derivatives takes twice as long with every order (4 s at 8, 15 s at 10), and more with gradients."""


def push(f, x, v):
    return jax.jvp(f, (x,), (v,))


def by_jet(u, direction, order):
    from jax.experimental import jet

    def derivatives(x):
        v = spread(jnp, direction, x)
        value, terms = jet.jet(u, (x,), ((v, *[jnp.zeros_like(x)] * (order - 1)),))
        return (value, *terms)

    return derivatives


def burgers_hessian(u, x, derivatives, workload):
    def at(y):
        gradient, hessian = jax.grad(u)(y), jax.hessian(u)(y)
        return gradient[1] + u(y) * gradient[0] - NU * hessian[0, 0]

    return [jax.vmap(at)(x)]


def laplacian_hessian(u, x, derivatives, workload):
    return [jax.vmap(lambda y: jnp.trace(jax.hessian(u)(y)))(x)]


def laplacian_directions(u, x, derivatives, workload):
    def at(y):
        def second(v):
            return jax.jvp(lambda z: jax.jvp(u, (z,), (v,))[1], (y,), (v,))[1]

        return jnp.sum(jax.vmap(second)(jnp.eye(y.shape[0], dtype=y.dtype)))

    return [jax.vmap(at)(x)]


def laplacian_folx(u, x, derivatives, workload):
    import folx

    operator = folx.ForwardLaplacianOperator(0)(u)
    return [jax.vmap(lambda y: operator(y)[0])(x)]


def plate_hessians(u, x, derivatives, workload):
    def laplace(f):
        return lambda y: jnp.trace(jax.hessian(f)(y))

    return [jax.vmap(laplace(laplace(u)))(x) - 1.0]


def plate_folx(u, x, derivatives, workload):
    import folx

    def laplace(f):
        return lambda y: folx.ForwardLaplacianOperator(0)(f)(y)[0]

    return [jax.vmap(laplace(laplace(u)))(x) - 1.0]


def navier_stokes_hessian(u, x, derivatives, workload):
    def at(y):
        jacobian, hessian = jax.jacfwd(u)(y), jax.hessian(u)(y)
        return u(y), jacobian.T, jnp.trace(hessian[:, :3, :3], axis1=1, axis2=2)

    f, first, laplacian = jax.vmap(at)(x)
    return momentum_and_continuity(f, [first[:, i] for i in range(3)], first[:, 3], laplacian)


def navier_stokes_folx(u, x, derivatives, workload):
    import folx

    def at(y):
        found = folx.forward_laplacian(lambda s: u(jnp.append(s, y[3])))(y[:3])
        f_t = jax.jvp(u, (y,), (jnp.eye(4, dtype=y.dtype)[3],))[1]
        return found.x, found.dense_jacobian, f_t, found.laplacian

    f, first, f_t, laplacian = jax.vmap(at)(x)
    return momentum_and_continuity(f, [first[:, i] for i in range(3)], f_t, laplacian)


OWN_FORMS = {
    "burgers": {"vmapped hessian": burgers_hessian},
    "laplacian": {"hessian": laplacian_hessian, "directions": laplacian_directions, "folx": laplacian_folx},
    "plate": {"laplacian of laplacian": plate_hessians, "folx of folx": plate_folx},
    "navier-stokes": {"vmapped hessian": navier_stokes_hessian, "folx": navier_stokes_folx},
}


def losses(workload):
    """Return the losses to time, by name."""
    found = {name: mean_square(jnp, workload, form) for name, form in OWN_FORMS.get(workload.kind, {}).items()}
    residuals = RESIDUALS.get(workload.kind)
    if workload.kind == "fit":
        found["jit"] = mean_square(jnp, workload, residuals)
    elif residuals is not None:
        if workload.order <= NESTED_ORDER[workload.gradient]:
            found["nested jvp"] = mean_square(jnp, workload, residuals, nested(push, jnp))
        found["jet"] = mean_square(jnp, workload, residuals, by_jet)
    return found


def scanned(step, carry, length):
    return jax.lax.scan(lambda c, _: (step(c), None), carry, length=length)[0]


def counted(step, carry, length):
    return jax.lax.fori_loop(0, length, lambda _, c: step(c), carry)


def loops(workload):
    """Return derivatives of a loop; JAX has no reverse mode through `while_loop`."""
    if workload.kind == "newton":

        def slope(a):
            return jax.jvp(root(jax.lax.while_loop), (a,), (jnp.ones_like(a),))[1]

        return {"JAX while_loop, forward": jax.jit(jax.vmap(slope))}
    found = {}
    for name, loop in (("scan", scanned), ("fori_loop", counted)):
        loss = LOSSES[workload.kind](jnp, loop)
        if workload.kind == "lorenz-hessian":
            found[f"JAX {name}"] = jax.jit(jax.hessian(loss))
        else:
            found[f"JAX {name}"] = jax.jit(jax.grad(loss, (0, 1) if workload.kind == "lstm" else 0))
    return found


def gauss_newton(workload):
    """Return the forms of a step with the matrix JᵀJ."""

    def residual(parameters, x):
        return burgers(field(jnp, parameters, workload), x, nested(push, jnp), workload)[0]

    def rows(parameters, points):
        found = jax.vmap(jax.value_and_grad(residual), in_axes=(None, 0))(parameters, points)
        leaves = jax.tree_util.tree_leaves(found[1])
        return found[0], jnp.concatenate([leaf.reshape(len(points), -1) for leaf in leaves], axis=1)

    def by_cholesky(matrix, vector):
        return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(matrix), vector)

    # By `lstsq`, an SVD of all rows, a step takes more than a minute.
    return {"JAX vmap(grad), Cholesky": jax.jit(lambda p, x: damped_step(jnp, by_cholesky, *rows(p, x)))}


def gauss_newton_products(workload):
    """Return the forms of a step by products with JᵀJ."""

    def start(parameters, points):
        flat, unflatten = jax.flatten_util.ravel_pytree(parameters)

        def residuals(vector):
            return burgers(field(jnp, unflatten(vector), workload), points, nested(push, jnp), workload)[0]

        r, pull = jax.vjp(residuals, flat)
        return flat, residuals, 0.5 * (r @ r), pull, pull(r)[0]

    def by_products(parameters, points):
        flat, residuals, value, _, gradient = start(parameters, points)

        def product(v):
            return jax.vjp(residuals, flat)[1](jax.jvp(residuals, (flat,), (v,))[1])[0]

        return value, conjugate_gradients(product, gradient)

    def in_loop(parameters, points):
        flat, residuals, value, pull, gradient = start(parameters, points)

        def product(v):
            return pull(jax.jvp(residuals, (flat,), (v,))[1])[0] + DAMPING_OF_PRODUCTS * v

        return value, jax.scipy.sparse.linalg.cg(product, -gradient, tol=0.0, maxiter=ITERATIONS)[0]

    def linearized(parameters, points):
        flat, residuals, value, pull, gradient = start(parameters, points)
        along = jax.linearize(residuals, flat)[1]
        return value, conjugate_gradients(lambda v: pull(along(v))[0], gradient)

    return {
        "JAX jvp and vjp": jax.jit(by_products),
        "JAX jvp and vjp, cg": jax.jit(in_loop),
        "JAX linearize and vjp": jax.jit(linearized),
    }


def matrices(workload):
    """Return derivatives of a function of matrices."""
    if workload.kind == "evidence":
        cholesky = by_cholesky(jnp, lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))
        found = {}
        for name, form in {"solve": None, "Cholesky": cholesky}.items():
            loss = OF_MATRICES["evidence"](jnp, form)
            found[f"JAX {name}"] = jax.jit(lambda *of, loss=loss: (loss(*of), jax.hessian(loss)(*of)))
        return found
    derive = jax.value_and_grad if workload.kind == "mixture" else jax.grad
    return {"JAX": jax.jit(derive(OF_MATRICES[workload.kind](jnp), MOVING[workload.kind]))}


def everyday(workload):
    """Return a program's value with its derivative."""
    own = {"softmax": jax.nn.softmax, "conv": lambda x, weights: jax.lax.conv(x, weights, (1, 1), "VALID")}
    loss = EVERYDAY[workload.kind](jnp, own)
    if workload.kind == "logistic":
        derive = jax.value_and_grad(loss)
        return {"JAX": jax.jit(lambda *of: (*derive(*of), jax.hessian(loss)(*of)))}
    return {"JAX": jax.jit(jax.value_and_grad(loss, PARAMETERS[workload.kind]))}


def fold(step, carry, rows, length):
    return jax.lax.scan(lambda c, row: (step(c, row), None), carry, rows, length=length)[0]


fold.eig = partial(jax.lax.linalg.eig, compute_left_eigenvectors=False, enable_eigvec_derivs=True)


fold.add_at = looped.add_at = lambda n, index, values: jnp.zeros(n, values.dtype).at[index].add(values)


def simulations(workload):
    """Return the value of a simulation with its gradient."""
    loss = SIMULATIONS[workload.kind](jnp, looped if workload.looped else fold)
    return {"JAX": jax.jit(jax.value_and_grad(loss, OF_SIMULATION.get(workload.kind, 0)))}


def waves(workload):
    """Return the value of a program of complex numbers with its derivative."""
    loss = WAVES[workload.kind](jnp, fold)
    derive = jax.value_and_grad(loss, OF_COMPLEX.get(workload.kind, 0))
    if workload.kind == "pulses-hessian":
        return {"JAX": jax.jit(lambda *of: (*derive(*of), jax.hessian(loss)(*of)))}
    return {"JAX": jax.jit(derive)}


def variants(workload):
    """Return the functions to time, by name."""
    if workload.group == "simulations":
        return simulations(workload)
    if workload.group == "complex":
        return waves(workload)
    if workload.group == "everyday":
        return everyday(workload)
    if workload.group == "linear-algebra":
        return matrices(workload)
    if workload.kind == "long" or workload.group == "plain":  # JAX without jit takes milliseconds
        return {}
    if workload.kind == "newton" or workload.kind in LOSSES:
        return loops(workload)
    if workload.kind == "gauss-newton":
        return gauss_newton(workload)
    if workload.kind == "gauss-newton-products":
        return gauss_newton_products(workload)
    if workload.kind == "import":
        return {"JAX": None}
    if workload.group == "start":
        return {"JAX nested jvp": jax.jit(jax.value_and_grad(losses(workload)["nested jvp"]))}
    if workload.kind == "chain":
        return {"JAX without jit": jax.grad(lambda x: chain(jnp, x, workload.order))}

    def f(x):
        return rosenbrock(jnp, x)

    if workload.kind == "rosenbrock-gradient":
        return {"JAX jit": jax.jit(jax.grad(f))}
    if workload.kind == "rosenbrock-hvp":
        return {
            "JAX forward over reverse": jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]),
            "JAX reverse over reverse": jax.jit(lambda x, v: jax.grad(lambda y: jnp.vdot(jax.grad(f)(y), v))(x)),
        }
    return {
        f"JAX {name}": jax.jit(jax.value_and_grad(loss) if workload.gradient else loss)
        for name, loss in losses(workload).items()
    }


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return jax.tree_util.tree_map(jnp.asarray, arguments)


def wait(result):
    """Return when the result is computed."""
    jax.block_until_ready(result)


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(result)]

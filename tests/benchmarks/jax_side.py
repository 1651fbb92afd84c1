"""The workloads in JAX, in the forms that its users write and the best that we know."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jet
from workloads import NU, Workload

jax.config.update("jax_enable_x64", True)


def network(parameters, x):
    for weights, bias in parameters[:-1]:
        x = jnp.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return (x @ weights + bias)[..., 0]


def along(f, direction):
    return lambda x: jax.jvp(f, (x,), (jnp.broadcast_to(jnp.asarray(direction, x.dtype), x.shape),))[1]


def burgers_nested(parameters, x):
    def u(y):
        return network(parameters, y)

    u_x = along(u, (1.0, 0.0))
    residual = along(u, (0.0, 1.0))(x) + u(x) * u_x(x) - NU * along(u_x, (1.0, 0.0))(x)
    return jnp.mean(residual**2)


def burgers_hessian(parameters, x):
    def at(y):
        gradient = jax.grad(lambda z: network(parameters, z))(y)
        hessian = jax.hessian(lambda z: network(parameters, z))(y)
        return gradient[1] + network(parameters, y) * gradient[0] - NU * hessian[0, 0]

    return jnp.mean(jax.vmap(at)(x) ** 2)


def burgers_jet(parameters, x):
    def u(y):
        return network(parameters, y)

    direction = jnp.broadcast_to(jnp.asarray([1.0, 0.0], x.dtype), x.shape)
    value, (u_x, u_xx) = jet.jet(u, (x,), ((direction, jnp.zeros_like(x)),))
    residual = along(u, (0.0, 1.0))(x) + value * u_x - NU * u_xx
    return jnp.mean(residual**2)


def order_nested(k):
    def loss(parameters, x):
        def u(y):
            return network(parameters, y)

        total = jnp.mean(u(x) ** 2)
        for _ in range(k):
            u = along(u, (1.0, 0.5))
            total = total + jnp.mean(u(x) ** 2)
        return total

    return loss


def order_jet(k):
    def loss(parameters, x):
        direction = jnp.broadcast_to(jnp.asarray([1.0, 0.5], x.dtype), x.shape)
        zeros = [jnp.zeros_like(x)] * (k - 1)
        value, terms = jet.jet(lambda y: network(parameters, y), (x,), ((direction, *zeros),))
        return sum([jnp.mean(term**2) for term in terms], jnp.mean(value**2))

    return loss


def laplacian_hessian(parameters, x):
    values = jax.vmap(lambda y: jnp.trace(jax.hessian(lambda z: network(parameters, z))(y)))(x)
    return jnp.mean(values**2)


def laplacian_directions(parameters, x):
    def at(y):
        def second(v):
            return jax.jvp(lambda z: jax.jvp(lambda w: network(parameters, w), (z,), (v,))[1], (y,), (v,))[1]

        return jnp.sum(jax.vmap(second)(jnp.eye(y.shape[0], dtype=y.dtype)))

    return jnp.mean(jax.vmap(at)(x) ** 2)


def laplacian_folx(parameters, x):
    import folx

    operator = folx.ForwardLaplacianOperator(0)(lambda z: network(parameters, z))
    return jnp.mean(jax.vmap(lambda y: operator(y)[0])(x) ** 2)


def plate_nested(parameters, x):
    def u(y):
        return network(parameters, y)

    u_xx = along(along(u, (1.0, 0.0)), (1.0, 0.0))
    u_yy = along(along(u, (0.0, 1.0)), (0.0, 1.0))
    u_xxxx = along(along(u_xx, (1.0, 0.0)), (1.0, 0.0))
    u_xxyy = along(along(u_xx, (0.0, 1.0)), (0.0, 1.0))
    u_yyyy = along(along(u_yy, (0.0, 1.0)), (0.0, 1.0))
    return jnp.mean((u_xxxx(x) + 2.0 * u_xxyy(x) + u_yyyy(x) - 1.0) ** 2)


def plate_hessians(parameters, x):
    def laplace(f):
        return lambda y: jnp.trace(jax.hessian(f)(y))

    values = jax.vmap(laplace(laplace(lambda z: network(parameters, z))))(x)
    return jnp.mean((values - 1.0) ** 2)


def variants(workload: Workload):
    """Return the functions of (parameters, points) to time, by name."""
    k = workload.order
    losses = {
        "burgers": {"jvp of jvp": burgers_nested, "vmapped hessian": burgers_hessian, "jet": burgers_jet},
        "order": {"nested jvp": order_nested(k), "jet": order_jet(k)},
        "laplacian": {"hessian": laplacian_hessian, "directions": laplacian_directions},
        "plate": {"nested jvp": plate_nested, "laplacian of laplacian": plate_hessians},
    }[workload.kind]
    try:
        import folx  # noqa: F401

        if workload.kind == "laplacian":
            losses["folx"] = laplacian_folx
    except ImportError:
        pass
    if workload.kind == "order" and k > 6:
        del losses["nested jvp"]  # its compilation doubles with every order
    return {
        f"JAX {name}": jax.jit(jax.value_and_grad(loss) if workload.gradient else loss) for name, loss in losses.items()
    }


def finish(result):
    """Wait for a result and return its value."""
    result = jax.block_until_ready(result)
    return float(result[0] if isinstance(result, tuple) else result), result


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(result)]

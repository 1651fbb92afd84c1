"""The workloads in primad."""

import numpy as np
from workloads import NU, Workload

import primad


def network(parameters, x):
    for weights, bias in parameters[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return (x @ weights + bias)[..., 0]


def along(f, direction):
    return lambda x: primad.jvp(f, (x,), (np.broadcast_to(np.asarray(direction, x.dtype), x.shape),))[1]


def burgers(parameters, x):
    def u(y):
        return network(parameters, y)

    u_x = along(u, (1.0, 0.0))
    residual = along(u, (0.0, 1.0))(x) + u(x) * u_x(x) - NU * along(u_x, (1.0, 0.0))(x)
    return np.mean(residual**2)


def order(k):
    def loss(parameters, x):
        def u(y):
            return network(parameters, y)

        total = np.mean(u(x) ** 2)
        for _ in range(k):
            u = along(u, (1.0, 0.5))
            total = total + np.mean(u(x) ** 2)
        return total

    return loss


def laplacian(parameters, x):
    values = primad.vmap(lambda y: np.trace(primad.hessian(lambda z: network(parameters, z))(y)))(x)
    return np.mean(values**2)


def plate(parameters, x):
    def u(y):
        return network(parameters, y)

    u_xx = along(along(u, (1.0, 0.0)), (1.0, 0.0))
    u_yy = along(along(u, (0.0, 1.0)), (0.0, 1.0))
    u_xxxx = along(along(u_xx, (1.0, 0.0)), (1.0, 0.0))
    u_xxyy = along(along(u_xx, (0.0, 1.0)), (0.0, 1.0))
    u_yyyy = along(along(u_yy, (0.0, 1.0)), (0.0, 1.0))
    return np.mean((u_xxxx(x) + 2.0 * u_xxyy(x) + u_yyyy(x) - 1.0) ** 2)


def variants(workload: Workload):
    """Return the functions of (parameters, points) to time, by name."""
    loss = {"burgers": burgers, "laplacian": laplacian, "plate": plate}.get(workload.kind) or order(workload.order)
    return {"primad": primad.jit(primad.value_and_grad(loss) if workload.gradient else loss)}


def finish(result):
    """Wait for a result and return its value."""
    return float(result[0] if isinstance(result, tuple) else result), result


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [np.asarray(leaf) for leaf in primad.tree.leaves(result)]

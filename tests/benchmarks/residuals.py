"""The mathematics of the workloads, for any system's array functions.

A system brings `xp`, its functions with NumPy's names, and `derivatives(u, direction, order)`, which returns a function
of points whose results are u and its directional derivatives up to the order.
"""

NU = 0.01 / 3.141592653589793
REYNOLDS = 1.0


def network(xp, parameters, x, activation="tanh"):
    """Return the outputs of a network, shape (…, outputs)."""
    activate = getattr(xp, activation)
    for weights, bias in parameters[:-1]:
        x = activate(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def field(xp, parameters, workload):
    """Return the network as a function of points; a single output loses its axis."""

    def u(x):
        outputs = network(xp, parameters, x, workload.activation)
        return outputs[..., 0] if workload.sizes[-1] == 1 else outputs

    return u


def burgers(u, x, derivatives, workload):
    """u_t + u u_x − ν u_xx."""
    value, u_x, u_xx = derivatives(u, (1.0, 0.0), 2)(x)
    u_t = derivatives(u, (0.0, 1.0), 1)(x)[1]
    return [u_t + value * u_x - NU * u_xx]


def order(u, x, derivatives, workload):
    """All derivatives in one direction."""
    return list(derivatives(u, (1.0, 0.5), workload.order)(x))


def plate(u, x, derivatives, workload):
    """∇⁴u − 1."""
    u_xxxx = derivatives(u, (1.0, 0.0), 4)(x)[4]
    u_yyyy = derivatives(u, (0.0, 1.0), 4)(x)[4]
    u_xxyy = derivatives(lambda y: derivatives(u, (0.0, 1.0), 2)(y)[2], (1.0, 0.0), 2)(x)[2]
    return [u_xxxx + 2.0 * u_xxyy + u_yyyy - 1.0]


def navier_stokes(u, x, derivatives, workload):
    """Momentum and continuity for (u, v, w, p) at (x, y, z, t)."""
    f, f_x, f_xx = derivatives(u, (1.0, 0.0, 0.0, 0.0), 2)(x)
    _, f_y, f_yy = derivatives(u, (0.0, 1.0, 0.0, 0.0), 2)(x)
    _, f_z, f_zz = derivatives(u, (0.0, 0.0, 1.0, 0.0), 2)(x)
    f_t = derivatives(u, (0.0, 0.0, 0.0, 1.0), 1)(x)[1]
    return momentum_and_continuity(f, (f_x, f_y, f_z), f_t, f_xx + f_yy + f_zz)


def momentum_and_continuity(f, first, f_t, laplacian):
    """Return the four residuals from the derivatives of all components, each of shape (points, 4)."""
    f_x, f_y, f_z = first
    convection = f[:, 0:1] * f_x + f[:, 1:2] * f_y + f[:, 2:3] * f_z
    balance = f_t + convection - laplacian / REYNOLDS
    momentum = [balance[:, i] + first[i][:, 3] for i in range(3)]
    return [*momentum, f_x[:, 0] + f_y[:, 1] + f_z[:, 2]]


def fit(u, x, derivatives, workload):
    """A least-squares fit of x·y."""
    return [u(x) - x[:, 0] * x[:, 1]]


RESIDUALS = {"burgers": burgers, "order": order, "plate": plate, "navier-stokes": navier_stokes, "fit": fit}


def mean_square(xp, workload, residuals, derivatives=None):
    """Return the loss: the sum of the mean squares of the residuals, as a function of (parameters, points)."""

    def loss(parameters, x):
        u = field(xp, parameters, workload)
        total = 0.0
        for residual in residuals(u, x, derivatives, workload):
            total = total + xp.mean(residual**2)
        return total

    return loss


DAMPING = 1.0
"""What a Gauss-Newton step with the matrix adds to the diagonal of JᵀJ."""
DAMPING_OF_PRODUCTS = 1e4
"""What one without does: with less, rounding changes what ten products lead to."""
ITERATIONS = 10
"""Products with JᵀJ that a step without matrices takes."""


def damped_step(xp, solve, r, rows):
    """Return half the sum of squares and the Gauss-Newton step, from residuals and the rows of their Jacobian."""
    matrix = rows.T @ rows + DAMPING * xp.eye(rows.shape[1])
    return 0.5 * (r @ r), -solve(matrix, rows.T @ r)


def advanced(step, residual, direction, product):
    """Return the next approximate solution, residual and direction, from the product with the direction."""
    image = product + DAMPING_OF_PRODUCTS * direction
    size = residual @ residual
    length = size / (direction @ image)
    step, residual = step + length * direction, residual - length * image
    return step, residual, residual + (residual @ residual / size) * direction


def conjugate_gradients(product, gradient, advance=advanced):
    """Return an approximate solution v of (JᵀJ + λ) v = −g after a fixed number of products, for vectors."""
    step, residual, direction = 0.0 * gradient, -gradient, -gradient
    for _ in range(ITERATIONS):
        step, residual, direction = advance(step, residual, direction, product(direction))
    return step


def nested(push, xp):
    """Return `derivatives` by nesting one derivative: `push(f, x, v)` returns f(x) and its tangent along v."""

    def derivatives(u, direction, order):
        def further(f):
            def both(y):
                values, tangents = push(f, y, spread(xp, direction, y))
                return (*values, tangents[-1])

            return both

        def highest(y):
            return (u(y),)

        for _ in range(order):
            highest = further(highest)
        return highest

    return derivatives


def spread(xp, direction, x):
    """Return the direction at every point."""
    return xp.broadcast_to(xp.asarray(direction, dtype=x.dtype), x.shape)


def rosenbrock(xp, x):
    """The chained Rosenbrock function."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def chain(xp, x, operations):
    """A chain of scalar operations: a quarter each sin, product, sum and tanh."""
    for _ in range(operations // 4):
        x = xp.tanh(xp.sin(x) * 1.5 + 0.25)
    return x

"""Burgers' equation, solved by a small neural network and compared with the exact solution.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

The wave steepens to a front at x = 0, about ν wide. The network N is 2-20-20-20-1 with tanh, and the ansatz
u = −sin πx + t (1 − x²) N(x, t) meets the initial and the boundary conditions whatever the weights are. Only the
residual of the equation is left to minimise, in the mean square over random points: they are denser at the front, and
drawn anew every ten steps, because a network can satisfy the equation at fixed points and be wrong in between.

primad computes every derivative: those of u in x and t; the gradient of the loss, for a short phase of Adam; the
Jacobian of the residuals with respect to the weights, for Gauss-Newton steps (Levenberg-Marquardt); and the second
derivative of the residuals along a step, which bends the step and tells how far the linear model is to be trusted.

Run `primad demo burgers`, or this file (`--help` lists the options). It writes pictures and the weights into a folder.
Ctrl-C stops the training and still writes what there is.
"""

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from safetensors.numpy import save_file
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

import primad

NU = 0.01 / np.pi


def exact_solution(x, t, nodes=100):
    """Return u(x, t) by the Cole-Hopf transformation and Gauss-Hermite quadrature.

    With f(y) = exp(−cos(πy) / 2πν) and η = 2√(νt) z,
    u(x, t) = −∫ sin π(x − η) f(x − η) exp(−z²) dz / ∫ f(x − η) exp(−z²) dz
    (C. Basdevant et al., Spectral and finite difference solutions of the Burgers equation, Computers & Fluids 14 (1986)
    23-41). f spans e^±50: its exponents are shifted by their maximum, which cancels in the quotient.
    """
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    y = x[..., None] - 2 * np.sqrt(NU * t[..., None]) * z
    log_f = -np.cos(np.pi * y) / (2 * np.pi * NU)
    f = weights * np.exp(log_f - log_f.max(axis=-1, keepdims=True))
    return -(f * np.sin(np.pi * y)).sum(axis=-1) / f.sum(axis=-1)


# -- the network and the equation, at one point ------------------------------------------------------------------------


def shapes(width):
    """Return the shapes of the weight matrices."""
    return [(2, width), (width, width), (width, width), (width, 1)]


def initial_parameters(rng, width):
    """Return all weights (Glorot normal) and biases (zero) as one vector."""
    layers = [np.r_[rng.normal(size=n * m) * np.sqrt(2 / (n + m)), np.zeros(m)] for n, m in shapes(width)]
    return np.concatenate(layers)


def layers(theta, width):
    """Cut the vector of parameters into pairs of weights and biases."""
    start = 0
    for n, m in shapes(width):
        yield theta[start : start + n * m].reshape(n, m), theta[start + n * m : start + n * m + m]
        start += n * m + m


def u(theta, x, t, width):
    """Return the approximate solution at one point."""
    *hidden, (last, shift) = layers(theta, width)
    a = np.stack([x, t])
    for weights, bias in hidden:
        a = np.tanh(a @ weights + bias)
    return -np.sin(np.pi * x) + t * (1 - x**2) * (a @ last + shift)[0]


def residual(theta, x, t, width):
    """Return u_t + u u_x − ν u_xx at one point."""
    value, u_x, half_u_xx = primad.taylor(lambda x: u(theta, x, t, width), x, 1.0, order=2)
    _, u_t = primad.jvp(lambda t: u(theta, x, t, width), (t,), (1.0,))
    return u_t + value * u_x - NU * 2 * half_u_xx


# -- training ----------------------------------------------------------------------------------------------------------


def draw_points(rng, count):
    """Return random points (x, t), a Latin hypercube in (s, t); x = s|s| crowds them at the front."""
    s = 2 * (rng.permutation(count) + rng.random(count)) / count - 1
    t = (rng.permutation(count) + rng.random(count)) / count
    return s * abs(s), t


def adam(theta, loss_and_gradient, draw, steps, rate=5e-3):
    """Yield (parameters, loss) after each step of Adam, on new points each (D. Kingma and J. Ba, arXiv:1412.6980)."""
    mean = square = 0.0
    for k in range(1, steps + 1):
        loss, gradient = loss_and_gradient(theta, *draw())
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        theta = theta - rate * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.999**k)) + 1e-8)
        yield theta, loss
    return theta


def levenberg_marquardt(theta, residuals, jacobian, curvature, draw, steps, redraw=10):
    """Yield (parameters, loss) after each accepted step v + a/2.

    With the Jacobian J of the n residuals r and H = JᵀJ/n: (H + λ√diag H) v = −Jᵀr/n, and (H + λ√diag H) a = −Jᵀr″/n
    with the second derivative r″ of r along v (M. Transtrum and J. Sethna, Improvements to the Levenberg-Marquardt
    algorithm for nonlinear least-squares minimization, arXiv:1201.5885).
    """
    damping = 1e-3
    for k in range(steps):
        if k % redraw == 0:
            points = draw()
        r, matrix = jacobian(theta, *points)
        loss, gradient, square = np.mean(r**2), matrix.T @ r / r.size, matrix.T @ matrix / r.size
        diagonal = square.diagonal().copy()
        scale = np.sqrt(diagonal)
        for _ in range(40):
            np.fill_diagonal(square, diagonal + damping * scale)
            try:
                factor = cho_factor(square)
            except LinAlgError:  # not positive definite in floating point
                damping *= 3
                continue
            v = -cho_solve(factor, gradient)
            a = -cho_solve(factor, matrix.T @ curvature(theta, v, *points) / r.size)
            bends_little = 4 * (scale * a) @ a < 0.75**2 * (scale * v) @ v
            trial = theta + v + a / 2 if bends_little else theta + v
            new_loss = np.mean(residuals(trial, *points) ** 2)
            if new_loss < loss:
                gain = (loss - new_loss) / (v @ (damping * scale * v - gradient))  # real over predicted decrease
                damping = max(damping * (1 / 3 if gain > 0.75 else 1.7 if gain < 0.25 else 1), 1e-10)
                theta, loss = trial, new_loss
                break
            damping *= 3
        yield theta, loss


def train(theta, width, draw, adam_steps, steps):
    """Yield (parameters, loss) after each step of the training."""
    one, at_points = partial(residual, width=width), {"in_axes": (None, 0, 0)}
    residuals = primad.jit(primad.vmap(one, **at_points))
    jacobian = primad.jit(primad.vmap(primad.value_and_grad(one), **at_points))
    loss_and_gradient = primad.jit(primad.value_and_grad(lambda p, x, t: np.mean(residuals(p, x, t) ** 2)))
    curvature = primad.jit(lambda p, v, x, t: 2 * primad.taylor(lambda q: residuals(q, x, t), p, v, order=2)[2])
    theta = yield from adam(theta, loss_and_gradient, draw, adam_steps)
    yield from levenberg_marquardt(theta, residuals, jacobian, curvature, draw, steps)


# -- results -----------------------------------------------------------------------------------------------------------


def write(path, save):
    """Save under another name first, so that no half-written file is left behind."""
    part = path.with_name(f"part-{path.name}")
    save(part)
    os.replace(part, path)


def draw_pictures(out, x, t, found, exact, losses, errors, adam_steps):
    """Draw the solution, its error, and the history of the training."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 11, "savefig.dpi": 150, "figure.constrained_layout.use": True})
    picture = {"extent": (0, 1, -1, 1), "origin": "lower", "aspect": "auto"}

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    bar = figure.colorbar(left.imshow(found, cmap="RdBu_r", vmin=-1, vmax=1, **picture), ax=left)
    bar.ax.set_title("u", fontsize=11)  # beside the bar it would meet the label of the other axes
    left.set(title="Network", xlabel="time t", ylabel="position x")
    for column, colour in ((0, "C7"), (25, "C0"), (50, "C1"), (75, "C2")):
        left.axvline(t[column], color=colour, linewidth=1.5, linestyle=":")
        right.plot(x, exact[:, column], color=colour, linewidth=4, alpha=0.35)
        right.plot(x, found[:, column], color=colour, linewidth=1, label=f"t = {t[column]:.2f}")
    right.set(title="Network (thin), exact (wide)", xlabel="position x", ylabel="u")
    right.legend(frameon=False)
    write(out / "solution.png", figure.savefig)

    figure, axes = plt.subplots(figsize=(6.5, 4.2))
    error = abs(found - exact)
    mesh = axes.imshow(np.maximum(error, error.max() / 1e4), norm="log", cmap="magma", **picture)
    figure.colorbar(mesh, ax=axes, label="|network − exact|", extend="min")
    axes.set(title="Error of u", xlabel="time t", ylabel="position x")
    write(out / "error.png", figure.savefig)

    figure, axes = plt.subplots(figsize=(6.5, 4.2))
    axes.axvspan(0, adam_steps, color="C7", alpha=0.2, linewidth=0, label="Adam; then Levenberg-Marquardt")
    axes.semilogy(range(1, len(losses) + 1), losses, label="mean squared residual (training points)")
    axes.semilogy(*zip(*errors, strict=True), "o-", markersize=3, label="relative L2 error of u")
    axes.set(title="Training", xlabel="step", ylabel="loss, error (dimensionless)", xlim=(0, max(1, len(losses))))
    axes.legend(frameon=False, loc="lower left", fontsize=10)
    write(out / "loss.png", figure.savefig)
    plt.close("all")


def main(
    steps: Annotated[int, typer.Option(min=0, help="Steps of Levenberg-Marquardt.")] = 150,
    adam_steps: Annotated[int, typer.Option(min=0, help="Steps of Adam before them.")] = 30,
    points: Annotated[int, typer.Option(min=1, help="Random points at which the equation is to hold.")] = 2000,
    width: Annotated[int, typer.Option(min=1, help="Neurons in each of the three hidden layers.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the weights and the points.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the weights.")] = Path("burgers_out"),
) -> float:
    """Train a network on Burgers' equation; write pictures and weights to a folder; return the relative L2 error."""
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    x, t = np.linspace(-1, 1, 256), np.linspace(0, 1, 101)
    grid = np.meshgrid(x, t, indexing="ij")
    exact = exact_solution(*grid)

    solution = primad.jit(primad.vmap(partial(u, width=width), in_axes=(None, 0, 0)))

    def approximate(theta):
        found = solution(theta, *map(np.ravel, grid)).reshape(exact.shape)
        return found, float(np.linalg.norm(found - exact) / np.linalg.norm(exact))

    theta = initial_parameters(rng, width)
    losses, errors, interrupted = [], [(0, approximate(theta)[1])], False
    numbers = TextColumn("loss {task.fields[loss]:.1e}  error {task.fields[error]:.1e}")
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn(), numbers, TimeElapsedColumn()
    # At these sizes threads of BLAS gain little on idle cores and wait for each other on busy ones.
    with Progress(*columns) as progress, threadpool_limits(1, "blas"):
        task = progress.add_task("training", total=adam_steps + steps, loss=np.nan, error=errors[0][1])
        try:
            # The newest parameters are the best: a step is taken only where it lowers the loss.
            for theta, loss in train(theta, width, partial(draw_points, rng, points), adam_steps, steps):  # noqa: B020
                losses.append(loss)
                if len(losses) % 10 == 0:
                    errors.append((len(losses), approximate(theta)[1]))
                progress.update(task, advance=1, loss=loss, error=errors[-1][1])
        except KeyboardInterrupt:
            interrupted = True

    found, error = approximate(theta)
    tensors = {}
    for i, (weights, bias) in enumerate(layers(theta, width)):
        tensors |= {f"layer{i}.weights": weights.copy(), f"layer{i}.bias": bias.copy()}
    write(out / "parameters.safetensors", lambda path: save_file(tensors, path))
    if find_spec("matplotlib"):
        draw_pictures(out, x, t, found, exact, losses, [*errors, (len(losses), error)], adam_steps)
    else:
        print("no pictures: matplotlib is missing; pip install 'primad[plot]' brings it")
    print(f"{'interrupted; ' if interrupted else ''}results are in {out.resolve()}")
    print(f"relative L2 error: {error:.3e}")
    if interrupted:
        raise SystemExit(130)
    return error


if __name__ == "__main__":
    typer.run(main)

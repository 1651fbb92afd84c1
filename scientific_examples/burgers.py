"""Burgers' equation, solved by a small neural network and compared with the exact solution.

    u_t + u u_x = ν u_xx,  ν = 0.01/π,   −1 ≤ x ≤ 1,  0 ≤ t ≤ 1,
    u(x, 0) = −sin πx,     u(±1, t) = 0.

The wave steepens to a front at x = 0, about ν wide. The network N is 2-20-20-20-1 with tanh, and the ansatz
u = −sin πx + t (1 − x²) N(x, t) meets the initial and the boundary conditions whatever the weights are. Only the
residual of the equation is left to minimise, in the mean square over random points: they are denser at the front, and
drawn anew every ten steps, because a network can satisfy the equation at fixed points and be wrong in between.

primad computes every derivative, of u in x and t and of the residuals in the weights, and makes the steps: a short
phase of Adam, then Levenberg-Marquardt with geodesic acceleration (`primad.optimize`).

Run `primad demo burgers`, or this file (`--help` lists the options). It writes pictures and the weights into a folder.
Ctrl-C stops the training and still writes what there is.
"""

import os
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import primad
from primad import nn, optimize

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


def initial_parameters(rng, width):
    """Return the layers: weights (Glorot normal) and biases (zero)."""
    sizes = [2, width, width, width, 1]
    return [{"weights": nn.initializers.xavier_normal(rng, (n, m)), "bias": np.zeros(m)} for n, m in pairwise(sizes)]


def u(params, x, t):
    """Return the approximate solution at one point."""
    *hidden, last = params
    a = np.stack([x, t])
    for layer in hidden:
        a = np.tanh(a @ layer["weights"] + layer["bias"])
    return -np.sin(np.pi * x) + t * (1 - x**2) * (a @ last["weights"] + last["bias"])[0]


def residual(params, x, t):
    """Return u_t + u u_x − ν u_xx at one point."""
    value, u_x, half_u_xx = primad.taylor(lambda x: u(params, x, t), x, 1.0, order=2)
    _, u_t = primad.jvp(lambda t: u(params, x, t), (t,), (1.0,))
    return u_t + value * u_x - NU * 2 * half_u_xx


# -- training ----------------------------------------------------------------------------------------------------------


def draw_points(seed, number, count):
    """Return the drawing of random points (x, t) that has a number: a Latin hypercube in (s, t).

    x = s|s| crowds them at the front.
    """
    rng = np.random.default_rng([seed, number])
    s = 2 * (rng.permutation(count) + rng.random(count)) / count - 1
    t = (rng.permutation(count) + rng.random(count)) / count
    return s * abs(s), t


def train(params, draw, count, adam_steps, steps, watch):
    """Return the result of the training: Adam on new points in each step, then Levenberg-Marquardt, on new ones in ten.

    Half the sum of the squares of what is minimised is the mean square of the residuals.
    """

    def residuals(params, x, t):
        return np.sqrt(2 / count) * primad.vmap(residual, in_axes=(None, 0, 0))(params, x, t)

    def loss(params, x, t):
        return 0.5 * np.sum(residuals(params, x, t) ** 2)

    adam = optimize.Descent(nn.Adam(5e-3))
    first = optimize.solve(adam, loss, params, draw, steps=adam_steps, callback=watch)
    if first.reason == "interrupted":
        return first
    rule = optimize.LevenbergMarquardt()
    return optimize.solve(
        rule, residuals, first.params, lambda k: draw(adam_steps + k // 10), steps=steps, callback=watch
    )


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
    x, t = np.linspace(-1, 1, 256), np.linspace(0, 1, 101)
    grid = np.meshgrid(x, t, indexing="ij")
    exact = exact_solution(*grid)

    solution = primad.jit(primad.vmap(u, in_axes=(None, 0, 0)))

    def approximate(params):
        found = solution(params, *map(np.ravel, grid)).reshape(exact.shape)
        return found, float(np.linalg.norm(found - exact) / np.linalg.norm(exact))

    params = initial_parameters(np.random.default_rng(seed), width)
    losses, errors = [], [(0, approximate(params)[1])]
    numbers = TextColumn("loss {task.fields[loss]:.1e}  error {task.fields[error]:.1e}")
    columns = TextColumn("training"), BarColumn(), MofNCompleteColumn(), numbers, TimeElapsedColumn()
    with Progress(*columns) as progress:
        task = progress.add_task("training", total=adam_steps + steps, loss=np.nan, error=errors[0][1])

        def watch(params, state):
            losses.append(float(state.value))
            if len(losses) % 10 == 0:
                errors.append((len(losses), approximate(params)[1]))
            progress.update(task, advance=1, loss=losses[-1], error=errors[-1][1])

        result = train(params, partial(draw_points, seed, count=points), points, adam_steps, steps, watch)

    found, error = approximate(result.params)
    nn.save(out / "parameters.safetensors", result.params)
    if find_spec("matplotlib"):
        draw_pictures(out, x, t, found, exact, losses, [*errors, (len(losses), error)], adam_steps)
    else:
        print("no pictures: matplotlib is missing; pip install 'primad[plot]' brings it")
    interrupted = result.reason == "interrupted"
    print(f"{'interrupted; ' if interrupted else ''}results are in {out.resolve()}")
    print(f"relative L2 error: {error:.3e}")
    if interrupted:
        raise SystemExit(130)
    return error


if __name__ == "__main__":
    typer.run(main)

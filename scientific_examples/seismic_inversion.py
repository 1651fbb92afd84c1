"""The speed of sound in the ground, from what receivers record: full-waveform inversion.

    ∂²p/∂t² = c² (Δp + f(t) at a source),    p = 0 at the surface, damped near the other sides

Differences of fourth order in space and second in time, in a `scan` over the steps; sources are rows of `vmap`. They
lie in a well on the left, receivers in one on the right and at the surface. Records are compared with those of the true
ground; the gradient of that by the speeds everywhere comes back through all steps. L-BFGS moves the speeds, from layers
without the bodies in them.

Reference: the true speeds, and a difference in a random direction.
Reach: left 0.1, misfit 1e-4, difference 1e-6, seconds 300
Toy: left 0.5, misfit 0.1, difference 1e-6
"""

import numpy as np

import primad
from primad import optimize

SPACING, STEP, EDGE = 20.0, 0.002, 12
"""Metres between points, seconds of a step, points of the damping layer."""


def ground(n):
    """Return the true speeds in kilometres a second, and those without the two bodies, where the search starts."""
    x, z = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    layers = 1.8 + 1.2 * z
    bodies = [0.4 * np.exp(-(((x - 0.33) / 0.1) ** 2) - ((z - 0.4) / 0.08) ** 2)]
    bodies += [-0.4 * np.exp(-(((x - 0.67) / 0.1) ** 2) - ((z - 0.5) / 0.08) ** 2)]
    return layers + sum(bodies), layers


def wavelet(steps, frequency=8.0):
    """Return Ricker's wavelet at the times of the steps."""
    square = (np.pi * frequency * (np.arange(steps) * STEP - 1.2 / frequency)) ** 2
    return (1 - 2 * square) * np.exp(-square)


def laplacian(p):
    """Return Δp, with p = 0 beyond the ends."""
    wide = np.pad(p, 2)
    ends = wide[:-4, 2:-2] + wide[4:, 2:-2] + wide[2:-2, :-4] + wide[2:-2, 4:]
    near = wide[1:-3, 2:-2] + wide[3:-1, 2:-2] + wide[2:-2, 1:-3] + wide[2:-2, 3:-1]
    return (16 * near - ends - 60 * p) / (12 * SPACING**2)


def damping(n):
    """Return by how much a step damps at each point: near the sides and the bottom."""
    depth = np.maximum(0, 1 - np.minimum(np.arange(n), np.arange(n)[::-1]) / EDGE)
    below = np.maximum(0, 1 - np.arange(n)[::-1] / EDGE)
    return 1 / (1 + 0.25 * (depth[:, None] ** 2 + below**2))


def survey(n, shots, steps):
    """Return the function of speeds to the records of all receivers, for each source."""
    sources = np.zeros((shots, n, n))
    sources[np.arange(shots), EDGE, np.linspace(2, n - EDGE - 1, shots).astype(int)] = SPACING**-2
    pulse, damp = wavelet(steps), damping(n)

    def records(speed):
        square = (1000 * speed * STEP) ** 2

        def shot(source):
            def step(fields, strength):
                now, before = fields
                after = damp * (2 * now - damp * before + square * (laplacian(now) + strength * source))
                return (after, now), primad.numpy.concatenate([after[EDGE:-EDGE, 1], after[-EDGE, 1:-EDGE]])

            return primad.scan(step, (np.zeros((n, n)), np.zeros((n, n))), pulse)[1]

        return primad.vmap(shot)(sources)

    return records


def solve(toy=False, seed=0):
    """Return what is left of the error of speeds and of the misfit, and what to draw."""
    n, shots, steps, most = (40, 3, 300, 8) if toy else (70, 8, 600, 60)
    records = survey(n, shots, steps)
    true, start = ground(n)
    seen = primad.jit(records)(true)

    def misfit(speed):
        return 0.5 * np.sum((records(speed) - seen) ** 2) / np.sum(seen**2)

    both = primad.jit(primad.value_and_grad(misfit))
    along = np.random.default_rng(seed).normal(size=true.shape)
    difference = (both(start + 1e-5 * along)[0] - both(start - 1e-5 * along)[0]) / 2e-5
    slope = np.sum(both(start)[1] * along)
    found = optimize.minimize(misfit, start, method="L-BFGS-B", options={"maxiter": most, "ftol": 0, "gtol": 0}).x
    inside = (slice(EDGE, -EDGE), slice(2, -EDGE))
    errors = [np.linalg.norm((speed - true)[inside]) for speed in (found, start)]
    figures = {
        "left": errors[0] / errors[1],
        "misfit": both(found)[0] / both(start)[0],
        "difference": abs(difference / slope - 1),
    }
    return figures, (true, start, found, seen)


def draw(true, start, found, seen):
    """Draw the true speeds, the start and what was found, and the records of one source."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(13, 3.2)
    panels = figure.subplots(1, 4)
    side, limits = len(true) * SPACING / 1000, (true.min(), true.max())
    for axes, (title, speed) in zip(
        panels, {"ground, km/s": true, "start": start, "found": found}.items(), strict=False
    ):
        picture = axes.imshow(speed.T, extent=(0, side, side, 0), vmin=limits[0], vmax=limits[1])
        axes.set(title=title, xlabel="km")
        figure.colorbar(picture, ax=axes)
    record = seen[len(seen) // 2]
    most = np.quantile(np.abs(record), 0.97)
    end = len(record) * STEP
    panels[3].imshow(record, aspect="auto", extent=(0, record.shape[1], end, 0), cmap="gray", vmin=-most, vmax=most)
    panels[3].set(title="one source", xlabel="receiver", ylabel="s")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

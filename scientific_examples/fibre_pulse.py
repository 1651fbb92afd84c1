"""A light pulse in a fibre, found from what detectors see of it downstream: intensities, and no phase.

    i h_t + h_xx / 2 + |h|² h = 0,    |h|² is measured at four distances t with noise;  h(x, 0) is unknown.

The pulse is propagated by split steps, a Fourier transform each way, in a scan of 200 steps. Unknown are the complex
amplitudes of its lowest waves: Gauss and Newton's method searches among their parts, with exact products through
all steps. Without phases a common one is not determined; it is turned away before pulses are compared.

Reference: the pulse with which the measurements were made, by another method (`primad.pde.references`).
Reach: error 0.05, misfit 1.1, seconds 60
Toy: error 0.3, misfit 30
"""

import numpy as np

import primad
from primad import optimize
from primad.pde import references

LENGTH, END, NOISE = 24.0, 1.0, 0.003


def grid(count):
    """Return the points of the grid."""
    return LENGTH * (np.arange(count) / count - 0.5)


def launched(x):
    """Return the pulse at the start: two of them, which move towards each other."""
    return 1.5 * np.exp(1j * x) / np.cosh(x + 1.5) + np.exp(-0.7j * x) / np.cosh(1.2 * (x - 2))


def pulse(waves, count):
    """Return values on the grid of a sum of waves, from the lowest to the highest frequency."""
    rest = np.zeros((count - waves.shape[0]) // 2)
    return np.fft.ifft(np.fft.ifftshift(np.concatenate([rest, waves, rest])), norm="forward")


def seen(start, steps):
    """Return the intensity after each quarter of the steps."""
    k = 2 * np.pi / LENGTH * np.fft.fftfreq(start.shape[0], 1 / start.shape[0])
    length = END / steps
    spread = np.exp(-0.5j * k**2 * length)

    def step(h, _):
        h = h * np.exp(0.5j * length * np.abs(h) ** 2)
        h = np.fft.ifft(spread * np.fft.fft(h))
        h = h * np.exp(0.5j * length * np.abs(h) ** 2)
        return h, np.abs(h) ** 2

    return primad.scan(step, start, length=steps)[1][steps // 4 - 1 :: steps // 4]


def solve(toy=False, seed=0):
    """Return the relative error of the pulse and the misfit in units of the noise, and what to draw."""
    count, waves, steps = (64, 40, 40) if toy else (128, 56, 200)
    x, t = grid(count), np.linspace(0, END, 5)
    path = references.periodic(
        launched(grid(1024)), LENGTH, t, lambda k: -0.5j * k**2, lambda h: 1j * np.abs(h) ** 2 * h, step=1e-3
    )[:: 1024 // count].T
    measured = np.abs(path[1:]) ** 2 + NOISE * np.random.default_rng(seed).normal(size=(4, count))

    def misfit(found):
        return (seen(pulse(found, count), steps) - measured) / NOISE

    guess = np.fft.fftshift(np.fft.fft(np.sqrt(np.abs(measured[0])), norm="forward"))
    middle = slice((count - waves) // 2, (count + waves) // 2)
    result = optimize.solve(optimize.LevenbergMarquardt(), misfit, guess[middle] + 0j, steps=6 if toy else 25)
    found = pulse(result.params, count)
    found = found * np.exp(-1j * np.angle(np.vdot(path[0], found)))
    figures = {
        "error": np.linalg.norm(found - path[0]) / np.linalg.norm(path[0]),
        "misfit": np.sqrt(2 * result.value / measured.size), "steps": len(result.values),
    }  # fmt: skip
    return figures, (x, t, measured, path[0], found)


def draw(x, t, measured, true, found):
    """Draw what was measured, and the pulse that was found."""
    import matplotlib.pyplot as plt

    _, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2))
    for i, intensity in enumerate(measured):
        left.plot(x, intensity + 2 * i, ".", markersize=3, label=f"t = {t[i + 1]:.2g}")
    left.set(title="Measured |h|², lifted", xlabel="x", xlim=(-8, 8))
    left.legend(loc="upper right", fontsize=8)
    for axes, part, name in (
        (middle, np.abs, "|h(x, 0)|"),
        (right, lambda h: np.unwrap(np.angle(h)), "phase of h(x, 0)"),
    ):
        bright = np.abs(true) > (0.05 if axes is right else 0)
        axes.plot(x[bright], part(true[bright]), "C1", linewidth=5, alpha=0.4, label="true")
        axes.plot(x[bright], part(found[bright]), "C0", label="found")
        axes.set(title=name, xlabel="x", xlim=(-8, 8))
        axes.legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

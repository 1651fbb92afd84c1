"""Two stars that fall into each other, read off a spectrogram: a chirp in noise as strong as itself.

    f(t) = f₀ (1 − t/T)^(−3/8),    s(t) = a (1 − t/T)^(−1/4) cos(2π ∫ f dt)

This is Newton's limit of gravitational waves. A spectrogram holds the sizes of Fourier transforms of windowed frames,
and no phase. The start frequency f₀, the time T of the end and the size a are fitted to it: first with short frames,
whose lines are broad, so that those of a poor guess meet the measured ones, then with longer ones, whose lines are
sharp.

Reference: the numbers with which the signal was made.
Reach: error_start 0.01, error_end 0.005, error_size 0.1, seconds 20
Toy: error_start 0.05, error_end 0.01, error_size 0.2
"""

import numpy as np

from primad import optimize

RATE, TRUE = 2048, {"start": 40.0, "end": 1.05, "size": 1.0}


def signal(p, t):
    """Return the chirp at times before its end."""
    left = 1 - t / p["end"]
    phase = 2 * np.pi * p["start"] * p["end"] * 8 / 5 * (1 - left ** (5 / 8))
    return p["size"] * left**-0.25 * np.cos(phase)


def spectrogram(values, length):
    """Return the sizes of the transforms of frames that overlap by three quarters, a frame a row."""
    first = np.arange(0, values.shape[0] - length + 1, length // 4)
    window = np.hanning(length) / np.sqrt(np.sum(np.hanning(length) ** 2))
    return np.abs(np.fft.rfft(values[first[:, None] + np.arange(length)] * window))


def solve(toy=False, seed=0):
    """Return the relative errors of the numbers, and what to draw."""
    t = np.arange(RATE) / RATE
    noise = np.random.default_rng(seed).normal(size=RATE)
    measured = signal(TRUE, t) + noise
    found, path = {"start": 36.0, "end": 1.1, "size": 0.7}, []
    for length in (64, 256) if toy else (64, 128, 256):
        seen = spectrogram(measured, length)

        def misfit(p, length=length, seen=seen):
            """Return the difference; noise adds its own power, 1, to that of the chirp."""
            return np.sqrt(spectrogram(signal(p, t), length) ** 2 + 1) - seen

        found = optimize.least_squares(misfit, found, loss="soft_l1", x_scale="jac").x
        path.append((length, found))
    figures = {f"error_{name}": abs(float(found[name]) / TRUE[name] - 1) for name in TRUE}
    return figures, (measured, path)


def draw(measured, path):
    """Draw both spectrograms with the frequencies that were found."""
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    t = np.linspace(0, 1, 400)
    for axes, (length, p) in zip(panels, (path[0], path[-1]), strict=True):
        seen = spectrogram(measured, length)
        early, low = 3 / 8 * length / RATE, -RATE / length / 2
        extent = (early, 1 - early, low, RATE / 2 - low)
        axes.imshow(seen.T, origin="lower", aspect="auto", extent=extent, cmap="magma")
        axes.plot(t, p["start"] * (1 - t / p["end"]) ** -0.375, "c--", label="found")
        axes.set(title=f"Frames of {length} samples", xlabel="t [s]", xlim=(0, 1), ylim=(0, 300))
    panels[0].set(ylabel="frequency [Hz]")
    panels[1].legend(loc="upper left")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

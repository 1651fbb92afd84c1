"""A digital filter by gradient: the poles and zeros whose largest error is least, from those of Butterworth's filter.

The largest error over both bands is approached by log(Σ exp(s·e²))/s with a growing s, and the response differentiated
through its second-order sections. Then the same descent finds what no formula gives: a filter with the same bands whose
delay is more even.

Reference: the elliptic filter, which has the least largest error (W. Cauer 1931), by SciPy's closed form.
Reach: excess 0.02, delay_ripple 0.45, seconds 60
Toy: excess 0.5, delay_ripple 0.7
"""

import numpy as np
import scipy.signal

import primad
from primad import optimize
from primad.scipy.signal import sosfreqz

ORDER, RIPPLE, STOP, EDGE = 6, 0.5, 50.0, 0.3 * np.pi
"""Order, decibels, and where the passband ends."""
ALLOWED = 4.0
"""How many times the least error a filter with an even delay may have."""


def sections(design):
    """Return second-order sections: zeros on the unit circle and poles inside, by their angles and logits of radii."""
    zeros, angles, radii, gain = design["zeros"], design["poles"], 1 / (1 + np.exp(-design["radii"])), design["gain"]
    one, zero = np.ones(zeros.shape), np.zeros(zeros.shape)
    first = np.concatenate([np.exp(gain)[None], one[1:]])
    rows = [first, -2 * first * np.cos(zeros), first, one, -2 * radii * np.cos(angles), radii**2 + zero]
    return np.stack(rows, axis=-1)


def deviations(design, passed, between, stopped, weight):
    """Return errors of the magnitude, between the bands only above 1; and the delay in the passband, in samples."""
    sos = sections(design)
    middle, magnitude = (np.abs(sosfreqz(sos, band)[1]) for band in (between, stopped))
    response, slope = primad.jvp(lambda w: sosfreqz(sos, w)[1], (passed,), (np.ones(passed.shape),))
    delay = -np.imag(slope / response)
    return np.concatenate([np.abs(response) - 1, np.maximum(middle - 1, 0), weight * magnitude]), delay


def largest(errors, sharpness):
    """Return a smooth upper bound of the largest square."""
    squares = errors**2
    top = primad.stop_gradient(np.max(squares))
    return top + np.log(np.sum(np.exp(sharpness * (squares - top) / top))) * top / sharpness


def descend(loss, start, rounds, steps):
    """Return where a loss of (design, sharpness) is least, sharper in each round."""
    for sharpness in 4.0 * 3.0 ** np.arange(rounds):
        start = optimize.minimize(loss, start, args=(sharpness,), method="BFGS", options={"maxiter": steps}).x
    return start


def solve(toy=False, seed=0):
    """Return how far the largest error is above the least one, what the delay varies by, and what to draw."""
    reference = scipy.signal.ellip(ORDER, RIPPLE, STOP, EDGE / np.pi, output="sos")
    fine = np.linspace(0, np.pi, 20001)
    magnitude = np.abs(scipy.signal.sosfreqz(reference, fine)[1])
    begin = fine[np.argmax(magnitude <= 10 ** (-STOP / 20) * (1 + 1e-9))]
    deep = 10 ** (-RIPPLE / 20)
    least, weight = (1 - deep) / (1 + deep), 2 / (1 + deep) * (1 - deep) / 2 / 10 ** (-STOP / 20)
    edges, count = (0.0, EDGE, begin, np.pi), 60 if toy else 300
    bands = [np.linspace(*edges[i : i + 2], count) for i in range(3)]

    _, poles, _ = scipy.signal.butter(ORDER, EDGE / np.pi, output="zpk")
    poles = poles[poles.imag > 0]
    start = {
        "zeros": np.linspace(begin, np.pi, 4)[:3] + 0.1, "poles": np.angle(poles),
        "radii": np.log(np.abs(poles) / (1 - np.abs(poles))), "gain": np.array(np.log(0.02)),
    }  # fmt: skip

    def flat(design, sharpness):
        return np.log(largest(deviations(design, *bands, weight)[0], sharpness))

    def even(design, sharpness):
        errors, delay = deviations(design, *bands, weight)
        over = np.log(largest(errors, sharpness)) - 2 * np.log(ALLOWED * least)
        return np.log(np.var(delay) / np.mean(delay) ** 2) + 100 * np.maximum(over, 0.0) ** 2

    best = descend(flat, start, 4 if toy else 7, 60 if toy else 200)
    steady = descend(even, best, 2 if toy else 3, 60 if toy else 200)
    worst = float(np.max(np.abs(deviations(best, *bands, weight)[0])))
    delays = [deviations(design, *bands, weight)[1] for design in (best, steady)]
    before, after = (np.std(delay) / np.mean(delay) for delay in delays)
    figures = {"excess": worst / least - 1, "delay_ripple": after, "delay_ripple_before": before}
    return figures, (fine, reference, sections(best), sections(steady))


def draw(fine, reference, best, steady):
    """Draw the magnitudes in decibels, and the delays."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    for sos, name, line in (
        (reference, "elliptic", "-"),
        (best, "by gradient", "--"),
        (steady, "with a more even delay", "-"),
    ):
        response = scipy.signal.sosfreqz(sos, fine)[1]
        left.plot(fine / np.pi, 20 * np.log10(np.abs(response) + 1e-9), line, label=name)
        delay = -np.gradient(np.unwrap(np.angle(response)), fine)
        right.plot(fine[fine < EDGE] / np.pi, delay[fine < EDGE], line, label=name)
    left.set(title="Magnitude / dB", xlabel="frequency / Nyquist's", ylim=(-90, 5))
    right.set(title="Delay in the passband / samples", xlabel="frequency / Nyquist's", ylim=(0, 40))
    left.legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

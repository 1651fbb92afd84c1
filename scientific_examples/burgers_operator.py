"""Burgers' equation as an operator that is learned from solutions: from the state at the start to that at t = 1.

    u_t + u u_x = 0.02 u_xx,    x in [0, 1], periodic

Initial states are random Fourier series. A Fourier neural operator and a DeepONet see 400 pairs of states, computed by
a pseudo-spectral method, and no equation. The kind of problem is that of section 5.1 of Z. Li, N. Kovachki,
K. Azizzadenesheli, B. Liu, K. Bhattacharya, A. Stuart & A. Anandkumar, ICLR 2021.

Reference: the pseudo-spectral method, for 50 initial states that were not trained on; errors are means of the relative
    errors: of the Fourier neural operator (error), and of the DeepONet.
Reach: error 0.05, seconds 240
Toy: error 0.75
"""

import numpy as np

from primad import optimize, pde

VISCOSITY = 0.02
SENSORS = 64


def evolved(start, steps=200, end=1.0):
    """Return states at the end, a row each, by exponential time differences of second order (Cox & Matthews 2002)."""
    count = start.shape[1]
    k = 2j * np.pi * np.fft.rfftfreq(count, 1 / count)
    h, keep = end / steps, np.abs(k) < 2 * np.pi * count / 3
    z = VISCOSITY * h * k**2
    safe = np.where(z == 0, 1.0, z)
    once = np.where(z == 0, h, h * np.expm1(z) / safe)
    twice = np.where(z == 0, h / 2, h * (np.expm1(z) - z) / safe**2)

    def transport(modes):
        return -0.5 * k * keep * np.fft.rfft(np.fft.irfft(modes, count) ** 2)

    modes = np.fft.rfft(start)
    for _ in range(steps):
        now = transport(modes)
        ahead = np.exp(z) * modes + once * now
        modes = ahead + twice * (transport(ahead) - now)
    return np.fft.irfft(modes, count)


def states(count, seed):
    """Return initial states at the sensors, the last of which is the first again, and the states that they become."""
    series = pde.FourierSeries("x", terms=4, decay=1.0, deviation=0.5, count=count, sensors=4 * SENSORS + 1)
    start = series.drawn(np.linspace(0, 1, 4 * SENSORS + 1), np.random.default_rng(seed))
    end = evolved(start[:, :-1])
    return start[:, ::4], np.concatenate([end, end[:, :1]], axis=1)[:, ::4]


def learned(network, start, end, steps):
    """Return a function that takes initial states to the states at the end, learned from pairs of them."""
    x = np.linspace(0, 1, start.shape[1])
    problem = pde.Problem(
        [],
        pde.Interval(0, 1),
        pde.FamilyData(x=x, v=start, u=end),
        network=network,
        family={"v": pde.GivenFunctions("x", start)},
    )
    solution = problem.solve(optimizer=optimize.LBFGS(), steps=steps, progress=False)
    return lambda start: solution.u(x, v=start)


def solve(toy=False, seed=0):
    """Return the mean relative errors for new states, and some of them."""
    start, end = states(20 if toy else 400, seed)
    new, right = states(10 if toy else 50, seed + 1)
    steps = 40 if toy else 1000
    width = 6 if toy else 16
    operators = {
        "error": pde.FNO(width, 4 if toy else 12, 2 if toy else 3, decoder=pde.MLP(16, 1), padding=0.0),
        "deeponet": pde.DeepONet(20, branch=pde.MLP(40, 1), trunk=pde.MLP(40, 2)),
    }
    figures, found = {}, {}
    for name, network in operators.items():
        found[name] = learned(network, start, end, steps)(new)
        figures[name] = np.mean(np.linalg.norm(found[name] - right, axis=1) / np.linalg.norm(right, axis=1))
    return figures, [(new[i], right[i], found["error"][i], found["deeponet"][i]) for i in range(4)]


def draw(*shown):
    """Draw initial states, what becomes of them, and what both operators say."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(11, 7), sharex=True, layout="constrained")
    for axes, (start, right, fourier, other) in zip(panels.flat, shown, strict=True):
        x = np.linspace(0, 1, len(start))
        axes.plot(x, start, color="0.75", label="start")
        axes.plot(x, right, "k", label="t = 1, pseudo-spectral")
        axes.plot(x, fourier, "C3--", label="Fourier neural operator")
        axes.plot(x, other, "C0:", label="DeepONet")
        axes.set_ylabel("u")
    panels[0, 0].legend(frameon=False)
    for axes in panels[1]:
        axes.set_xlabel("x")
    return figure


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

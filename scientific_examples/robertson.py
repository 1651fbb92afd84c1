"""Robertson's chemical kinetics: eleven decades of time by SciPy's implicit methods, with the exact Jacobian.

    y₁′ = −0.04 y₁ + 10⁴ y₂ y₃
    y₂′ =  0.04 y₁ − 10⁴ y₂ y₃ − 3·10⁷ y₂²
    y₃′ =  3·10⁷ y₂²

Rates that differ by nine decades make the problem stiff: an implicit method needs the Jacobian of the right-hand side,
and `primad.optimize.solve_ivp` hands SciPy the exact one of the function as it is written. The same run with SciPy's
finite differences shows the difference: how often the right-hand side was called.

Reference: the values at t = 10¹¹ of F. Mazzia & C. Magherini, Test Set for Initial Value Problem Solvers (2008).
Reach: error 1e-6, seconds 5
Toy: error 1e-4
"""

import numpy as np
from scipy.integrate import solve_ivp

from primad import optimize

END, AT_END = 1e11, np.array([0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050])


def rates(t, y):
    """Return y′."""
    made, used, grown = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.stack([used - made, made - used - grown, grown])


def solve(toy=False):
    """Return the relative error at the end, the calls of the right-hand side, and the solution."""
    start = np.array([1.0, 0.0, 0.0])
    settings = {"method": "Radau", "rtol": 1e-6 if toy else 1e-9, "atol": 1e-16 if toy else 1e-22}
    found = optimize.solve_ivp(rates, (0.0, END), start, **settings)

    def counted(t, y):
        counted.calls += 1
        return rates(t, y)

    counted.calls = 0
    solve_ivp(counted, (0.0, END), start, **settings)
    figures = {
        "error": np.max(np.abs(found.y[:, -1] / AT_END - 1)),
        "calls": found.nfev,
        "calls_with_differences": counted.calls,
    }
    return figures, (found.t, found.y)


def draw(t, y):
    """Draw the three concentrations over the logarithm of time."""
    import matplotlib.pyplot as plt

    for values, label in zip(y * np.array([[1], [1e4], [1]]), ("y₁", "10⁴ y₂", "y₃"), strict=True):
        plt.semilogx(t[1:], values[1:], label=label)
    plt.gca().set(title="Robertson's kinetics", xlabel="time t", ylabel="concentration", xlim=(1e-6, END))
    plt.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

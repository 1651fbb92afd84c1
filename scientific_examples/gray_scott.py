"""The Gray–Scott model: two substances that react and diffuse, and a pulse that splits in two.

    u_t = 0.0002 u_xx − u v² + 0.04 (1 − u),    v_t = 0.0001 v_xx + u v² − 0.1 v,    periodic in −1 ≤ x ≤ 1.

Reference: a spectral method with 256 points and exponential time differencing (`primad.pde.references`).
Reach: error 1e-3, error_v 1e-3, seconds 300
Toy: error 0.02
"""

import numpy as np

from primad import pde
from primad.pde import references


def equation(u, v):
    """Return what is left of both equations."""
    made = u * v**2
    return u.t - 2e-4 * u.xx + made - 0.04 * (1 - u.value), v.t - 1e-4 * v.xx - made + 0.1 * v.value


def start_u(x):
    """Return u at the start."""
    return 1 - np.exp(-80 * (x + 0.05) ** 2) / 2


def start_v(x):
    """Return v at the start."""
    return np.exp(-80 * (x - 0.05) ** 2) / 2


def reacting(w):
    """Return the reactions, beside decay."""
    made = w[0] * w[1] ** 2
    return np.stack([0.04 - made, made])


def solve(toy=False, seed=0):
    """Return the relative errors, and what to draw."""
    end = 4.0 if toy else 60.0

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial)]
        network = pde.MLP(16 if toy else 24, 2)
        return pde.Problem(equation, pde.Interval(-1, 1) * time, conditions, unknowns="u v", network=network)

    found = pde.march(
        window,
        {"u": start_u, "v": start_v},
        np.linspace(0, end, 2 if toy else 11),
        steps=20 if toy else 80,
        nodes=200 if toy else 1000,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(-1, 1, 256, endpoint=False), np.linspace(0, end, 121)
    right = references.periodic(
        np.stack([start_u(x), start_v(x)]),
        2.0,
        t,
        lambda k: np.stack([-2e-4 * k**2 - 0.04, -1e-4 * k**2 - 0.1]),
        reacting,
        step=0.05,
    )
    u, v = found.u(x[:, None], t), found.v(x[:, None], t)
    figures = {
        "error": np.linalg.norm(u - right[0]) / np.linalg.norm(right[0]),
        "error_v": np.linalg.norm(v - right[1]) / np.linalg.norm(right[1]),
    }
    return figures, (t, x, v, right[1], ("t", "x"))


def draw(*shown):
    """Draw v and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

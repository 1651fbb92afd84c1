"""The Kuramoto–Sivashinsky equation until it is chaotic, by marching in time (PINNacle's problem KS).

    u_t + 100/16 u u_x + 100/16² u_xx + 100/16⁴ u_xxxx = 0,    u(x, 0) = cos x (1 + sin x),    of period 2π,  0 ≤ t ≤ 1.

In chaos every error grows: what is off by 1 at the start is off by 24 000 at the end, so that each of the windows must
be exact to six digits. What stands for u has parameters and is trained as a network is, but is none: waves, as odd
about π/2 as the start is, whose amplitudes are polynomials of time. In them the residuals are nearly linear, and a few
steps do. Where a window begins is fitted, not imposed: short waves, of which the last window knows little, die out
within 10⁻⁵, which no polynomial follows.

Reference: a spectral method with 512 points and exponential time differencing (`primad.pde.references`).
Reach: error 0.02, seconds 300
Toy: error 0.02
Published: error 9.6e-1, the best of eleven methods (Z. Hao et al., 2023); 1.6e-1 with JAX-PI
"""

from dataclasses import dataclass

import numpy as np

from primad import optimize, pde
from primad.pde import references

A, B, C = 100 / 16, 100 / 16**2, 100 / 16**4


@dataclass(frozen=True)
class Waves(pde.Network):
    """Sums of aₖ(t) sin k(x − π/2), where aₖ are polynomials."""

    count: int
    powers: int = 7

    def init(self, key, inputs, outputs):
        """Return coefficients near zero."""
        return 1e-3 * np.random.default_rng(key).normal(size=(self.powers, self.count))

    def apply(self, params, inputs):
        """Return u where the inputs, which the problem makes, are cos(x − π), sin(x − π) and t in [−1, 1]."""
        cosine, sine, t = inputs
        k = np.arange(1, self.count + 1)
        waves = np.sin(k * np.arctan2(cosine, -sine)) / (1 + k / 8) ** 2
        amplitudes = np.stack([t**n for n in range(self.powers)]) @ params
        return np.sum(amplitudes * waves, keepdims=True)


def equation(u):
    """Return u_t + A u u_x + B u_xx + C u_xxxx."""
    return u.t + A * u * u.x + B * u.xx + C * u.xxxx


def start(x):
    """Return u at the start."""
    return np.cos(x) * (1 + np.sin(x))


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    end = 0.02 if toy else 1.0

    def window(time, initial):
        conditions = [pde.Periodic("x"), pde.Initial(**initial, hard=False, weight=1e5)]
        network = Waves(32 if toy else 112)
        return pde.Problem(equation, pde.Interval(0, 2 * np.pi) * time, conditions, network=network)

    found = pde.march(
        window,
        {"u": start},
        np.linspace(0, end, 2 if toy else 81),
        optimizer=optimize.LevenbergMarquardt(damping=1e-8, acceleration=0),
        steps=4,
        points=400 if toy else 1200,
        boundary_points=100 if toy else 300,
        nodes=512,
        seed=seed,
        progress=False,
    )
    x, t = np.linspace(0, 2 * np.pi, 512, endpoint=False), np.linspace(0, end, 101)
    right = references.periodic(
        start(x),
        2 * np.pi,
        t,
        lambda k: B * k**2 - C * k**4,
        lambda u: -A * u**2 / 2,
        lambda k: 1j * k,
        step=2e-4,
    )
    values = found.u(x[:, None], t)
    return {"error": np.linalg.norm(values - right) / np.linalg.norm(right)}, (t, x, values, right, ("t", "x"))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

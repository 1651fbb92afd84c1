"""A shock tube (Sod's), and the pressure that it was filled with, found from a probe.

    ∂U/∂t + ∂F(U)/∂x = 0,     U = (ρ, m, E),     F = (m, m v + p, v (E + p)),     v = m/ρ,     p = (γ − 1)(E − m v/2)

A membrane at x = 1/2 parts gas of the density 1 and the pressure 1 from gas of the density 1/8 and the pressure 1/10,
and breaks: a fan runs to the left, a contact and a shock to the right. The flux is stated as a function, and finite
volumes solve for averages over cells (`method="volumes"`, WENO of order 5). The run is one differentiable function of
the pressure on the left. So it is found from what a probe at x = 0.7 measures over time: by least squares with the
exact derivative through all steps, from a start that is off by half.

Reference: the exact solution of the Riemann problem, of which the probe's measurements are made, with 1 % of noise.
Reach: density 0.0045, pressure 0.01, seconds 60
Toy: density 0.02, pressure 0.03
"""

import numpy as np

from primad import optimize, pde
from primad.pde.references import riemann

GAMMA, END, PROBE, NOISE = 1.4, 0.2, 0.7, 0.01
LEFT, RIGHT = (1.0, 0.0, 1.0), (0.125, 0.0, 0.1)
"""Density, velocity and pressure on both sides."""
EXACT = riemann(LEFT, RIGHT, GAMMA)


def euler(rho, m, E):
    """Return what is zero: conservation of mass, momentum and energy."""

    def flux(rho, m, E):
        velocity = m / rho
        pressure = (GAMMA - 1) * (E - 0.5 * m * velocity)
        return m, m * velocity + pressure, velocity * (E + pressure)

    mass, momentum, energy = pde.flux_divergence(flux, rho, m, E)
    return rho.t + mass, m.t + momentum, E.t + energy


def filled(E, x, pressure):
    """Return what is zero at the start: the energy of gas at rest."""
    return E.value - np.where(x < 0.5, pressure, RIGHT[2]) / (GAMMA - 1)


def stated():
    """Return the problem, whose coefficient is the pressure on the left."""
    start = pde.Initial(rho=lambda x: np.where(x < 0.5, LEFT[0], RIGHT[0]), m=0, hard=False)
    return pde.Problem(
        euler,
        pde.Interval(0, 1) * pde.Time(0, END),
        [pde.Free("rho m E", on=["x-", "x+"]), start, pde.Condition(filled, on="initial")],
        unknowns="rho m E",
        coefficients={"pressure": 1.5},
    )


def pressure_of(state):
    """Return the pressure of averages."""
    return (GAMMA - 1) * (state["E"] - 0.5 * state["m"] ** 2 / state["rho"])


def solve(toy=False, seed=0):
    """Return the L1 error of the density, the error of the pressure that was found, and what is drawn."""
    volumes = pde.Volumes(stated(), cells=50 if toy else 200, frames=40)
    probe, times = int(np.searchsorted(volumes.edges[0], PROBE)) - 1, volumes.times
    right = EXACT((volumes.centers[0][probe] - 0.5) / np.maximum(times, 1e-12))[2]
    measured = right * (1 + NOISE * np.random.default_rng(seed).normal(size=len(times)))

    def misfits(pressure):
        return pressure_of(volumes.states(pressure=pressure[0]))[:, probe] - measured

    found = optimize.least_squares(misfits, np.array([1.5])).x[0]
    solution = volumes.solve(pressure=LEFT[2])
    density = EXACT((volumes.centers[0] - 0.5) / END)[0]
    error = float(np.mean(np.abs(solution.states["rho"][-1] - density)))
    return {"density": error, "pressure": float(abs(found - LEFT[2]))}, (volumes, solution, probe, measured, found)


def draw(volumes, solution, probe, measured, found):
    """Draw the density beside the exact one, in space and time, and the probe's pressure before and after the fit."""
    import matplotlib.pyplot as plt

    figure, x = plt.gcf(), np.linspace(0, 1, 1001)
    figure.set_size_inches(11, 2.8)
    left, middle, right = figure.subplots(1, 3)
    left.plot(x, EXACT((x - 0.5) / END)[0], "k", linewidth=0.8, label="exact")
    left.plot(volumes.centers[0], solution.states["rho"][-1], ".", markersize=3, label="volumes")
    left.set(xlabel="x", title=f"density at t = {END}")
    solution.plot(unknown="rho", axes=middle)
    middle.set_title("density")
    middle.axvline(PROBE, color="white", linewidth=0.8, linestyle="--")
    right.plot(volumes.times, measured, ".k", markersize=3, label="measured")
    for pressure, label in ((1.5, "first guess"), (found, "found")):
        shown = pressure_of(volumes.states(pressure=pressure))[:, probe]
        right.plot(volumes.times, shown, label=f"{label}: {pressure:.3f}")
    right.set(xlabel="t", title=f"pressure at x = {PROBE}", ylim=(0.05, 0.85))
    left.legend()
    right.legend(loc="upper left")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

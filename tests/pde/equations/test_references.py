"""Reference solutions: against closed forms, against themselves refined, and against published ones where those are."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from primad.errors import ProblemError, ShapeError
from primad.pde import references

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def published(name):
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not here: published reference solutions are not part of the repository")
    return {key: np.squeeze(value) for key, value in scipy.io.loadmat(DATA / name).items() if key[0] != "_"}


def test_burgers_has_converged_and_meets_the_conditions():
    x, t = np.meshgrid(np.linspace(-1, 1, 33), np.linspace(0, 1, 11), indexing="ij")
    found = references.burgers(x, t, 0.01 / np.pi)
    np.testing.assert_allclose(found, references.burgers(x, t, 0.01 / np.pi, nodes=160), atol=1e-6)
    np.testing.assert_allclose(found[:, 0], -np.sin(np.pi * x[:, 0]), atol=1e-12)
    np.testing.assert_allclose(found[[0, -1]], 0.0, atol=1e-12)


def test_burgers_is_the_published_solution():
    data = published("burgers_shock.mat")
    x, t = np.meshgrid(data["x"], data["t"], indexing="ij")
    assert np.abs(references.burgers(x, t, 0.01 / np.pi) - data["usol"]).max() < 1e-9


def test_the_spectral_method_agrees_with_cole_and_hopf():
    x, t = np.linspace(-1, 1, 256, endpoint=False), np.array([0.1, 0.5])
    found = references.periodic(
        -np.sin(np.pi * x), 2.0, t, lambda k: -0.05 * k**2, lambda u: -(u**2) / 2, lambda k: 1j * k, step=2e-3
    )
    np.testing.assert_allclose(found, references.burgers(x[:, None], t[None, :], 0.05), atol=1e-10)


def test_the_spectral_method_is_of_fourth_order():
    x, t = np.linspace(-1, 1, 64, endpoint=False), np.array([1.0])

    def at(step):
        equation = (lambda k: -0.01 * k**2 + 1, lambda u: -(u**3))
        return references.periodic(np.sin(np.pi * x), 2.0, t, *equation, step=step)

    errors = [np.abs(at(step) - at(1 / 512)).max() for step in (1 / 8, 1 / 16, 1 / 32)]
    assert all(14 < coarse / fine < 18 for coarse, fine in pairwise(errors)), errors


def test_solitons_travel():
    """The complex equation of Schrödinger and the Korteweg-de Vries equation keep their solitons."""
    x = np.linspace(-20, 20, 256, endpoint=False)
    found = references.periodic(
        1 / np.cosh(x) * np.exp(2j * x), 40.0, [0.5], lambda k: -0.5j * k**2, lambda h: 1j * abs(h) ** 2 * h
    )
    moved = 1 / np.cosh(x - 1) * np.exp(1j * (2 * x - 0.75))
    np.testing.assert_allclose(found[:, 0], moved, atol=1e-7)

    def soliton(z):
        return 2 / np.cosh(z) ** 2

    found = references.periodic(
        soliton(x), 40.0, [0.5], lambda k: 1j * k**3, lambda u: -3 * u**2, lambda k: 1j * k, step=5e-4
    )
    np.testing.assert_allclose(found[:, 0], soliton(x - 2), atol=1e-7)


def test_korteweg_and_de_vries_is_the_published_solution():
    data = published("KdV.mat")
    chosen = slice(0, 41, 20)
    found = references.periodic(
        np.cos(np.pi * data["x"]),
        2.0,
        data["tt"][chosen],
        lambda k: 0.0025j * k**3,
        lambda u: -(u**2) / 2,
        lambda k: 1j * k,
        step=2e-4,
    )
    assert np.abs(found - data["uu"][:, chosen]).max() < 1e-8


def test_allen_and_cahn_is_the_published_solution():
    """The start has a kink at the ends, which the published solution resolves with 512 points."""
    data = published("AC.mat")
    x, chosen = np.linspace(-1, 1, 1024, endpoint=False), slice(0, 201, 50)
    found = references.periodic(
        x**2 * np.cos(np.pi * x), 2.0, data["tt"][chosen], lambda k: 5 - 1e-4 * k**2, lambda u: -5 * u**3, step=5e-3
    )[::2]
    assert np.linalg.norm(found - data["uu"][:, chosen]) / np.linalg.norm(found) < 1e-5


@pytest.mark.parametrize("times", [[1.0, 0.5], [0.0, 0.0], [-1.0, 0.0]])
def test_times_that_do_not_increase_are_refused(times):
    with pytest.raises(ShapeError, match="must increase, from 0 on"):
        references.periodic(np.ones(8), 1.0, times, lambda k: -(k**2), lambda u: 0 * u)


def test_a_system_is_solved_as_its_parts_where_they_do_not_meet():
    x, times = np.linspace(0, 2 * np.pi, 32, endpoint=False), [0.0, 0.5]
    parts = [np.sin(x), np.cos(2 * x)]
    alone = [references.periodic(u, 2 * np.pi, times, lambda k: -(k**2), lambda u: -(u**3), step=0.01) for u in parts]
    both = references.periodic(
        np.stack(parts), 2 * np.pi, times, lambda k: -(np.stack([k, k]) ** 2), lambda u: -(u**3), step=0.01
    )
    np.testing.assert_allclose(both, np.stack(alone), atol=1e-14)


def test_in_the_plane_the_spectral_method_agrees_with_itself_on_the_line():
    """What depends on x, on y or on x + 2y alone obeys an equation on a line."""
    x, times = np.linspace(0, 2 * np.pi, 64, endpoint=False), [0.0, 0.2]

    def start(z):
        return 0.3 * np.sin(z) + 0.1 * np.cos(2 * z)

    for a, b in ((1, 0), (0, 1), (1, 2)):
        rate = a**2 + b**2
        line = references.periodic(
            start(x), 2 * np.pi, times, lambda k, r=rate: -0.1 * r * k**2, lambda u: u - u**3, step=0.01
        )
        z = a * x[:, None] + b * x
        found = references.periodic(
            np.stack([start(z), -start(z)]),
            2 * np.pi,
            times,
            lambda k, m: -0.1 * (k**2 + m**2),
            lambda u: u - u**3,
            step=0.01,
            dimensions=2,
        )
        right = line[np.mod(a * np.arange(64)[:, None] + b * np.arange(64), 64)]
        np.testing.assert_allclose(found[0], right, atol=1e-6)
        np.testing.assert_allclose(found[1], -found[0], atol=1e-12)


def test_harmonic_functions_with_holes_are_found_exactly():
    """A function with singularities in two holes is found from its values on the boundary, there and inside."""
    poles = [(0.3, 0.2, 0.1), (-0.4, -0.1, 0.2)]

    def exact(x, y):
        z = x + 1j * y
        return (z**3 + 0.1 / (z - 0.3 - 0.2j) ** 2).real + np.log(np.abs(z + 0.4 + 0.1j))

    turn = 2 * np.pi * np.arange(80) / 80
    rings = [(0, 0, 1.0), *poles]
    at = np.concatenate([np.stack([a + r * np.cos(turn), b + r * np.sin(turn)], axis=-1) for a, b, r in rings])
    found = references.harmonic(at, exact(*at.T), poles, 8)
    x, y = np.array([0.0, 0.7, -0.1]), np.array([0.0, 0.1, 0.8])
    np.testing.assert_allclose(found(x, y), exact(x, y), atol=1e-11)


def test_the_laplacian_of_the_square_is_exact_for_polynomials():
    x, y, matrix = references.square_laplacian(8)
    u = x * (1 - x) * y * (1 - y) * (x**2 + x * y)

    def second(s, power):  # of s^power (1 − s)
        return power * (power - 1) * s ** max(power - 2, 0) - (power + 1) * power * s ** (power - 1)

    parts = [(3, 1), (2, 2)]
    right = sum(second(x, p) * y**q * (1 - y) + x**p * (1 - x) * second(y, q) for p, q in parts)
    np.testing.assert_allclose(matrix @ u, right, atol=1e-10)


def test_heat_and_waves_on_a_square_follow_the_lowest_mode():
    line = np.linspace(0, 1, 41)
    x, y = np.meshgrid(line, line, indexing="ij")
    inside = (x > 0) & (x < 1) & (y > 0) & (y < 1)
    start, times = (np.sin(np.pi * x) * np.sin(np.pi * y))[inside], np.linspace(0, 0.1, 3)
    matrix = references.masked_laplacian(inside, line[1])
    rate = 2 * (2 - 2 * np.cos(np.pi * line[1])) / line[1] ** 2  # the lowest eigenvalue of the five-point Laplacian
    heat, wave = (references.evolved(matrix, start, times, wave) for wave in (False, True))
    np.testing.assert_allclose(heat, start[:, None] * np.exp(-rate * times), atol=1e-10)
    np.testing.assert_allclose(wave, start[:, None] * np.cos(np.sqrt(rate) * times), atol=1e-10)


def test_the_laplacian_of_a_ring_is_of_second_order():
    def error(across):
        r, angle, matrix = references.ring_laplacian(0.5, 1.0, across, 2 * across)
        u = (r - 0.5) * (1 - r) * r * np.cos(angle)  # Δu = (∂rr + ∂r / r − 1/r²) of the radial part times the cosine
        right = np.cos(angle) * (4.5 - 8 * r)
        return np.abs(matrix @ u - right).max()

    errors = [error(across) for across in (19, 39, 79)]
    assert all(3.3 < coarse / fine < 4.7 for coarse, fine in pairwise(errors)), errors


@pytest.mark.parametrize(
    ("left", "right", "pressure", "speed", "densities"),
    [
        ((1.0, 0.0, 1.0), (0.125, 0.0, 0.1), 0.30313, 0.92745, (0.42632, 0.26557)),
        ((1.0, -2.0, 0.4), (1.0, 2.0, 0.4), 0.00189, 0.0, (0.02185, 0.02185)),
        ((1.0, 0.0, 1000.0), (1.0, 0.0, 0.01), 460.894, 19.5975, (0.57506, 5.99924)),
        ((1.0, 0.0, 0.01), (1.0, 0.0, 100.0), 46.0950, -6.19633, (5.99242, 0.57511)),
        ((5.99924, 19.5975, 460.894), (5.99242, -6.19633, 46.0950), 1691.64, 8.68975, (14.2823, 31.0426)),
    ],
)
def test_riemann_problems_of_a_gas_are_those_of_the_literature(left, right, pressure, speed, densities):
    """E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, table 4.3: five digits each."""
    solution = references.riemann(left, right)
    for place, density in zip((speed - 1e-3, speed + 1e-3), densities, strict=True):
        found = solution(place)
        assert found[0] == pytest.approx(density, rel=3e-4)
        assert found[1] == pytest.approx(speed, rel=1e-5, abs=1e-5)
        assert found[2] == pytest.approx(pressure, rel=3e-3 if pressure < 0.01 else 2e-5)
    assert [float(one) for one in solution(-1e9)] == list(left)
    assert [float(one) for one in solution(1e9)] == list(right)


def test_a_fan_solves_the_equations_of_a_gas_and_a_shock_keeps_what_is_conserved():
    """In the fan U' s = F'; through the shock the flux less the shock's speed times U does not change."""
    solution = references.riemann((1.0, 0.0, 1.0), (0.125, 0.0, 0.1))

    def both(s):
        rho, u, p = solution(s)
        energy = p / 0.4 + rho * u**2 / 2
        return np.array([rho, rho * u, energy]), np.array([rho * u, rho * u**2 + p, u * (energy + p)])

    s, h = np.linspace(-1.0, -0.3, 5), 1e-5
    (u_up, f_up), (u_low, f_low) = both(s + h), both(s - h)
    assert (f_up - f_low) / (2 * h) == pytest.approx(s * (u_up - u_low) / (2 * h), abs=1e-8)
    places = np.linspace(1.5, 2.0, 100_001)
    shock = places[np.argmax(np.abs(np.diff(solution(places)[0])))] + 2.5e-6
    (inner, f_inner), (outer, f_outer) = both(shock - 1e-4), both(shock + 1e-4)
    assert f_inner - f_outer == pytest.approx(shock * (inner - outer), rel=1e-4)


def test_states_that_are_none_have_no_riemann_problem():
    with pytest.raises(ProblemError, match="positive"):
        references.riemann((0.0, 0.0, 1.0), (1.0, 0.0, 1.0))
    with pytest.raises(ProblemError, match="vacuum"):
        references.riemann((1.0, -10.0, 1.0), (1.0, 10.0, 1.0))

"""Student's distribution of vectors, and Wishart's of matrices, against SciPy: values, derivatives and draws."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import primad
import primad.scipy.stats as stats
from primad import numpy as pn

LOC, SHAPE = np.array([0.3, -0.2]), np.array([[1.3, 0.4], [0.4, 0.9]])
PAIRS = np.array([[0.1, 0.5], [-1.0, 2.0], [3.0, 0.2]])
MATRIX = np.array([[2.0, 0.3], [0.3, 1.1]])
SEVERAL = np.stack([MATRIX, SHAPE, np.eye(2)], axis=-1)
WISHARTS = ("wishart", "invwishart")
CASES: list[tuple[str, str, tuple[Any, ...]]] = [
    *(("multivariate_t", "logpdf", (PAIRS, LOC, shape, 3.5)) for shape in (SHAPE, np.array([1.3, 0.9]), 0.7)),
    *(("multivariate_t", "pdf", (x, LOC, SHAPE, df)) for x, df in ((PAIRS[0], 0.1), (PAIRS[:1], 40.0))),
    ("multivariate_t", "logpdf", (np.array([0.1, 0.5, 2.0]), 0.4, 1.7, 2.5)),
    ("multivariate_t", "logpdf", (PAIRS, None, SHAPE, 1.0)),
    *(("multivariate_t", "entropy", (LOC, SHAPE, df)) for df in (0.7, 30.0)),
    *((name, "logpdf", (x, 3.5, SHAPE)) for name in WISHARTS for x in (MATRIX, SEVERAL, SEVERAL[..., :1])),
    *((name, "logpdf", (x, None, SHAPE)) for name in WISHARTS for x in (2.0, np.array([1.0, 3.0]))),
    *((name, "pdf", (np.array([1.0, 2.0]), 2.5, np.array(0.7))) for name in WISHARTS),
    *((name, "logpdf", (MATRIX, 2.5, np.array([1.3, 0.9]))) for name in WISHARTS),
    *((name, method, (6.5, SHAPE)) for name in WISHARTS for method in ("mean", "mode", "var", "entropy")),
    *((name, method, (6.5, np.array(0.7))) for name in WISHARTS for method in ("mean", "mode", "var", "entropy")),
]


def symmetric(x: Any) -> Any:
    """Return what SciPy reads of a matrix; its derivative is symmetric."""
    return 0.5 * (x + pn.swapaxes(x, 0, 1)) if np.ndim(x) > 1 and np.shape(x)[0] == np.shape(x)[1] else x


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_values_are_scipys(case: int) -> None:
    """So are shapes; derivatives are in the last argument, and in all of densities."""
    name, method, given = CASES[case]
    ours, expected = getattr(stats, name), getattr(getattr(scipy.stats, name), method)(*given)
    np.testing.assert_array_equal(getattr(ours, method)(*given), expected)
    found = primad.jit(lambda last: getattr(ours, method)(*given[:-1], last))(given[-1])
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    point = given[: method.endswith("pdf")]
    frozen = primad.jit(lambda last: getattr(ours(*given[len(point) : -1], last), method)(*point))(given[-1])
    np.testing.assert_array_equal(frozen, found)
    primad.check_grads(lambda last: getattr(ours, method)(*given[:-1], symmetric(last)), (given[-1],), order=1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["multivariate_t", *WISHARTS])
def test_densities_are_differentiable_in_all_arguments(name: str) -> None:
    given = (PAIRS, LOC, SHAPE, 3.5) if name == "multivariate_t" else (MATRIX, 3.5, SHAPE)
    primad.check_grads(lambda *p: getattr(stats, name).logpdf(*map(symmetric, p)), given, order=2, rtol=1e-4)
    along = primad.vmap(lambda s: getattr(stats, name).logpdf(*given[:-1], given[-1] * s))(np.array([1.0, 1.5]))
    np.testing.assert_allclose(along[1], getattr(scipy.stats, name).logpdf(*given[:-1], given[-1] * 1.5), rtol=1e-12)


def test_what_is_none_has_scipys_default() -> None:
    for ours, expected, given in (
        (stats.multivariate_t, scipy.stats.multivariate_t, (LOC, None, None)),
        (stats.multivariate_t, scipy.stats.multivariate_t, (LOC, SHAPE, None)),
        (stats.multivariate_normal, scipy.stats.multivariate_normal, (LOC, None)),
    ):
        found = primad.jit(lambda x, ours=ours, given=given: ours.logpdf(x, *given))(PAIRS)
        np.testing.assert_allclose(found, expected.logpdf(PAIRS, *given), rtol=1e-12)


@pytest.mark.parametrize("df", [1e3, 1e9, 1e15])
def test_many_degrees_of_freedom(df: float) -> None:
    """SciPy's difference of logarithms of gamma functions loses digits here."""
    x = np.array([0.4, -0.3])
    expected = mpmath.log1p(mpmath.mpf(float(x @ x)) / df) * -(df + 2) / 2 - mpmath.log(2 * mpmath.pi)
    found = primad.jit(lambda df: stats.multivariate_t.logpdf(x, None, np.eye(2), df))(df)
    assert float(found) == pytest.approx(float(expected), rel=1e-14)
    slope = primad.grad(lambda x: stats.multivariate_t.logpdf(x, None, np.eye(2), np.inf))(x)
    np.testing.assert_allclose(slope, -x)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["multivariate_t", *WISHARTS])
def test_draws_have_their_moments(name: str) -> None:
    """So do their derivatives, which are those of every draw."""
    t, df, count = name == "multivariate_t", 20.5, 8000
    given = (LOC, SHAPE, df) if t else (df, SHAPE)
    found = getattr(stats, name).rvs(*given, size=count, key=2)
    expected = LOC if t else getattr(scipy.stats, name).mean(*given)
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=0.04 * np.abs(expected).max() + 0.02 * t)
    spread = np.diag(SHAPE) * df / (df - 2.0) if t else getattr(scipy.stats, name).var(*given)
    np.testing.assert_allclose(found.var(axis=0), spread, rtol=0.15)

    def mean(df: Any, matrix: Any) -> Any:
        if t:
            away = stats.multivariate_t(np.zeros(2), matrix, df).rvs(count, key=2)
            return pn.mean(away[:, :, None] * away[:, None, :], axis=0)
        return pn.mean(getattr(stats, name)(df, matrix).rvs(count, key=2), axis=0)

    slope = primad.jacobian(lambda df: mean(df, SHAPE))(df)
    exact = primad.jacobian(lambda df: SHAPE * df / (df - 2.0) if t else getattr(stats, name).mean(df, SHAPE))(df)
    np.testing.assert_allclose(slope, exact, rtol=0.25, atol=0.01 * t)
    np.testing.assert_allclose(primad.grad(lambda s: mean(df, s * SHAPE)[0, 0])(1.0), mean(df, SHAPE)[0, 0])
    primad.check_grads(
        lambda *p: getattr(stats, name).rvs(*map(symmetric, p), size=(2, 1), key=3), given, order=1, rtol=1e-4
    )


@pytest.mark.parametrize("name", ["multivariate_t", *WISHARTS])
def test_shapes_of_draws(name: str) -> None:
    ours, t = getattr(stats, name), name == "multivariate_t"
    given, one, shape = ((LOC, SHAPE, 4.5), (0.4, 1.7, 4.5), (2,)) if t else ((4.5, SHAPE), (4.5, 1.7), (2, 2))
    assert ours.rvs(*given, key=1).shape == shape
    assert ours.rvs(*given, size=(3, 4), key=1).shape == (3, 4, *shape)
    assert ours.rvs(*one, size=3, key=1).shape == (3,)
    keys = np.arange(3)
    mapped = primad.vmap(lambda key: ours.rvs(*given, size=4, key=key))(keys)
    np.testing.assert_allclose(mapped, ours.rvs(*given, size=4, key=keys), rtol=1e-14)
    np.testing.assert_array_equal(
        ours.rvs(*given, random_state=0), getattr(scipy.stats, name).rvs(*given, random_state=0)
    )


def test_undefined_parameters_are_nan() -> None:
    """SciPy raises, or returns None; a traced parameter may be any number."""
    assert np.isnan(primad.jit(lambda df: stats.multivariate_t.logpdf(LOC, LOC, SHAPE, df))(-1.0))
    for name in WISHARTS:
        family = getattr(stats, name)
        assert np.isnan(primad.jit(lambda df, family=family: family.logpdf(MATRIX, df, SHAPE))(1.0))
        assert np.isnan(primad.jit(lambda df, family=family: family.rvs(df, SHAPE, key=1))(0.5)).all()
    assert np.isnan(primad.jit(lambda df: stats.invwishart.mean(df, SHAPE))(3.0)).all()
    assert np.isnan(primad.jit(lambda df: stats.invwishart.var(df, SHAPE))(5.0)).all()


def test_errors_say_what_to_do() -> None:
    calls = {
        "give shape as a positive definite": lambda s: stats.multivariate_t.pdf(LOC, LOC, s, 2.0, allow_singular=True),
        "give one number, and map over several": lambda s: stats.multivariate_t.logpdf(LOC, LOC, s, np.ones(2)),
        "give one matrix, ": lambda s: stats.wishart.logpdf(np.eye(3), 4.0, s),
        "give more than 1": lambda s: stats.wishart.logpdf(MATRIX, 1, s),
        "give a square matrix": lambda s: stats.invwishart.entropy(4.0, s[:1]),
        "pass key=": lambda s: stats.wishart.rvs(4.0, s),
        "take a method that is recorded": lambda s: stats.multivariate_t.cdf(LOC, LOC, s, 2.0),
    }
    for fix, call in calls.items():
        with pytest.raises(primad.PrimadError, match=f"Fix: {fix}"):
            primad.trace(call)(SHAPE)

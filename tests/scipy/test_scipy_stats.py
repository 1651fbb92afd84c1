"""primad.scipy.stats against SciPy: values in the body and in the tails, and derivatives in all parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primad
import primad.scipy.stats as stats

X = np.array([-30.0, -4.0, -0.7, 0.0, 0.3, 0.9, 1.4, 6.0, 35.0])
Q = np.array([1e-12, 0.02, 0.3, 0.5, 0.8, 0.999])
SHAPES: dict[str, tuple[float, ...]] = {
    "beta": (2.3, 0.7), "chi2": (2.0,), "f": (3.5, 6.0), "gamma": (0.6,), "invgamma": (2.2,), "lognorm": (0.8,),
    "pareto": (1.7,), "poisson": (3.2,), "t": (3.5,), "weibull_min": (1.3,),
}  # fmt: skip
BODY = {name: ("pmf", "logpmf") if getattr(stats, name).discrete else ("pdf", "logpdf") for name in stats.__all__}
SHARP = ("cdf", "sf", "pdf", "pmf")
"""Where SciPy is right to relative precision: its logarithms of probabilities near 1 are not."""
TAILS = ("cdf", "sf", "logcdf", "logsf")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", stats.__all__)
def test_values_and_derivatives(name: str) -> None:
    ours, theirs, shapes = getattr(stats, name), getattr(scipy.stats, name), SHAPES.get(name, ())
    rest = (0.0,) if ours.discrete else (0.1, 1.3)
    points = np.arange(-1.0, 9.0) if ours.discrete else X
    known = [each for each in TAILS if each.removeprefix("log") in ours.functions]
    for method in (*BODY[name], *known):
        expected = getattr(theirs, method)(points, *shapes, *rest)
        found = primad.jit(lambda x, *p, m=method: getattr(ours, m)(x, *p))(points, *shapes, *rest)
        least = 1e-300 if method in SHARP else 1e-14
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=least, err_msg=method)
        np.testing.assert_array_equal(getattr(ours, method)(points, *shapes, *rest), expected)
    for method in {"ppf", "isf"} & set(ours.functions):
        expected = getattr(theirs, method)(Q, *shapes, *rest)
        if (name, method) == ("f", "isf"):  # SciPy's own is the quantile of 1 − q, which has lost q's digits
            expected = rest[0] + rest[1] / theirs.ppf(Q, *shapes[::-1])
        found = primad.jit(lambda q, *p, m=method: getattr(ours, m)(q, *p))(Q, *shapes, *rest)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14, err_msg=method)
    at = 2.0 if ours.discrete else 0.7 if name in ("beta", "uniform") else 2.9

    def likelihood(shapes: Any, rest: Any) -> Any:
        return getattr(ours, BODY[name][1])(at, *shapes, *(rest if not ours.discrete else ()))

    def tail(shapes: Any, rest: Any) -> Any:
        return ours.sf(at, *shapes, *(rest if not ours.discrete else ()))

    for function in (likelihood, *((tail,) if "sf" in ours.functions else ())):
        primad.check_grads(function, (list(shapes), list(rest)), order=2)


def test_a_tail_far_out_has_its_derivative() -> None:
    slope = primad.grad(lambda x: stats.norm.logsf(x))(40.0)
    assert slope == pytest.approx(-40.0249688472, rel=1e-10)


def test_what_is_not_recorded_says_so() -> None:
    with pytest.raises(primad.PrimadError, match=r"stats.poisson.ppf of traced values(?s:.*)cdf, sf of poisson are"):
        primad.grad(lambda q: stats.poisson.ppf(q, 3.0))(0.5)
    with pytest.raises(AttributeError, match=r"scipy.stats.gengamma called as it is"):
        getattr(stats, "gengamma")  # noqa: B009
    with pytest.raises(primad.PrimadError, match=r"call logpdf of the same distribution of primad.scipy.stats"):
        primad.grad(lambda x: scipy.stats.norm.logpdf(x))(1.0)
    with pytest.raises(TypeError, match=r"gamma.pdf takes \(a, loc, scale\)"):
        primad.grad(lambda x: stats.gamma.pdf(x))(1.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", stats.__all__)
def test_parameters_that_no_distribution_has_give_scipys_nan(name: str) -> None:
    """In every method that is recorded, for each parameter alone; beyond 0 and 1 there are no quantiles."""
    ours, theirs, shapes = getattr(stats, name), getattr(scipy.stats, name), SHAPES.get(name, ())
    usual = [*shapes, *(() if ours.discrete else (0.1, 1.3))]
    scale = () if ours.discrete else (len(usual) - 1,)
    wrong = [
        [*usual[:i], value, *usual[i + 1 :]] for i in (*range(len(shapes)), *scale) for value in (-1.5, 0.0, np.nan)
    ]
    at = 3.0 if ours.discrete else 0.7
    for method in (*BODY[name], *ours.functions):
        recorded = primad.jit(lambda x, *p, m=method: getattr(ours, m)(x, *p))
        cases = [(at if method not in ("ppf", "isf") else 0.3, *p) for p in wrong]
        if method in ("ppf", "isf"):
            cases += [(q, *usual) for q in (-0.1, 1.1, np.nan)]
        for case in cases:
            expected = getattr(theirs, method)(*case)
            np.testing.assert_allclose(recorded(*case), expected, rtol=1e-9, atol=1e-14, err_msg=f"{method} {case}")

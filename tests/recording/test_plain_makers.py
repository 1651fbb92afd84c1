"""Functions that make plain arrays, samples or objects of traced values: what is said, and that the way out works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
import scipy.stats

import primad
import primad.numpy as pnp
import primad.scipy.optimize
import primad.scipy.sparse
import primad.scipy.sparse.linalg
import primad.scipy.stats
from primad.integrate import quad

X = np.array([0.25, 0.5, 0.75])
A = scipy.sparse.csc_array(np.diag([2.0, 3.0, 4.0]))
D = primad.scipy.sparse.diags_array
RNG = np.random.default_rng(0)
DRAWN = RNG.normal(size=3)
SQUARES, FACTORS, FROZEN = np.vectorize(lambda t: t**2), scipy.sparse.linalg.splu(A), scipy.stats.norm(0.0, 2.0)
MADE: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = {
    "complex": (lambda x: abs(complex(x[0], 1.0)), "x + 1j * y", lambda x: abs(x[0] + 1j * 1.0)),
    "arange": (lambda x: np.arange(0, x[0], 0.1), "np.linspace(start, stop, n)", lambda x: np.linspace(0, x[0], 3)),
    "primad's arange": (lambda x: pnp.arange(0, x[0], 0.1), "step * np.arange(n)", lambda x: x[0] * np.arange(3)),
    "samples": (lambda x: np.random.normal(x), "loc + scale * rng.normal(size=n)", lambda x: x + DRAWN),
    "a generator's": (lambda x: RNG.normal(x), "loc + scale * rng.normal(size=n)", lambda x: x + DRAWN),
    "a new generator's": (
        lambda x: np.random.default_rng(0).gamma(x),
        "primad.scipy.stats.gamma.ppf(rng.random(n), a)",
        lambda x: primad.scipy.stats.gamma.ppf(np.full(3, 0.3), x),
    ),
    "vectorize": (lambda x: SQUARES(x), "primad.numpy.vectorize", lambda x: pnp.vectorize(lambda t: t**2)(x)),
    "vectorize at once": (
        lambda x: np.vectorize(lambda t: t**2)(x),
        "primad.numpy.vectorize",
        lambda x: pnp.vectorize(lambda t: t**2)(x),
    ),
    "a frozen distribution": (
        lambda x: FROZEN.logpdf(x[0]),
        "call logpdf of primad.scipy.stats.norm, which is recorded",
        lambda x: primad.scipy.stats.norm(0.0, 2.0).logpdf(x[0]),
    ),
    "a distribution frozen there": (
        lambda x: scipy.stats.norm(x[0], 2.0).logpdf(1.0),
        "call logpdf of primad.scipy.stats.norm, which is recorded",
        lambda x: primad.scipy.stats.norm(x[0], 2.0).logpdf(1.0),
    ),
    "a fixed point": (
        lambda x: scipy.optimize.fixed_point(lambda t: np.cos(t) * x[0], 0.5),
        "call primad.scipy.optimize.fixed_point",
        lambda x: primad.scipy.optimize.fixed_point(lambda t: np.cos(t) * x[0], 0.5),
    ),
    "an integral over two": (
        lambda x: scipy.integrate.dblquad(lambda t, s: np.exp(-x[0] * s * t), 0, 1, 0, 1)[0],
        "nest primad.integrate.quad",
        lambda x: quad(lambda s: quad(lambda t: np.exp(-x[0] * s * t), 0, s)[0], 0, 1)[0],
    ),
    "factors": (lambda x: FACTORS.solve(x), "splu", lambda x: primad.scipy.sparse.linalg.splu(A).solve(x)),
    "factors at once": (
        lambda x: scipy.sparse.linalg.splu(A).solve(x),
        "primad.scipy.sparse.linalg.splu",
        lambda x: primad.scipy.sparse.linalg.splu(A).solve(x),
    ),
    "diagonals": (
        lambda x: scipy.sparse.diags(x) @ X,
        "primad.scipy.sparse.diags_array",
        lambda x: primad.scipy.sparse.diags_array(x) @ X,
    ),
    "several diagonals": (
        lambda x: scipy.sparse.diags_array([x, x[1:]], offsets=[0, 1]) @ X,
        "make it by primad.scipy.sparse.diags_array",
        lambda x: primad.scipy.sparse.diags_array([x, x[1:]], offsets=[0, 1]) @ X,
    ),
    "scaled columns": (
        lambda x: A.multiply(x) @ X,
        "csr_array((s * A.data, A.indices, A.indptr), shape=A.shape)",
        lambda x: primad.scipy.sparse.csc_array((x[0] * A.data, A.indices, A.indptr), shape=A.shape) @ X,
    ),
    "kron": (
        lambda x: scipy.sparse.kron(A, D(x)) @ np.ones(9),
        "make it by primad.scipy.sparse.kron",
        lambda x: primad.scipy.sparse.kron(A, D(x)) @ np.ones(9),
    ),
    "blocks": (
        lambda x: scipy.sparse.block_array([[A, D(x), None], [D(x), A, A], [None, A, D(x)]]) @ np.ones(9),
        "make it by primad.scipy.sparse.block_array",
        lambda x: primad.scipy.sparse.block_array([[A, D(x), None], [D(x), A, A], [None, A, D(x)]]) @ np.ones(9),
    ),
    "blocks on the diagonal": (
        lambda x: scipy.sparse.block_diag([A, D(x), A]) @ np.ones(9),
        "make it by primad.scipy.sparse.block_diag",
        lambda x: primad.scipy.sparse.block_diag([A, D(x), A]) @ np.ones(9),
    ),
    "beside": (
        lambda x: scipy.sparse.hstack([A, D(x), A]) @ np.ones(9),
        "make it by primad.scipy.sparse.hstack",
        lambda x: primad.scipy.sparse.hstack([A, D(x), A]) @ np.ones(9),
    ),
    "below": (
        lambda x: scipy.sparse.vstack([A, D(x), A]) @ X,
        "make it by primad.scipy.sparse.vstack",
        lambda x: primad.scipy.sparse.vstack([A, D(x), A]) @ X,
    ),
    "least squares": (
        lambda x: scipy.sparse.linalg.lsmr(A, x)[0],
        "primad.scipy.sparse.linalg.lsqr for least squares",
        lambda x: primad.scipy.sparse.linalg.lsqr(A, x)[0],
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MADE)
def test_what_makes_something_plain_names_what_is_traced(name: str) -> None:
    wrong, named, right = MADE[name]
    with pytest.raises(primad.PrimadError) as caught:
        primad.grad(lambda x: np.sum(wrong(x)))(X)
    told = str(caught.value)
    assert f"Fix: {named}" in told or named in told.partition("Fix: ")[2], told
    assert f"\n  in {__file__}:" in told
    assert np.all(np.isfinite(primad.grad(lambda x: np.sum(right(x)))(X)))

"""primad.scipy.linalg against SciPy: values, derivatives, structure that is read, and what errors name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primad
import primad.scipy.linalg as mirror
from primad.refusals import _OF_SCIPY_LINALG

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
S = A @ A.T
B = RNG.normal(size=(4, 2))
V, W = RNG.normal(size=4), RNG.normal(size=5)
BANDS = RNG.normal(size=(4, 5)) + 5.0 * np.eye(4)[2][:, None]
HALF = np.array([[0.0, 0.3, 0.2, 0.1, 0.5], [3.0, 4.0, 5.0, 4.0, 3.0]])
Function = Callable[..., Any]


def either(name: str, *given: Any, **options: Any) -> Function:
    """Return a function of (module, *arrays) that calls a name with further arguments."""
    return lambda linalg, *arrays: getattr(linalg, name)(*given, *arrays, **options)


CASES: dict[str, tuple[Function, tuple[Any, ...]]] = {
    **{f"{name} {i}": (either(name), arrays)
       for name, calls in {
           "solve": [(A, V), (A, B)], "solve_triangular": [(A, V), (A, B)], "cholesky": [(S,)], "inv": [(A,)],
           "det": [(A,)], "norm": [(A,), (V,)], "lu": [(A,)], "qr": [(A,)], "eigvalsh": [(S,)], "svdvals": [(A,), (B,)],
           "pinv": [(A,), (B,)], "block_diag": [(A, B, V)], "toeplitz": [(V,), (V, W)],
           "hankel": [(V,), (V, W)], "circulant": [(V,)], "solve_toeplitz": [(V, W[:4])],
           "solve_circulant": [(V, W[:4])], "solveh_banded": [(HALF, W)],
       }.items() for i, arrays in enumerate(calls)},
    **{f"solve, {kind}": (either("solve", assume_a=kind, lower=True), (matrix, B))
       for kind, matrix in (("gen", A), ("sym", A), ("pos", S), ("upper triangular", A), ("lower triangular", A))},
    "solve, transposed": (either("solve", transposed=True), (A, V)),
    "solve, upper half": (either("solve", assume_a="pos"), (S, V)),
    **{f"solve_triangular, {options}": (either("solve_triangular", **options), (A, V))
       for options in ({"lower": True}, {"trans": 1}, {"trans": "T", "lower": True, "unit_diagonal": True})},
    "cholesky, lower": (either("cholesky", lower=True), (S,)),
    "eigvalsh, upper": (either("eigvalsh", lower=False), (S,)),
    "eigh, squared vectors": (lambda linalg, a: linalg.eigh(a)[1] ** 2, (S,)),
    "svd, values": (lambda linalg, a: linalg.svd(a, full_matrices=False)[1], (B,)),
    "qr, economic": (lambda linalg, a: linalg.qr(a, mode="economic"), (B,)),
    "qr, r": (lambda linalg, a: linalg.qr(a, mode="r")[0][:2], (B,)),
    "lu, permuted": (either("lu", permute_l=True), (A,)),
    "lu, indices": (lambda linalg, a: linalg.lu(a, p_indices=True)[1:], (A,)),
    "lu_solve": (lambda linalg, a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, B)),
    "lu_solve, transposed": (lambda linalg, a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), (A, V)),
    "cho_solve": (lambda linalg, a, b: linalg.cho_solve(linalg.cho_factor(a), b), (S, B)),
    "cho_solve, lower": (lambda linalg, a, b: linalg.cho_solve(linalg.cho_factor(a, True), b), (S, V)),
    "solve_banded": (either("solve_banded", (1, 2)), (BANDS, W)),
    "solveh_banded, lower": (either("solveh_banded", lower=True), (HALF[::-1].copy(), W)),
    "sqrtm of a sum": (lambda linalg, a: linalg.sqrtm(a + a.T), (S,)),
    "norm, order 1": (either("norm", ord=1), (A,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_right(name: str) -> None:
    function, arrays = CASES[name]
    expected, _ = primad.tree.flatten(function(scipy.linalg, *arrays))
    plain = primad.tree.leaves(function(mirror, *arrays))
    assert all(np.array_equal(x, y) for x, y in zip(plain, expected, strict=True))
    found = primad.tree.leaves(primad.jit(lambda *xs: function(mirror, *xs))(*arrays))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
        assert np.shape(x) == np.shape(y)
    bounded = lambda *xs: primad.tree.map(np.sin, function(mirror, *xs))  # noqa: E731
    primad.check_grads(bounded, arrays, rtol=1e-5, atol=1e-6)


def test_every_function_has_a_case_and_scipys_parameters() -> None:
    text = inspect.getsource(inspect.getmodule(test_values_and_derivatives_are_right))  # type: ignore[arg-type]
    assert set(mirror.__all__) == set(_OF_SCIPY_LINALG)
    for name in mirror.__all__:
        assert name in text
        theirs = inspect.signature(getattr(scipy.linalg, name)).parameters
        ours = inspect.signature(getattr(mirror, name)).parameters
        shared = list(theirs)[: len(ours)] if "options" not in ours else [*list(theirs)[:3], "options"]
        assert [p for p in ours if p not in theirs and p != "options"] == [], (name, shared)


def test_what_is_not_supported_says_so() -> None:
    refused: dict[str, Function] = {
        "pivoting": lambda a: mirror.qr(a, pivoting=True),
        "mode": lambda a: mirror.qr(a[:, :2]),
        "generalized": lambda a: mirror.eigh(a, S),
        "subset_by_index": lambda a: mirror.eigh(a, subset_by_index=[0, 1]),
        "return_rank": lambda a: mirror.pinv(a, return_rank=True),
        "assume_a": lambda a: mirror.solve(a, V, assume_a="odd"),
        "trans must": lambda a: mirror.solve_triangular(a, V, trans=7),
        "plain factors": lambda a: mirror.lu_solve(scipy.linalg.lu_factor(A), a),
        "bands": lambda a: mirror.solve_banded((1, 1), a, V),
        "square": lambda a: mirror.lu(a[:, :2]),
    }
    for said, function in refused.items():
        with pytest.raises(primad.errors.PrimadError, match=said):
            primad.trace(function)(S)

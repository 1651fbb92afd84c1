"""primad.scipy.linalg against SciPy: values, shapes, derivatives, structure that is read, and what errors name."""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import hypothesis
import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import strategies as st

import primad
import primad.scipy.linalg as mirror
from primad.recording.scipy_names import RECORDED
from primad.scipy.other_names import INSTEAD

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
S = A @ A.T
B = RNG.normal(size=(4, 2))
NEAR = A / 8.0 - np.eye(4)
V, W = RNG.normal(size=4), RNG.normal(size=5)
BANDS = RNG.normal(size=(4, 5)) + 5.0 * np.eye(4)[2][:, None]
HALF = np.array([[0.0, 0.3, 0.2, 0.1, 0.5], [3.0, 4.0, 5.0, 4.0, 3.0]])
ROOT, CLOSE = A / 2.0 + np.eye(4), np.column_stack([V + 0.1 * W[:4], W[3::-1]])
OURS = set(mirror.__all__) - set(mirror.PLAIN)
Function = Callable[..., Any]


def either(name: str, *given: Any, **options: Any) -> Function:
    """Return a function of (module, *arrays) that calls a name with further arguments."""
    return lambda linalg, *arrays: getattr(linalg, name)(*given, *arrays, **options)


def riccati(name: str) -> Function:
    """Return a function of (module, a, b, …) that solves Riccati's equation with Hermitian q and r."""

    def solved(linalg: Any, a: Any, b: Any, q: Any, r: Any, *rest: Any) -> Any:
        q, r = (x @ np.conj(x.T) + np.eye(len(x), dtype=x.dtype) for x in (q, r))
        return getattr(linalg, name)(a, b, q, r, *rest)

    return solved


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
    "eigh of two": (lambda linalg, a, b: linalg.eigh(a + a.T, b, eigvals_only=True), (A, S)),
    "eigh of two, upper, squared vectors": (lambda linalg, a, b: linalg.eigh(a, b, lower=False)[1] ** 2, (A, S)),
    "eigvalsh of two": (lambda linalg, a, b: linalg.eigvalsh(a, b), (A, S)),
    "svd, values": (lambda linalg, a: linalg.svd(a, full_matrices=False)[1], (B,)),
    "qr, economic": (lambda linalg, a: linalg.qr(a, mode="economic"), (B,)),
    "qr, r": (either("qr", mode="r"), (B,)),
    "lu, permuted": (either("lu", permute_l=True), (A,)),
    "lu, indices": (lambda linalg, a: linalg.lu(a, p_indices=True)[1:], (A,)),
    "lu_solve": (lambda linalg, a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, B)),
    "lu_solve, transposed": (lambda linalg, a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), (A, V)),
    "cho_solve": (lambda linalg, a, b: linalg.cho_solve(linalg.cho_factor(a), b), (S, B)),
    "cho_solve, lower": (lambda linalg, a, b: linalg.cho_solve(linalg.cho_factor(a, True), b), (S, V)),
    "solve_banded": (either("solve_banded", (1, 2)), (BANDS, W)),
    "solveh_banded, lower": (either("solveh_banded", lower=True), (HALF[::-1].copy(), W)),
    "sqrtm": (either("sqrtm"), (A + 4.0 * np.eye(4),)),
    "logm": (either("logm"), (A + 8.0 * np.eye(4),)),
    "eig": (lambda linalg, a: np.abs(linalg.eig(a)[1]), (A,)),
    "eigvals": (lambda linalg, a: np.abs(linalg.eigvals(a)), (A,)),
    "sqrtm of a sum": (lambda linalg, a: linalg.sqrtm(a + a.T), (S,)),
    "expm": (either("expm"), (A / 4.0,)),
    "expm of a large matrix": (lambda linalg, a: linalg.expm(5.0 * (a - a.T)), (A,)),
    "expm_frechet": (either("expm_frechet"), (A / 4.0, S)),
    "expm_frechet alone": (either("expm_frechet", compute_expm=False), (A / 4.0, 1e-9 * S)),
    "solve_sylvester": (either("solve_sylvester"), (A, S[:2, :2], B)),
    "solve_continuous_lyapunov": (either("solve_continuous_lyapunov"), (A, S)),
    "solve_discrete_lyapunov": (either("solve_discrete_lyapunov"), (A / 8.0, S)),
    "solve_discrete_lyapunov, direct": (either("solve_discrete_lyapunov", method="direct"), (A, S)),
    **{f"{name}, {len(arrays)} matrices": (riccati(name), arrays)
       for name in ("solve_continuous_are", "solve_discrete_are")
       for arrays in ((NEAR, B, A / 9.0, B[:2]), (NEAR, B, A / 9.0, B[:2], A / 4.0),
                      (NEAR, B, A / 9.0, B[:2], A / 4.0, B / 9.0))},
    "norm, order 1": (either("norm", ord=1), (A,)),
    **{name: (either(name), (A / 4.0,)) for name in ("sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm")},
    "signm": (either("signm"), (A - 4.0 * np.eye(4),)),
    "funm": (lambda linalg, a: np.real(linalg.funm(a, lambda w: np.cos(w) / (w + 20.0))), (A,)),
    **{f"fractional_matrix_power, {t}": (lambda linalg, a, t=t: linalg.fractional_matrix_power(a, t), (ROOT,))
       for t in (0.4, -1.3, 3, -2)},
    **{f"polar of {a.shape}, {side}": (either("polar", side=side), (a,))
       for a in (A, B, B.T.copy()) for side in ("left", "right")},
    "orthogonal_procrustes": (either("orthogonal_procrustes"), (B, B[::-1] + 0.3)),
    "pinvh": (either("pinvh"), (S,)),
    "pinvh, upper": (either("pinvh", lower=False), (S,)),
    "subspace_angles": (either("subspace_angles"), (B, B[::-1] + 0.3)),
    "subspace_angles, of a vector": (either("subspace_angles"), (B, V[:, None])),
    "subspace_angles, of small ones": (either("subspace_angles"), (V[:, None], CLOSE)),
    "companion": (either("companion"), (W,)),
    "leslie": (either("leslie"), (V, W[:3])),
    "fiedler": (either("fiedler"), (V,)),
    "khatri_rao": (either("khatri_rao"), (B, A[:, :2])),
    "diagsvd": (lambda linalg, s: linalg.diagsvd(s, 4, 6), (V,)),
    "diagsvd, tall": (lambda linalg, s: linalg.diagsvd(s, 7, 4), (V,)),
    "matmul_toeplitz": (lambda linalg, c, r, x: linalg.matmul_toeplitz((c, r), x), (V, W, W)),
    "matmul_toeplitz of a column": (either("matmul_toeplitz"), (V, A)),
    **{f"convolution_matrix, {mode}, {n}": (lambda linalg, a, n=n, m=mode: linalg.convolution_matrix(a, n, m), (V,))
       for mode in ("full", "same", "valid") for n in (1, 3, 7)},
    "cholesky_banded": (either("cholesky_banded"), (HALF,)),
    "cholesky_banded, lower": (either("cholesky_banded", lower=True), (HALF[::-1].copy(),)),
    "cho_solve_banded": (lambda linalg, ab, b: linalg.cho_solve_banded((ab, False), b), (HALF, W)),
    "cho_solve_banded, lower": (lambda linalg, ab, b: linalg.cho_solve_banded((ab, True), b), (HALF[::-1].copy(), W)),
    "eig_banded, squared vectors": (lambda linalg, ab: linalg.eig_banded(ab)[1] ** 2, (HALF,)),
    "eig_banded, a range": (either("eig_banded", eigvals_only=True, select="i", select_range=(1, 2)), (HALF,)),
    "eigvals_banded, lower": (either("eigvals_banded", lower=True), (BANDS[2:],)),
    "eigh_tridiagonal, squared vectors": (lambda linalg, d, e: linalg.eigh_tridiagonal(d, e)[1] ** 2, (W, V)),
    "eigvalsh_tridiagonal": (either("eigvalsh_tridiagonal"), (W, V)),
    "eigvalsh_tridiagonal, a range": (either("eigvalsh_tridiagonal", select="i", select_range=(0, 1)), (W, V)),
}  # fmt: skip


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_right(name: str) -> None:
    function, arrays = CASES[name]
    expected, _ = primad.recording.tree.flatten(function(scipy.linalg, *arrays))
    plain = primad.recording.tree.leaves(function(mirror, *arrays))
    assert all(np.array_equal(x, y) for x, y in zip(plain, expected, strict=True))
    found = primad.recording.tree.leaves(primad.jit(lambda *xs: function(mirror, *xs))(*arrays))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
        assert np.shape(x) == np.shape(y)
    bounded = lambda *xs: primad.recording.tree.map(np.sin, function(mirror, *xs))  # noqa: E731
    primad.check_grads(bounded, arrays, rtol=1e-5, atol=1e-6)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_single_precision_stays(name: str) -> None:
    function, arrays = CASES[name]
    arrays = tuple([np.float32(x) for x in arrays])
    found = [
        np.asarray(x) for x in primad.recording.tree.leaves(primad.jit(lambda *xs: function(mirror, *xs))(*arrays))
    ]
    assert {x.dtype for x in found if x.dtype.kind == "f"} == {np.dtype(np.float32)}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", mirror.__all__)
def test_arrays_with_a_mutable_face_are_taken_by_name(name: str) -> None:
    """As by position: for the first call of each function in the cases above, with every array given by its name."""
    whole = [(f, xs) for case, (f, xs) in CASES.items() if case.split(",")[0].split(" ")[0] == name]
    if name == "block_diag" or not whole:
        pytest.skip("it takes its arrays by position, or is called in pairs")
    function, arrays = whole[0]

    class Named:
        """The mirror, of which a function is given everything by name."""

        def __getattr__(self, called: str) -> Any:
            plain = getattr(mirror, called)
            names = list(inspect.signature(plain).parameters)
            return lambda *args, **options: plain(**dict(zip(names, args, strict=False)), **options)

    def of_writable(*xs: Any) -> Any:
        return function(Named(), *[primad.numpy.array(x) for x in xs])

    for found in (primad.jit(of_writable)(*arrays), primad.vjp(of_writable, *arrays)[0]):
        for x, y in zip(
            primad.recording.tree.leaves(found), primad.recording.tree.leaves(function(mirror, *arrays)), strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


GONE = ("blocksize", "disp")
"""Parameters of sqrtm and logm that SciPy 1.18 took away."""


def test_every_function_has_a_case_and_scipys_parameters() -> None:
    text = inspect.getsource(inspect.getmodule(test_values_and_derivatives_are_right))  # type: ignore[arg-type]
    assert RECORDED["scipy.linalg"] == OURS
    for name in OURS:
        assert name in text
        theirs = inspect.signature(getattr(scipy.linalg, name)).parameters
        ours = inspect.signature(getattr(mirror, name)).parameters
        shared = list(theirs)[: len(ours)] if "options" not in ours else [*list(theirs)[:3], "options"]
        assert [p for p in ours if p not in theirs and p not in ("options", *GONE)] == [], (name, shared)


# -- a grid of shapes, batches, structures and options -----------------------------------------------------------------


def well(*shape: int) -> Any:
    """Draw matrices far from singular, with eigenvalues right of the imaginary axis."""
    return 0.5 * RNG.normal(size=shape) + 3.0 * np.eye(*shape[-2:])


SQUARE = [well(*shape) for shape in ((1, 1), (4, 4), (2, 3, 3), (2, 1, 2, 2), (0, 0), (4, 2), (3,))]
RECTANGULAR = [*SQUARE[:3], *(well(*shape) for shape in ((4, 2), (2, 4), (2, 4, 2), (3, 0)))]
VECTORS = [RNG.normal(size=shape) + 4.0 * (np.arange(*shape[-1:] or (1,)) == 0).reshape(shape[-1:] and (-1,))
           for shape in ((1,), (4,), (2, 3), (2, 1, 3), (3, 1), ())]  # fmt: skip
STRUCTURES = [
    None, "general", "diagonal", "tridiagonal", "banded", "upper triangular", "lower triangular", "symmetric",
    "positive definite",
]  # fmt: skip
WHOLE_BAND = np.stack([BANDS, BANDS + 0.1])
WHOLE_HALF = np.stack([HALF, HALF + 0.1])


def right_hand_sides(a: Any) -> list[Any]:
    n = a.shape[-1]
    return [RNG.normal(size=shape) for shape in ((n,), (n, 2), (*a.shape[:-2], n, 2), (n + 1,))]


def symmetric(a: Any) -> Any:
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-2]) if a.ndim > 1 else a


def options(**values: Sequence[Any]) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


EITHER = (False, True)
SYSTEMS = [(a, b) for a in SQUARE for b in right_hand_sides(a)]
OF_SQUARE = [(a,) for a in SQUARE]
OF_SYMMETRIC = [(symmetric(a),) for a in SQUARE]
OF_ANY = [(a,) for a in RECTANGULAR]
FORMS = [(c,) for c in VECTORS] + list(itertools.product(VECTORS, VECTORS))
OF_FORMS = list(itertools.product(VECTORS, [RNG.normal(size=shape) for shape in ((4,), (3,), (3, 2), (2, 3), (1,))]))
BANDED = list(itertools.product((BANDS, WHOLE_BAND), [RNG.normal(size=shape) for shape in ((5,), (5, 2), (4,))]))
PAIRS = [(a, a + 1.0) for a in SQUARE] + [(A, B), (A, np.stack([A, A]))]
EYES = np.eye(4), np.eye(2)
REGULATED = [(NEAR, B, *EYES), (NEAR, B, *EYES, A / 4.0), (NEAR, B, *EYES, None, B / 9.0), (NEAR, B, A, EYES[1]),
             (NEAR, B, *EYES[::-1]), (NEAR, W, *EYES), (NEAR, B, *EYES, B),
             (NEAR, B, *EYES, A / 4.0, B / 9.0)]  # fmt: skip
GRID: dict[str, list[tuple[Sequence[Any], Sequence[tuple[Any, ...]], list[dict[str, Any]]]]] = {
    "block_diag": [((), [(A, B), (V,), (V[0], A), (SQUARE[2], A), (SQUARE[4], A)], [{}])],
    "cholesky": [((), OF_SYMMETRIC, options(lower=EITHER))],
    "circulant": [((), FORMS[: len(VECTORS)], [{}])],
    "det": [((), OF_SQUARE, [{}])],
    "eigvalsh": [((), OF_SQUARE, options(lower=EITHER))],
    "eigh": [((), OF_SQUARE, options(lower=EITHER, eigvals_only=[True]))],
    "expm": [((), OF_SQUARE, [{}])],
    "expm_frechet": [((), PAIRS, options(compute_expm=EITHER, method=[None, "SPS", "blockEnlarge", "other"]))],
    "hankel": [((), FORMS, [{}])],
    "inv": [((), OF_SQUARE, [{}])],
    "lu": [((), OF_SQUARE, options(permute_l=EITHER, p_indices=EITHER))],
    "norm": [((), OF_ANY[1::2], options(ord=[None, 1, 2, -2, np.inf, "fro", "nuc"], axis=[None, -1, (-2, -1)]))],
    "pinv": [((), OF_ANY, options(rtol=[None, 0.5]))],
    "qr": [((), OF_ANY, options(mode=["full", "r", "economic", "raw"], pivoting=EITHER))],
    "solve": [((), SYSTEMS, options(assume_a=[None, "diagonal", "upper triangular"])),
              ((), SYSTEMS[5:7], options(assume_a=STRUCTURES, lower=EITHER, transposed=EITHER))],
    "solve_triangular": [((), SYSTEMS, [{}]),
                         ((), SYSTEMS[5:7], options(lower=EITHER, trans=[0, "T"], unit_diagonal=EITHER))],
    "solve_toeplitz": [((), OF_FORMS, [{}])],
    "solve_circulant": [((), OF_FORMS, [{}])],
    "solve_banded": [(((below, above),), BANDED, [{}]) for below, above in ((1, 2), (2, 1), (1, 1), (3, 0))],
    "solveh_banded": [((), [(WHOLE_HALF[0], b) for _, b in BANDED] + [(WHOLE_HALF, W)], [{}]),
                      ((), [(HALF[::-1].copy(), W)], options(lower=[True]))],
    "solve_continuous_are": [((), REGULATED, options(balanced=EITHER))],
    "solve_discrete_are": [((), REGULATED, options(balanced=EITHER))],
    "solve_continuous_lyapunov": [((), PAIRS, [{}])],
    "solve_discrete_lyapunov": [((), PAIRS, options(method=[None, "direct", "bilinear", "other"]))],
    "solve_sylvester": [((), [(a, a, a) for a in SQUARE] + [(A, S[:2, :2], B), (A, S, B)], [{}])],
    "sqrtm": [((), [*OF_SQUARE, *OF_SYMMETRIC, (-A,), (np.ones((2, 2)),)], [{}])],
    "svd": [((), OF_ANY, options(full_matrices=EITHER, compute_uv=[False]))],
    "svdvals": [((), OF_ANY, [{}])],
    "toeplitz": [((), FORMS, [{}])],
    **{name: [((), OF_SQUARE, [{}])] for name in ("sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm")},
    "signm": [((), OF_SQUARE[:4], [{}])],
    "fractional_matrix_power": [],  # of a plain power
    "polar": [((), OF_ANY[:5], options(side=["left", "right", "other"]))],
    "orthogonal_procrustes": [((), [(B, B[::-1]), (A, S), (A, B)], [{}])],
    "pinvh": [((), OF_SYMMETRIC, options(lower=EITHER, rtol=[None, 0.5]))],
    "subspace_angles": [((), [(B, B[::-1]), (B, V[:, None]), (V[:, None], B), (A, W[:, None])], [{}])],
    "companion": [((), [(W,), (V[:2],), (V[:1],), (A,)], [{}])],
    "leslie": [((), [(V, V), (V, W[:3])], [{}])],
    "fiedler": [((), [(A,), (V,)], [{}])],
    "khatri_rao": [((), [(B, A), (A, S)], [{}])],
    "matmul_toeplitz": [((), [(V, V), (V, A), (W, A), (A, V)], [{}])],
    "convolution_matrix": [((), [(V,), (W,)], options(n=[1, 4, 7], mode=["full", "same", "valid", "other"]))],
    "diagsvd": [],  # of numbers that are plain
    "cholesky_banded": [((), [(HALF,), (W[None] ** 2,)], [{}]), ((), [(HALF[::-1].copy(),)], options(lower=[True]))],
    **{name: [((), [(HALF,), (W[None],)], options(**more, select=["a", "i", "v"], select_range=[(1, 2)])),
              ((), [(HALF[::-1].copy(),)] * 2, options(**more, lower=[True]))]
       for name, more in (("eig_banded", {"eigvals_only": [True]}), ("eigvals_banded", {}))},
    "eigh_tridiagonal": [((), [(W, V), (W, W), (W[:1], W[:0])], options(eigvals_only=[True], select=["a"]))],
    "eigvalsh_tridiagonal": [((), [(W, V), (W, W)], options(select=["a", "i"], select_range=[(0, 1)]))],
    "cho_solve_banded": [],  # of a pair
    "eig": [], "eigvals": [], "logm": [], "funm": [],  # of complex numbers: tests/numpy/linalg/test_complex_matrices.py
    "cho_factor": [], "cho_solve": [], "lu_factor": [], "lu_solve": [],  # what passes between them is not SciPy's
}  # fmt: skip
REFUSED = {
    "block_diag": "takes matrices", "hankel": "takes vectors", "lu": "square", "norm": "empty axis|out of range",
    "qr": "no derivative", "solve": r"shape \(1, 1\) and right-hand", "solve_toeplitz": "takes vectors",
    "solve_circulant": "takes vectors", "solve_banded": "but shape", "solveh_banded": "bands of one matrix",
    "companion": "takes vectors", "fiedler": "takes vectors", "matmul_toeplitz": "takes vectors",
    "eig_banded": "select='v'", "eigvals_banded": "select='v'",
    "sqrtm": "no real principal", "solve_triangular": r"shape \(1, 1\) and right-hand",
}  # fmt: skip
"""What traced arrays are refused that SciPy takes, by what the error says."""


def outcome(function: Callable[[], Any]) -> list[Any] | Exception:
    """Return the arrays that a function gives, or its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(leaf) for leaf in primad.recording.tree.leaves(function())]
        except Exception as error:
            return error


def test_every_function_is_in_the_grid() -> None:
    assert set(GRID) == OURS


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [name for name, calls in GRID.items() if calls])
def test_traced_arrays_give_what_scipy_gives(name: str) -> None:
    agreed = 0
    for given, arguments, settings in GRID[name]:
        for arrays, chosen in itertools.product(arguments, settings):
            theirs, ours = (partial(getattr(linalg, name), *given, **chosen) for linalg in (scipy.linalg, mirror))
            expected, found = outcome(partial(theirs, *arrays)), outcome(partial(primad.jit(ours), *arrays))
            call = name, given, [np.shape(x) for x in arrays], chosen
            if isinstance(found, Exception):
                assert isinstance(found, primad.errors.PrimadError), (call, found)
                refused = name in REFUSED and re.search(REFUSED[name], str(found))
                assert isinstance(expected, Exception) or refused, (call, found)
                continue
            assert not isinstance(expected, Exception), (call, expected)
            assert [x.shape for x in found] == [x.shape for x in expected], call
            for x, y in zip(found, expected, strict=True):
                assert x.dtype.kind == y.dtype.kind, call
                np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9, err_msg=str(call))
            agreed += 1
    assert agreed > 0


def complex_(x: Any) -> Any:
    """Give an array imaginary parts; of a symmetric one, the triangle that is read makes a Hermitian one."""
    return x + 0.3j * np.cos(1.0 + 1.7 * np.arange(x.size).reshape(x.shape))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [name for name, calls in GRID.items() if calls])
def test_traced_complex_arrays_give_what_scipy_gives(name: str) -> None:
    """A transposed matrix is the adjoint one wherever SciPy says so."""
    agreed = 0
    for given, arguments, settings in GRID[name]:
        for arrays, chosen in itertools.product(arguments[1:12:2], settings[:6]):
            of_complex = [x if x is None else complex_(x) for x in map(np.asarray, arrays)]
            theirs, ours = (partial(getattr(linalg, name), *given, **chosen) for linalg in (scipy.linalg, mirror))
            expected, found = outcome(partial(theirs, *of_complex)), outcome(partial(primad.jit(ours), *of_complex))
            if not isinstance(expected, Exception) and not isinstance(found, Exception):
                for x, y in zip(found, expected, strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9, err_msg=f"{name} {given} {chosen}")
                agreed += 1
            assert not isinstance(found, Exception) or isinstance(found, primad.errors.PrimadError)
    assert agreed > 0 or name.endswith(("_are", "tridiagonal"))  # whose matrices would not be Hermitian


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccatis_equations_of_complex_matrices(name: str) -> None:
    arrays = [complex_(x) for x in (NEAR, B, A / 9.0, B[:2], A / 4.0, B / 9.0)]
    solved, direction = riccati(name), [complex_(x - 0.1) for x in (NEAR, B, A, B[:2], A, B)]
    expected = solved(scipy.linalg, *arrays)
    np.testing.assert_allclose(primad.jit(partial(solved, mirror))(*arrays), expected, rtol=1e-10)
    _, found = primad.jvp(partial(solved, mirror), arrays, direction)
    moved = [solved(scipy.linalg, *[x + h * d for x, d in zip(arrays, direction, strict=True)]) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(found, (moved[0] - moved[1]) / 2e-5, rtol=1e-6, atol=1e-6 * np.max(np.abs(found)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name", ["cosm", "tanm", "sinhm", "signm", "polar", "orthogonal_procrustes", "subspace_angles"]
)
def test_functions_of_complex_matrices_have_the_derivatives_of_differences(name: str) -> None:
    """In value along a complex direction; of order 2, by differences of the first, for real ones."""
    arrays = [B, B[::-1] + 0.3] if name in ("orthogonal_procrustes", "subspace_angles") else [A - 4.0 * np.eye(4)]
    arrays = [complex_(x) / 3.0 for x in arrays]
    ways = [complex_(np.sin(x)) for x in arrays]
    found = primad.recording.tree.leaves(primad.jvp(getattr(mirror, name), arrays, ways)[1])

    def moved(step: float) -> list[Any]:
        there = [x + step * way for x, way in zip(arrays, ways, strict=True)]
        return [np.asarray(leaf) for leaf in primad.recording.tree.leaves(getattr(scipy.linalg, name)(*there))]

    for own, above, below in zip(found, moved(1e-6), moved(-1e-6), strict=True):
        assert np.max(np.abs(own)) > 1e-3
        np.testing.assert_allclose(own, (above - below) / 2e-6, rtol=1e-6, atol=1e-7 * np.max(np.abs(own)))
    real = [x.real for x in arrays]
    primad.check_grads(lambda *xs: primad.recording.tree.map(np.sin, getattr(mirror, name)(*xs)), real, order=2)


def test_what_is_not_read_has_no_derivative() -> None:
    for kind, width in (("diagonal", 0), ("tridiagonal", 1)):
        slope = primad.grad(lambda a, kind=kind: np.sum(mirror.solve(a, V, assume_a=kind)))(A)
        apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        assert np.array_equal(slope != 0, apart <= width)


def test_matrices_without_a_root_or_a_single_solution_are_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"no real principal square root.*at \[1\] of the stack"):
        primad.jit(mirror.sqrtm)(np.stack([A, -A]))
    with pytest.raises(np.linalg.LinAlgError, match="no single solution"):
        primad.grad(lambda x: np.sum(mirror.sqrtm(x)))(np.diag([1.0, 0.0]))
    for solve in (lambda q: mirror.solve_sylvester(A, -A, q), lambda q: mirror.solve_discrete_lyapunov(np.eye(4), q)):
        with pytest.raises(np.linalg.LinAlgError, match="no single solution"):
            primad.jit(solve)(S)
    assert np.isnan(primad.jit(mirror.expm)(np.full((2, 2), np.nan))).all()
    assert np.isnan(primad.jit(mirror.sqrtm)(np.full((2, 2), np.inf))).all()


def test_exponentials_have_derivatives_of_every_order() -> None:
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for order in range(5):
        found = primad.derivative(lambda t: mirror.expm(t * turn)[1, 0], order)(0.3)
        np.testing.assert_allclose(found, np.sin(0.3 + order * np.pi / 2), rtol=1e-13)
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])  # not diagonalizable
    primad.check_grads(mirror.expm, (jordan,), order=3)
    primad.check_grads(lambda a: mirror.sqrtm(a @ a.T), (jordan,), order=2)
    stack = np.stack([jordan, 2.0 * turn, np.zeros((2, 2))])
    slope = primad.vmap(primad.grad(lambda a: mirror.expm(a)[0, 1]))(stack)
    each = [primad.grad(lambda a: mirror.expm(a)[0, 1])(a) for a in stack]
    np.testing.assert_allclose(slope, each, rtol=1e-12, atol=1e-14)


def exactly(a: Any, e: Any) -> tuple[Any, Any]:
    """Return the exponential of a matrix and its derivative along another one, to 200 digits, as floats."""
    context, n = mpmath.MPContext(), len(a)
    context.dps = 200
    found = context.expm(context.matrix(np.block([[a, e], [np.zeros_like(a), a]]).tolist()))
    whole = np.array([[float(found[i, j]) for j in range(2 * n)] for i in range(n)])
    return whole[:, :n], whole[:, n:]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_exponentials_of_triangular_matrices_have_derivatives_where_powers_overflow(seed: int) -> None:
    """They themselves do not; small elements beside large ones count, in every order."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 2
    order = rng.permutation(n)
    diagonal = np.append(-1e60, rng.choice([-1e45, -3.0, -1.0, 0.0], n - 1))
    above = np.triu(10.0 ** rng.uniform(-3, 60, (n, n)), 1)
    a, most = (np.diag(diagonal) + above * sign for sign in (np.triu(rng.choice([-1.0, 0.0, 1.0], (n, n))), 1.0))
    a, most = (x[order][:, order] for x in (a, most))
    e = rng.normal(size=(n, n))
    ours = (*primad.jvp(mirror.expm, (a,), (e,)), primad.grad(lambda a: np.sum(mirror.expm(a) * e))(a))
    sizes = (*exactly(most, np.abs(e)), exactly(most.T, np.abs(e))[1])  # what rounding errors are measured by
    for found, expected, size in zip(ours, (*exactly(a, e), exactly(a.T, e)[1]), sizes, strict=True):
        np.testing.assert_array_less(np.abs(found - expected), 1e-11 * size + 1e-300)


def test_exponentials_that_are_nothing_have_no_derivative() -> None:
    full = -1e200 * np.array([[3.0, 1.0, -1.0], [0.5, 2.0, 1.0], [1.0, 1.0, 4.0]])
    value, along = primad.jvp(mirror.expm, (np.stack([full, np.zeros((3, 3))]),), (np.ones((2, 3, 3)),))
    np.testing.assert_array_equal(value, [np.zeros((3, 3)), np.eye(3)])
    np.testing.assert_array_equal(along, [np.zeros((3, 3)), np.ones((3, 3))])


POWERS = st.floats(-300.0, 300.0)


@pytest.mark.parametrize("backend", ["native", "jax"])
@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(st.integers(0, 2**32 - 1), POWERS, POWERS, st.floats(-700.0, 709.0))
def test_derivatives_of_exponentials_are_linear_at_every_size(
    backend: str, seed: int, size: float, small: float, shift: float
) -> None:
    """Along what commutes with a the derivative is a product; of a stack each is its own, and none is lost or inf."""
    if backend == "jax":
        pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
    draw = np.random.default_rng(seed)
    turned = np.array([[0.0, 1.0], [-1.0, 0.0]])
    a = np.stack([10.0 ** min(size, 1.0) * draw.normal() * turned, np.diag([shift, shift]) + 0.1 * turned, np.eye(2)])
    e = draw.normal(size=(3, 1, 1)) * np.eye(2) + draw.normal(size=(3, 1, 1)) * turned
    scales = 10.0 ** np.array([size, small, -size])[:, None, None]
    with np.errstate(all="ignore"):
        wanted, found = e @ EXPONENTIAL(a) * scales, ALONG[backend](a, e * scales)
        norms = np.max(np.abs(wanted), axis=(-2, -1), keepdims=True)
        kept = (norms < 1e307) & (norms > 1e-300)  # what is beyond is no number, or has fewer digits
        assert np.all(np.where(kept, np.abs(found - wanted) <= 1e-10 * norms, True)), (scales, shift)


EXPONENTIAL = primad.jit(mirror.expm)
"""More accurate than SciPy's own, which the mirror calls with plain arrays, where the mean of a diagonal is large."""


@hypothesis.given(st.floats(-700.0, 700.0), st.floats(-3.0, 3.0))
def test_exponentials_are_as_accurate_beside_a_multiple_of_the_identity(shift: float, angle: float) -> None:
    a = shift * np.eye(2) + angle * np.array([[0.0, 1.0], [-1.0, 0.0]])
    wanted = np.exp(shift) * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    assert np.max(np.abs(EXPONENTIAL(a) - wanted)) <= 1e-13 * np.exp(shift)


ALONG = {name: primad.jit(partial(mirror.expm_frechet, compute_expm=False), backend=name) for name in ("native", "jax")}


def test_what_is_not_supported_says_so() -> None:
    refused: dict[str, Function] = {
        "pivoting": lambda a: mirror.qr(a, pivoting=True),
        "mode": lambda a: mirror.qr(a[:, :2]),
        r"\['type'\]": lambda a: mirror.eigh(a, S, type=2),
        "subset_by_index": lambda a: mirror.eigh(a, subset_by_index=[0, 1]),
        "return_rank": lambda a: mirror.pinv(a, return_rank=True),
        "assume_a": lambda a: mirror.solve(a, V, assume_a="odd"),
        "trans must": lambda a: mirror.solve_triangular(a, V, trans=7),
        "plain factors": lambda a: mirror.lu_solve(scipy.linalg.lu_factor(A), a),
        "bands": lambda a: mirror.solve_banded((1, 1), a, V),
        "square": lambda a: mirror.lu(a[:, :2]),
        "method": lambda a: mirror.expm_frechet(a, a, "other"),
        "disp": lambda a: mirror.sqrtm(a, disp=False),
    }
    for said, function in refused.items():
        with pytest.raises(primad.errors.PrimadError, match=said):
            primad.trace(function)(S)


def test_the_other_types_of_problems_of_two_matrices_are_what_the_message_says() -> None:
    inverse = scipy.linalg.inv(S)
    w, u = scipy.linalg.eigh(A + A.T, inverse)
    for kind, v in ((2, inverse @ u), (3, u)):
        values, vectors = scipy.linalg.eigh(A + A.T, S, type=kind)
        np.testing.assert_allclose(w, values, rtol=1e-10)
        scale = np.linalg.norm(v, axis=0) / np.linalg.norm(vectors, axis=0)
        np.testing.assert_allclose(np.abs(v), np.abs(vectors) * scale, rtol=1e-8, atol=1e-12)


def test_names_that_are_missing_name_what_there_is() -> None:
    assert set(INSTEAD["scipy.linalg"]) <= set(scipy.linalg.__all__).difference(primad.scipy.linalg.__all__)
    for name in set(scipy.linalg.__all__).difference(primad.scipy.linalg.__all__):
        way = INSTEAD["scipy.linalg"].get(name, f"scipy.linalg.{name} called as it is: primad.opaque")
        with pytest.raises(AttributeError, match=re.escape(way)) as caught:
            getattr(primad.scipy.linalg, name)
        assert isinstance(caught.value, primad.PrimadError)
    with pytest.raises(AttributeError, match=r"did you mean cholesky"):
        getattr(primad.scipy.linalg, "choleski")  # noqa: B009
    with pytest.raises(AttributeError, match=r"cluster"):
        getattr(primad.scipy, "cluster")  # noqa: B009
    with pytest.raises(primad.PrimadError, match=r"np.linalg.lstsq is recorded"):
        primad.grad(lambda x: primad.scipy.linalg.lstsq(x[:, None] * x, x)[0].sum())(np.ones(2))
    assert not hasattr(primad.scipy, "__wrapped__")

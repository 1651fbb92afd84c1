"""At the edge of what functions take, traced arrays are taken and refused as NumPy takes and refuses plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

import primad
import primad.numpy as pnp
from primad import PrimadError
from primad.numpy import names
from primad.recording import tree
from primad.recording.protocols import FUNCTIONS, UFUNCS
from primad.recording.protocols import REFUSED as REFUSED_THERE

A = np.array([0.5, 2.0, 1.5])
M = np.arange(1.0, 10.0).reshape(3, 3) + 3 * np.eye(3)
T = np.arange(24.0).reshape(2, 3, 4)
ZEROS, NONE = np.zeros(3), np.zeros(0)

CALLS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "linear algebra": {
        "outer of a matrix": lambda a: np.linalg.outer(a, M),
        "outer with a matrix": lambda a: np.linalg.outer(M, a),
        "outer": lambda a: np.linalg.outer(a, a),
        "power of a vector": lambda a: np.linalg.matrix_power(a, 2),
        "power of a wide matrix": lambda a: np.linalg.matrix_power(np.ones((2, 3)) * a, 2),
        "power": lambda a: np.linalg.matrix_power(M * a, 2),
        "tensorsolve": lambda a: np.linalg.tensorsolve(M * a, a),
        "tensorsolve of too many": lambda a: np.linalg.tensorsolve(np.ones((3, 2, 3)) * a, a),
        "tensorinv by no axes": lambda a: np.linalg.tensorinv(a[:1], ind=0),
        "tensorinv by less": lambda a: np.linalg.tensorinv(M * a, ind=-1),
        "tensorinv": lambda a: np.linalg.tensorinv(M * a, ind=1),
        "lstsq of stacks": lambda a: np.linalg.lstsq(T * a[0], a, rcond=None)[0],
        "lstsq for stacks": lambda a: np.linalg.lstsq(M * a, np.ones((3, 2, 2)), rcond=None)[0],
        "lstsq of other rows": lambda a: np.linalg.lstsq(M * a, np.ones(4), rcond=None)[0],
        "lstsq for a number": lambda a: np.linalg.lstsq(M * a, a[0], rcond=None)[0],
        "solve of a vector": lambda a: np.linalg.solve(a, M),
        "solve for a number": lambda a: np.linalg.solve(M * a, a[0]),
        "solve of other rows": lambda a: np.linalg.solve(M * a, np.ones((4, 2))),
        "norm of a number": lambda a: np.linalg.norm(a[0] * (3 + 4j)),
        "norm of a number, over nothing": lambda a: np.linalg.norm(np.reshape(a[0] * (3 + 4j), ())),
        "norm of order 0": lambda a: np.linalg.norm(a, 0),
        "dot with a stack": lambda a: np.dot(M * a, np.ones((2, 3, 4))),
        "dot of a stack": lambda a: np.dot(T, np.ones((4, 2)) * a[0]),
        "vecdot by axis and axes": lambda a: np.vecdot(a, a, axis=0, axes=[0, 0]),
        "vecdot by axes": lambda a: np.vecdot(M * a, a, axes=[0, 0, ()]),
        "einsum of too many letters": lambda a: np.einsum("ijk->i", M * a),
        "einsum of too few": lambda a: np.einsum("i->i", M * a),
        "einsum of more than dots": lambda a: np.einsum("ij...->i", a),
        "einsum of two dots": lambda a: np.einsum("i..->i", M * a),
        "einsum of four dots": lambda a: np.einsum("....->...", a),
        "einsum twice in the result": lambda a: np.einsum("i,j->ii", a, a),
        "einsum, unknown in the result": lambda a: np.einsum("i->j", a),
        "einsum by numbers": lambda a: np.einsum(a, [0], M * a, [0, 51], [51]),
        "einsum by a large number": lambda a: np.einsum(a, [52], [52]),
        "einsum by a number below": lambda a: np.einsum(a, [-1], [-1]),
    },
    "polynomials": {
        "roots of a line": lambda a: np.roots(a[:2]),
        "roots of a number": lambda a: np.roots(a[:1]),
        "fit of rows": lambda a: np.polyfit(M * a, a, 1),
        "fit of nothing": lambda a: np.polyfit(a[:0], a[:0], 1),
        "fit to stacks": lambda a: np.polyfit(a, T * a[0], 1),
        "fit to a number": lambda a: np.polyfit(a, a[0], 1),
        "fit of other lengths": lambda a: np.polyfit(a, a[:2], 1),
        "covariance of too few": lambda a: np.polyfit(a[:2], a[:2], 1, cov=True)[1],
        "covariance": lambda a: np.polyfit(a, a**2, 1, cov=True)[1],
        "integral": lambda a: pnp.polynomial.polynomial.polyint(a, 2, [1.0, 2.0]),
        "integral with too many constants": lambda a: pnp.polynomial.polynomial.polyint(a, 1, [1.0, 2.0]),
        "integral from several bounds": lambda a: pnp.polynomial.polynomial.polyint(a, lbnd=[0.0, 1.0]),
        "integral of several scales": lambda a: pnp.polynomial.polynomial.polyint(a, scl=[2.0, 1.0]),
        "degrees in rows": lambda a: pnp.polynomial.polynomial.polyfit(a, a, [[1]]),
        "a degree with a fraction": lambda a: pnp.polynomial.polynomial.polyfit(a, a, 1.5),
        "no degrees": lambda a: pnp.polynomial.polynomial.polyfit(a, a, []),
        "degrees below 0": lambda a: pnp.polynomial.polynomial.polyfit(a, a, [0, -1]),
        "degrees": lambda a: pnp.polynomial.polynomial.polyfit(a, a**2, [0, 1]),
    },
    "reductions": {
        **{f"quantile {q}": lambda a, q=q: np.quantile(a, q) for q in (-0.1, 0.0, 1.0, 1.1, np.nan)},  # type: ignore[misc]
        "weights below 0": lambda a: np.quantile(a, 0.5, weights=[1.0, -1.0, 2.0], method="inverted_cdf"),
        "weights": lambda a: np.quantile(a, 0.5, weights=[1.0, 0.0, 2.0], method="inverted_cdf"),
        "initial in an array": lambda a: np.max(a, initial=np.ones(2), where=a > 1),
        "no initial": lambda a: np.max(a, where=a > 1),
        "average of two axes by a row": lambda a: np.average(M * a, axis=(0, 1), weights=[1.0, 2.0, 3.0]),
        "average by a matrix": lambda a: np.average(M * a, axis=0, weights=np.ones((3, 2))),
        "average by a row": lambda a: np.average(M * a, axis=0, weights=[1.0, 2.0, 3.0]),
        "argmax of a number": lambda a: np.argmax(a[0], axis=-1),
        "argmax of a number along (0,)": lambda a: np.argmax(a[0], axis=(0,)),  # type: ignore[call-overload]
        "argmax of a number along 1": lambda a: np.argmax(a[0], axis=1),
        "bins in an array": lambda a: np.histogramdd(M * a, np.array([2, 3, 2]))[0],
        "bins in a list": lambda a: np.histogramdd(M * a, [2, 3, 2])[0],
        **{
            f"running products of {n}": lambda a, n=n: np.cumprod(np.ones(n) * a[0])  # type: ignore[misc]
            for n in (0, 1, 15, 16, 17, 31, 32, 33)
        },
    },
    "signals": {
        "windows of all": lambda a: sliding_window_view(a, 3),
        "windows of more": lambda a: sliding_window_view(a, 4),
        "windows of none": lambda a: sliding_window_view(a, 0),
        "windows of less": lambda a: sliding_window_view(a, -1),
        "convolve of nothing": lambda a: np.convolve(a[:0], a),
        "convolve with nothing": lambda a: np.convolve(a, NONE),
        "convolve of rows": lambda a: np.convolve(M * a, a),
        "spacing": lambda a: np.gradient(a, 2.0),
        "spacing for both axes": lambda a: np.gradient(M * a, 2.0)[1],
        "points": lambda a: np.gradient(a, np.array([0.0, 1.0, 3.0])),
        "points for two axes": lambda a: np.gradient(M * a, np.array([0.0, 1.0, 3.0]))[0],
        "too many spacings": lambda a: np.gradient(a, 1.0, 2.0),
        "edges of order 3": lambda a: np.gradient(a, edge_order=3),
        "edges of order 2": lambda a: np.gradient(a, edge_order=2),
        "interpolation in rows": lambda a: np.interp(a, M, M),
        "interpolation of other lengths": lambda a: np.interp(a, A, np.ones(2)),
        "interpolation in nothing": lambda a: np.interp(a, NONE, NONE),
        "interpolation": lambda a: np.interp(a, [0.0, 1.0, 2.0], a),
    },
    "shapes": {
        "blocks": lambda a: np.block([[a, a], [a, a]]),
        "an empty block": lambda a: np.block([[a], []]),
        "no block": lambda a: np.block([[], [a]]),
        "blocks of two depths": lambda a: np.block([a, [a]]),
        "blocks of two other depths": lambda a: np.block([[a], a]),
        **{f"inserted at {at}": lambda a, at=at: np.insert(a, at, 7.0) for at in (-4, -3, 0, 3, 4)},  # type: ignore[misc]
        **{
            f"inserted at {at}": lambda a, at=at: np.insert(a, at, 7.0)  # type: ignore[misc]
            for at in ([], [0, 3], [-3, 1], [0, 4])
        },
        **{f"rolled to {to}": lambda a, to=to: np.rollaxis(T * a[0], 1, to) for to in (-4, -3, 3, 4)},  # type: ignore[misc]
        "at least 3 of 3": lambda a: np.atleast_3d(T * a[0]),
        "at least 3 of 2": lambda a: np.atleast_3d(M * a),
        "shared": lambda a: (np.may_share_memory(a, a), np.shares_memory(a, a)),
        "nothing is shared": lambda a: [f(a[:0], a[:0]) for f in (np.may_share_memory, np.shares_memory)],
        "finite integers": lambda a: pnp.asarray_chkfinite(a.astype(int)),
        "finite": lambda a: pnp.asarray_chkfinite(a),
        "not finite": lambda a: pnp.asarray_chkfinite(a / 0.0),
        "indices from behind": lambda a: a[np.array([-3, 2])],
        "indices behind": lambda a: a[np.array([0, 3])],
        "indices before": lambda a: a[np.array([-4, 0])],
        "no index": lambda a: a[np.array([], int)],
        "taken with a mode": lambda a: np.take(a, [0, 5], mode="clip"),
        "taken with no mode": lambda a: np.take(a, [0, 1], mode="other"),  # type: ignore[call-overload]
        "a truth as an index": lambda a: a[True],
        "searched in nothing": lambda a: np.searchsorted(a[:0], a),
        "searched": lambda a: np.searchsorted(np.sort(a), a, side="right"),
        **{f"trimmed {t}, zeros": lambda a, t=t: np.trim_zeros(a * 0, t) for t in ("f", "b", "fb")},  # type: ignore[misc]
        **{
            f"trimmed {t}": lambda a, t=t: np.trim_zeros(np.concatenate([a * 0, a, a * 0]), t)  # type: ignore[misc]
            for t in ("f", "b", "fb")
        },
        "select of one too many": lambda a: np.select([a > 1], [a, a]),
        "select of nothing": lambda a: np.select([], [], a),
        "select": lambda a: np.select([a > 1, a > 0], [a, -a]),
        "pieces by truths": lambda a: np.piecewise(a, [True, False, True], [lambda x: x * 2]),
        "pieces": lambda a: np.piecewise(a, [a > 1], [lambda x: x * 2, 3.0]),
        "pieces of a number": lambda a: np.piecewise(a[0], [True], [lambda x: x * 2]),
        "reshaped to nothing": lambda a: np.reshape(a, (0, -1)),
        "reshaped unevenly": lambda a: np.reshape(a, (2, -1)),
        "reshaped": lambda a: np.reshape(a, (3, -1), order="A"),
        "transposed": lambda a: (M * a).transpose(),
        "transposed by nothing": lambda a: (M * a).transpose(None),
        "transposed by order": lambda a: (M * a).transpose(1, 0),
        "transposed by a tuple": lambda a: (M * a).transpose((1, 0)),
        "a number transposed": lambda a: a[0].transpose(()),
        "pieces to the left": lambda a: np.unwrap(a * 7),
        "one geometric point": lambda a: np.geomspace(a[0], a[1], 1),
        "no geometric point": lambda a: np.geomspace(a[0], a[1], 0),
        "two geometric points": lambda a: np.geomspace(a[0], a[1], 2),
    },
    "elements": {
        "real if close": lambda a: np.real_if_close(a + 1e-16j),
        "real if closer than 1": lambda a: np.real_if_close(a + 0.5j, tol=1),
        "rounded to 0": lambda a: np.round(a),
        "integers rounded to -1": lambda a: np.round((a * 10).astype(int), -1),
        "truths": lambda a: a.astype(bool).astype(bool),
        **{
            f"{f.__name__} {n}": lambda a, f=f, n=n: f((a * 100 - 178).astype(np.int8), n)  # type: ignore[misc]
            for f in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal)
            for n in (-129, -128, 22, 127, 128)
        },
        "compared with a large integer": lambda a: a < 10**30,
        "yn of order 1": lambda a: special.yn(1, a),
    },
}  # fmt: skip
NAMES = [(kind, name) for kind, calls in CALLS.items() for name in calls]


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the error."""
    with np.errstate(all="ignore"):
        try:
            return primad.value(call())
        except (PrimadError, ArithmeticError, ValueError, TypeError, IndexError) as error:
            return error


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "name"), NAMES)
@pytest.mark.filterwarnings("ignore")
def test_the_edge_is_numpys(kind: str, name: str) -> None:
    call = CALLS[kind][name]
    expected, found = outcome(lambda: call(A)), outcome(lambda: primad.jvp(call, (A,), (ZEROS,))[0])
    if isinstance(expected, Exception):
        assert isinstance(found, PrimadError), found
    else:
        assert not isinstance(found, Exception), found
        for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "tensorsolve, turned": (
        lambda a: np.linalg.tensorsolve(np.ones((3, 1, 3)) * a, np.ones((1, 3))), "no square system",
    ),
    "vecdot by keepdims and axes": (
        lambda a: np.vecdot(a, a, keepdims=True, axes=[0, 0]), "axes= goes with neither axis= nor keepdims=",
    ),
    "inserted before the first": (lambda a: np.insert(a, [-4, 1], 7.0), "out of range"),
    "a sparse matrix and a stack": (lambda a: scipy.sparse.eye_array(3) @ (T[:, :, :3] * a), "do not fit"),
    "a sparse matrix and other rows": (lambda a: scipy.sparse.eye_array(3) @ a[:2], "do not fit"),
    "a sparse vector": (lambda a: scipy.sparse.coo_array(np.ones(3)) @ a, "do not fit"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_numpy_takes_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(PrimadError, match=said):
        primad.jvp(call, (A,), (ZEROS,))


def test_no_function_is_both_taken_and_refused() -> None:
    assert names.numpys_own(set()) and REFUSED_THERE.keys().isdisjoint([*FUNCTIONS, *UFUNCS])


def test_arrays_of_a_recording_that_has_ended_are_not_combined() -> None:
    kept: list[Any] = []
    primad.trace(lambda x: kept.append((x, np.sin(x))) or x)(A)
    with pytest.raises(PrimadError):
        kept[0][0] + kept[0][1]

"""Calls of NumPy functions that compositions of others record, for the tests that compare with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import primad.numpy as pnp

RNG = np.random.default_rng(20261122)
NAN = np.nan


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def positive(*shape: int) -> Any:
    return RNG.uniform(0.3, 2.5, shape)


def apart(*shape: int) -> Any:
    """All different, none near a half or an integer."""
    n = int(np.prod(shape))
    return (RNG.permutation(n) * 0.37 - 1.13).reshape(shape)


HOLES = np.array([[1.0, NAN, -0.5], [0.3, 2.0, NAN]])
X = np.array([0.3, 1.7, 2.2, 3.6])
XP, FP = np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, -1.0, 0.5, 2.0])
POINTS = np.array([0.0, 0.4, 1.1, 1.5, 2.7])

# name -> [(function of (numpy-like module, *arrays), arrays)], as in test_numpy_surface.
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "fabs": [(lambda n, x: n.fabs(x), (apart(4),))],
    "fmod": [(lambda n, x, y: n.fmod(x, y), (apart(4), positive(4)))],
    "divmod": [(lambda n, x, y: n.divmod(x, y)[1], (apart(4), positive(4)))],
    "left_shift": [(lambda n, x: n.left_shift(x, 2), (np.arange(4),))],
    "right_shift": [(lambda n, x: n.right_shift(x, 1), (np.arange(4),))],
    "bitwise_left_shift": [(lambda n, x: n.bitwise_left_shift(x, 2), (np.arange(4),))],
    "bitwise_right_shift": [(lambda n, x: n.bitwise_right_shift(x, 1), (np.arange(4),))],
    "bitwise_invert": [(lambda n, x: n.bitwise_invert(x), (np.arange(4),))],
    "bitwise_not": [(lambda n, x: n.bitwise_not(x), (np.arange(4),))],
    "acos": [(lambda n, x: n.acos(0.9 * n.tanh(x)), (normal(3),))],
    "acosh": [(lambda n, x: n.acosh(1.0 + x), (positive(3),))],
    "asin": [(lambda n, x: n.asin(0.9 * n.tanh(x)), (normal(3),))],
    "asinh": [(lambda n, x: n.asinh(x), (normal(3),))],
    "atan": [(lambda n, x: n.atan(x), (normal(3),))],
    "atan2": [(lambda n, x, y: n.atan2(x, y), (normal(2, 3), normal(3)))],
    "atanh": [(lambda n, x: n.atanh(0.9 * n.tanh(x)), (normal(3),))],
    "concat": [(lambda n, x: n.concat([x, x], axis=1), (normal(2, 3),))],
    "permute_dims": [(lambda n, x: n.permute_dims(x, (1, 0)), (normal(2, 3),))],
    "pow": [(lambda n, x, y: n.pow(x, y), (positive(2, 3), normal(3)))],
    "row_stack": [(lambda n, x, y: n.vstack([x, y]), (normal(2), normal(2)))],
    "result_type": [(lambda n, x: x * (1 if n.result_type(x, np.float32) == np.float64 else 2), (normal(3),))],
    # exponents, bits and integers
    "ldexp": [
        (lambda n, x: n.ldexp(x, [2, -1, 0]), (normal(3),)),
        (lambda n, x, k: n.ldexp(x, k), (normal(3), np.array([[1], [-2]]))),
    ],
    "frexp": [(lambda n, x: n.frexp(x)[0], (apart(4) * 7,)), (lambda n, x: n.frexp(x)[1], (apart(4) * 7,))],
    "spacing": [(lambda n, x: n.spacing(x), (apart(4),))],
    "nextafter": [(lambda n, x: n.nextafter(x, 1.0), (apart(4),))],
    "gcd": [(lambda n, x: n.gcd(x, 12), (np.arange(-3, 9),))],
    "lcm": [(lambda n, x: n.lcm(x, [[4], [6]]), (np.arange(-3, 9),))],
    "bitwise_count": [(lambda n, x: n.bitwise_count(x), (np.arange(-3, 9),))],
    "packbits": [(lambda n, x: n.packbits(x > 0, axis=1, bitorder="little"), (normal(2, 11),))],
    "unpackbits": [
        (lambda n, x, c=c: n.unpackbits(x, count=c), (np.array([3, 200, 7], np.uint8),)) for c in (19, 24, 30)
    ],
    # products of stacks
    "matvec": [(lambda n, x, y: n.matvec(x, y), (normal(2, 1, 2, 3), normal(4, 3)))],
    "vecmat": [(lambda n, x, y: n.vecmat(x, y), (normal(4, 2), normal(3, 1, 2, 3)))],
    # windows
    "i0": [(lambda n, x: n.i0(x), (normal(2, 3) * 4,)), (lambda n, x: n.i0(x), (np.arange(-2, 3),))],
    "kaiser": [(lambda n, x: pnp.kaiser(6, x), (np.array(3.5),)), (lambda n, x: pnp.kaiser(1, x), (np.array(3.5),))],
    # histograms
    "histogram": [
        (lambda n, x: n.histogram(x * 1.0, 3, density=True)[0], (apart(3, 4),)),
        (lambda n, x: n.histogram(x, 3)[1], (apart(7),)),
        (lambda n, x, w: n.histogram(x, [-1.0, 0.2, 0.9, 2.0], weights=w)[0], (apart(7), positive(7))),
    ],
    "histogram_bin_edges": [(lambda n, x: n.histogram_bin_edges(x * 1.0, 4), (apart(7),))],
    "histogram2d": [
        (lambda n, x, y: n.histogram2d(x, y, 5, density=True)[0], (apart(7), apart(7))),
        (lambda n, x, y, w: n.histogram2d(x, y, [-0.5, 0.4, 2.0], weights=w)[0], (apart(7), apart(7), normal(7))),
    ],
    "histogramdd": [
        (lambda n, x: n.histogramdd(x, 2)[1][2], (apart(5, 3),)),
        (lambda n, x, w: n.histogramdd([x, x + 1], (5, [-0.1, 1.4]), weights=w)[0], (apart(7), normal(7))),
    ],
    # rounding
    "rint": [(lambda n, x: n.rint(x), (apart(5) * 3,))],
    "trunc": [(lambda n, x: n.trunc(x), (apart(5) * 3,))],
    "fix": [(lambda n, x: n.fix(x), (apart(5) * 3,))],
    "round": [(lambda n, x: n.round(x), (apart(5) * 3,)), (lambda n, x: n.round(x, 1), (apart(5) + 0.03,))],
    "around": [(lambda n, x: n.around(x, -1), (apart(5) * 30 + 0.3,))],
    "modf": [(lambda n, x: n.modf(x)[0], (apart(5) * 3,)), (lambda n, x: n.modf(x)[1], (apart(5) * 3,))],
    "signbit": [(lambda n, x: n.signbit(x), (np.array([-1.0, -0.0, 0.0, 2.0]),))],
    "copysign": [(lambda n, x, y: n.copysign(x, y), (apart(5), apart(5)))],
    "fmax": [(lambda n, x, y: n.fmax(x, y), (np.array([1.0, NAN, 2.0]), np.array([NAN, 0.5, 3.0])))],
    "fmin": [(lambda n, x, y: n.fmin(x, y), (apart(2, 3), apart(3) + 0.05))],
    "degrees": [(lambda n, x: n.degrees(x), (normal(3),))],
    "rad2deg": [(lambda n, x: n.rad2deg(x), (normal(3),))],
    "radians": [(lambda n, x: n.radians(x), (normal(3),))],
    "deg2rad": [(lambda n, x: n.deg2rad(x), (normal(3),))],
    "isposinf": [(lambda n, x: n.isposinf(x), (np.array([1.0, np.inf, -np.inf, NAN]),))],
    "isneginf": [(lambda n, x: n.isneginf(x), (np.array([1.0, np.inf, -np.inf, NAN]),))],
    "nan_to_num": [
        (lambda n, x: n.nan_to_num(x), (HOLES,)),
        (lambda n, x: n.nan_to_num(x, nan=5.0, posinf=6.0, neginf=7.0), (np.array([1.0, np.inf, -np.inf, NAN]),)),
    ],
    "logaddexp2": [(lambda n, x, y: n.logaddexp2(x, y), (normal(2, 3), normal(3)))],
    "sinc": [(lambda n, x: n.sinc(x), (np.array([-1.3, -0.2, 1e-9, 0.1, 0.6]),))],
    "real": [(lambda n, x: n.real(x), (normal(3),))],
    "imag": [(lambda n, x: n.imag(x), (normal(3),))],
    "conj": [(lambda n, x: n.conj(x), (normal(3),))],
    "conjugate": [(lambda n, x: n.conjugate(x), (normal(3),))],
    "real_if_close": [(lambda n, x: n.real_if_close(x), (normal(3),))],
    "iscomplex": [(lambda n, x: n.iscomplex(x), (normal(3),))],
    "isreal": [(lambda n, x: n.isreal(x), (normal(3),))],
    "iscomplexobj": [(lambda n, x: x * n.iscomplexobj(x), (normal(3),))],
    "isrealobj": [(lambda n, x: x * n.isrealobj(x), (normal(3),))],
    "angle": [(lambda n, x: n.angle(x), (apart(4),)), (lambda n, x: n.angle(x, deg=True), (apart(4),))],
    # nearly equal
    "isclose": [(lambda n, x, y: n.isclose(x, y), (np.array([1.0, 2.0, NAN]), np.array([1.0 + 1e-9, 2.1, NAN])))],
    "allclose": [(lambda n, x, y: n.allclose(x, y), (np.ones(3), np.ones(3) + 1e-9))],
    "array_equal": [(lambda n, x, y: n.array_equal(x, y), (np.arange(3.0), np.arange(3.0)))],
    "array_equiv": [(lambda n, x, y: n.array_equiv(x, y), (np.ones((2, 3)), np.ones(3)))],
    # without NaN
    "nansum": [(lambda n, x: n.nansum(x), (HOLES,)), (lambda n, x: n.nansum(x, 0, keepdims=True), (HOLES,))],
    "nanprod": [(lambda n, x: n.nanprod(x), (HOLES,))],
    "nancumsum": [(lambda n, x: n.nancumsum(x, 1), (HOLES,))],
    "nancumprod": [(lambda n, x: n.nancumprod(x), (HOLES,))],
    "nanmax": [(lambda n, x: n.nanmax(x), (HOLES,)), (lambda n, x: n.nanmax(x, 1), (HOLES,))],
    "nanmin": [(lambda n, x: n.nanmin(x, 0), (HOLES,))],
    "nanargmax": [(lambda n, x: n.nanargmax(x, 1), (HOLES,))],
    "nanargmin": [(lambda n, x: n.nanargmin(x), (HOLES,))],
    "nanmean": [(lambda n, x: n.nanmean(x), (HOLES,)), (lambda n, x: n.nanmean(x, 1), (HOLES,))],
    "nanvar": [(lambda n, x: n.nanvar(x), (HOLES,)), (lambda n, x: n.nanvar(x, 1, ddof=1), (HOLES,))],
    "nanstd": [(lambda n, x: n.nanstd(x, 1, keepdims=True), (HOLES,))],
    "nanmedian": [(lambda n, x: n.nanmedian(x), (HOLES,)), (lambda n, x: n.nanmedian(x, 1), (HOLES,))],
    "nanquantile": [
        (lambda n, x: n.nanquantile(x, 0.3), (HOLES,)),
        (lambda n, x: n.nanquantile(x, [0.0, 0.4, 1.0], axis=1, method="hazen"), (HOLES,)),
        (
            lambda n, x: n.nanquantile(x, 0.5, method="inverted_cdf", weights=np.array([[0, 1, 2.0], [1, 1, 1]])),
            (HOLES,),
        ),
    ],
    "nanpercentile": [(lambda n, x: n.nanpercentile(x, [25, 60], axis=1), (HOLES,))],
    # quantiles
    "quantile": [
        (lambda n, x: n.quantile(x, 0.3), (apart(7),)),
        (lambda n, x: n.quantile(x, [0.1, 0.5], axis=0), (apart(4, 2),)),
        (lambda n, x: n.quantile(x, 0.4, axis=1, method="lower", keepdims=True), (apart(2, 4),)),
        (
            lambda n, x: n.quantile(x, [0.0, 0.5], axis=1, method="inverted_cdf", weights=[0.0, 1.0, 2.0, 1.0]),
            (apart(2, 4),),
        ),
        (lambda n, x: n.quantile(x, 0.4, axis=(0, 2), method="higher"), (apart(2, 4, 3),)),
        (lambda n, x: n.quantile(x, [0.4, 0.5], method="midpoint"), (apart(5),)),
    ],
    "percentile": [
        (lambda n, x: n.percentile(x, 30), (apart(7),)),
        (lambda n, x: n.percentile(x, [0, 99], 1), (apart(2, 4),)),
    ],
    "cov": [
        (lambda n, x: n.cov(x), (normal(2, 5),)),
        (lambda n, x, y: n.cov(x, y, bias=True), (normal(5), normal(5))),
        (lambda n, x: n.cov(x, rowvar=False, ddof=0), (normal(5, 2),)),
        (lambda n, x, w: n.cov(x, aweights=w), (normal(2, 5), positive(5))),
        (lambda n, x: n.cov(x), (normal(5),)),
    ],
    "corrcoef": [
        (lambda n, x: n.corrcoef(x), (normal(3, 5),)),
        (lambda n, x, y: n.corrcoef(x, y), (normal(5), normal(5))),
    ],
    # order
    "searchsorted": [
        (lambda n, x, y: n.searchsorted(n.sort(x), y), (apart(5), normal(2, 3))),
        (lambda n, x, y: n.searchsorted(n.sort(x), y, side="right"), (apart(5), normal(2, 3))),
    ],
    "digitize": [
        (lambda n, x: n.digitize(x, [-1.0, 0.0, 0.5]), (normal(2, 3),)),
        (lambda n, x: n.digitize(x, [3, 2, 0], right=True), (np.arange(5),)),
    ],
    "count_nonzero": [
        (lambda n, x: n.count_nonzero(x), (np.array([1.0, 0.0, 3.0]),)),
        (lambda n, x: n.count_nonzero(x, axis=0, keepdims=True), (np.eye(3),)),
    ],
    "partition": [(lambda n, x: n.partition(x, 2, axis=-1)[..., 2], (apart(2, 5),))],
    "argpartition": [(lambda n, x: n.argpartition(x, 2)[2], (apart(5),))],
    "lexsort": [(lambda n, x, y: n.lexsort((x, y)), (apart(5), np.array([1, 0, 1, 0, 1])))],
    "isin": [(lambda n, x: n.isin(x, [1, 4]), (np.arange(6).reshape(2, 3),))],
    "select": [
        (lambda n, x: n.select([x > 0.5, x > 0], [x * 2, x * x]), (apart(5),)),
        (lambda n, x, y: n.select([x > 0, y > 0], [x, 3.0], y), (apart(2, 3), apart(3))),
    ],
    "choose": [(lambda n, i, x: n.choose(i > 0, [x, x * 2]), (np.array([0, 1, 0]), normal(3)))],
    "piecewise": [
        (lambda n, x: n.piecewise(x, [x < 0, x > 0.5], [lambda v: v * 3, lambda v: v * v, 0.25]), (apart(5),)),
        (lambda n, x: n.piecewise(x, [x < 0], [-1, 1]), (apart(5),)),
    ],
    "compress": [(lambda n, x: n.compress([True, False, True], x, axis=1), (normal(2, 3),))],
    "extract": [(lambda n, x: n.extract(np.array([[True, False, True]] * 2), x), (normal(2, 3),))],
    "cumprod": [
        (lambda n, x: n.cumprod(x), (normal(2, 3),)),
        (lambda n, x: n.cumprod(x, axis=0), (normal(5, 2),)),
        (lambda n, x: n.cumprod(x), (np.array([1.0, 0.0, 2.0]),)),
    ],
    "cumulative_sum": [(lambda n, x: n.cumulative_sum(x, axis=1, include_initial=True), (normal(2, 3),))],
    "cumulative_prod": [(lambda n, x: n.cumulative_prod(x, axis=0), (normal(2, 3),))],
    # arranging
    "flipud": [(lambda n, x: n.flipud(x), (normal(2, 3),))],
    "fliplr": [(lambda n, x: n.fliplr(x), (normal(2, 3),))],
    "rot90": [(lambda n, x, k=k: n.rot90(x, k), (normal(2, 3),)) for k in (1, 2, 3, 4)]
    + [(lambda n, x: n.rot90(x, axes=(1, 2)), (normal(2, 2, 3),))],
    "matrix_transpose": [(lambda n, x: n.matrix_transpose(x), (normal(2, 3, 4),))],
    "rollaxis": [
        (lambda n, x: n.rollaxis(x, 2), (normal(2, 3, 4),)),
        (lambda n, x: n.rollaxis(x, 0, 2), (normal(2, 3, 4),)),
    ],
    "atleast_3d": [(lambda n, x: n.atleast_3d(x), (normal(2, 3),)), (lambda n, x: n.atleast_3d(x), (normal(2),))],
    "dstack": [(lambda n, x, y: n.dstack([x, y]), (normal(2, 3), normal(2, 3)))],
    "hsplit": [(lambda n, x: n.hsplit(x, 2)[1], (normal(2, 4),)), (lambda n, x: n.hsplit(x, [1, 3])[1], (normal(4),))],
    "vsplit": [(lambda n, x: n.vsplit(x, 2)[1], (normal(4, 2),))],
    "dsplit": [(lambda n, x: n.dsplit(x, [1])[1], (normal(2, 2, 3),))],
    "unstack": [(lambda n, x: n.unstack(x, axis=1)[2], (normal(2, 3),))],
    "block": [
        (lambda n, x, y: n.block([[x, y], [y, x]]), (normal(2, 2), normal(2, 2))),
        (lambda n, x: n.block([x, 1.0]), (normal(3),)),
    ],
    "broadcast_arrays": [(lambda n, x, y: n.broadcast_arrays(x, y)[1], (normal(2, 1), normal(3)))],
    "meshgrid": [
        (lambda n, x, y: n.meshgrid(x, y)[0], (normal(2), normal(3))),
        (lambda n, x, y: n.meshgrid(x, y, indexing="ij", sparse=True)[1], (normal(2), normal(3))),
    ],
    "resize": [(lambda n, x: n.resize(x, (2, 4)), (normal(3),)), (lambda n, x: n.resize(x, 2), (normal(3),))],
    "insert": [
        (lambda n, x: n.insert(x, 1, 5.0), (normal(3),)),
        (lambda n, x, y: n.insert(x, [2, 0], y), (normal(3), normal(2))),
        (lambda n, x, y: n.insert(x, 1, y, axis=1), (normal(2, 3), normal(2))),
        (lambda n, x, y: n.insert(x, [1], y, axis=1), (normal(2, 3), normal(2, 1))),
        (lambda n, x: n.insert(x, 2, [1.0, 2.0]), (normal(3),)),
    ],
    "delete": [
        (lambda n, x: n.delete(x, 1), (normal(3),)),
        (lambda n, x: n.delete(x, [0, 2], axis=1), (normal(2, 3),)),
        (lambda n, x: n.delete(x, slice(None, 2), 0), (normal(3, 2),)),
    ],
    "tril": [(lambda n, x: n.tril(x), (normal(3, 3),)), (lambda n, x: n.tril(x, -1), (normal(2, 3, 3),))],
    "triu": [(lambda n, x: n.triu(x), (normal(2, 3),)), (lambda n, x: n.triu(x, 1), (normal(3),))],
    "diagflat": [(lambda n, x: n.diagflat(x), (normal(2, 2),)), (lambda n, x: n.diagflat(x, 1), (normal(2),))],
    "vander": [(lambda n, x: n.vander(x), (normal(3),)), (lambda n, x: n.vander(x, 5, increasing=True), (normal(3),))],
    "apply_along_axis": [
        (lambda n, x: n.apply_along_axis(lambda v: v * v[0], 1, x), (normal(2, 3),)),
        (lambda n, x: n.apply_along_axis(lambda v: (v * v).sum(), 0, x), (normal(2, 3),)),
    ],
    "apply_over_axes": [(lambda n, x: n.apply_over_axes(np.sum, x, [0, 2]), (normal(2, 3, 4),))],
    # creation
    "array": [
        (lambda n, x: pnp.array([[x[0], 1.0], [2, x[1] * x[0]]]), (normal(2),)),
        (lambda n, x: pnp.array(x, ndmin=2), (normal(2),)),
    ],
    "asarray": [(lambda n, x: pnp.asarray([x, x * 2.0]), (normal(2),))],
    "asanyarray": [(lambda n, x: pnp.asanyarray((x[0], x[1])), (normal(2),))],
    "asfortranarray": [(lambda n, x: pnp.asfortranarray(x[0]), (normal(2),))],
    "asarray_chkfinite": [(lambda n, x: n.ones(2) * pnp.asarray_chkfinite([1.0, 2.0]) * x, (normal(2),))],
    "require": [(lambda n, x: pnp.require([x, 2 * x], None, ["C", "W"]), (normal(2),))],
    "isfortran": [(lambda n, x: x * pnp.isfortran(x), (normal(2, 3),))],
    "shares_memory": [(lambda n, x: x * (n.shares_memory(x, x) - n.shares_memory(x, x + 1) / 2), (normal(3),))],
    "may_share_memory": [(lambda n, x: x * n.may_share_memory(x + 1, x), (normal(3),))],
    "ascontiguousarray": [(lambda n, x: pnp.ascontiguousarray(x[0]), (normal(2),))],
    "full": [(lambda n, x: pnp.full((2, 3), x), (normal(3),)), (lambda n, x: pnp.full(2, x), (normal(),))],
    "astype": [(lambda n, x: n.astype(x, np.float64) * 1.5, (normal(3),))],
    "linspace": [
        (lambda n, x, y: n.linspace(x, y, 5), (normal(), normal())),
        (lambda n, x: n.linspace(x, 2.0, 4, endpoint=False, axis=-1), (normal(2),)),
        (lambda n, x: n.linspace(0.0, x, 1), (normal(),)),
    ],
    "logspace": [
        (lambda n, x, y: n.logspace(x, y, 4), (normal(), normal())),
        (lambda n, x: n.logspace(0.0, x, 3, base=2.0, endpoint=False), (normal(2),)),
    ],
    "geomspace": [
        (lambda n, x, y: n.geomspace(x, y, 4), (positive(), positive() + 3.0)),
        (lambda n, x: n.geomspace(-1.0, -x, 3), (positive(2),)),
    ],
    # sampled values
    "convolve": [
        (lambda n, x, y: n.convolve(x, y), (normal(5), normal(3))),
        (lambda n, x, y: n.convolve(x, y, "same"), (normal(3), normal(4))),
        (lambda n, x, y: n.convolve(x, y, "valid"), (normal(5), normal(2))),
    ],
    "correlate": [
        (lambda n, x, y: n.correlate(x, y), (normal(5), normal(3))),
        (lambda n, x, y: n.correlate(x, y, "same"), (normal(3), normal(4))),
        (lambda n, x, y: n.correlate(x, y, "full"), (normal(2), normal(4))),
        (lambda n, x, y: n.correlate(x, y, "same"), (normal(5), normal(2))),
    ],
    "ediff1d": [
        (lambda n, x: n.ediff1d(x), (normal(2, 3),)),
        (lambda n, x, y: n.ediff1d(x, to_begin=y, to_end=[1.0, 2.0]), (normal(4), normal())),
    ],
    "gradient": [
        (lambda n, x: n.gradient(x), (normal(5),)),
        (lambda n, x: n.gradient(x, 0.5, edge_order=2), (normal(5),)),
        (lambda n, x: n.gradient(x, POINTS, edge_order=2), (normal(5),)),
        (lambda n, x, y: n.gradient(x, y, axis=0), (normal(5, 2), POINTS)),
        (lambda n, x: n.gradient(x)[1], (normal(3, 4),)),
    ],
    "unwrap": [
        (lambda n, x: n.unwrap(x), (np.array([0.0, 2.0, 5.5, 1.0, -4.0]),)),
        (lambda n, x: n.unwrap(x, axis=0, period=1.5), (normal(4, 2) * 3,)),
    ],
    "interp": [
        (lambda n, x: n.interp(x, XP, FP), (X,)),
        (lambda n, x, y: n.interp(x, XP, y, left=-1.0), (X - 1.0, FP)),
        (lambda n, x, y: n.interp(X, n.sort(x), y), (XP, FP)),
        (lambda n, x: n.interp(x, XP, FP, period=3.5), (X,)),
    ],
    "bincount": [(lambda n, x: n.bincount(np.array([0, 2, 2]), x, 5), (normal(3),))],
    # polynomials
    "polyval": [
        (lambda n, p, x: n.polyval(p, x), (normal(3), normal(2, 2))),
        (lambda n, x: n.polyval([1, 2], x), (normal(),)),
    ],
    "polyadd": [(lambda n, p, q: n.polyadd(p, q), (normal(3), normal(2)))],
    "polysub": [(lambda n, p, q: n.polysub(p, q), (normal(2), normal(3)))],
    "polymul": [(lambda n, p, q: n.polymul(p, q), (positive(3), positive(2)))],
    "polydiv": [
        (lambda n, p, q: n.polydiv(p, q)[0], (normal(5), positive(3))),
        (lambda n, p, q: n.polydiv(p, q)[1], (normal(5), positive(3))),
        (lambda n, p, q: n.polydiv(p, q)[1], (normal(2), positive(3))),
        (lambda n, p, q: n.polydiv(p, q)[0], (normal(3), positive(1))),
    ],
    "polyfit": [
        (lambda n, x, y: n.polyfit(x, y, 2), (apart(6), normal(6))),
        (lambda n, x, y, w: n.polyfit(x, y, 1, w=w), (apart(5), normal(5, 2), positive(5))),
        (lambda n, x, y, w: n.polyfit(x, y, 1, w=w, cov=True)[1], (apart(5), normal(5), positive(5))),
        (lambda n, x, y: n.polyfit(x, y, 1, cov="unscaled")[1], (apart(5), normal(5, 2))),
        (lambda n, x, y: n.polyfit(x, y, 1, cov=True)[1], (apart(5), normal(5, 2))),
        (lambda n, x, y: n.polyfit(x, y, 1, full=True)[1], (apart(5), normal(5, 2))),
    ],
    "polyder": [(lambda n, p: n.polyder(p), (normal(4),)), (lambda n, p: n.polyder(p, 2), (normal(4),))],
    "polyint": [
        (lambda n, p: n.polyint(p), (normal(3),)),
        (lambda n, p, k: n.polyint(p, 2, k), (normal(3), normal(2))),
    ],
    "poly": [(lambda n, z: n.poly(z), (normal(3),)), (lambda n, a: n.poly(a), (normal(3, 3),))],
    "roots": [(lambda n, p: n.abs(n.roots(p)), (normal(4) * 0.1 + np.array([1.0, -2.0, -5.0, 6.5]),))],
}

WHERE = np.array([[True, False, True], [False, True, True]])
OPTIONS: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "sum": [(lambda n, x, y: n.sum(x, 1, initial=2.0, where=WHERE) + n.sum(x, where=x > 0), (normal(2, 3), normal()))],
    "prod": [(lambda n, x: n.prod(x, 1, initial=2.0, where=WHERE, keepdims=True), (normal(2, 3),))],
    "max": [(lambda n, x: n.max(x, 1, initial=-0.21, where=WHERE), (apart(2, 3),))],
    "min": [(lambda n, x: n.min(x, 0, initial=0.42), (apart(2, 3),))],
    "all": [(lambda n, x: n.all(x > 0, 0, where=WHERE), (normal(2, 3),))],
    "any": [(lambda n, x: n.any(x > 0, where=WHERE), (normal(2, 3),))],
    "var": [
        (lambda n, x: n.var(x, 1, correction=1), (normal(2, 3),)),
        (lambda n, x: n.var(x, 1, where=WHERE, keepdims=True, ddof=1), (normal(2, 3),)),
        (lambda n, x, m: n.var(x, 1, mean=m * 1.0), (normal(2, 3), normal(2, 1))),
    ],
    "std": [(lambda n, x: n.std(x, where=WHERE), (normal(2, 3),))],
    "nansum": [(lambda n, x: n.nansum(x, 1, initial=2.0, where=WHERE), (HOLES,))],
    "nanprod": [(lambda n, x: n.nanprod(x, 0, initial=2.0, where=WHERE), (HOLES,))],
    "nanmax": [(lambda n, x: n.nanmax(x, 1, initial=-9.0, where=WHERE), (HOLES,))],
    "nanmin": [(lambda n, x: n.nanmin(x, 1, initial=9.0, where=WHERE), (HOLES,))],
    "nanmean": [(lambda n, x: n.nanmean(x, 1, where=WHERE), (HOLES,))],
    "nanvar": [(lambda n, x: n.nanvar(x, where=WHERE, correction=1), (HOLES,))],
    "nanstd": [(lambda n, x, m: n.nanstd(x, 0, mean=m * 1.0), (HOLES, normal(1, 3)))],
    "average": [
        (lambda n, x: n.average(x, 0, weights=[1.0, 3.0], keepdims=True), (normal(2, 3),)),
        (lambda n, x, w: n.average(x, 1, weights=w, returned=True)[1], (normal(2, 3), positive(3))),
    ],
    "hstack": [(lambda n, x: n.hstack([x, 1], dtype=np.float64), (normal(3),))],
    "vstack": [(lambda n, x: n.vstack([x, [1, 2, 3]], dtype=np.float64), (normal(3),))],
    "stack": [(lambda n, x: n.stack([x, [1, 2, 3]], 1, dtype=np.float64), (normal(3),))],
    "einsum": [
        (lambda n, x, y: n.einsum(x, [0, 27], y, [27, 1], [1, 0]), (normal(2, 3), normal(3, 4))),
        (lambda n, x, y: n.einsum(x, [..., 1], y, [1]), (normal(2, 3), normal(3))),
        (lambda n, x, y: n.einsum(x, [51, 0], y, [0, 51]), (normal(2, 3), normal(3, 2))),
    ],
    "quantile": [
        (lambda n, x, m=m, q=q: n.quantile(x, q, 1, method=m), (apart(2, 5),))
        for q in (0.0, 0.37, 1.0, [[0.1, 0.5], [0.2, 0.93]])
        for m in (
            "inverted_cdf",
            "averaged_inverted_cdf",
            "closest_observation",
            "interpolated_inverted_cdf",
            "hazen",
            "weibull",
            "median_unbiased",
            "normal_unbiased",
            "lower",
            "higher",
            "midpoint",
            "nearest",
        )
    ],
    "pad": [
        *[(lambda n, x, m=m: n.pad(x, [(2, 1), (0, 3)], mode=m), (normal(3, 2),)) for m in ("edge", "wrap")],
        *[(lambda n, x, m=m: n.pad(x, 4, mode=m), (normal(3, 2),)) for m in ("reflect", "symmetric")],
        (lambda n, x: n.pad(x, 1, constant_values=[(1.0, 2.0), (3.0, 4.0)]), (normal(2, 2),)),
        (lambda n, x, y: n.pad(x, 1, constant_values=y), (normal(2, 2), normal())),
        (lambda n, x, y: n.pad(x, [(1, 0), (2, 1)], constant_values=y), (normal(2, 2), normal(2))),
        (lambda n, x: n.pad(x, {-1: (1, 2)}, "linear_ramp", end_values=2.0), (normal(2, 3),)),
        (lambda n, x: n.pad(x, (2, 3), "linear_ramp"), (normal(2, 3),)),
        (lambda n, x: n.pad(x, 2, "linear_ramp", end_values=[(1.0, 2.0), (3.0, 4.0)]), (normal(2, 3),)),
        (lambda n, x: n.pad(x, (3, 1), "mean", stat_length=[(1, 2), (2, 9)]), (normal(2, 3),)),
        *[
            (lambda n, x, m=m: n.pad(x, [(5, 1), (0, 7)], m, reflect_type="odd"), (normal(3, 2),))
            for m in ("reflect", "symmetric")
        ],
        *[
            (lambda n, x, m=m, k=k: n.pad(x, [(2, 1), (1, 3)], m, stat_length=k), (apart(3, 2),))
            for m in ("minimum", "maximum")
            for k in (None, 2, (1, 3))
        ],
    ],
    "reshape": [(lambda n, x: n.reshape(x, (-1, 2), order="F") * x.reshape(3, 2, order="C"), (normal(2, 3),))],
    "ravel": [(lambda n, x: n.ravel(x, "F") * x.flatten("F"), (normal(2, 3),))],
    "kron": [(lambda n, x, y: n.kron(x, y) - n.kron(y, x).sum(), (normal(2, 3), normal(2)))],
    "diff": [
        (lambda n, x, y: n.diff(x, prepend=y, append=[[1.0], [2.0]]), (normal(2, 3), normal())),
        (lambda n, x: n.diff([1.0, 2.0], append=x, axis=0), (normal(2),)),
    ],
    "mean": [(lambda n, x: n.mean(x, 1, where=WHERE), (normal(2, 3),))],
    "add": [
        (lambda n, x: np.add.reduce(x) + np.add.accumulate(x, axis=1)[0], (normal(2, 3),)),
        (lambda n, x, y: np.add.outer(x, y), (normal(2, 2), normal(3))),
        (lambda n, x: np.add.reduce(x, 1, initial=2.0, where=WHERE), (normal(2, 3),)),
        (lambda n, x: np.add.reduceat(x, [0, 3, 1, 4]), (normal(5),)),
    ],
    "logaddexp": [
        (lambda n, x: np.logaddexp.reduce(x, axis=1, keepdims=True, initial=0.5), (normal(2, 3),)),
        (lambda n, x: np.logaddexp.accumulate(x, 1), (normal(2, 3),)),
        (lambda n, x: np.logaddexp.reduceat(x, [2, 0], axis=1), (normal(2, 3),)),
    ],
    "hypot": [(lambda n, x: np.hypot.reduce(x), (normal(4, 2),))],
    "subtract": [(lambda n, x: np.subtract.reduce(x, 0) + np.subtract.accumulate(x)[2], (normal(4, 2),))],
    "bitwise_xor": [(lambda n, x: np.bitwise_xor.reduce(x), (np.array([5, 3, 9]),))],
    "multiply": [
        (lambda n, x: np.multiply.reduce(x, axis=1), (normal(2, 3),)),
        (lambda n, x: np.multiply.accumulate(x), (normal(4),)),
        (lambda n, x: np.multiply.outer(x, [1.0, 2.0]), (normal(3),)),
    ],
    "maximum": [
        (lambda n, x: np.maximum.reduce(x, axis=None), (apart(2, 3),)),
        (lambda n, x: np.maximum.accumulate(x), (apart(7),)),
    ],
    "minimum": [(lambda n, x: np.minimum.accumulate(x, axis=1), (apart(2, 5),))],
    "logical_and": [(lambda n, x: np.logical_and.reduce(x > 0, axis=1), (normal(2, 3),))],
    "logical_or": [(lambda n, x: np.logical_or.reduce(x), (normal(3),))],
    "matrix_transpose": [(lambda n, x: x.mT + x.imag.mT + x.real.mT, (normal(2, 3),))],
}
"""Further cases: options, methods of ufuncs, attributes."""

OF_VALUES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "nonzero": (lambda n, x: x[n.nonzero(x)], (np.array([[1.0, 0.0], [2.0, 3.0]]),)),
    "flatnonzero": (lambda n, x: x[n.flatnonzero(x)], (np.array([1.0, 0.0, 3.0]),)),
    "argwhere": (lambda n, x: x[n.argwhere(x > 1)[:, 0]], (np.array([1.0, 0.0, 3.0]),)),
    "unique": (lambda n, x: n.unique(x, return_counts=True)[0], (np.array([2.0, 1.0, 2.0, -3.0]),)),
    "unique_all": (lambda n, x: n.unique_all(x).values, (np.array([2.0, 1.0, 2.0, -3.0]),)),
    "unique_counts": (lambda n, x: n.unique_counts(x).values, (np.array([2.0, 1.0, 2.0, -3.0]),)),
    "unique_inverse": (lambda n, x: n.unique_inverse(x).values, (np.array([2.0, 1.0, 2.0, -3.0]),)),
    "unique_values": (lambda n, x: n.sort(n.unique_values(x)), (np.array([2.0, 1.0, 2.0, -3.0]),)),
    "union1d": (lambda n, x, y: n.union1d(x, y), (np.array([2.0, 1.0]), np.array([5.0, 1.0]))),
    "intersect1d": (
        lambda n, x, y: n.intersect1d(x, y, return_indices=True)[0],
        (np.array([2.0, 1.0]), np.array([5.0, 1.0])),
    ),
    "setdiff1d": (lambda n, x, y: n.setdiff1d(x, y), (np.array([2.0, 1.0]), np.array([5.0, 1.0]))),
    "setxor1d": (lambda n, x, y: n.setxor1d(x, y), (np.array([2.0, 1.0]), np.array([5.0, 1.0]))),
    "trim_zeros": (lambda n, x: n.trim_zeros(x), (np.array([[0.0, 2.0, 0.0, 1.0, 0.0], [0] * 5]),)),
}
"""Functions whose result has a shape that depends on values: they need values, and are compared under vjp."""

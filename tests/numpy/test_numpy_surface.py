"""Every function of primad.numpy against NumPy: values, shapes, dtypes, and derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import primad
import primad.numpy as pnp
from primad.numpy import special as pspecial
from tests import numpy_cases
from tests.sweeps import thinned

RNG = np.random.default_rng(20240607)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def positive(*shape: int) -> Any:
    return RNG.uniform(0.3, 2.5, shape)


def away(*shape: int) -> Any:
    """Random numbers of both signs, at least 0.2 away from 0 and from ±1."""
    x = RNG.uniform(0.2, 0.8, shape)
    return np.where(RNG.uniform(size=shape) < 0.5, -x, x)


def distinct(*shape: int) -> Any:
    """All different, at least 0.1 apart, in random order."""
    n = int(np.prod(shape))
    return (RNG.permutation(n) * 0.37 - 1.1).reshape(shape)


INDICES = np.array([[0, 2, 1], [1, 1, 0]])

# name -> [(function of (numpy-like module, *arrays), arrays)]; the first argument is np or primad.numpy.
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "add": [(lambda n, x, y: n.add(x, y), (normal(2, 3), normal(3))), (lambda n, x: n.add(x, 2), (normal(0, 3),))],
    "subtract": [(lambda n, x, y: n.subtract(x, y), (normal(2, 1), normal(3)))],
    "multiply": [(lambda n, x, y: n.multiply(x, y), (normal(2, 1, 3), normal(4, 1)))],
    "divide": [(lambda n, x, y: n.divide(x, y), (normal(2, 3), positive(3)))],
    "true_divide": [(lambda n, x, y: n.true_divide(x, y), (normal(), positive(2)))],
    "floor_divide": [(lambda n, x, y: n.floor_divide(x, y), (normal(4) * 5, positive(4)))],
    "remainder": [
        (lambda n, x, y: n.remainder(x, y), (np.array([5.3, -5.3, 7.1, -0.4]), np.array([2.0, 2.0, -3.0, 1.5])))
    ],
    "mod": [(lambda n, x: n.mod(x, 2.0), (np.array([5.3, -5.3, 0.4]),))],
    "power": [
        (lambda n, x, y: n.power(x, y), (positive(2, 3), normal(3))),
        (lambda n, x: n.power(x, 3), (normal(3),)),
        (lambda n, x: n.power(x, 0.5), (positive(3),)),
        (lambda n, x: n.power(x, -2), (positive(3),)),
        (lambda n, x: n.power(2.5, x), (normal(3),)),
    ],
    "negative": [(lambda n, x: n.negative(x), (normal(2),))],
    "positive": [(lambda n, x: n.positive(x), (normal(2),))],
    "absolute": [(lambda n, x: n.absolute(x), (away(4),))],
    "abs": [(lambda n, x: n.abs(x), (away(2, 2),))],
    "sign": [(lambda n, x: n.sign(x), (away(4),))],
    "floor": [(lambda n, x: n.floor(x), (away(4) * 3,))],
    "ceil": [(lambda n, x: n.ceil(x), (away(4) * 3,))],
    "exp": [(lambda n, x: n.exp(x), (normal(2, 3),))],
    "exp2": [(lambda n, x: n.exp2(x), (normal(3),))],
    "expm1": [(lambda n, x: n.expm1(x), (normal(3),))],
    "log": [(lambda n, x: n.log(x), (positive(3),))],
    "log2": [(lambda n, x: n.log2(x), (positive(3),))],
    "log10": [(lambda n, x: n.log10(x), (positive(3),))],
    "log1p": [(lambda n, x: n.log1p(x), (positive(3),))],
    "logaddexp": [(lambda n, x, y: n.logaddexp(x, y), (normal(2, 3), normal(3)))],
    "sqrt": [(lambda n, x: n.sqrt(x), (positive(3),))],
    "square": [(lambda n, x: n.square(x), (normal(3),))],
    "reciprocal": [(lambda n, x: n.reciprocal(x), (positive(3),))],
    "sin": [(lambda n, x: n.sin(x), (normal(3),))],
    "cos": [(lambda n, x: n.cos(x), (normal(3),))],
    "tan": [(lambda n, x: n.tan(x), (away(3),))],
    "arctan": [(lambda n, x: n.arctan(x), (normal(3),))],
    "arcsin": [(lambda n, x: n.arcsin(0.9 * n.tanh(x)), (normal(3),))],
    "arccos": [(lambda n, x: n.arccos(0.9 * n.tanh(x)), (normal(3),))],
    "arcsinh": [(lambda n, x: n.arcsinh(x), (normal(3),))],
    "arccosh": [(lambda n, x: n.arccosh(1.0 + x), (positive(3),))],
    "arctanh": [(lambda n, x: n.arctanh(0.9 * n.tanh(x)), (normal(3),))],
    "cbrt": [(lambda n, x: n.cbrt(x), (away(3),))],
    "sinh": [(lambda n, x: n.sinh(x), (normal(3),))],
    "cosh": [(lambda n, x: n.cosh(x), (normal(3),))],
    "tanh": [(lambda n, x: n.tanh(x), (normal(3),))],
    "arctan2": [(lambda n, x, y: n.arctan2(x, y), (normal(2, 3), normal(3)))],
    "hypot": [(lambda n, x, y: n.hypot(x, y), (normal(2, 3), normal(3)))],
    "heaviside": [
        (lambda n, x: n.heaviside(x, 0.5), (np.array([-1.0, 0.1, 2.0]),)),
        (lambda n, x: n.heaviside(x, 3), (np.array([-1, 0, 2]),)),
    ],
    "float_power": [(lambda n, x, y: n.float_power(x, y), (positive(2, 3), normal(3)))],
    "bitwise_xor": [
        (lambda n, x, y: n.bitwise_xor(x > 0, y > 0), (normal(4), normal(4))),
        (lambda n, x: x ^ 6, (np.arange(9),)),
    ],
    "logical_xor": [(lambda n, x, y: n.logical_xor(x, y), (np.array([0.0, 2.0]), np.array([[1], [0]])))],
    "array_split": [
        (lambda n, x: n.array_split(x, 3)[0], (normal(7, 2),)),
        (lambda n, x: n.array_split(x, [1, 4], axis=-1)[2], (normal(2, 6),)),
    ],
    "maximum": [(lambda n, x, y: n.maximum(x, y), (distinct(2, 3), 0.05 + distinct(3)))],
    "minimum": [(lambda n, x, y: n.minimum(x, y), (distinct(2, 3), 0.05 + distinct(3)))],
    "clip": [
        (lambda n, x: n.clip(x, -0.5, 0.5), (distinct(5),)),
        (lambda n, x: n.clip(x, None, 0.5), (distinct(5),)),
        (lambda n, x, lo: n.clip(x, lo, 3.0), (distinct(2, 3), distinct(3) + 0.05)),
    ],
    "less": [(lambda n, x, y: n.less(x, y), (normal(2, 3), normal(3)))],
    "less_equal": [(lambda n, x: n.less_equal(x, 0), (np.array([-1.0, 0.0, 1.0]),))],
    "greater": [(lambda n, x: n.greater(x, 0), (np.array([-1.0, 0.0, 1.0, np.nan]),))],
    "greater_equal": [(lambda n, x: n.greater_equal(x, 0), (np.array([-1.0, 0.0, 1.0, np.nan]),))],
    "equal": [(lambda n, x: n.equal(x, 0), (np.array([-1.0, 0.0, np.nan]),))],
    "not_equal": [(lambda n, x: n.not_equal(x, 0), (np.array([-1.0, 0.0, np.nan]),))],
    "isnan": [
        (lambda n, x: n.isnan(x), (np.array([1.0, np.nan, np.inf]),)),
        (lambda n, x: n.isnan(x), (np.arange(3),)),
    ],
    "isinf": [(lambda n, x: n.isinf(x), (np.array([1.0, np.nan, -np.inf]),))],
    "isfinite": [(lambda n, x: n.isfinite(x), (np.array([1.0, np.nan, -np.inf]),))],
    "logical_and": [(lambda n, x, y: n.logical_and(x, y), (np.array([0.0, 2.0]), np.array([[1], [0]])))],
    "logical_or": [(lambda n, x, y: n.logical_or(x, y > 0), (np.array([0.0, 2.0]), np.array([-1.0, -1.0])))],
    "logical_not": [(lambda n, x: n.logical_not(x), (np.array([0.0, 2.0]),))],
    "bitwise_and": [
        (lambda n, x, y: n.bitwise_and(x > 0, y > 0), (normal(4), normal(4))),
        (lambda n, x: n.bitwise_and(x, 6), (np.arange(9),)),
    ],
    "bitwise_or": [
        (lambda n, x, y: n.bitwise_or(x > 0, y > 0), (normal(4), normal(4))),
        (lambda n, x: n.bitwise_or(x, 6), (np.arange(9),)),
    ],
    "invert": [(lambda n, x: n.invert(x > 0), (normal(4),)), (lambda n, x: n.invert(x), (np.arange(3),))],
    "where": [
        (lambda n, x, y: n.where(x > 0, x, y), (away(2, 3), normal(3))),
        (lambda n, x: n.where(np.array([True, False]), x, 1.0), (normal(3, 1),)),
        (lambda n, x: n.where(x > 0, 1.0, 0.0), (away(3),)),
        (lambda n, x: n.where(x, 2, 3), (away(3),)),
    ],
    "sum": [
        (lambda n, x: n.sum(x), (normal(2, 3),)),
        (lambda n, x: n.sum(x, axis=-1), (normal(2, 3),)),
        (lambda n, x: n.sum(x, axis=(0, -1), keepdims=True), (normal(2, 3, 2),)),
        (lambda n, x: n.sum(x, axis=0), (normal(0, 3),)),
        (lambda n, x: n.sum(x, axis=()), (normal(2),)),
        (lambda n, x: n.sum(x), (np.array([True, True]),)),
        (lambda n, x: n.sum(x), (np.array([1, 2], np.int32),)),
        (lambda n, x: n.sum(x, dtype=np.float32), (normal(3),)),
    ],
    "mean": [
        (lambda n, x: n.mean(x), (normal(2, 3),)),
        (lambda n, x: n.mean(x, -1, keepdims=True), (normal(2, 3),)),
        (lambda n, x: n.mean(x), (np.arange(4),)),
    ],
    "average": [
        (lambda n, x: n.average(x), (normal(2, 3),)),
        (lambda n, x, w: n.average(x, weights=w), (normal(2, 3), positive(2, 3))),
        (lambda n, x, w: n.average(x, 1, weights=w), (normal(2, 3), positive(3))),
    ],
    "var": [
        (lambda n, x: n.var(x), (normal(2, 3),)),
        (lambda n, x: n.var(x, axis=0, ddof=1), (normal(3, 2),)),
        (lambda n, x: n.var(x, -1, keepdims=True), (normal(3, 2),)),
    ],
    "std": [(lambda n, x: n.std(x), (normal(2, 3),)), (lambda n, x: n.std(x, axis=-1, ddof=1), (normal(3, 4),))],
    "prod": [
        (lambda n, x: n.prod(x), (normal(5),)),
        (lambda n, x: n.prod(x, axis=(0, -1)), (normal(2, 3, 2),)),
        (lambda n, x: n.prod(x), (normal(0),)),
        (lambda n, x: n.prod(x, axis=1, keepdims=True), (np.array([[1, 2], [3, 4]]),)),
    ],
    "max": [
        (lambda n, x: n.max(x), (distinct(2, 3),)),
        (lambda n, x: n.max(x, axis=-1, keepdims=True), (distinct(2, 3),)),
    ],
    "min": [(lambda n, x: n.min(x), (distinct(2, 3),)), (lambda n, x: n.min(x, axis=(0, 1)), (distinct(2, 3, 2),))],
    "amax": [(lambda n, x: n.amax(x, 0), (distinct(2, 3),))],
    "amin": [(lambda n, x: n.amin(x, 0), (distinct(2, 3),))],
    "ptp": [(lambda n, x: n.ptp(x), (distinct(2, 3),)), (lambda n, x: n.ptp(x, axis=1), (distinct(2, 3),))],
    "median": [
        (lambda n, x: n.median(x), (distinct(5),)),
        (lambda n, x: n.median(x, axis=1), (distinct(2, 4),)),
        (lambda n, x: n.median(x, axis=-1, keepdims=True), (distinct(2, 3),)),
    ],
    "sort": [
        (lambda n, x: n.sort(x), (distinct(2, 4),)),
        (lambda n, x: n.sort(x, axis=0), (distinct(3, 2),)),
        (lambda n, x: n.sort(x, axis=None), (distinct(3, 2),)),
    ],
    "sort_complex": [(lambda n, x: n.sort_complex(x).real, (distinct(2, 4),))],
    "argsort": [(lambda n, x: n.argsort(x), (distinct(2, 4),)), (lambda n, x: n.argsort(x, axis=0), (distinct(3, 2),))],
    "argmax": [
        (lambda n, x: n.argmax(x), (distinct(2, 3),)),
        (lambda n, x: n.argmax(x, axis=-1), (np.array([[1.0, 2.0, 2.0]]),)),
    ],
    "argmin": [(lambda n, x: n.argmin(x), (distinct(2, 3),)), (lambda n, x: n.argmin(x, axis=0), (distinct(3, 2),))],
    "cumsum": [
        (lambda n, x: n.cumsum(x), (normal(2, 3),)),
        (lambda n, x: n.cumsum(x, axis=-1), (normal(2, 3),)),
        (lambda n, x: n.cumsum(x, axis=0), (normal(0, 3),)),
        (lambda n, x: n.cumsum(x), (np.array([True, True]),)),
    ],
    "diff": [(lambda n, x: n.diff(x), (normal(2, 4),)), (lambda n, x: n.diff(x, 2, axis=0), (normal(4, 2),))],
    "all": [(lambda n, x: n.all(x > 0), (positive(3),)), (lambda n, x: n.all(x > 0, axis=1), (normal(2, 3),))],
    "any": [
        (lambda n, x: n.any(x > 0), (normal(3),)),
        (lambda n, x: n.any(x > 0, axis=-1, keepdims=True), (normal(2, 3),)),
    ],
    "norm": [
        (lambda n, x: np.linalg.norm(x), (normal(3),)),
        (lambda n, x: np.linalg.norm(x, axis=-1), (normal(2, 3),)),
        (lambda n, x: np.linalg.norm(x, axis=0, keepdims=True), (normal(2, 3),)),
        (lambda n, x: np.linalg.norm(x), (normal(2, 3),)),
        (lambda n, x: np.linalg.norm(x, "fro"), (normal(2, 3),)),
        (lambda n, x: np.linalg.norm(x, 1), (away(4),)),
        (lambda n, x: np.linalg.norm(x, np.inf), (distinct(4) + 0.02,)),
        (lambda n, x: pnp.norm(x, 2), (normal(4),)),
    ],
    "trapezoid": [
        (lambda n, y: n.trapezoid(y), (normal(4),)),
        (lambda n, y: n.trapezoid(y, dx=0.5, axis=0), (normal(4, 2),)),
        (lambda n, y, x: n.trapezoid(y, x), (normal(4), np.cumsum(positive(4)))),
    ],
    "append": [
        (lambda n, x: n.append(x, 1.0), (normal(3),)),
        (lambda n, x, y: n.append(x, y), (normal(2, 2), normal(3))),
        (lambda n, x, y: n.append(x, y, axis=0), (normal(2, 2), normal(1, 2))),
    ],
    "matmul": [
        (lambda n, x, y: n.matmul(x, y), (normal(2, 3), normal(3, 4))),
        (lambda n, x, y: n.matmul(x, y), (normal(3), normal(3))),
        (lambda n, x, y: n.matmul(x, y), (normal(3), normal(3, 2))),
        (lambda n, x, y: n.matmul(x, y), (normal(2, 3), normal(3))),
        (lambda n, x, y: n.matmul(x, y), (normal(5, 2, 3), normal(3, 4))),
        (lambda n, x, y: n.matmul(x, y), (normal(5, 1, 2, 3), normal(4, 3, 2))),
        (lambda n, x, y: n.matmul(x, y), (normal(1, 2, 3), normal(1, 3, 2))),
        (lambda n, x, y: n.matmul(x, y), (normal(0, 3), normal(3, 2))),
        (lambda n, x, y: n.matmul(x, y), (normal(2, 0), normal(0, 2))),
    ],
    "dot": [
        (lambda n, x, y: n.dot(x, y), (normal(3), normal(3))),
        (lambda n, x, y: n.dot(x, y), (normal(2, 3), normal(3, 2))),
        (lambda n, x, y: n.dot(x, y), (normal(2, 2, 3), normal(4, 3, 2))),
        (lambda n, x: n.dot(x, 2.0), (normal(3),)),
    ],
    "vdot": [(lambda n, x, y: n.vdot(x, y), (normal(2, 3), normal(2, 3)))],
    "vecdot": [(lambda n, x, y: n.vecdot(x, y), (normal(2, 3), normal(3)))],
    "inner": [
        (lambda n, x, y: n.inner(x, y), (normal(2, 3), normal(4, 3))),
        (lambda n, x: n.inner(x, x), (normal(3),)),
    ],
    "outer": [
        (lambda n, x, y: n.outer(x, y), (normal(2), normal(3))),
        (lambda n, x, y: n.outer(x, y), (normal(2, 2), normal(3))),
    ],
    "kron": [
        (lambda n, x, y: n.kron(x, y), (normal(2, 2), normal(3, 2))),
        (lambda n, x, y: n.kron(x, y), (normal(2), normal(3))),
    ],
    "cross": [
        (lambda n, x, y: n.cross(x, y), (normal(2, 3), normal(3))),
        (lambda n, x, y: n.cross(x, y, axis=0), (normal(3, 2), normal(3, 2))),
    ],
    "tensordot": [
        (lambda n, x, y: n.tensordot(x, y), (normal(2, 3, 4), normal(3, 4, 2))),
        (lambda n, x, y: n.tensordot(x, y, 1), (normal(2, 3), normal(3, 4))),
        (lambda n, x, y: n.tensordot(x, y, 0), (normal(2), normal(3))),
        (lambda n, x, y: n.tensordot(x, y, axes=([0, -1], [1, 0])), (normal(2, 5, 3), normal(3, 2))),
    ],
    "einsum": [
        (lambda n, x, y: n.einsum("ij,jk->ik", x, y), (normal(2, 3), normal(3, 4))),
        (lambda n, x, y: n.einsum("ij,jk", x, y), (normal(2, 3), normal(3, 4))),
        (lambda n, x: n.einsum("ii", x), (normal(3, 3),)),
        (lambda n, x: n.einsum("ii->i", x), (normal(3, 3),)),
        (lambda n, x: n.einsum("ij->ji", x), (normal(2, 3),)),
        (lambda n, x: n.einsum("ba", x), (normal(2, 3),)),
        (lambda n, x: n.einsum("ij->", x), (normal(2, 3),)),
        (lambda n, x, y: n.einsum("...i,i->...", x, y), (normal(2, 2, 3), normal(3))),
        (lambda n, x, y: n.einsum("i...,...i->...", x, y), (normal(3, 2), normal(2, 3))),
        (lambda n, x, y, z: n.einsum("ij,jk,kl->il", x, y, z), (normal(2, 3), normal(3, 2), normal(2, 4))),
        (
            lambda n, x, y, z: n.einsum("ij,jk,kl->il", x, y, z, optimize=True),
            (normal(2, 3), normal(3, 2), normal(2, 4)),
        ),
        (lambda n, x, y: n.einsum("iij,j->i", x, y), (normal(2, 2, 3), normal(3))),
        (lambda n, x, y: n.einsum("ij,kj->", x, y), (normal(2, 3), normal(4, 3))),
        (lambda n, x, y: n.einsum("ij,ij->ij", x, y), (normal(2, 3), normal(1, 3))),
        (lambda n, x: n.einsum("i,i", x, x), (normal(3),)),
        (lambda n, x: n.einsum("i,ij,j", x, np.eye(3), x), (normal(3),)),
    ],
    "trace": [
        (lambda n, x: n.trace(x), (normal(3, 3),)),
        (lambda n, x: n.trace(x, 1), (normal(2, 3),)),
        (lambda n, x: n.trace(x, axis1=-2, axis2=-1), (normal(2, 3, 4),)),
    ],
    "diagonal": [
        (lambda n, x: n.diagonal(x), (normal(3, 2),)),
        (lambda n, x: n.diagonal(x, -1), (normal(3, 3),)),
        (lambda n, x: n.diagonal(x, 1, 0, 2), (normal(3, 2, 4),)),
        (lambda n, x: n.diagonal(x, 5), (normal(3, 3),)),
    ],
    "diag": [
        (lambda n, x: n.diag(x), (normal(3),)),
        (lambda n, x: n.diag(x, 2), (normal(3),)),
        (lambda n, x: n.diag(x, -1), (normal(3),)),
        (lambda n, x: n.diag(x), (normal(2, 3),)),
        (lambda n, x: n.diag(x, -1), (normal(2, 3),)),
        (lambda n, x: n.diag(x), (normal(0),)),
        (lambda n, x: n.diag(x), (np.arange(3),)),
    ],
    "reshape": [
        (lambda n, x: n.reshape(x, (3, 2)), (normal(2, 3),)),
        (lambda n, x: n.reshape(x, -1), (normal(2, 3),)),
        (lambda n, x: n.reshape(x, (0, 4)), (normal(0, 3),)),
        (lambda n, x: n.reshape(x, (2, -1, 1)), (normal(2, 3),)),
        (lambda n, x: n.reshape(x, ()), (normal(1, 1),)),
    ],
    "ravel": [(lambda n, x: n.ravel(x), (normal(2, 3),)), (lambda n, x: n.ravel(x), (normal(),))],
    "transpose": [
        (lambda n, x: n.transpose(x), (normal(2, 3, 4),)),
        (lambda n, x: n.transpose(x, (1, -1, 0)), (normal(2, 3, 4),)),
    ],
    "swapaxes": [(lambda n, x: n.swapaxes(x, 0, -1), (normal(2, 3, 4),))],
    "moveaxis": [
        (lambda n, x: n.moveaxis(x, 0, -1), (normal(2, 3, 4),)),
        (lambda n, x: n.moveaxis(x, (0, 1), (-1, 0)), (normal(2, 3, 4),)),
    ],
    "expand_dims": [
        (lambda n, x: n.expand_dims(x, -1), (normal(2),)),
        (lambda n, x: n.expand_dims(x, (0, 2)), (normal(2),)),
    ],
    "squeeze": [
        (lambda n, x: n.squeeze(x), (normal(1, 2, 1),)),
        (lambda n, x: n.squeeze(x, axis=-1), (normal(1, 2, 1),)),
    ],
    "broadcast_to": [
        (lambda n, x: n.broadcast_to(x, (2, 3)), (normal(3),)),
        (lambda n, x: n.broadcast_to(x, (0, 3)), (normal(1, 3),)),
        (lambda n, x: n.broadcast_to(x, 3), (normal(1),)),
    ],
    "concatenate": [
        (lambda n, x, y: n.concatenate([x, y]), (normal(2, 3), normal(1, 3))),
        (lambda n, x, y: n.concatenate((x, y), axis=-1), (normal(2, 3), normal(2, 0))),
        (lambda n, x, y: n.concatenate([x, y], axis=None), (normal(2, 3), normal(2))),
        (lambda n, x: n.concatenate([x, [1.0, 2.0]]), (normal(2),)),
    ],
    "stack": [
        (lambda n, x, y: n.stack([x, y], axis=-1), (normal(2), normal(2))),
        (lambda n, x: n.stack([x[0], x[1] * 2, 3.0]), (normal(2),)),
    ],
    "hstack": [
        (lambda n, x, y: n.hstack([x, y]), (normal(2), normal(3))),
        (lambda n, x, y: n.hstack([x, y]), (normal(2, 1), normal(2, 2))),
    ],
    "vstack": [
        (lambda n, x, y: n.vstack([x, y]), (normal(2), normal(2))),
        (lambda n, x, y: n.vstack([x, y]), (normal(1, 2), normal(2, 2))),
    ],
    "column_stack": [(lambda n, x, y: n.column_stack([x, y]), (normal(2), normal(2, 2)))],
    "atleast_1d": [(lambda n, x: n.atleast_1d(x), (normal(),))],
    "atleast_2d": [(lambda n, x: n.atleast_2d(x), (normal(2),))],
    "flip": [(lambda n, x: n.flip(x), (normal(2, 3),)), (lambda n, x: n.flip(x, -1), (normal(2, 3),))],
    "roll": [
        (lambda n, x: n.roll(x, 1), (normal(2, 3),)),
        (lambda n, x: n.roll(x, -2, axis=1), (normal(2, 3),)),
        (lambda n, x: n.roll(x, 3, axis=0), (normal(3, 2),)),
        (lambda n, x: n.roll(x, (1, 2), axis=(0, 1)), (normal(3, 4),)),
    ],
    "split": [
        (lambda n, x: n.split(x, 3)[1], (normal(6, 2),)),
        (lambda n, x: n.split(x, [1, 4], axis=-1)[2], (normal(2, 6),)),
        (lambda n, x: n.split(x, [-2])[0], (normal(6),)),
    ],
    "tile": [(lambda n, x: n.tile(x, 2), (normal(2, 3),)), (lambda n, x: n.tile(x, (2, 1, 3)), (normal(2, 3),))],
    "repeat": [
        (lambda n, x: n.repeat(x, 2), (normal(2, 3),)),
        (lambda n, x: n.repeat(x, 2, axis=-1), (normal(2, 3),)),
        (lambda n, x: n.repeat(x, [1, 0, 2], axis=1), (normal(2, 3),)),
    ],
    "pad": [
        (lambda n, x: n.pad(x, 1), (normal(2, 3),)),
        (lambda n, x: n.pad(x, ((1, 0), (0, 2))), (normal(2, 3),)),
        (lambda n, x: n.pad(x, (1, 2), constant_values=3.0), (normal(3),)),
    ],
    "zeros_like": [(lambda n, x: n.zeros_like(x), (normal(2),))],
    "zeros": [(lambda n, x: n.zeros(2) + x, (normal(2),))],
    "ones": [(lambda n, x: n.ones((2, 2)) * x, (normal(2),))],
    "eye": [(lambda n, x: n.eye(2, 3, k=1) * x, (normal(3),))],
    "identity": [(lambda n, x: n.identity(2) @ x, (normal(2),))],
    "tri": [(lambda n, x: n.tri(3, 2, -1) * x, (normal(2),))],
    "empty": [(lambda n, x: n.concatenate([n.empty(0), x]), (normal(2),))],
    "empty_like": [(lambda n, x: n.concatenate([n.empty_like(x[:0]), x]), (normal(2),))],
    "ones_like": [(lambda n, x: n.ones_like(x), (np.arange(2),))],
    "full_like": [
        (lambda n, x: n.full_like(x, 3.0), (normal(2),)),
        (lambda n, x, y: pnp.full_like(x, y) if n is pnp else np.full((2,), 1.0) * y, (normal(2), normal())),
    ],
    "copy": [(lambda n, x: n.copy(x), (normal(2),))],
    "shape": [(lambda n, x: x * n.shape(x)[1], (normal(2, 3),))],
    "ndim": [(lambda n, x: x * n.ndim(x), (normal(2, 3),))],
    "size": [(lambda n, x: x * n.size(x) + n.size(x, 0), (normal(2, 3),))],
    "take": [
        (lambda n, x: n.take(x, [1, 0, 1]), (normal(2, 2),)),
        (lambda n, x: n.take(x, INDICES, axis=-1), (normal(2, 3),)),
        (lambda n, x: n.take(x, -1, axis=0), (normal(2, 3),)),
    ],
    "take_along_axis": [
        (lambda n, x: n.take_along_axis(x, INDICES, axis=-1), (normal(2, 3),)),
        (lambda n, x: n.take_along_axis(x, np.array([[-1, 0]]), axis=0), (normal(3, 2),)),
        (lambda n, x: n.take_along_axis(x, np.array([4, -1, 0, 4]), axis=None), (normal(3, 2),)),
    ],
    "set_at": [
        (lambda n, x: pnp.set_at(x, 1, 5.0), (normal(3),)),
        (lambda n, x, y: pnp.set_at(x, (slice(None), [0, 2]), y), (normal(2, 3), normal(2, 2))),
        (lambda n, x, y: pnp.set_at(x, [1, 1], y), (normal(3), normal(2))),
    ],
    "add_at": [
        (lambda n, x: pnp.add_at(x, [1, 1], 5.0), (normal(3),)),
        (lambda n, x, y: pnp.add_at(x, (Ellipsis, [0, 0]), y), (normal(2, 3), normal(2, 2))),
    ],
}

CASES |= numpy_cases.CASES
for _name, _further in numpy_cases.OPTIONS.items():
    CASES[_name] = CASES[_name] + _further

SPECIAL: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "erf": (pspecial.erf, special.erf, (normal(3),)),
    "erfc": (pspecial.erfc, special.erfc, (normal(3),)),
    "erfinv": (pspecial.erfinv, special.erfinv, (np.array([-0.5, 0.2, 0.9]),)),
    "gammaln": (pspecial.gammaln, special.gammaln, (positive(3),)),
    "digamma": (pspecial.digamma, special.psi, (positive(3),)),
    "i0": (pspecial.i0, special.i0, (normal(3),)),
    "i1": (pspecial.i1, special.i1, (normal(3),)),
    "iv": (lambda x: pspecial.iv(-3, x), lambda x: special.iv(-3, x), (normal(3),)),
    "polygamma": (lambda x: pspecial.polygamma(2, x), lambda x: special.polygamma(2, x), (positive(3),)),
    "expit": (pspecial.expit, special.expit, (normal(3),)),
    "softmax": (lambda x: pspecial.softmax(x, axis=-1), lambda x: special.softmax(x, axis=-1), (normal(2, 3),)),
    "softmax of all": (pspecial.softmax, special.softmax, (normal(2, 3),)),
    "log_softmax": (
        lambda x: pspecial.log_softmax(x, axis=0),
        lambda x: special.log_softmax(x, axis=0),
        (normal(2, 3),),
    ),
    "logsumexp": (pspecial.logsumexp, special.logsumexp, (normal(2, 3),)),
    "logsumexp along": (
        lambda x: pspecial.logsumexp(x, axis=1, keepdims=True),
        lambda x: special.logsumexp(x, axis=1, keepdims=True),
        (normal(2, 3),),
    ),
    "xlogy": (pspecial.xlogy, special.xlogy, (normal(3), positive(3))),
    "softplus": (pspecial.softplus, lambda x: np.logaddexp(x, 0.0), (normal(3),)),
    "relu": (primad.nn.relu, lambda x: np.maximum(x, 0), (away(4),)),
    "silu": (primad.nn.silu, lambda x: x * special.expit(x), (normal(4),)),
    "gelu": (primad.nn.gelu, lambda x: x * special.ndtr(x), (normal(4),)),
}

for _, _given in (case for cases in CASES.values() for case in cases):
    for _array in _given:  # several tests share them
        if isinstance(_array, np.ndarray):
            _array.flags.writeable = False
FLAT = [(f"{name}-{i}", function, args) for name, cases in CASES.items() for i, (function, args) in enumerate(cases)]


def assert_same(found: Any, expected: Any, rtol: float = 1e-13) -> None:
    expected = np.asarray(expected)
    assert np.shape(found) == expected.shape
    assert np.asarray(found).dtype == expected.dtype
    if expected.dtype == np.float32:
        rtol = max(rtol, 2e-6)
    if expected.dtype == np.float16:
        rtol = 2e-3
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=rtol)


def check_derivative(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Compare jvp and vjp with a central difference of order 4 along a random direction."""
    floats = [i for i, arg in enumerate(args) if np.asarray(arg).dtype == np.float64]
    if not floats:
        return

    def of_floats(*values: Any) -> Any:
        full = list(args)
        for i, value in zip(floats, values, strict=True):
            full[i] = value
        return function(*full)

    point = [args[i] for i in floats]
    out = np.asarray(of_floats(*point))
    if out.dtype != np.float64:
        return
    rng = np.random.default_rng(0)
    along = [rng.uniform(0.5, 1.0, np.shape(x)) for x in point]
    h = 1e-3
    values = [
        np.asarray(of_floats(*[x + s * h * v for x, v in zip(point, along, strict=True)])) for s in (-2, -1, 1, 2)
    ]
    expected = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    _, tangent = primad.jvp(of_floats, tuple(point), tuple(along))
    np.testing.assert_allclose(np.asarray(tangent), expected, rtol=1e-7, atol=1e-8)
    _, pullback = primad.vjp(of_floats, *point)
    weights = rng.standard_normal(out.shape)
    cotangents = pullback(weights if out.shape else float(weights))
    for x, ct in zip(point, cotangents, strict=True):
        assert np.shape(ct) == np.shape(x) and ct.dtype == np.float64
    paired = sum(float(np.sum(ct * v)) for ct, v in zip(cotangents, along, strict=True))
    np.testing.assert_allclose(paired, float(np.sum(weights * np.asarray(tangent))), rtol=1e-11, atol=1e-12)


def test_every_function_has_a_case() -> None:
    assert set(pnp.TRACEABLE) == {*CASES, *numpy_cases.OF_VALUES}


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("function", "args"), [c[1:] for c in FLAT], ids=[c[0] for c in FLAT])
def test_value_and_derivative(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected = function(np, *args)
    for module in (np, pnp):
        assert_same(primad.jit(lambda *xs, m=module: function(m, *xs))(*args), expected)
    assert_same(function(pnp, *args), expected)
    program = primad.trace(lambda *xs: function(np, *xs))(*args)
    program.check()
    assert_same(program(*args), expected)
    check_derivative(lambda *xs: function(np, *xs), args)


TOGETHER = {"choose", "bincount", "take_along_axis"}
"""Functions of indices, which stay plain."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [name for name in CASES if name not in TOGETHER])
def test_any_argument_may_be_the_traced_one(name: str) -> None:
    """Where only one of several arrays is traced, the result is the same."""
    for function, args in CASES[name]:
        for i in range(len(args) if len(args) > 1 else 0):
            alone = primad.trace(lambda x, f=function, a=args, i=i: f(pnp, *a[:i], x, *a[i + 1 :]))(args[i])
            assert_same(alone(args[i]), function(np, *args))


@pytest.mark.parametrize("labels", [([0, -1], [0]), ([0, 52], [0]), ([0, 1], [1, 52]), ([0.5, 1], [1]), ([0, 1], [2])])
def test_numbers_of_axes_are_checked(labels: tuple[list[int], list[int]]) -> None:
    for of in (np.einsum, primad.jit(lambda x, a, b: np.einsum(x, a, b))):
        with pytest.raises((ValueError, TypeError)):
            of(np.ones((2, 3)), *labels)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name: str) -> None:
    ours, theirs, args = SPECIAL[name]
    expected = theirs(*args)
    assert_same(ours(*args), expected)
    assert_same(primad.jit(ours)(*args), expected)
    if isinstance(theirs, np.ufunc):
        assert_same(primad.jit(theirs)(*args), expected)  # scipy.special itself, on traced arrays
    check_derivative(ours, args)


@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@thinned(
    4,
    dtype=["float32", "int64", "int32", "bool"],
    name=sorted(
        set(CASES)
        - {
            "split",
            "median",
            "take_along_axis",
            "set_at",
            "add_at",
            "shape",
            "ndim",
            "size",
            "take",
            "positive",
            "negative",
        }
    ),
)
def test_other_dtypes(name: str, dtype: str) -> None:
    """The first case of every function in other dtypes gives the dtype and value that NumPy gives, or both refuse."""
    function, args = CASES[name][0]
    args = tuple(np.nan_to_num(arg, posinf=2.0, neginf=-2.0) for arg in args)
    given = [np.asarray(arg * 3 if dtype != "bool" else arg > 0).astype(dtype) for arg in args]
    with np.errstate(all="ignore"):
        try:
            expected = function(np, *given)
        except (TypeError, ValueError):
            expected = None
    if name == "roots" and not (given[0][0] and given[0][-1]):
        pytest.skip("NumPy leaves zeros at the ends out, which is a question of values")
    if expected is None:
        with pytest.raises((TypeError, ValueError)):
            primad.jit(lambda *xs: function(np, *xs))(*given)
        return
    found = primad.jit(lambda *xs: function(np, *xs))(*given)
    assert_same(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(numpy_cases.OF_VALUES))
def test_functions_whose_shapes_depend_on_values(name: str) -> None:
    """Where values are known, as under vjp, they give NumPy's result, and each element goes back to where it was."""
    function, args = numpy_cases.OF_VALUES[name]
    expected = function(np, *args)
    found, pull = primad.vjp(lambda *xs: function(np, *xs), *args)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    pulled = pull(np.arange(1.0, 1.0 + found.size).reshape(found.shape))
    for x, back in zip(args, pulled, strict=True):
        step = 1e-6 * np.random.default_rng(4).normal(size=x.shape) * (x != 0)
        assert back.shape == x.shape
        if len(args) == 1 and len(np.unique(x)) == x.size:  # a step that moves equal elements apart changes the shape
            changed = function(np, x + step)
            slope = np.sum((changed - expected) * np.arange(1.0, 1.0 + found.size))
            np.testing.assert_allclose(np.sum(back * step), slope, rtol=1e-6)
    total = sum(float(np.sum(back)) for back in pulled)
    assert total == pytest.approx(np.sum(np.arange(1.0, 1.0 + found.size))), "every result is an element"
    with pytest.raises(primad.TracingError):
        primad.trace(lambda *xs: function(np, *xs))(*args)

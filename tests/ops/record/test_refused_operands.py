"""Operands and params that ops refuse: one case for each thing that can be wrong with them, all else being right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops

X = primad.ArrayType((4, 6), np.dtype(np.float64))
CUBE = primad.ArrayType((2, 4, 6), np.dtype(np.float64))
SQUARE = primad.ArrayType((2, 3, 3), np.dtype(np.float64))
SOLVE = {"lower": True, "transpose": False, "unit": False}
WINDOW = {"axes": (1,), "count": (2,), "size": (3,), "step": (1,), "dilation": (1,), "low": (0,)}

TWO_WINDOWS = {name: (*value, *value) for name, value in WINDOW.items()} | {"axes": (1, 0)}


def of(type: primad.ArrayType, dtype: Any = None, shape: Any = None) -> primad.ArrayType:
    return primad.ArrayType(type.shape if shape is None else shape, np.dtype(type.dtype if dtype is None else dtype))


TOLD = of(SQUARE, shape=(2, 3, 1))


VECTOR, INDICES = of(X, shape=(4,)), of(X, np.int64, (3,))

CASES: dict[str, tuple[str, tuple[primad.ArrayType, ...], dict[str, Any]]] = {
    "new axis twice": ("broadcast", (VECTOR,), {"shape": (2, 4), "axes": (0, 0)}),
    "new axis behind the last": ("broadcast", (VECTOR,), {"shape": (2, 4), "axes": (0, 2)}),
    "new axis before the first": ("broadcast", (VECTOR,), {"shape": (2, 4), "axes": (0, -1)}),
    "summed axis twice": ("sum", (X,), {"axes": (0, 0)}),
    "summed axis outside": ("sum", (X,), {"axes": (2,)}),
    "axis of a maximum twice": ("reduce_max", (X,), {"axes": (0, 0)}),
    "axis of a maximum outside": ("reduce_max", (X,), {"axes": (2,)}),
    "axis of a product twice": ("contract", (of(X, shape=(4, 4)), X), {"labels": "aa,ab->b"}),
    "too few letters": ("contract", (CUBE, X), {"labels": "ab,ab->"}),
    "result letter twice": ("contract", (X, X), {"labels": "ab,ab->aa"}),
    "result letter of no operand": ("contract", (X, X), {"labels": "ab,ab->c"}),
    "letter in one place": ("contract", (X, X), {"labels": "ab,ac->b"}),
    "products of two dtypes": ("contract", (X, of(X, np.float32)), {"labels": "ab,ab->"}),
    "axis of cosines twice": ("dct", (X,), {"axes": (1, 1), "type": 2}),
    "axis of cosines outside": ("dct", (X,), {"axes": (2,), "type": 2}),
    "type of cosines": ("dct", (X,), {"axes": (1,), "type": 5}),
    "axis of a transform twice": ("fft", (of(X, complex),), {"axes": (0, 0), "inverse": False, "norm": "backward"}),
    "axis of a transform outside": ("fft", (of(X, complex),), {"axes": (2,), "inverse": False, "norm": "backward"}),
    "an axis of a transform inside, one outside": (
        "fft", (of(X, complex),), {"axes": (0, 2), "inverse": False, "norm": "backward"}),
    "one axis of a transform without numbers": (
        "fft", (of(X, complex, (4, 0)),), {"axes": (0, 1), "inverse": False, "norm": "backward"}),
    "an axis of cosines inside, one outside": ("dct", (X,), {"axes": (0, 2), "type": 2}),
    "one axis of cosines that is too short": ("dct", (of(X, shape=(4, 1)),), {"axes": (0, 1), "type": 1}),
    "norm of a transform": ("fft", (of(X, complex),), {"axes": (0,), "inverse": False, "norm": "both"}),
    "transform of whole numbers": ("rfft", (of(X, np.int64),), {"axis": 0, "norm": "backward"}),
    "transform of 16 bits": ("rfft", (of(X, np.float16),), {"axis": 0, "norm": "backward"}),
    "back from real numbers": ("irfft", (X,), {"axis": 1, "n": 10, "norm": "backward"}),
    "back to another number": ("irfft", (of(X, complex),), {"axis": 1, "n": 12, "norm": "backward"}),
    "gather from no axis": ("gather", (X, INDICES), {"axis": 2, "batch": 0}),
    "gather from a batch axis": ("gather", (X, of(X, np.int64)), {"axis": 0, "batch": 1}),
    "gather for another batch": ("gather", (X, of(X, np.int64, (3, 2))), {"axis": 1, "batch": 1}),
    "gather at floats": ("gather", (X, VECTOR), {"axis": 0, "batch": 0}),
    "updates at other places": ("scatter_add", (X, INDICES), {"axis": 0, "batch": 0, "size": 9}),
    "updates of another batch": ("scatter_add", (X, of(X, np.int64, (3, 6))), {"axis": 1, "batch": 1, "size": 9}),
    "step of no elements": ("slice", (VECTOR,), {"start": (0,), "stop": (3,), "step": (0,)}),
    "slice to behind the end": ("slice", (VECTOR,), {"start": (0,), "stop": (5,), "step": (1,)}),
    "slice from behind its end": ("slice", (VECTOR,), {"start": (3,), "stop": (2,), "step": (1,)}),
    "slice from before": ("slice", (VECTOR,), {"start": (-1,), "stop": (2,), "step": (1,)}),
    "slice of other axes": ("slice", (VECTOR,), {"start": (0, 0), "stop": (2, 2), "step": (1, 1)}),
    "padding by less than nothing": ("pad", (VECTOR,), {"low": (-1,), "high": (2,), "interior": (0,)}),
    "padding of other axes": ("pad", (VECTOR,), {"low": (1, 1), "high": (2,), "interior": (0,)}),
    "two negative lengths": ("reshape", (X,), {"shape": (-4, -6)}),
    "other elements": ("reshape", (X,), {"shape": (5, 5)}),
    "entries for other axes": ("windows", (X,), {**WINDOW, "size": (3, 3)}),
    "windows of no axes": ("windows", (X,), dict.fromkeys(WINDOW, ())),
    "window axes that fall": (
        "windows",
        (X,),
        TWO_WINDOWS,
    ),
    "window axis before the first": ("windows", (X,), {**WINDOW, "axes": (-1,)}),
    "window axis behind the last": ("windows", (X,), {**WINDOW, "axes": (2,)}),
    "truncation to floats": ("truncate", (X,), {"dtype": "float32"}),
    "truncation of complex numbers": ("truncate", (of(X, complex),), {"dtype": "int64"}),
    "parts of 16 bits": ("complex_of", (of(X, np.float16), of(X, np.float16)), {}),
    "parts that are whole": ("complex_of", (of(X, np.int64), of(X, np.int64)), {}),
    "differences of no vectors": ("gaps", (of(X, shape=()),), {}),
    "differences of whole numbers": ("gaps", (of(X, np.int64),), {}),
    "sides of other axes": (
        "solve_triangular",
        (SQUARE, of(SQUARE, shape=(3, 2))),
        SOLVE,
    ),
    "sides of other lengths": (
        "solve_triangular",
        (SQUARE, of(SQUARE, shape=(2, 4, 2))),
        SOLVE,
    ),
    "sides of another dtype": (
        "solve_triangular",
        (SQUARE, of(SQUARE, np.float32)),
        SOLVE,
    ),
    "factors of a vector": ("qr", (VECTOR,), {}),
    "factors of a wide matrix": ("qr", (X,), {}),
    "factors of whole numbers": ("qr", (of(SQUARE, np.int64),), {}),
    "real vectors": ("left_vectors", (SQUARE, of(SQUARE, shape=(2, 3)), TOLD), {}),
    "eigenvalues of others": ("left_vectors", (of(SQUARE, complex), of(SQUARE, complex, (2, 4)), TOLD), {}),
    "eigenvalues that are real": ("left_vectors", (of(SQUARE, complex), of(SQUARE, shape=(2, 3)), TOLD), {}),
    "numbers of others": (
        "left_vectors",
        (of(SQUARE, complex), of(SQUARE, complex, (2, 3)), of(TOLD, shape=(2, 4, 1))),
        {},
    ),
    "right side of others": ("solve_sylvester", (SQUARE, SQUARE, of(SQUARE, shape=(2, 3, 4))), {}),
    "matrices of another stack": ("solve_sylvester", (SQUARE, of(SQUARE, shape=(5, 3, 3)), SQUARE), {}),
    "matrices of another dtype": ("solve_sylvester", (SQUARE, of(SQUARE, np.float32), SQUARE), {}),
    "right side of another dtype": ("solve_sylvester", (SQUARE, SQUARE, of(SQUARE, np.float32)), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operands_and_params_that_do_not_fit(name: str) -> None:
    op, types, params = CASES[name]
    with pytest.raises(primad.ShapeError):
        ops.BY_NAME[op].infer(*types, **params)


def test_what_is_just_right_is_taken() -> None:
    """The ends of what is allowed: all of an axis, none of it, as many axes as there are."""
    taken = {
        "slice": [{"start": (4,), "stop": (4,), "step": (1,)}, {"start": (0,), "stop": (4,), "step": (9,)}],
        "broadcast": [{"shape": (4,), "axes": ()}, {"shape": (4, 7), "axes": (1,)}, {"shape": (0, 4), "axes": (0,)}],
        "pad": [{"low": (0,), "high": (0,), "interior": (0,)}],
        "gather": [{"axis": 0, "batch": 0}],
        "sum": [{"axes": ()}, {"axes": (0,)}],
    }
    for op, several in taken.items():
        for params in several:
            operands = (VECTOR, INDICES) if op == "gather" else (VECTOR,)
            ops.BY_NAME[op].infer(*operands, **params)


@pytest.mark.parametrize("index", [-1 - 10**15, 5, 10**15])
def test_sums_at_indices_outside_are_refused_however_far_these_are(index: int) -> None:
    """What is looked at first, whether all are different, takes no memory for them."""
    add = primad.jit(lambda x, i: ops.scatter_add(x, i, axis=0, batch=0, size=5), backend="reference")
    with pytest.raises(primad.PrimadError, match=f"index {index} is out of range"):
        add(np.ones((3, 100)), np.array([0, 1, index]))

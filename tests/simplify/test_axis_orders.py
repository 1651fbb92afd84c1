"""Permutations of axes are taken late, where they meet and cancel; values keep their bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primad
from primad import ops
from primad.simplify import simplify
from primad.simplify.axis_orders import permute_late
from primad.transforms import lower


def permutes(program):
    return sum(node.op is ops.permute for node in program.nodes)


MATRIX = primad.ArrayType((80, 70), float)
ALONG_ROWS = {
    "differences": lambda u: np.diff(u, axis=1),
    "second differences": lambda u: np.diff(u, n=2, axis=1),
    "differences with ends": lambda u: np.diff(u, axis=1, prepend=0.0, append=u[:, :1]),
    "gradient": lambda u: np.gradient(u),
    "gradient at uneven points": lambda u: np.gradient(u, np.arange(80.0) ** 2, np.linspace(0, 1, 70) ** 3),
    "gradient to second order": lambda u: np.gradient(u, edge_order=2),
    "gradients as vectors": lambda u: np.stack(np.gradient(u), axis=-1),
    "derivative of gradients": primad.grad(lambda u: np.sum(np.hypot(*np.gradient(u)))),
    "integral": lambda u: np.trapezoid(u, axis=0),
    "there and back": lambda u: (u.T * 2.0 + 1.0).T * u,
    "shares of columns": lambda u: (np.exp(u.T) / np.sum(np.exp(u.T), axis=1, keepdims=True)).T,
    "a row times each": lambda u: (u.T * u[0, :, None]).T - u,
    "joined": lambda u: np.concatenate([u.T[:1], (u.T[2:] - u.T[:-2]) * 0.5, u.T[-1:]]).T,
    "padded": lambda u: np.pad(u.T, ((1, 2), (0, 0))).T[:, 1:] + 1.0,
    "norms of columns": lambda u: np.sqrt(np.sum(u.T * np.sin(u.T), axis=1)),
    "flipped": lambda u: (np.flip(u.T, 0) * u.T).T,
    "a middle axis": lambda u: np.moveaxis(np.diff(np.moveaxis(u.reshape(8, 10, 70), 1, 2)), 2, 1),
    "a product of matrices": lambda u: np.exp(u.T) @ u,
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ALONG_ROWS)
def test_what_is_written_along_another_axis_permutes_nothing(name):
    """Each is computed as if it were written along the axes as they lie."""
    found = simplify(lower(primad.trace(ALONG_ROWS[name])(MATRIX)))
    assert not permutes(found)
    u = np.random.default_rng(0).uniform(0.5, 1.5, MATRIX.shape)
    for x, y in zip(primad.jit(found)(u), primad.trace(ALONG_ROWS[name])(MATRIX)(u), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


STAY = {
    "operands that disagree": lambda u: u[:70] + u[:70].T,
    "a result": lambda u: u.T,
    "used both ways": lambda u: (np.sin(u.T), np.sin(u)),
    "before what mixes axes": lambda u: np.cumsum(u.T * 2.0, axis=0),
}


@pytest.mark.parametrize("name", STAY)
def test_what_has_to_be_permuted_stays_as_it_is(name):
    """A program in which no fewer elements are permuted is returned itself."""
    program = lower(primad.trace(STAY[name])(MATRIX))
    assert permutes(program)
    assert permute_late(program) is program


def test_the_place_of_a_failure_is_the_users():
    """An op that says where a value is not allowed keeps its axes."""
    function = primad.jit(lambda u: primad.numpy.take(np.arange(5.0), (u.T * 2).T[1:].T).T * 2.0)
    u = np.zeros((100, 90), int)
    u[7, 3] = 9
    with pytest.raises(primad.PrimadError, match=r"at \[3, 6\]"):
        function(u)


SHAPES = st.tuples(st.integers(1, 3), st.integers(2, 4), st.integers(2, 3))
STEP = st.tuples(st.integers(0, 6), st.permutations(range(3)), st.integers(0, 2), st.integers(0, 9))


@given(SHAPES, st.lists(STEP, min_size=1, max_size=9))
def test_random_programs_keep_their_values(shape, steps):
    """Permutations among pointwise ops, slices, joined parts, sums and repeated rows change no bit but of sums."""

    def function(x):
        values = [x]
        for kind, order, axis, other in steps:
            a = values[-1]
            b = values[other % len(values)]
            if kind == 0:
                a = np.transpose(a, order)
            elif kind == 1:
                a = a + (b if b.shape == a.shape else np.sum(b))
            elif kind == 2:
                a = np.flip(a, axis) * 2.0
            elif kind == 3:
                a = np.concatenate([a, a - 1.0], axis)
            elif kind == 4:
                a = np.take(a, range(a.shape[axis] // 2, a.shape[axis]), axis) - a.sum(axis, keepdims=True)
            elif kind == 5:
                a = np.diff(np.concatenate([a, a * a], axis), axis=axis)
            else:
                a = np.moveaxis(np.moveaxis(a, axis, 0) * a.shape[0], 0, axis)
            values.append(a)
        return values[-2:]

    x = np.arange(np.prod(shape), dtype=float).reshape(shape) - 3.0
    program = lower(primad.trace(function)(x))
    found = permute_late(program, smallest=1)
    for got, expected in zip(primad.jit(found, backend="reference")(x), function(x), strict=True):
        np.testing.assert_array_equal(got, expected)

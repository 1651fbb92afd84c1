"""Arrays of any order of bytes, strides and dtype are arguments, captured values and directions as plain arrays are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad


def unaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
    found = memory.view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def read_only(x):
    found = x.copy()
    found.flags.writeable = False
    return found


def spread(x):
    found = np.zeros([2 * n for n in x.shape], x.dtype)[tuple([slice(None, None, 2)] * x.ndim)]
    found[...] = x
    return found


LAYOUTS = {
    "plain": lambda x: x,
    "other bytes": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "other bytes, Fortran": lambda x: np.asfortranarray(x.astype(x.dtype.newbyteorder(">"))),
    "Fortran": np.asfortranarray,
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "spread": spread,
    "read-only": read_only,
    "unaligned": unaligned,
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "other bytes, repeated": lambda x: np.broadcast_to(x[:1].astype(x.dtype.newbyteorder(">")), x.shape),
}
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "?"]


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.dtype.isnative
    np.testing.assert_allclose(found, expected, rtol=2e-3 if found.dtype.itemsize == 2 else 1e-6)


def everything(x, other):
    """What transforms return for x, an array of floats or not; `other` is captured."""

    def f(v):
        return np.sum(v * v + other, 0) + v[0] - np.where(v > 1, v, other)[1]

    yield primad.jit(f)(x)
    yield primad.jit(lambda v: (v, v[0], other + 0 * v[0]))(x)[0]
    yield primad.trace(f)(x)(x)
    yield primad.vmap(lambda v: v * 2 + other[0])(x)
    yield primad.vmap(lambda v, w: v + np.sum(w), (1, None))(x, x)
    yield primad.jit(lambda t: t["a"] + t["b"])({"b": other, "a": x})
    yield primad.checkpoint(f)(x)
    if x.dtype.kind == "f":
        yield primad.grad(lambda v: np.sum(f(v)))(x)
        yield primad.grad(lambda v, w: np.sum(f(v) * w[0]))(x, other)
        yield primad.jit(primad.grad(lambda v, w: np.sum(f(v) * w)))(x, other)
        yield primad.jvp(f, (x,), (other,))[1]
        yield primad.vjp(f, x)[1](other[0])[0]
        yield primad.linearize(f, x)[1](other)
        yield primad.linear_transpose(lambda v: v * other, x)(other)[0]
        yield primad.jacobian(lambda v: f(v) * other[1])(x)
        yield primad.hessian(lambda v: np.sum(f(v) * v[1]))(x) @ np.ones(x.shape, x.dtype) if x.ndim == 1 else x * 1
        yield primad.hvp(lambda v: np.sum(f(v) ** 2), x, other)
        yield primad.laplacian(lambda v: np.sum(v**3 * other))(x)
        yield primad.derivative(np.sin, 2)(x)
        yield primad.taylor(np.exp, x, other, 2)[2]
        yield primad.grad(lambda v: np.sum(v * other) if v[0, 0] < 100 else v[0, 0])(x)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_layouts_make_no_difference(data):
    dtype = data.draw(st.sampled_from(DTYPES), "dtype")
    of, other = (data.draw(st.sampled_from(sorted(LAYOUTS)), name) for name in ("argument", "captured"))
    rng = np.random.default_rng(data.draw(st.integers(0, 9), "seed"))
    drawn = [(rng.integers(0, 2, (3, 4)) if dtype == "?" else 1 + rng.random((3, 4)) * 2).astype(dtype) for _ in "ab"]
    x, c = LAYOUTS[of](drawn[0]), LAYOUTS[other](drawn[1])
    if dtype == "?":
        x, c = [LAYOUTS[layout](value.astype("i8")) for layout, value in ((of, drawn[0]), (other, drawn[1]))]
    plain = np.array(x, x.dtype.newbyteorder("=")), np.array(c, c.dtype.newbyteorder("="))
    for found, expected in zip(everything(x, c), everything(*plain), strict=True):
        same(found, expected)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_arrays_of_any_layout(layout, dtype):
    """Programs that are large enough for tiles and kernels read any array."""
    x = LAYOUTS[layout]((np.arange(120_000) % 7).astype(dtype).reshape(40_000, 3))
    expected = np.sum(np.tanh(np.array(x, float) @ np.ones((3, 8)) + 0.5))
    found = primad.jit(lambda v: np.sum(np.tanh(v.astype(float) @ np.ones((3, 8)) + 0.5)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    if np.dtype(dtype).kind == "f":
        gradient = primad.grad(lambda v: np.sum(np.tanh(v.astype(float)) ** 2))(x)
        t = np.tanh(np.array(x, float))
        np.testing.assert_allclose(gradient, 2 * t * (1 - t**2), rtol=2e-3 if dtype == "f2" else 1e-5, atol=1e-6)
        assert gradient.dtype == dtype and gradient.shape == x.shape


@pytest.mark.parametrize("layout", ["plain", "other bytes", "Fortran", "spread", "backwards", "unaligned"])
def test_donated_arrays_of_any_layout_are_written_in_place(layout):
    x = LAYOUTS[layout](np.arange(12.0).reshape(3, 4))
    expected = np.array(x) * 2.0
    found = primad.jit(lambda v: v * 2.0, donate=0)(x)
    assert found is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused_or_as_in_numpy(number):
    with pytest.raises(primad.TracingError, match="does not fit into 64 bits"):
        primad.jit(lambda x: x + 0)(number)
    for largest in (2**63 - 1, -(2**63)):
        assert primad.jit(lambda x: x + 0)(largest) == largest
    assert primad.jit(lambda x: x + 0.0)(np.uint64(2**63)) == 2.0**63
    assert primad.jit(lambda x: x * 2)(np.uint64(2**62)) == 2**63

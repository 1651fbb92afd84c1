"""Sums of products as native loops: in every layout, also added to memory, also of a counted length."""

import ctypes

import numpy as np
import pytest

from primad.native.emit.copies import write_copy
from primad.native.emit.product_loops import write_contraction
from primad.native.llvm import compiler as native
from primad.native.llvm.builder import module
from primad.native.llvm.strided_views import Code, View, contiguous
from primad.native.schedule.contraction_plan import contraction, packing
from tests.sweeps import WIDTHS, thinned

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

FLOATS = [np.float64, np.float32]
PRODUCTS = ["tj,ji->ti", "tj,ij->ti", "ti,tj->ij", "sti,tj->sij", "tdi,tdj->ij", "st,sti->si", "t,i->ti", "ti,i->t"]
DOTS = ["ti,t->i", "ti,ti->", "ti,ti->i", "ti,ti->t", "t,ti->", "t,t->", "t,->"]
SUMS = ["ti->i", "ti->t", "ti->", "t->"]
LABELS = [*PRODUCTS, *DOTS, *SUMS]


def view_of(name, array):
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return View(name, 0, array.shape, strides, array.dtype)


def call(code, arrays, count=0):
    """Run what was written on arrays, which are the buffers 0, 1, …."""
    head = []
    for (i, _, _), name in code.places.items():
        head += [f"  %slot{i} = getelementptr ptr, ptr %pointers, i64 {i}", f"  {name} = load ptr, ptr %slot{i}"]
    code.lines[:0] = head
    code.do("ret void")
    text = module([code.function("void @KERNEL(ptr %pointers, i64 %count, i64 %b, i64 %c)")], code.declared.values())
    (kernel,) = native.compiler().kernels([text])
    kernel.function((ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays]), count, 0, 0)


def run(labels, out, operands, count=0, known=(), **options):
    """Compute a contraction into an array, after the copy of an operand if that is thought to pay; say which it was."""
    parts, out_labels = labels.split("->")
    arrays = [*operands, out]
    views = [view_of(i, array) for i, array in enumerate(arrays)]
    code = Code()
    labelled = list(zip(views, parts.split(","), strict=False))
    found = packing(views[-1], out_labels, labelled, known=known, **options)
    if found is not None:
        shape = found.source.shape
        arrays.append(np.full(shape, np.nan, out.dtype))
        packed = View(len(operands) + 1, 0, shape, contiguous(shape), out.dtype)
        write_copy(code, found.source, packed)
        labelled[found.operand] = (packed, found.labels)
    write_contraction(code, contraction(views[-1], out_labels, labelled, **options), out.dtype)
    call(code, arrays, count)
    return None if found is None else (found.operand, found.labels)


def draw(rng, shape, dtype, order):
    """An array in one of some memory layouts."""
    if order == "F":
        return np.asarray(rng.normal(size=shape), dtype, order="F")
    if order == "wide":
        return np.asarray(rng.normal(size=[n + 3 for n in shape]), dtype)[(..., *[slice(1, n + 1) for n in shape])]
    return np.asarray(rng.normal(size=shape), dtype)


def assert_close(got, wanted, dtype, terms):
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=scale * 4 * (terms + 4) * np.finfo(dtype).eps)


def expected(labels, operands, dtype):
    return np.einsum(labels, *[x.astype(np.float64) for x in operands])


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("width")
@thinned(3, labels=LABELS, order=["C", "F", "wide"], dtype=FLOATS)
def test_sums_are_added_to_memory(labels, order, dtype):
    rng = np.random.default_rng(3)
    for sizes in ({"t": 37, "i": 21, "j": 9, "s": 3, "d": 2}, {"t": 4, "i": 50, "j": 70, "s": 2, "d": 3}):
        parts, out_labels = labels.split("->")
        operands = [draw(rng, [sizes[c] for c in part], dtype, order) for part in parts.split(",")]
        surrounding = draw(rng, [sizes[c] + 2 for c in out_labels], dtype, "C")
        inside = (..., *[slice(1, -1)] * len(out_labels))
        out = surrounding[inside]
        wanted = surrounding.astype(np.float64)
        wanted[inside] += expected(labels, operands, dtype)
        run(labels, out, operands, accumulate=True)
        assert_close(surrounding, wanted, dtype, terms=120)


@pytest.mark.one_in(6)
@pytest.mark.usefixtures("width")
@thinned(
    6,
    width=WIDTHS,
    labels=[labels for labels in LABELS if "t" not in labels.split("->")[1]],
    order=["C", "F", "wide"],
    dtype=FLOATS,
)
def test_only_the_counted_part_is_summed(labels, order, dtype):
    """What lies behind it is not a number, and may not even be multiplied by zero."""
    rng = np.random.default_rng(4)
    for length, i in ((1, 5), (6, 20), (70, 3), (70, 33)):
        sizes = {"t": length, "i": i, "j": 9, "s": 2, "d": 3}
        parts, out_labels = labels.split("->")
        operands = [draw(rng, [sizes[c] for c in part], dtype, order) for part in parts.split(",")]
        for count in sorted({1, min(5, length), min(8, length), min(32, length), min(41, length), length}):
            cuts = [(..., *[slice(count if c == "t" else None) for c in part]) for part in parts.split(",")]
            given = []
            for x, cut, part in zip(operands, cuts, parts.split(","), strict=True):
                y = x.copy(order="K")
                if "t" in part:
                    y[...] = np.nan
                    y[cut] = x[cut]
                given.append(y)
            for accumulate in (False, True):
                before = draw(rng, [sizes[c] for c in out_labels], dtype, "C")
                out = before.copy()
                run(labels, out, given, count, counted="t", accumulate=accumulate)
                wanted = expected(labels, [x[cut] for x, cut in zip(operands, cuts, strict=True)], dtype)
                assert_close(out, wanted + before if accumulate else wanted, dtype, terms=3 * count)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 40])
def test_counted_sums_of_infinite_products(count, dtype):
    """A repeated infinite factor times the zero of a lane outside would not be a number."""
    out = np.zeros((), dtype)
    run("t,->", out, [np.ones(40, dtype), np.array(np.inf, dtype)], count, counted="t")
    assert out == np.inf


@pytest.mark.parametrize("accumulate", [False, True])
def test_sums_of_nothing(accumulate):
    out = np.ones((3, 4))
    run("ti,tj->ij", out, [np.ones((0, 3)), np.ones((0, 4))], accumulate=accumulate)
    np.testing.assert_array_equal(out, 1.0 if accumulate else 0.0)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("labels", "sizes", "packed"),
    [
        ("tj,ij->ti", {"t": 300, "i": 40, "j": 24}, (1, "ji")),
        ("ti,ij->tj", {"t": 300, "i": 64, "j": 3}, (1, "ji")),
        ("ti,ij->tj", {"t": 300, "i": 64, "j": 64}, None),
        ("ti,tj->ij", {"t": 300, "i": 64, "j": 64}, None),
        ("ti,i->t", {"t": 300, "i": 64}, None),
        ("t,i->ti", {"t": 30, "i": 21}, None),
    ],
)
def test_operands_are_copied_where_it_pays(labels, sizes, packed, dtype):
    rng = np.random.default_rng(5)
    parts, out_labels = labels.split("->")
    operands = [draw(rng, [sizes[c] for c in part], dtype, "C") for part in parts.split(",")]
    out = np.full([sizes[c] for c in out_labels], np.nan, dtype)
    assert run(labels, out, operands, known=(1,)) == packed
    assert_close(out, expected(labels, operands, dtype), dtype, terms=300)


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", [*FLOATS, np.bool_])
@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(5, 17, 9), (8, 16, 24), (1, 3, 33), (2, 0, 5), (31, 2, 1)])
def test_copies_are_exact(shape, order, dtype):
    source = np.random.default_rng(6).integers(0, 2 if dtype is np.bool_ else 2**50, shape).astype(dtype)
    around = np.zeros([n + 2 for n in np.transpose(source, order).shape], dtype)
    around[...] = 1
    target = around[1:-1, 1:-1, 1:-1]
    code = Code()
    write_copy(code, view_of(0, np.transpose(source, order)), view_of(1, target))
    wanted = around.copy()
    wanted[1:-1, 1:-1, 1:-1] = np.transpose(source, order)
    call(code, [source, target])
    np.testing.assert_array_equal(around, wanted)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("accumulate", [False, True])
def test_results_whose_vectors_lie_apart(dtype, accumulate):
    """Neighbours of a vector are elements of a column; memory between and around them stays as it is."""
    rng = np.random.default_rng(6)
    x, y = draw(rng, (40, 11), dtype, "C"), draw(rng, (40, 37), dtype, "C")
    surrounding = draw(rng, (41, 26), dtype, "C")
    out = surrounding[2:39, 1:23:2].T
    wanted = surrounding.astype(np.float64)
    inside = wanted[2:39, 1:23:2].T
    inside[...] = expected("ti,tj->ij", [x, y], dtype) + accumulate * inside
    run("ti,tj->ij", out, [x, y], accumulate=accumulate)
    assert_close(surrounding, wanted, dtype, terms=40)

"""Native loops of every op: equal to the NumPy definition for any shape, dtype and strides, and within their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import primad
from primad import ops
from primad.errors import IndexShapeError
from primad.native.emit.emit_context import Loops, Missing, Pointwise, Way
from primad.native.emit.op_table import NATIVE, reason, way_of
from primad.native.emit.pointwise import POINTWISE
from primad.native.module.outlined_text import text_of
from primad.native.schedule.layout import layout_of
from primad.ops.arrays.windows import first_inside
from primad.simplify import simplify
from primad.simplify.own_definitions import is_cheap
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from primad.verify.random_programs import draw_program
from tests.cases import CASES, NAMES, Drawn
from tests.guarded import agree, check, drawn, needs_llvm, run_natively, written
from tests.sweeps import ANY_WIDTHS, WIDTHS, thinned

PRIMITIVES = {op for op in ops.ALL if op.kind not in ("composite", "program")}
EXCEPTIONS = {
    "airy", "beta_density", "beta_hazard", "carlson_second", "gamma_hazard", "log_beta_tail", "log_gamma_tail",
    "draw", "expm", "expm_frechet", "gamma_density", "hurwitz", "jacobi_amplitude",
    "lambertw", "legendre_integral", "polygamma_gap", "power_integral", "solve_sylvester", "sqrtm",
    "real_part", "imaginary_part",
    "conj", "complex_of", "fft", "rfft", "irfft", "eig", "left_vectors", "dct", "dst", "logm", "logm_frechet",
}  # fmt: skip
"""The primitives without native code."""
PARTLY = {"betainc", "cofactors_along", "dawsn", "exprel", "gammainc", "member", "polygamma", "project", "scaled_erfc"}
"""Those among the cases that have it for some params only."""
DTYPES = ["float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint64", "bool"]


def loops() -> list[tuple[Any, Any]]:
    """Return how each primitive is written in loops."""
    return [(op, how.loops) for op, how in NATIVE.items()]


def test_the_table_is_total() -> None:
    """Each primitive has a way to be written, or a reason why it has none; what is left is listed here."""
    assert set(NATIVE) == PRIMITIVES
    assert {op.name for op, how in NATIVE.items() if isinstance(how.loops, Missing)} == EXCEPTIONS
    for op, how in loops():
        assert isinstance(how, (Pointwise, Loops, Way, Missing))
        assert isinstance(how, Pointwise) <= op.axes.pointwise
        assert not isinstance(how, Missing) or how.reason
    assert set(POINTWISE) <= set(NATIVE)


def test_what_records_call_cheap_is_what_is_written_as_arithmetic_or_as_a_view() -> None:
    """Reverse mode asks the record, whatever runs the program; native code must not make it wrong."""
    for op, how in loops():
        plain = not how.function if isinstance(how, Pointwise) else how in (Way.VIEW, Way.JOIN, Way.CONSTANT)
        assert op.work.cheap == plain, op


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.usefixtures("any_width")
@drawn
def test_rows_of_any_length(data: Any, at_end: bool) -> None:
    """Operands are whole, or have an element for each row, or for each column; rows may be shorter than a vector."""
    many, rows, columns = (data.draw(st.integers(1, most)) for most in (3, 40, 9))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int32", "int64"]))
    whole, of_rows, of_columns = (many, rows, columns), (many, rows, 1), (1, 1, columns)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, y, r, s, c, d = (
        rng.integers(-9, 9, shape).astype(dtype) for shape in (whole, whole, of_rows, of_rows, of_columns, of_columns)
    )

    def f(x: Any, y: Any, r: Any, s: Any, c: Any, d: Any) -> Any:
        return np.where((x > c) & (r < s), x * r + d, y - s), x + r, r * c

    check(f, x, y, r, s, c, d, at_end=at_end, exact=True)


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.usefixtures("any_width")
@drawn
def test_columns_that_lie_in_turn(data: Any, at_end: bool) -> None:
    """Numbers some apart are picked out of whole vectors, and some columns are read and written together."""
    rows, step = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 9))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int32", "int64", "bool"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, y = (rng.integers(0, 9, (rows, step)).astype(dtype) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        firsts, lasts = (np.where(x[:, k] > y[:, k], x[:, k], y[:, 0]) for k in (0, -1))
        turned = np.stack([np.where(x[:, k] > y[:, -1], x[:, k], y[:, -k]) for k in range(step)], axis=1)
        return firsts, lasts, turned, np.sum(x * 2, axis=1), np.max(x, axis=1)

    check(f, x, y, at_end=at_end, exact=True)


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.usefixtures("any_width")
@drawn
def test_rows_are_added_in_order(data: Any, at_end: bool) -> None:
    """At indices that repeat in a row, come back or count from the end, to the bit; rows are long or short."""
    length, count, columns = (data.draw(st.integers(1, most)) for most in (4, 40, 9))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int32", "int8"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    indices = rng.integers(-length, length, count)
    indices = np.sort(indices) if data.draw(st.booleans()) else indices
    x = (99 * rng.normal(size=(count, columns))).astype(dtype)

    def f(x: Any, indices: Any) -> Any:
        of_rows = [ops.scatter_add(y, indices, size=length, axis=0, batch=0) for y in (x, x.T[0], x[::-1])]
        alone = ops.scatter_add(x, indices, size=length, axis=1, batch=1)  # each index has an array of its own
        return [*of_rows, alone, ops.scatter_add(x.T, indices, size=length, axis=1, batch=0)]

    check(f, x, indices, at_end=at_end, exact=True)


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.usefixtures("any_width")
@drawn
def test_axes_in_any_order(data: Any, at_end: bool) -> None:
    """What is computed of permuted or reversed operands lies as they do, whatever reads it then."""
    shape = data.draw(st.tuples(*[st.integers(1, 7)] * 3))
    order, other = (data.draw(st.permutations(range(3))) for _ in range(2))
    flipped, kept = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    uses = data.draw(st.sets(st.sampled_from(["sum", "product", "reshape", "cumsum", "itself", "other"]), min_size=1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, z = rng.integers(-9, 9, shape).astype(float), rng.integers(-9, 9, [shape[i] for i in order]).astype(float)

    def f(x: Any, z: Any) -> Any:
        y = np.transpose(x, order)
        y = np.flip(y, flipped) if flipped < 3 else y
        y = (y * np.sum(z, kept, keepdims=True) - 1.0) * y
        found = {
            "sum": np.sum(y, kept),
            "product": np.einsum("abc,abc->bc" if kept else "abc,abd->cd", y, y),
            "reshape": np.reshape(y, (-1, y.shape[2])) + 1.0,
            "cumsum": np.cumsum(y, kept),
            "itself": y,
            "other": np.transpose(y, other) * 2.0 + np.transpose(z, other),
        }
        return [found[name] for name in sorted(uses)]

    check(f, x, z, at_end=at_end, exact=True)


def test_no_loop_goes_across_memory() -> None:
    """A permuted matrix, times a number for each row, for a product."""
    x, c = np.ones((40, 6)), np.ones(40)
    program = simplify(primad.trace(lambda x, c: (x.T * c * c) @ x)(x, c))
    layout = layout_of(program)
    (scaled,) = [node for unit in layout.units for node in unit.results if node.type.shape == (6, 40)]
    assert layout.view(scaled).strides == (1, 6)


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bool"])
def test_sums_and_products_of_every_type(dtype: str) -> None:
    """In loops and in registers, of small integers, whose sums are exact."""
    x = (np.arange(6).reshape(2, 3) % 4).astype(dtype)
    y = np.ascontiguousarray(x[::-1, ::-1].T)

    def f(x: Any, y: Any) -> Any:
        products = [ops.contract(x, y, labels=labels) for labels in ("ab,bc->ac", "ab,ba->a", "ab,ba->")]
        along = [op(x, axes=axes) for op in (ops.sum, ops.reduce_max, ops.reduce_min) for axes in ((0,), (0, 1))]
        return [*products, *along]

    check(f, x, y, exact=True)


@pytest.mark.one_in(3)
@needs_llvm
@pytest.mark.usefixtures("any_width")
@thinned(3, any_width=ANY_WIDTHS, start=range(200, 260, 12))
def test_random_programs_stay_within_their_memory(start: int) -> None:
    found = 0
    for seed in range(start, start + 16):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        for derived in map(simplify, (program, vjp(program))):
            if written(derived) is not None:
                cotangents = [np.ones(type.shape, type.dtype) for type in derived.in_types[len(arguments) :]]
                agree(derived, [*arguments, *cotangents], bool(seed % 2))
                found += 1
    assert found > 8  # of 32: else next to nothing would be asked


# -- what is drawn -----------------------------------------------------------------------------------------------------


def draw_array(choose: Drawn, shape: tuple[int, ...], dtype: str) -> Any:
    """Draw an array with ties, and floats with NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(choose.integer(0, 2**16))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -3), 4, shape)
        wild = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.8, small, wild).astype(dtype)
    values = np.where(rng.random(shape) < 0.3, rng.integers(-2, 3, shape), rng.normal(size=shape))
    values = choose.among([values, values + 5, values - 5])
    if choose.integer(0, 3) == 0:
        special = rng.choice([np.nan, np.inf, -np.inf, -0.0], shape)
        values = np.where(rng.random(shape) < 0.1, special, values)
    return values.astype(dtype)


def draw_shape(choose: Drawn, low: int = 1, high: int = 3) -> tuple[int, ...]:
    longest = choose.among([3, 9, 40])
    return tuple(
        choose.integer(0 if choose.integer(0, 9) == 0 else 1, longest) for _ in range(choose.integer(low, high))
    )


def seen(choose: Drawn, x: Any) -> Any:
    """Show an array in another way, so that its elements lie elsewhere."""
    order = list(range(x.ndim))
    if choose.integer(0, 1):
        order.reverse()
    x = ops.permute(x, order=tuple(order))
    if choose.integer(0, 1):
        x = ops.flip(x, axes=(choose.integer(0, x.ndim - 1),))
    if choose.integer(0, 1):
        step = tuple(choose.integer(1, 2) for _ in x.shape)
        start = tuple(min(1, n) for n in x.shape)
        x = ops.slice_(x, start=start, stop=x.shape, step=step)
    if choose.integer(0, 3) == 0:
        x = ops.broadcast(x, shape=(*x.shape, 3), axes=(x.ndim,))
    return x


# -- every op ----------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(12)
@needs_llvm
@pytest.mark.usefixtures("width")
@thinned(len(WIDTHS), width=WIDTHS, name=[name for name in NAMES if CASES[name].op in PRIMITIVES])
def test_every_op_is_as_its_definition_says(name: str) -> None:
    """The table of cases again, now in native code: an op is written for what it is tried on, or its table says why."""
    for seed in range(6):
        trial = Trial(CASES[name], CASES[name].op, Seeded(seed))
        program = simplify(trial.program)
        why = [reason(node) for node in program.nodes if reason(node)]
        names = {node.op.name for node in program.nodes}
        assert not why or names & (EXCEPTIONS | PARTLY), why
        assert why or not names & EXCEPTIONS
        if not why:
            agree(program, trial.values, bool(seed % 2))


@pytest.mark.one_in(6)
@needs_llvm
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "op", [op for op in POINTWISE if not set(POINTWISE[op].kinds) <= {"f"}], ids=lambda op: op.name
)
def test_pointwise_ops_of_any_dtype(op: Any, dtype: str) -> None:
    """What is not a function of floats alone: each op is written for a dtype where NumPy has it, and exact."""
    choose = Seeded(f"{op.name} {dtype}")
    if op not in (ops.cast, ops.truncate) and np.dtype(dtype).kind not in POINTWISE[op].kinds:
        return
    given = []
    for n in (1, 5, 37):
        x, y, chosen = (draw_array(choose, (n,), kind) for kind in (dtype, dtype, "bool"))
        one = op in (ops.cast, ops.truncate, ops.neg, ops.abs, ops.sign, ops.logical_not)
        given.append(
            {ops.select: [chosen, x, y], ops.mask: [chosen, x], ops.defined_where: [chosen, x]}.get(
                op, [x] if one else [x, y]
            )
        )
    params: list[dict[str, Any]] = [{}]
    if op in (ops.cast, ops.truncate):
        targets = [t for t in DTYPES if (np.dtype(t).kind == "f") == (op is ops.cast)]
        if np.dtype(dtype).kind == "f":
            targets = [t for t in targets if t in ("float64", "float32", "int64", "int32", "bool")]
        params = [{"dtype": target} for target in targets]
    count = len(given[0])

    def f(*all: Any) -> Any:
        """Lengths, and types to convert to, are results of one program, which compiles once."""
        return [op(*all[i : i + count], **chosen) for i in range(0, len(all), count) for chosen in params]

    check(f, *[x for operands in given for x in operands], exact=True)


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_largest_and_smallest_elements(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    x = draw_array(choose, draw_shape(choose), choose.among(DTYPES))

    def f(x: Any) -> Any:
        y = seen(choose, x)
        axes = tuple(axis for axis in range(y.ndim) if y.shape[axis] and choose.integer(0, 1))
        return choose.among([ops.reduce_max, ops.reduce_min])(y, axes=axes)

    check(f, x, at_end=at_end, exact=True)


@pytest.mark.one_in(4)
@needs_llvm
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_lanes_that_are_left_over_are_no_extrema(dtype: str) -> None:
    rng = np.random.default_rng(0)
    given = [rng.permutation(np.arange(1, 3 * n + 1)).reshape(3, n).astype(dtype) for n in range(1, 37)]

    def f(*all: Any) -> Any:
        return [op(y, axes=(1,)) for op in (ops.reduce_max, ops.reduce_min) for x in all for y in (x, -x)]

    for first in range(0, 36, 6):  # one program of several lengths compiles faster than one of each
        check(f, *given[first : first + 6], exact=True)


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_running_sums(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    x = draw_array(choose, draw_shape(choose), choose.among(DTYPES[:-1]))

    def f(x: Any) -> Any:
        y = seen(choose, x)
        return ops.cumsum(y, axis=choose.integer(0, y.ndim - 1), reverse=bool(choose.integer(0, 1)))

    check(f, x, at_end=at_end, exact=True)


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_sorting(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    x = draw_array(choose, draw_shape(choose, 1, 2), choose.among(DTYPES))

    def f(x: Any) -> Any:
        y = seen(choose, x)
        return ops.argsort(y, axis=choose.integer(0, y.ndim - 1))

    check(f, x, at_end=at_end, exact=True)


def draw_indexed(choose: Drawn) -> tuple[Any, tuple[int, ...], tuple[int, ...], int, int]:
    """Draw indices, the axes before and behind those that they replace, where they stand and how many are shared."""
    own, before, after = (draw_shape(choose, 0, 2) for _ in range(3))
    batch = choose.integer(0, len(before))
    n = choose.integer(1, 20)
    lead = before[:batch]
    indices = np.random.default_rng(choose.integer(0, 99)).integers(-n, n, (*lead, *own))
    return indices.astype(choose.among(["int64", "int32", "int8"])), before, after, n, batch


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_rows_at_indices(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    indices, before, after, n, batch = draw_indexed(choose)
    x = draw_array(choose, (*before, n, *after), choose.among(DTYPES))
    turned = tuple(reversed(range(x.ndim)))

    def f(x: Any, indices: Any) -> Any:
        return ops.gather(ops.permute(x, order=turned), indices, axis=len(before), batch=batch)

    check(f, np.ascontiguousarray(x.T), indices, at_end=at_end, exact=True)


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_sums_at_indices(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    indices, before, after, n, batch = draw_indexed(choose)
    x = draw_array(choose, (*before, *indices.shape[batch:], *after), choose.among(DTYPES[:-1]))
    turned = tuple(reversed(range(x.ndim)))

    def f(x: Any, indices: Any) -> Any:
        return ops.scatter_add(ops.permute(x, order=turned), indices, axis=len(before), batch=batch, size=n)

    check(f, np.ascontiguousarray(x.T), indices, at_end=at_end, exact=True)


@pytest.mark.parametrize("places", [[2, 0, 1], [4, 0, 2], [1, 1, 0], [-1, 0, 1], []], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_rows_at_distinct_places_are_sums(places: list[int], dtype: str) -> None:
    """The definition puts them where they belong; the bits are those of sums, in which −0 is 0."""
    x = np.random.default_rng(0).normal(size=(len(places), 20)) * np.arange(20)
    x[:, 0] = -0.0
    for size in (3, 5):
        if max(places, default=0) >= size or (dtype == "uint8" and min(places, default=0) < 0):
            continue
        indices = np.array(places, dtype)
        expected = np.zeros((size, 20))
        np.add.at(expected, indices, x)
        found = ops.scatter_add.numpy(x, indices, axis=0, batch=0, size=size)
        np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


@needs_llvm
def test_rows_that_are_read_and_written_in_turn_have_no_masks() -> None:
    """What a masked store writes can be read only after it has reached the cache."""

    def moved(x: Any, i: Any, j: Any) -> Any:
        # Eight rows of zeros are whole vectors, whatever the width.
        return ops.scatter_add(ops.gather(x, i, axis=0, batch=0), j, axis=0, batch=0, size=8)

    for n in range(2, 10):
        rng = np.random.default_rng(n)
        arguments = [rng.normal(size=(4, n)), np.array([0, 1, 1, 2]), np.array([3, 0, 2, 3])]
        program = simplify(primad.trace(moved)(*arguments))
        agree(program, arguments)
        text = text_of(program)
        assert text is not None and "llvm.masked" not in text.functions


@needs_llvm
def test_literals_that_loops_read() -> None:
    """Zeros of both signs are two literals, and a loop may read either."""
    i = np.array([0, 2, 2])

    def f(i: Any) -> Any:
        trace = i.node.trace
        type = primad.ArrayType((3, 2), np.float64)
        values = [i.__class__(trace.literal(value, type)) for value in (1.5, -0.0, 0.0)]
        return [ops.scatter_add(x, i, axis=0, batch=0, size=4) for x in values], [
            ops.gather(x, i, axis=0, batch=0) for x in values
        ]

    program = simplify(primad.trace(f)(i))
    agree(program, [i], exact=True)
    signs = [np.signbit(x).all() for x in run_natively(program, [i], True)[3:]]
    assert signs == [False, True, False]


@needs_llvm
def test_a_failure_in_a_part_of_a_long_program() -> None:
    """Equal parts are one function; what failed is said of the call."""

    def f(x: Any, table: Any, i: Any) -> Any:
        for _ in range(120):
            x = np.sin(x) + table[i]
            i = i + 2
        return x

    x, i, table = np.ones(3), np.array([0, 1, -1]), np.arange(300.0)
    step = primad.jit(f)
    np.testing.assert_allclose(step(x, table, i), f(x, table, i), rtol=1e-12)
    text = text_of(simplify(primad.trace(f)(x, table, i)))
    assert len(text.failing) == 120 and "@KERNEL.part0" in text.functions
    with pytest.raises(
        IndexShapeError, match=r"index 300 is out of range for an axis of length 300, at \[1\]"
    ) as caught:
        step(x, table, np.array([0, 202, -1]))
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(caught.value)
    assert caught.value.failure is not None and caught.value.__cause__ is None


def draw_windows(choose: Drawn, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Draw windows, of which some begin before the array, behind its start, or reach beyond its end."""
    axes = tuple(axis for axis in range(len(shape)) if choose.integer(0, 2) or axis == 0)
    params: dict[str, list[int]] = {name: [] for name in ("count", "size", "step", "dilation", "low")}
    for axis in axes:
        size, step, dilation = choose.integer(1, 3), choose.integer(1, 3), choose.integer(1, 2)
        low = choose.integer(-1, size * dilation - 1)
        room = max(0, shape[axis] + low - 1)
        for name, value in zip(
            params, (room // step + 1, size, step, dilation, min(low, shape[axis] - 1)), strict=True
        ):
            params[name].append(value)
    return {"axes": axes, **{name: tuple(values) for name, values in params.items()}}


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_windows(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    shape = tuple(choose.integer(2, 12) for _ in range(choose.integer(1, 3)))
    params = draw_windows(choose, shape)
    x = draw_array(choose, shape, choose.among(["float64", "float32", "int64", "int32"]))
    turned = tuple(reversed(range(x.ndim)))

    def f(x: Any) -> Any:
        y = ops.windows(ops.permute(x, order=turned), **params)
        back = {name: params[name] for name in ("axes", "step", "dilation", "low")}
        length = tuple(shape[axis] for axis in params["axes"])
        return y, y * 2, ops.overlap_add(y + 1, length=length, **back)

    check(f, np.ascontiguousarray(x.T), at_end=at_end, exact=True)


@needs_llvm
@pytest.mark.usefixtures("width")
@drawn
def test_places_of_the_largest_in_windows(data: st.DataObject, at_end: bool) -> None:
    choose = Drawn(data)
    shape = tuple(choose.integer(3, 12) for _ in range(choose.integer(1, 3)))
    params = draw_windows(choose, shape)
    x = draw_array(choose, shape, choose.among(["float64", "float32"]))
    turned = tuple(reversed(range(x.ndim)))
    for i, low in enumerate(params["low"]):  # every window has an element inside
        most = (params["size"][i] - 1) * params["dilation"][i]
        assume(low <= most and first_inside(*_window(params, shape, i)).min() >= 0)

    def f(x: Any) -> Any:
        return ops.window_argmax(ops.permute(x, order=turned), **params)

    check(f, np.ascontiguousarray(x.T), at_end=at_end, exact=True)


def _window(params: dict[str, tuple[int, ...]], shape: tuple[int, ...], i: int) -> tuple[int, ...]:
    rest = [params[name][i] for name in ("size", "step", "dilation", "low")]
    return (params["count"][i], shape[params["axes"][i]], *rest)


# -- ops of one's own --------------------------------------------------------------------------------------------------


def own(definition: Any) -> Any:
    return primad.elementwise("own", definition, partials=[lambda out, x: out])


@pytest.mark.parametrize(
    "definition", [lambda x: x * x + 1.0, lambda x: np.where(x > 0, x, -x), lambda x: np.exp(x) * x]
)
def test_an_op_of_ones_own_is_as_cheap_as_what_it_is_made_of(definition: Any) -> None:
    inner = own(definition)
    for op in (inner, own(lambda x: inner(x) + 1.0)):
        (node,) = primad.trace(op)(np.ones(3)).outputs
        how = way_of(node)
        assert isinstance(how, Pointwise)
        assert is_cheap(node) == (not how.function)
    unknown = own(lambda x: np.array([float(v) for v in x]))
    assert not is_cheap(primad.trace(unknown)(np.ones(3)).outputs[0])


@needs_llvm
@pytest.mark.usefixtures("width")
def test_an_op_of_ones_own_is_written_as_it_is_defined() -> None:
    inner = own(lambda x: np.where(x > 0, x * 0.5, np.tanh(x)))
    outer = own(lambda x: inner(x) ** 0.75 + np.arcsinh(x))
    scaled = primad.elementwise("scaled", lambda x, *, by: x * by, partials=[lambda out, x, *, by: x * 0 + by])
    for dtype in (np.float64, np.float32):
        x = np.linspace(0.1, 3, 11).astype(dtype)
        check(lambda x: (inner(-x), outer(x), scaled(x, by=2.0), scaled(x, by=3.0)), x)


@needs_llvm
@pytest.mark.parametrize(
    "definition",
    [
        lambda x: np.mean(x) + x * 0,
        lambda x: x if np.all(x > 0) else -x,
        lambda x: np.vectorize(float)(x),
        lambda x: x[0],
        lambda x: x * np.arange(3.0),
        lambda x: 1 / 0,
    ],
)
def test_an_op_of_ones_own_that_is_no_recorded_pointwise_function(definition: Any) -> None:
    (node,) = primad.trace(own(definition))(np.ones(3)).outputs
    assert "own" in reason(node)


@needs_llvm
def test_values_outside_of_domains_are_named() -> None:
    """Each op that can fail says the same in native code as by its definition: what, where, and for which value."""
    a = np.stack([np.eye(3)] * 5)
    a[3, 1, 1] = 0.0
    b = np.ones((5, 3, 2))
    large = np.stack([np.eye(8)] * 5)
    large[3, 5, 5] = 0.0
    equal, uneven = np.array([[1.0, 2, 3], [1, 2, 2]]), np.array([[1.0, 2, 3], [1, 2, 3]])
    zeros, changes = np.array([[3.0, 2, 1], [3, 2, 0]]), np.ones((2, 3, 3))
    cases = [
        (lambda a: ops.solve_triangular(a, a, lower=True, transpose=False, unit=False), (large,)),
        (lambda a: ops.cholesky(a), (large,)),
        (lambda x: ops.gaps(x), (equal,)),
        (lambda x, y: ops.spread(y, x, singular=False), (equal, uneven)),
        (lambda x, y: ops.spread(y, x, singular=True), (zeros, uneven)),
        (lambda x, s: ops.slopes(s, x, singular=True), (zeros, changes)),
        (lambda a, b: ops.solve_triangular(a, b, lower=True, transpose=False, unit=False), (a, b)),
        (lambda a, b: ops.cholesky(a) @ b, (a, b)),
        (lambda a, b: ops.gather(b, ops.truncate(a[:, 0, 0] * 7, dtype="int64"), axis=0, batch=0), (a, b)),
        (
            lambda a, b: ops.scatter_add(b, ops.truncate(-a[:, 1, 1] * 7, dtype="int64"), axis=0, batch=0, size=2),
            (a, b),
        ),
    ]
    for function, arguments in cases:
        said = []
        for backend in ("native", "reference"):
            with pytest.raises(primad.PrimadError) as caught:
                primad.jit(function, backend=backend)(*arguments)
            said.append(str(caught.value))
        assert said[0] == said[1]
        assert text_of(simplify(primad.trace(function)(*arguments))).failing

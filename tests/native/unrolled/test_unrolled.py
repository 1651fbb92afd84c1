"""Small programs with every element in a register: which ops there are so, and that values and errors are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LOCAL, without
from primad.native.emit.emit_context import Missing, Pointwise
from primad.native.emit.op_table import NATIVE, kept_out, short_length, stays_in_registers, way_of
from primad.native.llvm.compile_limits import BUDGET
from primad.native.module.outlined_text import text_of
from primad.native.unrolled.unrolled_context import ElementForm
from primad.ops.record.primitive import apply
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify import simplify
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from tests.cases import CASES, NAMES
from tests.guarded import agree, check, needs_llvm, run_in_registers, run_natively
from tests.native.emit.test_op_loops import PRIMITIVES, draw_array
from tests.sweeps import WIDTHS, thinned

COMPLEX = {"complex_of", "conj", "fft", "imaginary_part", "irfft", "real_part", "rfft"}
EXCEPTIONS = COMPLEX | {
    "draw", "eigh", "expm", "expm_frechet", "gaps", "qr", "slopes", "solve_sylvester", "spread", "sqrtm", "svd",
    "airy", "beta_density", "beta_hazard", "carlson_second", "gamma_hazard", "log_beta_tail", "log_gamma_tail",
    "dct", "dst", "eig", "left_vectors", "gamma_density", "hurwitz", "jacobi_amplitude",
    "lambertw", "legendre_integral", "logm", "logm_frechet", "polygamma_gap", "power_integral",
}  # fmt: skip
"""The primitives that are written in memory only, or not at all; the table has the reason of each."""
ROUNDED = {ops.sum, ops.contract}
"""Ops whose loops add in another order."""


def test_the_table_is_total() -> None:
    """Each primitive is written on single elements, or there is a reason why not; what is left is listed here."""
    assert set(NATIVE) == PRIMITIVES
    assert {op.name for op, how in NATIVE.items() if isinstance(how.elements, Missing)} == EXCEPTIONS
    for how in NATIVE.values():
        assert isinstance(how.elements, ElementForm) or how.elements.reason


def _is_exact(program: Any) -> bool:
    """Say whether loops compute a program as registers do: by the same operations, in the same order."""
    ways = [way_of(node) for node in program.nodes if node.inputs]
    functions = any(isinstance(how, Pointwise) and how.function for how in ways)
    return not functions and not ROUNDED & {node.op for node in program.nodes}


@pytest.mark.one_in(12)
@needs_llvm
@pytest.mark.usefixtures("width")
@thinned(len(WIDTHS), width=WIDTHS, name=[name for name in NAMES if CASES[name].op in PRIMITIVES])
def test_every_op_is_in_registers_as_in_loops(name: str) -> None:
    """The table of cases once more: an op is tried in registers, or its table says why it is not."""
    tried = 0
    for seed in range(4):
        trial = Trial(CASES[name], CASES[name].op, Seeded(seed))
        program = simplify(trial.program)
        why = [f"{node.op.name}: {kept_out(node)}" for node in program.nodes if kept_out(node)]
        assert bool(why) == (short_length(program) is None), why
        if why:
            continue
        tried += 1
        found = run_in_registers(program, trial.values, bool(seed % 2))
        if _is_exact(program):
            for got, want in zip(found, run_natively(program, trial.values, bool(seed % 2)), strict=True):
                np.testing.assert_array_equal(got, want, err_msg=str(program))
                assert got.dtype.kind != "f" or np.array_equal(np.signbit(got), np.signbit(want))
        agree(program, trial.values)
    assert tried or CASES[name].op.name in {*EXCEPTIONS, "member", "project"}, (
        name
    )  # its case has an op without native code


@needs_llvm
@pytest.mark.parametrize("name", ["slice", "reshape", "permute", "flip", "broadcast", "pad"])
def test_a_view_of_a_number_is_a_number(name: str) -> None:
    """What local laws take away otherwise: a view of all elements of an array without axes."""
    names = {"slice": "start stop step", "reshape": "shape", "permute": "order", "flip": "axes",
             "broadcast": "shape axes", "pad": "low high interior"}  # fmt: skip
    op = next(op for op in PRIMITIVES if op.name == name)

    def f(x: Any) -> Any:
        inner = ops.sin(x).node
        return [TracedArray(apply(inner.trace, op, inner, **dict.fromkeys(names[name].split(), ())))]

    with without(LOCAL):
        program = program_of([ArrayType((), np.dtype("float64"))], f)
    assert any(node.op is op for node in program.nodes)
    (found,) = run_in_registers(program, [np.float64(0.3)], False)
    assert (np.shape(found), float(found)) == ((), np.sin(0.3))


# -- values ------------------------------------------------------------------------------------------------------------


def in_registers(function: Any, *arguments: Any, exact: bool = True) -> None:
    """Hold a function against the interpreter, which must stay in registers."""
    program = simplify(primad.trace(function)(*arguments))
    assert stays_in_registers(program), [kept_out(node) for node in program.nodes if kept_out(node)]
    check(function, *arguments, exact=exact)


@pytest.mark.one_in(3)
@needs_llvm
@pytest.mark.usefixtures("width")
@thinned(len(WIDTHS), width=WIDTHS, dtype=["float64", "float32", "int64", "int8", "uint8", "bool"])
def test_small_arrays_are_indexed_and_ordered_in_registers(dtype: str) -> None:
    """With ties, NaN, infinities and zeros of both signs: equal to NumPy, in order where elements are equal."""
    for seed in range(6):
        choose = Seeded(f"{dtype} {seed}")
        x = draw_array(choose, (choose.integer(1, 3), choose.integer(1, 7)), dtype)
        if np.dtype(dtype).kind == "f":
            x[0, :2] = [np.nan, -0.0][: x.shape[1]]
        n = x.shape[1]
        near, far = (np.array([choose.integer(-n, n - 1) for _ in range(4)], kind) for kind in ("int64", "int8"))

        def f(x: Any, near: Any, far: Any) -> Any:
            order = [op(x, axis=axis) for op in (ops.argsort, np.sort, np.argmax) for axis in (0, 1)]
            return *order, np.take(x, near, axis=1), x[:, far], np.take_along_axis(x, np.argsort(-x * 1, 1), 1)

        def g(x: Any, near: Any, far: Any) -> Any:
            n = x.shape[1]
            added = [ops.scatter_add(x[:, :1] * i, i, axis=1, batch=0, size=n) for i in (near[:1], far[:1])]
            again = ops.scatter_add(ops.gather(x, near, axis=1, batch=0), far, axis=1, batch=0, size=n)
            both = [op(x, axis=axis) for op in (np.cumsum, np.cumprod) for axis in (0, 1)]
            return *added, again, *both, np.maximum.accumulate(x, 1), ops.cumsum(x, axis=1, reverse=True)

        in_registers(lambda x, i: [ops.argsort(x, axis=axis) for axis in (0, 1)] + [x[:, i]], x, near)
        if dtype != "bool":
            in_registers(f, x, near, far)
        if np.dtype(dtype).kind == "f":
            in_registers(g, x, near, far)


@needs_llvm
@pytest.mark.usefixtures("width")
def test_small_linear_algebra_stays_in_registers() -> None:
    """Solving, determinants, inverses and Cholesky's factors with their gradients, of vectors and matrices of three."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=3)
    for f in (
        lambda a, b: np.linalg.solve(a, b),
        lambda a, b: np.linalg.det(a) * b,
        lambda a, b: np.linalg.inv(a) @ b,
        lambda a, b: np.linalg.cholesky(a @ a.T) @ b,
    ):
        program = simplify(primad.trace(f)(a, b))
        for derived in (program, simplify(vjp(program))):
            given = [a, b, *[np.ones(type.shape, type.dtype) for type in derived.in_types[2:]]]
            assert stays_in_registers(derived), [kept_out(node) for node in derived.nodes if kept_out(node)]
            agree(derived, given)


@needs_llvm
def test_a_table_that_is_not_small_is_read_where_it_lies() -> None:
    """A loop's step does not load all of a table to take one element."""

    def f(x: Any, table: Any) -> Any:
        return x * table[ops.truncate(x[0] * 10, dtype="int64")]

    for n, short in ((20, True), (40, False)):
        program = simplify(primad.trace(f)(np.full(3, 0.5), np.arange(float(n))))
        assert (short_length(program) is not None) == short
        assert any("by comparing" in kept_out(node) for node in program.nodes) != short


# -- errors ------------------------------------------------------------------------------------------------------------

SINGULAR = np.array([[2.0, 0, 0], [1, 0, 0], [1, 1, 1]])


@pytest.mark.one_in(2)
@needs_llvm
@pytest.mark.parametrize(
    "function",
    [
        lambda a: ops.solve_triangular(a, a, lower=True, transpose=False, unit=False),
        lambda a: ops.cholesky(np.stack([a @ a.T + np.eye(3), a, -np.eye(3) * a])),
        lambda a: ops.gather(a, ops.truncate(a[:, 0] * [1.0, 5, 7], dtype="int64"), axis=0, batch=0),
        lambda a: ops.scatter_add(a, ops.truncate(a[:, 0] * [1.0, -6, 9], dtype="int64"), axis=1, batch=0, size=5),
    ],
)
def test_what_is_not_defined_is_named(function: Any) -> None:
    """In a function, in a loop that Python runs and in one inside of a function: the same error, of the same step."""
    program = simplify(primad.trace(function)(SINGULAR))
    assert stays_in_registers(program) and len(text_of(program).failing) == 1

    def steps(a: Any) -> Any:
        one = np.eye(3)
        return primad.scan(
            lambda c, t: (c, np.sum(function(one * 2 * (t < 2) + c * np.maximum(t - 1, 0)))), a, np.arange(4.0)
        )[1]

    def many(a: Any) -> Any:
        return np.sum(np.sin(steps(a)))

    for f in (function, steps, many, lambda a: primad.scan(lambda c, _: (c, many(c)), a, length=2)):
        _same_error(f, SINGULAR)


def _same_error(function: Any, *arguments: Any) -> str:
    """Return what a function's error says, the same however it runs."""
    said = []
    for backend in ("native", "reference"):
        with pytest.raises(primad.PrimadError) as caught:
            primad.jit(function, backend=backend)(*arguments)
        said.append(str(caught.value).partition("\n")[0])
    assert said[0] == said[1]
    return said[0]


@needs_llvm
def test_a_loop_stops_at_the_step_that_fails() -> None:
    """The op that fails in the first such step is named, not the one that fails first in a step."""

    def f(x: Any, steps: Any) -> Any:
        return primad.scan(lambda c, t: (c, c[t] + c[2 * t]), x, steps)[1]

    def g(x: Any, steps: Any) -> Any:
        def body(state: Any) -> Any:
            c, t = state
            return c + c[t] * c[2 * t], t + 1

        return primad.while_loop(lambda state: state[1] < 9, body, (x, steps[0]))[0]

    x, steps = np.arange(3.0), np.arange(4)
    for function in (f, g, lambda x, steps: np.sum(np.sin(f(x, steps))), lambda x, steps: np.sum(g(x, steps))):
        assert "index 4" in _same_error(function, x, steps)
    np.testing.assert_array_equal(primad.jit(f)(x, steps[:2]), [0, 3])


@needs_llvm
def test_explain_names_what_keeps_values_out_of_registers() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.qr(np.outer(x, x) + np.eye(3))[1] ** 2)

    assert "qr keeps its values out of registers: LAPACK" in str(primad.explain(f, np.ones(3)))
    assert "registers:" not in str(primad.explain(lambda x: np.sort(x)[0] * np.linalg.det(np.outer(x, x)), np.ones(3)))


@needs_llvm
def test_an_order_is_not_checked_where_it_is_of_as_many_elements() -> None:
    """So a stack of loops, whose lanes may hold anything once they have ended, can sort; any other index is checked."""
    x = np.array([3.0, 1.0, 2.0])
    for function in (np.sort, lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x)[:1] + np.sort(x)):
        failing = text_of(simplify(primad.trace(function)(x))).failing
        assert "gather" not in {node.op.name for node in failing}
    assert "index 2" in _same_error(lambda x: x[:2][np.argsort(x)], x)

    def descended(x: Any) -> Any:
        return primad.while_loop(lambda x: np.sum(x) > 1, lambda x: np.sort(x)[::-1] * [0.5, 0.7, 0.9], x)

    points = np.random.default_rng(0).normal(size=(40, 3)) * 4
    one, stack = primad.jit(descended, backend="reference"), primad.vmap(descended)
    assert "loops at a time in registers" in str(primad.explain(stack, points))
    np.testing.assert_allclose(primad.jit(stack)(points), [one(x) for x in points], rtol=1e-14)


@needs_llvm
def test_a_step_on_long_arrays_is_no_straight_line() -> None:
    """Vectors go through arrays that registers do not hold, unless numbers are most of a step."""
    most = BUDGET.in_registers
    steps: list[tuple[Any, int, bool]] = [
        (lambda v: v + 0.1 * v * (1 - v), most, True),
        (lambda v: v + 0.1 * v * (1 - v), most + 1, False),
        (lambda v: v * (1 - 0.01 * np.sum(v)), most + 1, False),
        (lambda v: np.stack([np.sin(v[0]) * v[k] for k in range(4)]), most + 1, True),
    ]
    for step, length, short in steps:
        assert (short_length(simplify(primad.trace(step)(np.full(length, 0.5)))) is not None) == short

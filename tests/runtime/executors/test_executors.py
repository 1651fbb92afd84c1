"""Executors: the one door to what runs programs, the reference, and failures that depend on data."""

import pickle
import re
from functools import reduce

import numpy as np
import pytest

import primad
from primad import ops
from primad.errors import IndexShapeError, MatrixError, TracingError
from primad.ir.program import Program
from primad.runtime.executors import dispatch
from primad.runtime.executors.dispatch import EXECUTORS, NATIVE, REFERENCE, prepare, prepared
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.executors.native_executor import is_small
from primad.runtime.executors.reference import TableExecutor, definition
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling.complex_plans import complex_plan
from primad.runtime.tiling.middle_programs import middle_plan
from primad.runtime.tiling.tiled_plan import make_plan
from primad.simplify import simplify
from primad.system.machine import CALL_ELEMENTS, WORTHWHILE_BYTES
from primad.transforms import vjp
from primad.transforms.lowering import inline
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from primad.verify.random_programs import draw_program
from primad.xla import jax_functions as xla
from tests.cases import CASES, NAMES

PRIMITIVES = [op for op in ops.ALL if op.kind != "composite"]
X = np.array([0.25, 0.5, 1.5])


def loss(x):
    return np.sum(np.sin(x) ** 2) * 0.5


pytest.importorskip("jax", reason="one of the executors needs JAX: pip install 'primad[jax]'")


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_table_is_total(name):
    executor = EXECUTORS[name]
    assert executor.name == name
    if isinstance(executor, TableExecutor):
        assert all(callable(executor.function_of(op)) for op in PRIMITIVES)
    if name == "jax":
        assert xla.functions().keys() == {op.name for op in PRIMITIVES}
        assert {op.name for op in PRIMITIVES if op.domain is not None} <= xla.failures().keys()


def assert_same(found, wanted, case):
    assert type(found) is type(wanted), case
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), case
    tolerance = 1e-6 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=1e-12, err_msg=case)


def drawn(case, seed):
    """An example of an op: the program that applies it, and values of its inputs."""
    trial = Trial(CASES[case], CASES[case].op, Seeded(seed))
    return simplify(trial.program), trial.values


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", NAMES)
def test_every_executor_runs_every_op(case):
    """Each op by itself; what XLA compiles is below."""
    for seed in range(3):
        program, values = drawn(case, seed)
        try:
            found, wanted = (each.prepare(program, PLAIN).run(values) for each in (NATIVE, REFERENCE))
        except primad.NotDifferentiableError:  # an op that stands for a rule that its user did not give
            assert case == "custom_pullback"
            continue
        for got, want in zip(found, wanted, strict=True):
            assert_same(got, want, case)


TOGETHER = 24
"""Ops of a program that XLA compiles, which takes as long for a few ops as for one."""
NOT_XLAS = {"custom_pullback", "project"}
"""Ops that stand for a rule that its user did not give, or are projected from where JAX has no function."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("start", range(0, len(NAMES), TOGETHER), ids=lambda start: NAMES[start])
def test_xla_runs_every_op(start):
    names = [name for name in NAMES[start : start + TOGETHER] if name not in NOT_XLAS]
    parts = [drawn(name, 0) for name in names]

    def together(*inputs):
        left = iter(inputs)
        return [inline(part, [next(left) for _ in part.inputs], inputs[0]) for part, _ in parts]

    values = [value for _, given in parts for value in given]
    program = simplify(primad.trace(together)(*values))
    results = iter(EXECUTORS["jax"].prepare(program, PLAIN).run(values))
    for name, (part, given) in zip(names, parts, strict=True):
        for wanted in REFERENCE.prepare(part, PLAIN).run(given):
            assert_same(next(results), wanted, name)
    assert not list(results)


def test_random_programs_and_their_gradients():
    for seed in range(60):
        program = draw_program(Seeded(seed))
        for derived in (program, vjp(program)):
            arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in derived.in_types]
            found, wanted = (prepare(derived, executor=which).run(arguments) for which in (NATIVE, REFERENCE))
            for got, want in zip(found, wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}\n{derived}")


def test_results_of_the_reference_are_arrays_of_their_own():
    x = np.arange(6.0).reshape(2, 3)
    constant = np.ones(3)
    f = primad.jit(lambda x: (x, x.T, x[0], x + 1.0, constant, 2.0), backend="reference")
    results = f(x)
    for i, result in enumerate(results):
        assert not np.shares_memory(result, x)
        assert not np.shares_memory(result, constant)
        assert not any(np.shares_memory(result, other) for other in results[:i])
    results[4][:] = 7.0
    np.testing.assert_array_equal(f(x)[4], np.ones(3))


def test_the_reference_under_jit_with_all_that_jit_takes():
    step = primad.jit(lambda p, g, n: p - n * g, static_argnums=2, donate=0, backend="reference", threads=1)
    p = np.array([1.0, 2.0])
    assert step(p, np.array([2.0, 0.0]), 0.5) is p
    np.testing.assert_array_equal(p, [0.0, 2.0])
    small = primad.jit(lambda x: np.sum(np.sin(x)), backend="reference", memory=100)
    with pytest.raises(primad.MemoryLimitError, match="sin"):
        small(np.ones(1000))


def test_a_pickled_function_keeps_its_backend(monkeypatch):
    f = pickle.loads(pickle.dumps(primad.jit(loss, backend="reference")))
    monkeypatch.setattr(NATIVE, "prepare", pytest.fail)
    monkeypatch.setattr(NATIVE, "as_function", pytest.fail)
    np.testing.assert_allclose(f(X), loss(X), rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "fix"),
    [("refrence", "did you mean reference"), ("spark", "choose from native, reference, jax"), (None, "choose from")],
)
def test_an_unknown_backend(name, fix):
    with pytest.raises(TracingError, match=f"(?s)there is no backend {re.escape(repr(name))}.*{fix}"):
        primad.jit(loss, backend=name)


def test_an_executor_is_a_table(monkeypatch):
    """One for another array library needs its functions and nothing else: values are arrays of that library."""
    called = []

    class Foreign:
        def __init__(self, array):
            self.array = np.asarray(array)

        def __array__(self, dtype=None, copy=None):
            return np.array(self.array, dtype)

    def foreign(op):
        def function(*operands, **params):
            called.append((op.name, {type(operand) for operand in operands} - {np.ndarray, np.float64}))
            return Foreign(definition(op)(*map(np.asarray, operands), **params))

        return function

    monkeypatch.setitem(dispatch.EXECUTORS, "foreign", TableExecutor("foreign", foreign))
    for f in (loss, primad.grad(loss), primad.hessian(loss)):
        g = primad.jit(f, backend="foreign")
        np.testing.assert_allclose(g(X), np.asarray(f(X)), rtol=1e-14)
        count = len(called)
        np.testing.assert_allclose(g(X), np.asarray(f(X)), rtol=1e-14)
        assert len(called) == 2 * count > 0
        assert {Foreign} in [kinds for _, kinds in called]
        called.clear()


def test_executables_are_found_again(planned):
    program = primad.trace(loss)(X)
    first = prepared(("here", program.key), lambda: program)
    assert prepared(("here", program.key), pytest.fail) is first
    assert prepared(("here", program.key), lambda: program, executor=REFERENCE) is not first
    assert len(planned) == 1


def test_programs_are_called_through_the_door(planned):
    def f(x):
        return np.sum(np.cos(x) * 1.25)

    for _ in range(3):
        program = primad.trace(f)(X)
        np.testing.assert_allclose(program(X), f(X))
    assert len(planned) == 1
    np.testing.assert_allclose(primad.grad(program)(X), -1.25 * np.sin(X))
    assert not hasattr(Program, "evaluate")


# -- failures that depend on data --------------------------------------------------------------------------------------


def hostile(operand):
    """Return arrays of an operand's type that may lie outside of a domain."""
    operand = np.asarray(operand)
    values = (10**6, -(10**6)) if operand.dtype.kind in "iu" else (0.0, np.nan, np.inf) if operand.ndim else ()
    for value in values:
        if operand.dtype.kind in "iuf" and operand.size and not (operand.dtype.kind == "u" and value < 0):
            yield np.full(operand.shape, value, operand.dtype)
            changed = operand.copy()
            changed[(-1,) * operand.ndim] = value
            yield changed


@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", [name for name in NAMES if CASES[name].op in PRIMITIVES])
def test_an_op_that_raises_says_for_which_values(case):
    """Whatever values an op meets: it computes something, or its record says which one is outside its domain."""
    op = CASES[case].op
    for seed in range(4):
        trial = Trial(CASES[case], op, Seeded(seed))
        values = trial.operands(trial.values)
        if CASES[case].through is not None:
            values = [CASES[case].through.numpy(*values)]
        for i, operand in enumerate(values):
            for changed in hostile(operand):
                arguments = [*values[:i], changed, *values[i + 1 :]]
                raised = None
                try:
                    with np.errstate(all="ignore"):
                        definition(op)(*arguments, **trial.example.params)
                except Exception as error:  # any: the question is which values an op raises for
                    raised = error
                found = None if op.domain is None else op.domain.find(*arguments, **trial.example.params)
                assert (raised is None) == (found is None), f"{trial.where()} on {arguments}: {raised!r}"


def rows(x, i):
    return np.sum(np.sin(np.take_along_axis(x, i, axis=1)) ** 2)


def solved(a, b):
    return np.sum(ops.solve_triangular(a, b, lower=True, transpose=False, unit=False) ** 2)


def factored(a):
    return np.sum(ops.cholesky(a) ** 2)


def grams(n, wrong):
    a = np.zeros((n, 16, 16)) + np.eye(16)
    a[(*wrong, wrong[1])] = -1.0
    return (a,)


def tables(n, wrong):
    rng = np.random.default_rng(0)
    i = rng.integers(-64, 64, (n, 64))
    i[wrong] = 64
    return rng.normal(size=(n, 64)), i


def matrices(n, wrong):
    rng = np.random.default_rng(0)
    a = np.tril(rng.normal(size=(n, 16, 16))) + 16.0 * np.eye(16)
    a[(*wrong, wrong[1])] = 0.0
    return a, rng.normal(size=(n, 16, 16))


FAILING = {
    "gather": (rows, tables, IndexShapeError, "index 64 is out of range for an axis of length 64, at [{0}, {1}]"),
    "cholesky": (factored, grams, MatrixError, "its leading minor of order 2 is not > 0, at [{0}]"),
    "solve": (
        solved,
        matrices,
        MatrixError,
        "element {1} of its diagonal is 0, at [{0}]",
    ),
}
WAYS = {
    "compiled": primad.jit,
    "reference": lambda f: primad.jit(f, backend="reference"),
    "gradient": primad.grad,
    "compiled gradient": lambda f: primad.jit(primad.value_and_grad(f)),
    "program": lambda f: lambda *args: primad.trace(f)(*args)(*args),
    "value on demand": lambda f: primad.grad(lambda *args: (y := f(*args)) * (1.0 if y > 0 else 2.0)),
    "mapped": lambda f: lambda *args: primad.vmap(lambda *rows: f(*[x[None] for x in rows]))(*args),
    "mapped and compiled": lambda f: primad.jit(
        lambda *args: np.sum(primad.vmap(lambda *rows: f(*[x[None] for x in rows]))(*args))
    ),
}


TILED = 3_000


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("way", "n"), [(way, n) for way in WAYS for n in (5, TILED) if (way, n) != ("value on demand", TILED)]
)
@pytest.mark.parametrize("kind", FAILING)
def test_a_failure_names_op_place_and_line_however_it_runs(kind, way, n):
    function, make, error, message = FAILING[kind]
    wrong = (n - 2, 1)
    with pytest.raises(error) as caught:
        WAYS[way](function)(*make(n, wrong))
    line = function.__code__.co_firstlineno + 1
    place = message.format(*wrong)
    if "mapped" in way:  # each row has a first axis of its own then
        place = place.replace(f"[{n - 2}", f"[{n - 2}, 0")
    assert place in str(caught.value)
    assert f"{__file__}:{line}" in str(caught.value)
    assert isinstance(caught.value, (IndexError, np.linalg.LinAlgError))


def test_tiles_tell_the_place_in_the_whole():
    """The large case above runs in tiles, or it would prove nothing about them."""
    for function, make, *_ in FAILING.values():
        program = simplify(primad.trace(function)(*make(TILED, (7, 1))))
        assert "tiles of" in NATIVE.prepare(program, PLAIN).summary


def test_an_update_outside():
    def f(x, i):
        return ops.scatter_add(x, i, axis=0, batch=0, size=4)

    with pytest.raises(IndexShapeError, match=r"scatter_add: index -5 .* of length 4, at \[2\] of the indices"):
        primad.jit(f)(X, np.array([0, -4, -5]))


def test_errors_of_ones_own_op_keep_their_class_and_get_a_note():
    def broken(x):
        raise ZeroDivisionError("no")

    op = primad.elementwise("broken", broken, partials=[lambda out, x: out])
    for backend in ("native", "reference"):  # JAX has no function for it, and says so
        with pytest.raises(ZeroDivisionError, match="no") as caught:
            primad.jit(lambda x: op(x) + 1.0, backend=backend)(X)
        assert any("while computing broken: float64[3] in " in note for note in caught.value.__notes__)


def test_what_is_small_runs_as_planners_would_have_it_run():
    """Every op by itself, random programs and their gradients, and sizes at which kernels and tiles begin to pay."""
    programs = [drawn(case, 0)[0] for case in NAMES]
    for seed in range(60):
        program = draw_program(Seeded(seed))
        programs += [simplify(program), simplify(vjp(program))]
    sizes = [CALL_ELEMENTS - 1, CALL_ELEMENTS]
    programs += [simplify(primad.trace(lambda x: np.exp(np.sin(x)) * x)(np.ones(n))) for n in sizes]
    small = [program for program in programs if is_small(program)]
    assert len(programs) / 2 < len(small) < len(programs)
    assert is_small(programs[-2]) and not is_small(programs[-1])
    asked = (Options(along=(0, 0)), Options(memory=2**30), Options(inner=1))
    assert not any(is_small(programs[-2], options) for options in asked)
    ones = np.ones(CALL_ELEMENTS - 1)
    most = WORTHWHILE_BYTES // ones.nbytes  # the input and so many ops less one
    of_ops = [
        simplify(primad.trace(lambda x, n=n: reduce(lambda y, _: np.sin(y), range(n), x))(ones))
        for n in (most - 1, most)
    ]
    assert [is_small(program) for program in of_ops] == [True, False]
    for program in small:
        plan = middle_plan(program) or complex_plan(program, PLAIN) or make_plan(program)
        assert type(plan) is Plan, program
        assert plan.units == Plan(program).units

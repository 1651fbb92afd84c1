"""Small programs as one native function: equal to the reference, for every size, and called straight from Python."""

import gc
import sys
import sysconfig
import threading

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.node import LITERAL
from primad.ir.signature import Signature
from primad.native.cpython import object_layout
from primad.native.cpython.object_layout import data_address, numpy_table
from primad.native.llvm import compiler as native
from primad.native.schedule import layout
from primad.native.schedule.storage import Joined
from primad.recording import tree
from primad.recording.tracing import record, type_of
from primad.runtime.plan.compiled_program import CompiledProgram, compiled_program
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import WIDTHS, thinned

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

SIZES = [1, 2, 3, 4, 5, 8, 13, 17, 20, 33]


def plan_of(function, *args):
    leaves, in_tree = tree.flatten(args)
    types = [type_of(leaf) for leaf in leaves]
    program = record(function, types, in_tree)
    lowered = simplify(program.hoisted(scalars=False))
    constants = len(lowered.inputs) - len(leaves)
    signature = Signature(in_tree, tuple((type, False) for type in types), constants, program.out_tree)
    return compiled_program(lowered, signature), program


def values_of(program):
    """Constants of a recorded program, as its plan wants them."""
    return [dict(node.params)["array"].array for node in program.sources if node.op is not LITERAL]


def check(function, *args, tolerance=None):
    plan, program = plan_of(function, *args)
    assert isinstance(plan, CompiledProgram), "the program has no native function"
    given = [*map(np.asarray, tree.leaves(args)), *values_of(program)]
    wanted = Plan(plan.program).run(given)
    for got, want in zip(plan.run(given), wanted, strict=True):
        want = np.asarray(want)
        got = np.asarray(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        if want.dtype.kind == "f":
            scale = max(1.0, float(np.nanmax(np.abs(want[np.isfinite(want)]), initial=0)))
            error = tolerance or 200 * np.finfo(want.dtype).eps * scale
            np.testing.assert_allclose(got, want, rtol=200 * np.finfo(want.dtype).eps, atol=error)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
def test_pointwise_views_and_joins(n, dtype):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=(7, n)).astype(dtype)

    def f(x, y):
        z = np.tanh(x * y.T + x[:, :1]) * np.sin(y[::-1].T)
        joined = np.concatenate([z, x[:, 2:5], z * z], axis=1)
        spread = ops.pad(z[:, ::2], low=(1, 0), high=(0, 2), interior=(0, 1))
        inside = ops.pad(z + x, low=(2, 1), high=(1, 3), interior=(0, 0))
        flat = np.reshape(y.T * 2.0, (-1,)) + np.reshape(x, (-1,))
        chosen = np.where(z > 0.1, x, np.reshape(flat, x.shape))
        return joined, spread, inside, flat, chosen, z > x, np.sum(joined, axis=0), np.sum(z), z.T

    check(f, x, y)


@pytest.mark.usefixtures("width")
@thinned(
    5,
    labels=["ab,bc->ac", "ab,cb->ac", "ba,bc->ac", "ba,cb->ca", "ab,ab->a", "ab,ab->b", "ab,b->a", "ab,a->b", "ab,ab->",
     "a,b->ab", "abc,acd->abd", "abc,abd->cd", "abc,dbc->ad", "abc,c->ab", "abc,ac->b"],
    n=SIZES,
    dtype=[np.float64, np.float32],
)  # fmt: skip
def test_contractions(labels, n, dtype):
    rng = np.random.default_rng(n)
    for sizes in (
        {"a": n, "b": 6, "c": 11, "d": 4},
        {"a": 5, "b": n, "c": 3, "d": 9},
        {"a": 3, "b": 2, "c": n, "d": n},
    ):
        x, y = (rng.normal(size=[sizes[c] for c in part]).astype(dtype) for part in labels.split("->")[0].split(","))
        check(lambda x, y: ops.contract(x * 1.5, y, labels=labels), x, y)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 40, 2), (16, 1, 33), (2, 3, 0)])
def test_sums(shape, axes):
    x = np.random.default_rng(0).normal(size=shape)
    check(lambda x: (ops.sum(x * 2.0, axes=axes), ops.sum(ops.permute(x, order=(2, 0, 1)), axes=axes)), x)


@pytest.mark.usefixtures("width")
@thinned(4, width=WIDTHS, start=range(0, 200, 50))
def test_random_programs_and_their_gradients(start):
    found = 0
    for seed in range(start, start + 50):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        for transformed in (program, vjp(program)):
            extra = [np.ones(type.shape, type.dtype) for type in transformed.in_types[len(arguments) :]]
            lowered = simplify(transformed)
            types = tuple((type, False) for type in lowered.in_types)
            trees = [tree.flatten((0,) * n)[1] for n in (len(types), len(lowered.outputs))]
            signature = Signature(trees[0], types, 0, trees[1])
            plan = compiled_program(lowered, signature)
            if plan is None:
                continue
            found += 1
            wanted = Plan(lowered).run([*arguments, *extra])
            for got, want in zip(plan.run([*arguments, *extra]), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}\n{lowered}")
    assert found > 12


def test_special_values_are_kept():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 5e-324])
    with np.errstate(all="ignore"):
        expected = np.exp(x) / x, np.maximum(x, 0.5), np.sqrt(x)
    found = primad.jit(lambda x: (np.exp(x) / x, np.maximum(x, 0.5), np.sqrt(x)))(x)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(np.float64).eps, atol=0)
        np.testing.assert_array_equal(np.signbit(got[1:]), np.signbit(want[1:]))


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("n", SIZES)
def test_sums_of_infinite_products(n):
    x = np.linspace(1.0, 2.0, n)
    assert primad.jit(lambda x, y: np.einsum("a,->", x, y))(x, np.array(np.inf)) == np.inf
    assert primad.jit(lambda x, y: np.einsum("a,b->", x, y))(x, np.array([np.inf])) == np.inf
    assert primad.jit(np.dot)(x[:1], np.array([-np.inf])) == -np.inf


# -- calls -------------------------------------------------------------------------------------------------------------


def compiled_twice(function, *args):
    """Call a compiled function again, when it has its native function; return both results."""
    f = primad.jit(function)
    return f(*args), f(*args)


def test_trees_of_arguments_and_results():
    def f(x, pair, *rest):
        a, (b, c) = pair["weights"]
        return [x * a, (b + c, rest[0][0] * 2.0)], np.sum(x)

    args = (np.arange(3.0), {"weights": (np.float64(2.0), [np.ones(2), np.zeros(2)]), "none": None}, (4.0,))
    for with_none in (True, False):
        if not with_none:
            del args[1]["none"]
        for found in compiled_twice(f, *args):
            assert type(found) is tuple and type(found[0]) is list and type(found[0][1]) is tuple
            np.testing.assert_array_equal(found[0][0], [0.0, 2.0, 4.0])
            np.testing.assert_array_equal(found[0][1][0], [1.0, 1.0])
            assert found[0][1][1] == 8.0 and type(found[0][1][1]) is np.float64
            assert found[1] == 3.0 and type(found[1]) is np.float64
    for found in compiled_twice(lambda x: {"b": x, "a": -x}, 2.0):
        assert found == {"a": -2.0, "b": 2.0}


def test_other_arguments_than_recorded_go_the_general_way():
    f = primad.jit(lambda x: np.sum(x * x))
    x = np.arange(6.0)
    assert f(x) == f(x) == 55.0
    assert f(np.arange(12.0)[::2]) == 220.0  # not contiguous
    assert f(x[:3]) == 5.0
    assert f(x.astype(np.float32)).dtype == np.float32
    assert f(np.arange(6)) == 55
    assert f(x.astype(">f8")) == 55.0
    assert f(3.0) == 9.0 and f(np.float64(3.0)) == 9.0 and f(np.array(3.0)) == 9.0
    assert f(x=x) == 55.0
    assert primad.grad(f)(x)[5] == 10.0
    with pytest.raises(primad.TracingError):
        f("no array")
    with pytest.raises(TypeError):
        f(x, x)
    misaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64)
    assert f(misaligned) == 55.0


def test_results_are_new_arrays():
    x, c = np.arange(4.0), np.ones(4)
    f = primad.jit(lambda x: (x, x, c, x + c))
    f(x)
    a, b, d, e = f(x)
    for array in (a, b, d, e):
        assert array.flags.owndata and array.flags.writeable
        array[:] = 7
    np.testing.assert_array_equal(x, np.arange(4.0))
    np.testing.assert_array_equal(f(x)[2], np.ones(4))


def test_constants_live_with_the_function():
    def make(k):
        c = np.full(50, float(k))
        return primad.jit(lambda x: np.sum(x * c) + k)

    functions = [make(k) for k in range(20)]
    x = np.ones(50)
    for f in functions:
        f(x)
    gc.collect()
    assert [f(x) for f in functions] == [51.0 * k for k in range(20)]


def test_the_collector_does_not_take_a_function_apart():
    """The arrays that a function reads hang on tuples: other containers are cleared while it may still be called."""
    c = np.arange(50.0)
    f = primad.jit(lambda x: np.sin(x) * c)
    for _ in range(2):
        f(np.ones(50))
    seen, level, found = {id(vars(module)) for module in sys.modules.values()}, [f], []
    while not found:
        level = [y for x in level for y in gc.get_referents(x) if id(y) not in seen and not isinstance(y, type)]
        assert level
        seen.update(map(id, level))
        found = [x for x in level if type(x) is type(len) and x.__name__ == "program"]
    for function in found:
        table, _, constants, *_ = function.__self__
        assert type(function.__self__) is type(constants) is tuple and constants
        assert not any(gc.is_tracked(array) for array in (table, *constants))


def test_references_are_balanced():
    f = primad.jit(lambda x, p: (x * p["a"], [np.sum(x)]))
    x, p = np.arange(5.0), {"a": np.ones(5)}
    f(x, p)
    watched = [x, p, p["a"], np.dtype(np.float64), np.ndarray, NotImplemented, dict, float]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(1000):
        f(x, p)
        f(x[::2], {"a": p["a"][::2]})
    after = [sys.getrefcount(item) for item in watched]
    assert all(abs(a - b) < 100 for a, b in zip(before, after, strict=True)), (before, after)
    counts, plain = ([sys.getrefcount(item) for item in made] for made in (f(x, p), (np.ones(5), [np.float64(1)])))
    assert counts == plain


def test_several_threads_call_at_once():
    f = primad.jit(lambda a, b: np.tanh(a @ b) @ b)
    rng = np.random.default_rng(0)
    inputs = [(rng.normal(size=(60, 60)), rng.normal(size=(60, 60))) for _ in range(4)]
    wanted = [f(*pair) for pair in inputs]
    assert not isinstance(wanted[0], tuple)
    failures = []

    def work(pair, want):
        for _ in range(50):
            if not np.array_equal(f(*pair), want):
                failures.append(pair)

    threads = [threading.Thread(target=work, args=item) for item in zip(inputs, wanted, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_arguments_outlive_their_list():
    x, y = np.random.default_rng(0).normal(size=(2, 80, 80))
    f = primad.jit(lambda pair: np.tanh(pair[0] @ pair[1]) @ pair[1])
    pair = [x.copy(), y.copy()]
    wanted = f(pair)
    stop = threading.Event()

    def replace():
        while not stop.is_set():
            pair[0], pair[1] = x.copy(), y.copy()
            [np.zeros_like(x) for _ in range(3)]

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        assert all(np.array_equal(f(pair), wanted) for _ in range(300))
    finally:
        stop.set()
        thread.join()
    counts = [sys.getrefcount(array) for array in pair]
    for _ in range(100):
        f(pair)
    assert [sys.getrefcount(array) for array in pair] == counts


def test_what_has_no_loop_runs_with_numpy():
    plan, _ = plan_of(lambda x: x * 2, np.ones(5, np.float16))
    assert plan is None
    plan, _ = plan_of(lambda x: np.sum(np.exp(x)), np.ones(10_000_000))
    assert plan is None
    assert primad.jit(lambda x: x * 2)(np.ones(3, np.float16))[2] == 2.0


def beside(choose, x):
    """Return an array of x's shape that is joined of parts of x or other arrays, or of x and zeros."""
    axis, n = choose.integer(0, x.ndim - 1), choose.integer(0, 3)

    def part(start, stop):
        return x[tuple([slice(None)] * axis + [slice(start, stop)])]

    length = x.shape[axis]
    kind = choose.integer(0, 3)
    if kind == 0:
        return np.roll(x, n, axis)
    if kind == 1:
        return np.pad(part(n, length), [(0, n) if i == axis else (0, 0) for i in range(x.ndim)])
    if kind == 2:
        return np.concatenate([part(0, 2), part(0, 0), part(1, length - 1)], axis)
    return np.concatenate([np.flip(part(0, n), axis), 2.0 * part(0, length - n)], axis)


@pytest.mark.parametrize("seed", range(24))
def test_joined_arrays_are_read_in_parts(seed, monkeypatch):
    """Whatever they are joined of, and whatever reads them; the first seeds must have some that are read so."""
    monkeypatch.setattr(layout, "LOOP_ELEMENTS", 1)
    choose = Seeded(seed)
    shape = [(7,), (5, 6), (3, 4, 5)][seed % 3]

    def f(x, y):
        made = [x, y, x * y]
        for _ in range(6):
            a, b = (made[choose.integer(0, len(made) - 1)] for _ in range(2))
            made.append(beside(choose, a) * (a + b) if choose.integer(0, 2) else beside(choose, a))
        return made[3:]

    program = simplify(primad.trace(f)(np.ones(shape), np.ones(shape)))
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, *shape))
    found = compiled_program(program, None)
    assert found is not None
    for value, expected in zip(found.run([x, y]), Plan(program).run([x, y]), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    places = layout.layout_of(program)
    assert places is not None
    assert seed > 0 or any(isinstance(place, Joined) for place in places.places.values())


def test_addresses_are_numpys() -> None:
    whole = np.arange(24.0).reshape(2, 3, 4)
    still = whole.copy()
    still.flags.writeable = False
    for array in (whole, whole[1:, ::-1], whole.T, whole[:0], np.array(1), still, whole[0].view(np.matrix), np.eye(0)):
        assert data_address(array) == array.ctypes.data


@pytest.mark.skipif(sys.implementation.name != "cpython" or sys.maxsize < 2**32, reason="other objects")
def test_objects_lie_as_native_calls_expect() -> None:
    """Else each call goes through NumPy and ctypes, and takes several times as long."""
    assert numpy_table() is not None or sysconfig.get_config_var("Py_GIL_DISABLED")
    for array in (np.empty((3, 5)), np.empty(3, np.float32)[1:], np.empty((2, 3)).T):
        assert data_address(array) == array.ctypes.data


@pytest.mark.parametrize(
    ("name", "other"), [("TYPE", 0), ("DATA", 24), ("NDIM", 16), ("DESCR", 8), ("FLAGS", 32), ("CONTIGUOUS", 0x0100)]
)
def test_objects_that_lie_otherwise_are_left_to_numpy(name: str, other: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_layout, name, other)
    assert numpy_table.__wrapped__() is None

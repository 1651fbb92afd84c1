"""Native functions as Python calls them: arguments and results of every kind, references and threads."""

import gc
import sys
import sysconfig
import threading

import numpy as np
import pytest

import primad
from primad.native.cpython import object_layout
from primad.native.cpython.object_layout import data_address, numpy_table
from primad.native.llvm import compiler as native

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


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

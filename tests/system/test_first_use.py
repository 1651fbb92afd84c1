"""What is made when it is first wanted, wanted by several threads at once."""

import ast
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import primad
from primad.native.llvm import compiler as native
from primad.system.deferred import Deferred, distinct
from primad.system.process import MadeOnce, made_once
from tests.sources import PACKAGE, trees

THREADS = 8


def at_once(work, count=THREADS):
    """Run the same work on several threads that begin together; return the results."""
    together, found = threading.Barrier(count), []

    def run():
        together.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_whoever_comes_first_makes_it_and_all_have_the_same():
    made = []

    @made_once()
    def thing(key, *, more=0):
        made.append((key, more))
        time.sleep(0.02)
        return object()

    found = at_once(lambda: (thing(1), thing(2), thing(1, more=1)))
    assert len(found) == THREADS and len(set(found)) == 1 and len(set(found[0])) == 3
    assert sorted(made) == [(1, 0), (1, 1), (2, 0)]
    thing.cache_clear()
    assert thing(1) is not found[0][0]


def test_of_many_things_the_first_are_forgotten():
    thing = MadeOnce(lambda key: [key], most=2)
    first, second = thing(1), thing(2)
    assert thing(1) is first
    thing(3)
    assert thing(2) is second and thing(1) is not first


def test_a_thing_that_could_not_be_made_is_made_later():
    tries = []

    @made_once()
    def thing():
        tries.append(0)
        if len(tries) == 1:
            raise OSError
        return tries

    with pytest.raises(OSError):
        thing()
    assert at_once(thing) == [tries] * THREADS and len(tries) == 2


def test_a_thing_may_be_wanted_while_it_is_made():
    """As by the handler of a signal: then there is one that stays."""
    depth = []

    @made_once()
    def thing():
        depth.append(0)
        return object() if len(depth) > 1 else (thing(),)

    assert thing() is thing() and not isinstance(thing(), tuple)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_fork_while_another_thread_makes_a_thing():
    """A lock that the other thread holds would stay locked in the child for ever."""
    begun, go = threading.Event(), threading.Event()

    @made_once()
    def thing():
        begun.set()
        go.wait()
        return 1

    other = threading.Thread(target=thing)
    other.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        go.set()
        os._exit(thing())
    go.set()
    other.join()
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.005)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended[1] == 1 << 8


@pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
def test_kernels_outlive_the_compiler_that_made_them(monkeypatch):
    """What is cached keeps its machine code, whoever else is gone: plans, loops, and what Python calls."""

    def loop(a):
        return primad.scan(lambda x, _: (x * 0.9 + 0.1 * x * x, x), a, length=50)[0]

    jitted, x = primad.jit(loop), np.linspace(0.0, 1.0, 20_000)
    plain = primad.grad(lambda x: np.sum(np.sin(x) ** 2))
    before = jitted(0.3), primad.grad(loop)(0.3), plain(x)
    code = len(native._ENGINES)
    made = native.compiler()
    monkeypatch.setattr(native.compiler, "_made", {})
    assert native.compiler() is not made
    del made
    gc.collect()
    after = jitted(0.3), primad.grad(loop)(0.3), plain(x)
    assert after[:2] == before[:2] and np.array_equal(after[2], before[2])
    assert len(native._ENGINES) >= code


IN_A_PROCESS = """
import functools, importlib, inspect, pkgutil, sys, threading

def unkept(function):
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    call.cache_clear = lambda: None
    return functools.update_wrapper(call, function)

def lru_cache(maxsize=128, typed=False):
    if callable(maxsize):
        return lru_cache()(maxsize)
    return lambda f: unkept(f) if f.__module__.startswith("primad") else real(maxsize, typed)(f)

class cached_property(functools.cached_property):
    def __get__(self, instance, owner=None):
        own = instance is not None and self.func.__module__.startswith("primad")
        return self.func(instance) if own else super().__get__(instance, owner)

real = functools.lru_cache
functools.lru_cache, functools.cached_property = lru_cache, cached_property
functools.cache = lru_cache(None)

import numpy as np
import primad
from primad.system.process import MadeOnce
from primad.runtime.cache import Cache

Cache.get = lambda self, key, make: make()

def at_once(work):
    together, found = threading.Barrier(8), []
    def run():
        together.wait()
        found.append(work())
    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    return found

for module in pkgutil.walk_packages(primad.__path__, "primad."):
    if not module.name.startswith(("primad.demos", "primad.__main__")):
        importlib.import_module(module.name)
things = {id(x): x for name, module in list(sys.modules.items()) if name.startswith("primad")
          for x in vars(module).values() if isinstance(x, MadeOnce)}
plain = [thing for thing in things.values() if not inspect.signature(thing).parameters]
assert primad.native.llvm.compiler.compiler in plain
for thing in plain:
    try:
        thing()
    except primad.PrimadError:  # an extra that is not installed
        continue
    made, make = [], thing._make
    thing.cache_clear()
    thing._make = lambda: made.append(make()) or made[-1]
    found = at_once(thing)
    assert all(x is found[0] for x in found) and len(made) == 1, thing
    print(thing.__name__)

def step(x, row):
    return x * np.sin(x) + row, (x * x, np.stack([x, x]))

def loop(a, rows):
    last, (squares, pairs) = primad.scan(step, a, rows)
    return last + np.sum(squares * pairs[:, 0])

def root(a):
    return primad.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a, max_steps=50)

def plain_loop(a, rows):
    found = 0.0
    for row in rows:
        a, (square, pair) = step(a, row)
        found = found + square * pair[0]
    return a + found

def work():
    rows, x = np.linspace(0.0, 1.0, 7), np.linspace(0.1, 1.0, 20_000)
    gradient = primad.grad(lambda x: np.sum(np.sin(x) ** 2))
    for n in (10, 20_000):
        np.testing.assert_allclose(gradient(x[:n]), np.sin(2 * x[:n]), rtol=1e-12)
    np.testing.assert_allclose(primad.grad(loop)(0.3, rows), primad.grad(plain_loop)(0.3, rows), rtol=1e-12)
    second = np.asarray(primad.hessian(loop)(0.3, rows)), np.asarray(primad.hessian(plain_loop)(0.3, rows))
    np.testing.assert_allclose(*second, rtol=1e-12)
    np.testing.assert_allclose(primad.vmap(root)(x[:9]), np.sqrt(x[:9]), rtol=1e-12)
    slopes = primad.grad(lambda y: np.sum(primad.vmap(root)(y)))(x[:5])
    np.testing.assert_allclose(slopes, 0.5 / np.sqrt(x[:5]), rtol=1e-8)
    np.testing.assert_allclose(primad.jit(lambda x: primad.nn.softmax(x) @ x)(rows), 0.6086197378594719, rtol=1e-12)
    matrix = np.eye(3) + np.outer(rows[:3], rows[:3])
    wanted = np.linalg.det(matrix) * np.linalg.inv(matrix).T
    np.testing.assert_allclose(primad.grad(np.linalg.det)(matrix), wanted, rtol=1e-12)

work()
at_once(work)
print("done")
"""


@pytest.mark.exhaustive
def test_nothing_in_a_cache_minds_being_made_twice():
    """In a process where no cache keeps anything: whoever asks has what nobody else has, as threads that ask first do.

    What minds that is a `MadeOnce`; all of these that need no arguments are started from several threads.
    """
    run = subprocess.run([sys.executable, "-c", IN_A_PROCESS], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "done" and "compiler" in run.stdout.splitlines()


def test_a_function_that_scipy_does_not_have_is_said() -> None:
    """As older versions lack some, whatever is asked of what stands for it."""
    for ask in (lambda f: f(1.0), lambda f: f.ntypes, lambda f: f.function):
        with pytest.raises(ImportError, match=r"has no scipy\.special\.of_the_future: pip install"):
            ask(Deferred("of_the_future"))


def test_what_is_distinct_is_found_without_masked_arrays():
    """`np.unique` of an array alone loads `numpy.ma`, in the middle of a first call."""
    for numbers in ([], [3], [2, 2], [[5, -1, 5], [0, -1, 7]]):
        wanted, found = np.unique(np.array(numbers, np.int32)), distinct(np.array(numbers, np.int32))
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    others = {"pde", "scipy", "compat", "xla"}  # which take longer, or load it in any case
    for path, tree in trees("np.unique"):
        for call in ast.walk(tree) if path.relative_to(PACKAGE).parts[0] not in others else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "np.unique":
                assert len(call.args) + len(call.keywords) > 1, f"{path}, line {call.lineno}: take `distinct`"

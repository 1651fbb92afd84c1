"""Plans are kept within bounds, by number and by bytes, and what is not kept is freed, with its machine code."""

import gc
import os
import platform
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from msgspec import structs

import primad
from primad.native.llvm.compiler import Kernel, compiler
from primad.runtime.cache import BUILT, EXECUTABLES, FEWEST, Cache, held_bytes


class Holder:
    """Holds an array, as plans do."""

    def __init__(self, size):
        self.held = (np.zeros(size, np.uint8),)


def test_a_cache_drops_what_was_used_longest_ago():
    kept = Cache(100, maxbytes=1000)
    made = {}

    def get(key, size=100):
        def make():
            found = Holder(size)
            made[key] = weakref.ref(found)
            return found

        return kept.get(key, make)

    for key in range(10):
        get(key)
    assert (len(kept), kept.held) == (10, 1000)
    get(0)
    get("more", 200)
    gc.collect()
    assert [key for key in made if made[key]() is None] == [1, 2]
    assert (len(kept), kept.held) == (9, 1000)
    for key in "abcd":
        get(key, 5000)
    assert (len(kept), kept.held) == (FEWEST, 20_000)
    kept.get("a", pytest.fail)


@pytest.mark.parametrize("fewest", [1, FEWEST])
def test_large_values_stay_as_many_as_are_said(fewest):
    kept = Cache(10, maxbytes=1000, fewest=fewest)
    for key in range(6):
        kept.get(key, lambda: Holder(900))
    assert (len(kept), kept.held) == (fewest, 900 * fewest)
    kept.get(5, pytest.fail)


def test_replacing_a_value_counts_it_once():
    """Two threads may make the same value."""
    kept = Cache(10)
    kept.get("key", lambda: kept.get("key", lambda: Holder(100)) and Holder(300))
    assert (len(kept), kept.held) == (1, 300)


SHAPES = {
    "whole": lambda n: primad.jit(lambda x: np.sum(np.sin(x) * x))(np.ones(n)),
    "interpreted": lambda n: primad.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(n)),
    "tiles": lambda n: primad.jit(lambda x: np.sum(np.tanh(np.sin(x) * x)))(np.ones(400_000 + 64 * n)),
    "staged": lambda n: primad.jit(lambda x: np.sum((x - np.mean(x, 0)) ** 2))(np.ones((300_000 + 64 * n, 2))),
    "linear part": lambda n: primad.vjp(lambda x: np.sum(np.sin(x) * x), np.ones(n))[1](1.0),
    "literal": lambda n: primad.jit(lambda x: np.sum(np.sin(x) * (n + 0.5)))(np.ones(3)),
}


@pytest.mark.exhaustive
@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", SHAPES)
def test_plans_beyond_the_bound_are_freed(kind, monkeypatch):
    """Weak references say so: of plans, of the kernels in them, and so of LLVM's engines."""
    gc.unfreeze()  # plans that earlier files left, and that are garbage by now, may hold the same code
    gc.collect()
    gc.freeze()
    caches = {name: Cache(1000, maxbytes=60_000) for name in ("EXECUTABLES", "BUILT")}
    own = {"EXECUTABLES": EXECUTABLES, "BUILT": BUILT}
    for module in [module for name, module in sys.modules.items() if name.startswith("primad.")]:
        for name, found in caches.items():
            if vars(module).get(name) is own[name]:
                monkeypatch.setattr(module, name, found)
    host = compiler()
    if host is not None:
        monkeypatch.setattr("primad.native.llvm.compiler.CACHED_KERNELS", 2)
    made = []
    for n in range(1, 31):
        SHAPES[kind](n)
        for found in caches.values():
            made.extend(weakref.ref(part) for part in _parts(list(found._entries.values())))
    kept = {id(part) for found in caches.values() for part in _parts(list(found._entries.values()))}
    until = time.monotonic() + 5.0
    while (alive := _alive(made)) - kept and time.monotonic() < until:  # a thread may be leaving what it ran just now
        time.sleep(0.01)
    assert alive <= kept
    assert len({id(ref) for ref in made if ref() is None}) >= 10
    for found in caches.values():
        assert found.held <= 60_000 or len(found) <= FEWEST
        assert found.held == sum(size for _, size in found._entries.values())
        assert found.held >= sum(held_bytes(value) for value, _ in found._entries.values())


def _alive(made):
    gc.collect()
    return {id(part) for ref in made if (part := ref()) is not None}


def _parts(values):
    """Return the plans and kernels in cached values."""
    found, stack = [], list(values)
    while stack:
        item = stack.pop()
        if isinstance(item, (tuple, list)):
            stack.extend(item)
        elif hasattr(item, "held") or isinstance(item, Kernel):
            found.append(item)
            stack.extend(getattr(item, "held", ()))
    return found


PROGRAM = """
import gc
import os
import platform
import numpy as np
import primad

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

f = primad.jit(lambda x, k: np.sum(np.sin(x) * k), static_argnums=1)
def more(start, stop):
    for i in range(start, stop):
        primad.jit(lambda x: np.sum(np.sin(x) * (i + 0.5)))(np.ones(3))
        f(np.ones(3), i + 0.25)
        primad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(i + 1))
    gc.collect()
    return resident()

first = more(0, 15)
print((more(15, 55) - first) / 40)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_native_plan_takes_little_memory():
    """Plans of literals, static values and shapes; LLVM alone took 0.8 MB for each of the native ones."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 400_000


CLEARED = """
import resource
import numpy as np
import primad

f = primad.jit(lambda x: [x + i for i in range(8)])
x = np.ones(40_000)
for _ in range(4):
    f(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    f(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_memory_of_results_is_not_cleared_by_the_system_again():
    """Without that it is 20 times 8 arrays of 80 pages, less the last ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    run = subprocess.run([sys.executable, "-c", CLEARED], capture_output=True, text=True, check=True, env=kept)
    assert int(run.stdout) < 500


def test_captured_arrays_count():
    large = np.ones(100_000)
    f = primad.jit(lambda x: np.sum(x * large))
    f(np.ones(100_000))
    (found,) = [value for value in structs.astuple(f.programs.__self__) if isinstance(value, Cache)]
    assert found.held >= large.nbytes
    assert EXECUTABLES.held >= 0 and BUILT.held >= 0


def test_whatever_is_cached_says_what_it_holds():
    """Also the compatibility layers' derivatives, and keys of programs that have no native function."""
    from primad.compat import paddle

    x = paddle.to_tensor(np.ones((3, 5)), stop_gradient=False)
    (paddle.exp(x) * x).sum().backward()
    primad.jit(lambda v: np.sort(v) + 2.0)(np.ones(7))
    for found in (EXECUTABLES, BUILT):
        for key, (value, size) in found._entries.items():
            assert size > 0 or value in (None, ()), key


STREAMED = """
import resource, sys
import numpy as np
import primad
f = primad.value_and_grad(lambda w, x: np.mean(np.tanh(w * x) ** 2))
points = np.load(sys.argv[1], mmap_mode="r")
if sys.argv[2] == "distribute":
    f, of = primad.distribute(f), primad.Share.of
else:
    f, of = primad.jit(f), np.asanyarray
f(0.5, of(points[:1_000_000]))  # loads libraries, and starts threads
have = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
limit = 1024 * have + 48 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
value, slope = f(0.5, of(points))
try:
    np.ones(points.size)
except MemoryError:
    print(repr(float(value)), repr(float(slope)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what is no file in memory")
@pytest.mark.parametrize("how", ["jit", "distribute"])
def test_points_in_a_file_stream_through_tiles_in_bounded_memory(how, tmp_path):
    if how == "distribute":
        pytest.importorskip("mpi4py")
    count = 10_000_000
    points = np.lib.format.open_memmap(tmp_path / "points.npy", "w+", np.float64, (count,))
    points[:] = np.arange(count) % 1000 / 500 - 1
    points.flush()
    found = subprocess.run(
        [sys.executable, "-c", STREAMED, str(tmp_path / "points.npy"), how],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    value, slope = map(float, found.stdout.split())
    some = np.asarray(points[:1000])  # which is repeated
    y = np.tanh(0.5 * some)
    np.testing.assert_allclose([value, slope], [np.mean(y**2), np.mean(2 * y * (1 - y**2) * some)], rtol=1e-12)

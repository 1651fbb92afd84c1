"""What is kept between processes: found again, never trusted if others could have touched it, never too large."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
import time
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import fields, replace

import primad
from primad.functional.parsing import known_ops
from primad.ir.json_form import NotSerializableError, digest, packed
from primad.ir.law_families import LOCAL, without
from primad.native.llvm import compiler as llvm
from primad.native.llvm import persistent_cache
from primad.native.llvm.compiler import compiler
from primad.runtime import program_cache
from primad.runtime.executors.dispatch import NATIVE, prepare
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.program_cache import Kept
from primad.runtime.tiling import tile_choice
from primad.system import disk_cache
from primad.system.disk_cache import DiskCache

pytestmark = pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="this system has no such folders")
SCRIPT = """
import sys
import numpy as np
import primad
from primad.native.llvm import compiler; from primad.native.module import program_text
from primad.runtime import calling as programs
from primad.runtime.executors.native_executor import NativeExecutor

made, written, derived, planned = [], [], [], []
function, prepare = NativeExecutor.as_function, NativeExecutor.prepare
NativeExecutor.as_function = lambda self, *about: planned.append(about) or function(self, *about)
NativeExecutor.prepare = lambda self, *about: planned.append(about) or prepare(self, *about)
derive = programs.simplify
programs.simplify = lambda program: derived.append(program) or derive(program)
write = program_text.ProgramWriter.write
program_text.ProgramWriter.write = lambda self: written.append(self) or write(self)
compile = compiler._Llvm.object_of
compiler._Llvm.object_of = lambda self, text: made.append(text) or compile(self, text)

def loss(w, x):
    return np.mean(np.tanh(x @ w["first"]) ** 2) * w["scale"]

w = {"first": np.linspace(-1.0, 1.0, 64).reshape(4, 16), "scale": 2.0}
for n in (8, 6000):
    found = primad.jit(primad.value_and_grad(loss))(w, np.linspace(0.0, 1.0, 4 * n).reshape(n, 4))
    print(np.asarray(found[0]).tobytes().hex(), found[1]["first"].tobytes().hex())
def diffused(u):
    return u + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2.0 * u)

def field(u):
    return np.sum(primad.scan(lambda u, _: (diffused(u), None), u, length=30)[0] ** 2)

print(primad.jit(primad.grad(field))(np.linspace(0.0, 1.0, 4000)).tobytes().hex())
try:
    primad.jit(lambda a: np.linalg.cholesky(a) @ np.ones(40))(-np.eye(40))
except primad.errors.PrimadError as error:
    print(str(error).replace("\\n", " "))
print(len(made), len(written), len(derived), len(planned), int("llvmlite.binding" in sys.modules))
"""


IS_PLACED = sys.platform == "linux" and platform.machine() == "x86_64"
"""Whether machine code is loaded without LLVM here."""


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "kept")


def files(cache: DiskCache) -> list[Path]:
    return sorted(cache.path.iterdir())


def run(script: str, folder: Path) -> list[str]:
    environment = os.environ | {"PRIMAD_CACHE": str(folder)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """It derives nothing, makes no plan, writes no text and does not load LLVM.

    Values are the same bits, errors say the same; damage is made good.
    """
    folder = tmp_path / "kept"
    *first, compiled = run(SCRIPT, folder)
    *counts, loaded = map(int, compiled.split())
    assert min(counts) >= 3 and loaded and len(first) == 4
    nothing = f"0 0 0 0 {int(not IS_PLACED)}"
    assert run(SCRIPT, folder) == [*first, nothing]
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert run(SCRIPT, folder) == [*first, compiled]
    assert run(SCRIPT, folder) == [*first, nothing]
    folder.chmod(0o755)
    assert run(SCRIPT, folder) == [*first, compiled]


HOST = ("20.1.8", "processor", "+avx2,+fma,+avx512f")
needs_native = pytest.mark.skipif(compiler() is None, reason="there is no native code here")


@needs_native
def test_what_machine_code_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of one version of what it calls, or was made by, does not run beside another."""
    found = [llvm._about(HOST)]
    for i in range(len(HOST)):
        found.append(llvm._about((*HOST[:i], "other", *HOST[i + 1 :])))
    with monkeypatch.context() as patch:
        patch.setattr("numpy.__version__", "0.0")
        found.append(llvm._about(HOST))
    folders = llvm._folder
    for package, file in llvm._SAID_IN.items():
        assert import_module(package).__version__ in llvm._version(package)
        (tmp_path / file).write_text("version = '0.0'")
        monkeypatch.setattr(llvm, "_folder", lambda name, own=package: tmp_path if name == own else folders(name))
        found.append(llvm._about(HOST))
    assert len(set(found)) == len(found)


@needs_native
def test_the_processor_is_asked_for_again(cache: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the machine has started again, or has another LLVM or processor, or what is kept makes no sense."""
    monkeypatch.setattr(llvm, "disk_cache", lambda: cache)
    real, key = llvm._host(), llvm._started()
    if key is None:
        pytest.skip("this system does not say when it has started")
    cache.put(key, json.dumps(HOST).encode())
    assert llvm._host() == HOST
    for body in (b"", b"[", b"7", b'["a", "b"]', b'["a", "b", 3]', b'{"a": 1}', b"\xff"):
        cache.put(key, body)
        assert llvm._host() == real
        assert json.loads(cache.get(key) or b"") == list(real)
    found = [key]
    with monkeypatch.context() as patch:
        (tmp_path / "boot").write_text("other")
        patch.setattr(llvm, "_BOOT", tmp_path / "boot")
        found.append(llvm._started())
        patch.setattr(llvm, "_BOOT", tmp_path / "none")
        assert llvm._started() is None and llvm._host() == real
    with monkeypatch.context() as patch:
        patch.setattr(np._core._multiarray_umath, "__cpu_features__", {"AVX2": True})
        found.append(llvm._started())
    with monkeypatch.context() as patch:
        patch.setattr(platform, "machine", lambda: "other")
        found.append(llvm._started())
    library = tmp_path / "binding" / "libllvmlite.so"
    library.parent.mkdir()
    monkeypatch.setattr(llvm, "_folder", lambda name: tmp_path)
    for body, at in ((b"a", 1), (b"a", 2), (b"ab", 2)):
        library.write_bytes(body)
        os.utime(library, ns=(at, at))
        found.append(llvm._started())
    assert None not in found and len(set(found)) == len(found)


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
def test_what_is_kept_depends_on_versions_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compiler()
    assert host is not None
    found = [
        persistent_cache.key_of("kind", "said"),
        persistent_cache.key_of("other", "said"),
        persistent_cache.key_of("kind", "else"),
    ]
    for name in ("BUDGET", "CORE", "FIRST_CACHE", "SECOND_CACHE"):
        table = getattr(persistent_cache, name)
        for field in fields(table):
            with monkeypatch.context() as patch:
                patch.setattr(persistent_cache, name, replace(table, **{field.name: getattr(table, field.name) + 1}))
                found.append(persistent_cache.key_of("kind", "said"))
    for i in range(len(host.about)):
        with monkeypatch.context() as patch:
            patch.setattr(host, "about", (*host.about[:i], "other", *host.about[i + 1 :]))
            found.append(persistent_cache.key_of("kind", "said"))
    assert None not in found and len(set(found)) == len(found)


class Asked:
    """A program of which all is asked for that is kept, as `jit` does.

    Attributes:
        source: the program.
        options: how it is to run.
        made: what was derived and planned, in order.
    """

    def __init__(self, source: primad.Program, options: Options = PLAIN) -> None:
        self.source, self.options = source, options
        self.made: list[str] = []

    def kept(self) -> Kept:
        return Kept(lambda: self.source, known_ops(), self.options)

    def program(self, kept: Kept | None = None) -> primad.Program:
        return (kept or self.kept()).program(lambda: self.made.append("derived") or primad.simplify(self.source))

    def plan(self) -> Any:
        kept = self.kept()
        found = kept.plan(None)
        if found is not None:
            return found[1]
        self.made.append("planned")
        program = self.program(kept)
        function = NATIVE.as_function(program, None, self.options)
        plan = NATIVE.prepare(program, self.options) if function is None else function
        kept.keep(plan, function is not None)
        return plan


def squares(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2)


@needs_native
def test_what_does_not_fit_is_made_again(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage with a right sum, a plan of other inputs: none of them is used, and what is right takes their place."""
    monkeypatch.setattr(program_cache, "native_cache", lambda: cache)
    x = np.linspace(0.0, 1.0, 3)
    asked = Asked(primad.trace(primad.grad(squares))(x))
    first = asked.plan()
    assert asked.made == ["planned", "derived"] and cache.count == 1
    assert str(asked.plan().program) == str(first.program) and len(asked.made) == 2
    said = persistent_cache.key_of("plan", digest(asked.source, known_ops(), lines=True), json.dumps(PLAIN))
    assert said is not None
    right = cache.get(said)
    others = []
    for function, size in ((np.sin, 2), (squares, 3)):  # of other inputs, and of other results
        other = Asked(primad.trace(function)(np.ones(size)))
        other.plan()
        others.append(
            cache.get(persistent_cache.key_of("plan", digest(other.source, known_ops(), lines=True), json.dumps(PLAIN)))
        )
    assert None not in (right, *others)
    for body in (b"", b"[", b"[]", b"7", b'"a"', b"null", b"[" * 100_000, b"\xff", right[:-1], *others):
        cache.put(said, body)
        asked.made.clear()
        assert asked.plan().run([x])[0].tobytes() == first.run([x])[0].tobytes()
        assert asked.made == ["planned", "derived"] and cache.get(said) == right


@needs_native
def test_what_a_plan_is_found_by(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, its lines, how it is to run, and what of BLAS tiles are chosen by; with laws left out nothing is."""
    monkeypatch.setattr(program_cache, "native_cache", lambda: cache)
    large = np.linspace(0.0, 1.0, 200_000)
    both = primad.trace(lambda x: (np.sort(np.sin(x) * x), np.exp(x)))(large)
    here = primad.trace(lambda x: np.sum(np.sin(x)))(np.ones(3))
    there = primad.trace(lambda x: np.sum(np.sin(x)))(np.ones(3))
    asked = [Asked(here), Asked(there), Asked(primad.trace(lambda x: np.sum(np.cos(x)))(np.ones(3)))]
    asked += [Asked(both, options) for options in (PLAIN, Options(memory=10**9), Options(donated=((0, 0),)))]
    asked += [Asked(both, Options(inner=1))]
    blas = program_cache.blas_is_as_wide()
    monkeypatch.setattr(program_cache, "blas_that_counts", lambda: blas)
    for _ in range(2):
        for each in asked:
            each.plan()
    assert [each.made for each in asked] == [["planned", "derived"]] * len(asked)
    monkeypatch.setattr(program_cache, "blas_is_as_wide", lambda: not blas)
    for each in asked:
        each.plan()
    assert [len(each.made) for each in asked] == [2, 2, 2, 4, 4, 4, 4]
    with without(LOCAL):
        asked[0].plan()
    assert asked[0].made[2:] == ["planned", "derived"]


@needs_native
def test_plans_that_are_chosen_without_blas_are_for_any(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at the libraries for them, neither who makes nor who finds one."""
    monkeypatch.setattr(program_cache, "native_cache", lambda: cache)
    monkeypatch.setattr(tile_choice, "WIDTH_BYTES", 64)
    looked = lru_cache(lambda: pytest.fail("BLAS was looked at"))
    monkeypatch.setattr(tile_choice, "blas_has_long_vectors", looked)
    x = np.linspace(0.0, 1.0, 200_000)
    asked = Asked(primad.trace(lambda x: (np.sort(np.sin(x) * x), np.exp(x)))(x))
    asked.plan()
    asked.plan()
    assert asked.made == ["planned", "derived"]
    for wide in (True, False):
        looked = lru_cache(lambda wide=wide: wide)
        looked()
        monkeypatch.setattr(tile_choice, "blas_has_long_vectors", looked)
        assert tile_choice.blas_that_counts() is wide


@needs_native
def test_derived_programs_are_kept_where_plans_are_not(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program with an op of the user's own nothing is."""
    monkeypatch.setattr(program_cache, "native_cache", lambda: cache)
    with monkeypatch.context() as patch:
        patch.setattr(program_cache, "packed_plan", refuse)
        asked = Asked(primad.trace(primad.grad(squares))(np.ones(3)))
        asked.plan()
        asked.plan()
        assert asked.made == ["planned", "derived", "planned"] and cache.count == 1
        first = asked.program()
        key = persistent_cache.key_of("simplified", digest(asked.source, known_ops(), lines=True))
        assert key is not None
        other = packed(primad.trace(np.sin)(np.ones(2)), known_ops())
        for body in (b"", b"[", b"[]", b"[[]]", b'"a"', b"[" * 100_000, json.dumps(other).encode()):
            cache.put(key, body)
            asked.made.clear()
            assert str(asked.program()) == str(first) and asked.made == ["derived"]
            asked.plan()
    own = primad.elementwise("own", np.sin, [lambda out, x: np.cos(x)])
    mine = Asked(primad.trace(primad.grad(lambda x: np.sum(own(x))))(np.ones(3)))
    mine.plan()
    mine.plan()
    assert mine.made == ["planned", "derived"] * 2 and cache.count == 1


def refuse(*about: Any) -> Any:
    raise NotSerializableError


BODIES = (b"", b"[", b"7", b"[]", b"[1, 2]", b'"text"', b"{}", b"[1, {}, 2, []]", b'["", {"a": 1}, 8, []]',
    b'["", {}, -1, []]', b'["", {}, 8, [99]]', b'["", {}, 8, ["a"]]', b'["", {}, 8.5, []]',
    b'[3, 1, 1, ["", {}, 8, []]]',
    b'[32, "a", 1, ["", {}, 8, []]]', b'[32, 1, 1, 7]', b"[" * 100_000, b"\xff")  # fmt: skip


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
@pytest.mark.parametrize("kind", ["text", "tiles"])
def test_texts_that_do_not_fit_are_written_again(kind: str, cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies with a right sum that say something else: none of them is used, and what is right takes their place."""
    monkeypatch.setattr(persistent_cache, "disk_cache", lambda: cache)
    keys: list[tuple[str, ...]] = []
    key_of = persistent_cache.key_of
    monkeypatch.setattr(persistent_cache, "key_of", lambda *said: keys.append(key_of(*said)) or keys[-1])
    x, w = np.linspace(0.0, 1.0, 24000).reshape(6000, 4), np.linspace(-1.0, 1.0, 64).reshape(4, 16)
    x = x if kind == "tiles" else x[:3]
    both = primad.value_and_grad(lambda x, w: np.mean(np.tanh(x @ w) ** 2), 1)
    program = primad.simplify(primad.lower(primad.trace(both)(x, w)))

    def fresh() -> float:
        made = prepare(program, PLAIN, NATIVE) if kind == "tiles" else NATIVE.as_function(program, None, PLAIN)
        assert made is not None
        value, _ = made.run([x, w])
        return float(value)

    expected = fresh()
    used = [key for key in keys if key[0] == kind]
    assert used and all(cache.get(key) is not None for key in used)
    right = {key: cache.get(key) for key in used}
    for body in BODIES:
        for key in used:
            cache.put(key, body)
        assert fresh() == expected
        assert {key: cache.get(key) for key in used} == right


def test_a_file_under_the_name_of_another_is_not_read(cache: DiskCache) -> None:
    cache.put(("a",), b"what a is")
    cache.put(("b",), b"what b is")
    first, second = (cache.path / disk_cache._name((key,)) for key in "ab")
    second.write_bytes(first.read_bytes())
    assert cache.get(("a",)) == b"what a is" and cache.get(("b",)) is None
    cache.put(("b",), b"again")
    assert cache.get(("b",)) == b"again"


def test_digests_tell_programs_apart() -> None:
    """By ops, params, types, scalars to the sign of zero, captured arrays and order; not by who recorded them."""

    def of(f: Any, *arguments: Any) -> str | None:
        return digest(primad.lower(primad.trace(f)(*arguments)), known_ops())

    own = primad.elementwise("sin", np.sin, [lambda out, x: np.cos(x)])
    x, y = np.ones((2, 2)), np.ones((2, 2), np.float32)
    different = [
        of(np.sin, x), of(np.cos, x), of(np.sin, y), of(np.sin, x[0]), of(lambda x: np.sum(x, 0), x),
        of(lambda x: np.sum(x, 1), x), of(lambda x: x * 2.0, x), of(lambda x: x * 3.0, x), of(lambda x: x + 0.5, x),
        of(lambda x: x @ np.eye(2), x), of(lambda x: x @ (2 * np.eye(2)), x), of(lambda x, y: np.sin(x), x, x),
        of(lambda x, y: np.sin(y), x, x), of(lambda x: (np.sin(x), x), x), of(lambda x: (x, np.sin(x)), x),
        of(lambda x: x[:1], x), of(lambda x: x[1:], x),
        of(lambda x: np.arctan2(x, 0.0), x), of(lambda x: np.arctan2(x, -0.0), x),
    ]  # fmt: skip
    assert None not in different and len(set(different)) == len(different)
    assert of(lambda z: np.sin(z), x) == different[0]
    assert of(own, x) is None
    held = [of(lambda x, f=f: primad.scan(lambda c, r: (f(c + r), c), x[0], x), x) for f in (np.sin, np.cos, own)]
    assert held[0] != held[1] and None not in held[:2] and held[2] is None


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
def test_what_is_made_of_a_program_is_found_by_all_that_it_depends_on(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kind of thing, the program, what else is given: each alone."""
    monkeypatch.setattr(persistent_cache, "disk_cache", lambda: cache)
    programs = [primad.lower(primad.trace(f)(np.ones(3))) for f in (np.sin, np.cos)]
    asked = [("text", programs[0], ()), ("tiles", programs[0], ()), ("text", programs[1], ())]
    asked += [("text", programs[0], more) for more in ((1,), (2,), ([1, 2],), ([1], [2]), (1, 2), ("1",))]
    for _ in range(2):
        found = [persistent_cache.kept(*about, lambda i=i: [i], list) for i, about in enumerate(asked)]
        assert found == [[i] for i in range(9)]


def test_what_was_put_under_another_key_is_not_found(cache: DiskCache) -> None:
    """Whole files that change places, as when names are mixed up by who copies them."""
    cache.put(("one",), b"first")
    (first,) = files(cache)
    cache.put(("other",), b"second")
    (second,) = {*files(cache)} - {first}
    both = first.read_bytes(), second.read_bytes()
    first.write_bytes(both[1])
    second.write_bytes(both[0])
    assert cache.get(("one",)) is None and cache.get(("other",)) is None


def test_keys_are_texts_and_their_bounds(cache: DiskCache) -> None:
    cache.put(("a", "bc"), b"one")
    cache.put(("ab", "c"), b"two")
    assert [cache.get(key) for key in (("a", "bc"), ("ab", "c"), ("abc",))] == [b"one", b"two", None]
    assert cache.count == 2 and cache.size == sum(path.stat().st_size for path in files(cache))
    cache.clear()
    assert cache.count == cache.size == 0 and cache.get(("ab", "c")) is None


def test_a_folder_that_others_could_have_touched_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = DiskCache(tmp_path / "own")
    own.put(("key",), b"code")
    (tmp_path / "link").symlink_to(own.path)
    (tmp_path / "file").write_bytes(b"")
    wide = tmp_path / "wide"
    wide.mkdir()
    wide.chmod(0o770)
    for name, why in (("link", "cannot be opened"), ("file", "cannot be opened"), ("wide", "770")):
        refused = DiskCache(tmp_path / name)
        assert why in refused.refused
        refused.put(("key",), b"other")
        assert refused.get(("key",)) is None and refused.count == 0
        refused.clear()
    assert own.get(("key",)) == b"code" and not list(wide.iterdir())
    monkeypatch.setattr(os, "geteuid", lambda: own.path.stat().st_uid + 1)
    assert "another user" in DiskCache(own.path).refused
    assert own.get(("key",)) is None  # what was the user's own when it was opened, is asked again of each file


def test_a_file_that_others_could_have_touched_is_not_read(cache: DiskCache, tmp_path: Path) -> None:
    cache.put(("key",), b"code")
    (path,) = files(cache)
    whole = path.read_bytes()

    for damage in (whole[:-1], whole + b"?", whole[1:], b"", whole[:40] + b"?" + whole[41:]):
        path.write_bytes(damage)
        assert cache.get(("key",)) is None
    path.write_bytes(whole)
    assert cache.get(("key",)) == b"code"
    path.chmod(0o620)
    assert cache.get(("key",)) is None
    path.chmod(0o600)
    (tmp_path / "other").hardlink_to(path)
    assert cache.get(("key",)) is None
    path.unlink()
    path.symlink_to(tmp_path / "other")
    assert cache.get(("key",)) is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cache.get(("key",)) is None
    cache.put(("key",), b"code")
    assert cache.get(("key",)) == b"code"


def test_what_is_kept_is_bounded(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used last stays."""
    monkeypatch.setattr(disk_cache, "LARGEST", 10_000)
    for k in range(40):
        cache.put((str(k),), bytes(1000))
        assert cache.get(("0",)) == bytes(1000)
        assert cache.size <= 11_100
        time.sleep(0.002)
    assert cache.get(("39",)) is not None and cache.get(("20",)) is None
    again = DiskCache(cache.path)
    again.put(("own",), bytes(9000))
    assert again.size <= 10_000


def test_a_full_disk_loses_nothing(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*names: Any, **folders: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        cache.put(("key",), b"code")
    assert cache.get(("key",)) is None and not files(cache)
    with monkeypatch.context() as patch:
        patch.setattr(os, "utime", full)
        cache.put(("key",), b"code")
        assert cache.get(("key",)) == b"code"


def test_several_processes_write_the_same_file(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from primad.system.disk_cache import DiskCache
cache = DiskCache(Path(sys.argv[1]))
body = bytes(range(256)) * 400
for _ in range(200):
    cache.put(("key",), body)
    assert cache.get(("key",)) == body
"""
    code = [sys.executable, "-c", script, str(tmp_path / "kept")]
    running = [subprocess.Popen(code, stderr=subprocess.PIPE) for _ in range(3)]
    assert [each.communicate(timeout=120)[1] for each in running] == [b""] * 3
    assert DiskCache(tmp_path / "kept").count == 1


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRIMAD_CACHE", "0")
    assert disk_cache.folder() is None and disk_cache.disk_cache() is None
    monkeypatch.setenv("PRIMAD_CACHE", "Off")
    assert disk_cache.folder() is None
    monkeypatch.setenv("PRIMAD_CACHE", str(tmp_path / "named"))
    assert disk_cache.folder() == tmp_path / "named"
    monkeypatch.delenv("PRIMAD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.folder() == tmp_path / "primad"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert disk_cache.folder() == tmp_path / "home" / ".cache" / "primad"


@pytest.mark.skipif(compiler() is None, reason="there is no native code here")
def test_what_a_text_depends_on_beside_its_program_is_part_of_its_key(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistent_cache, "disk_cache", lambda: cache)
    programs = [primad.trace(function)(np.ones(3)) for function in (np.sin, np.cos)]
    wanted = [
        (kind, program, more)
        for kind in ("a", "b")
        for program in programs
        for more in ((), (1,), (2,), (1, 2), ([1],))
    ]
    for number, (kind, program, more) in enumerate(wanted):
        assert persistent_cache.kept(kind, program, more, lambda number=number: number, lambda found: found) == number
    for number, (kind, program, more) in enumerate(wanted):  # made before: nothing is made again
        assert persistent_cache.kept(kind, program, more, lambda: None, lambda found: found) == number

"""Compiling text for the host processor, by llvmlite where there is one.

A function's text says `@KERNEL` for its name, and has the declarations of what it calls at its end. What is compiled is
cached by its text.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import mmap
import os
import platform
import sys
from _thread import start_new_thread
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from primad.errors import warn
from primad.native.llvm.builder import DECLARATIONS
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.object_memory import PlacedCode, is_object_file, placed
from primad.native.llvm.symbols import named
from primad.native.llvm.vectors import WIDTH_BYTES, libmvec
from primad.system.disk_cache import disk_cache, sources
from primad.system.environment import is_off
from primad.system.machine import SPARE_BYTES
from primad.system.process import MOST_KEPT, made_once, undisturbed

Made = TypeVar("Made")
CACHED_TEXT = SPARE_BYTES // 8
"""Characters of the texts of all cached kernels together, at most; the code of a text takes about as many bytes: little
beside what caches of plans hold."""
CACHED_KERNELS = MOST_KEPT
"""Kernels that are cached, at most."""
KERNEL_BYTES = 8 * mmap.PAGESIZE
"""Bytes of a native function, whatever its length: it has eight pages of code and data of its own. Measured with the
programs of the tests, by the process's size."""
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class _Engine:
    """Stands for machine code that LLVM has loaded: when it goes, the code may go.

    Attributes:
        functions: the addresses of its functions by name.
    """

    __slots__ = ("__weakref__", "functions")

    def __init__(self, functions: Mapping[str, int]) -> None:
        self.functions = functions


_ENGINES: dict[Any, Any] = {}
"""LLVM's engines, which hold the machine code, by weak references to what kernels keep of them. Kernels outlive the
compiler that made them, so their code is no compiler's own."""
_UNUSED: list[Any] = []
"""Those of which no kernel is left."""


class Kernel:
    """A compiled kernel; it keeps the machine code alive.

    Attributes:
        address, function: where it is, and what calls it.
        held_bytes: the bytes that it takes, by estimate.
    """

    __slots__ = ("__weakref__", "_code", "address", "function", "held_bytes")

    def __init__(self, code: _Engine | PlacedCode, name: str, size: int) -> None:
        self._code = code
        self.address: int = code.functions[name]
        self.function = _FUNCTION(self.address)
        self.held_bytes = KERNEL_BYTES + size


class _Llvm:
    """llvmlite, loaded when the first text is about to be compiled: that takes longer than to load what was kept.

    Attributes:
        about: the version of LLVM, and what it says of the processor: its name and features.

    Nothing of llvmlite may run where an interrupt can come: cut short, it frees memory twice or keeps its own lock for
    ever. So it runs on threads other than the main one, and what is not needed any more is freed there too.
    """

    def __init__(self) -> None:
        _load_library()
        import llvmlite.binding as llvm  # not there on all platforms

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self.about = str(llvm.llvm_version_info), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        self._machine = self._new_machine()

    def _new_machine(self) -> Any:
        target = self._llvm.Target.from_default_triple()
        _, name, features = self.about
        return target.create_target_machine(cpu=name, features=features, opt=BUDGET.level, jit=True)

    def object_of(self, text: str) -> bytes:
        """Return the machine code of a module."""
        with self._llvm.parse_assembly(text) as module:
            found: bytes = self._machine.emit_object(module)
            return found

    def load(self, code: bytes, names: Sequence[str], known: Mapping[str, int]) -> _Engine:
        """Load machine code with functions of these names, which calls functions at known addresses."""
        llvm = self._llvm
        for name, address in known.items():
            llvm.add_symbol(name, address)
        # What LLVM knows of the processor is 0.8 MB for each machine that has compiled. So one machine compiles all,
        # and an engine, which keeps the code, has another that never does.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._new_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        found = _Engine({name: engine.get_function_address(name) for name in names})
        # Of the list a method written in C: where the last kernel goes, an interrupt can come too.
        _ENGINES[ref(found, _UNUSED.append)] = engine
        return found


@made_once()
def _llvm() -> _Llvm:
    try:
        return _Llvm()
    except OSError as error:  # a library that is not for this system
        raise ImportError(str(error)) from error


class _Compiler:
    """What makes kernels of texts: machine code that another process has left, or else LLVM.

    Attributes:
        has_vectors: whether the processor has the vectors that texts are written for.
        about: what machine code, and its text, depend on beside the program.
    """

    def __init__(self) -> None:
        host = _host()
        wanted = {64: ("avx512f",), 32: ("avx2", "fma"), 16: ()}[WIDTH_BYTES]
        self.has_vectors = {f"+{name}" for name in wanted} <= {*host[-1].split(",")}
        self._cache: OrderedDict[str, Kernel] = OrderedDict()
        self.about = _about(host)

    def kernels(self, texts: Sequence[str]) -> list[Kernel]:
        """Return the kernels with these texts, compiling in one module those that are new."""
        with suppress(KeyError):  # what is known need not wait for what LLVM compiles now
            found = [self._cache[text] for text in texts]
            for text in texts:
                self._cache.move_to_end(text)
            return found
        return undisturbed(lambda: self._kernels(texts))

    def texts_of(self, kernels: Sequence[Kernel]) -> list[str] | None:
        """Return the texts of kernels, each once, as they were last asked for; None if one is cached no more."""
        with _COMPILING:
            found = [text for text, kernel in list(self._cache.items()) if kernel in kernels]  # others may look up
        return found if len(found) == len({*kernels}) else None

    def _kernels(self, texts: Sequence[str]) -> list[Kernel]:
        with _COMPILING:
            while _UNUSED:
                _ENGINES.pop(_UNUSED.pop()).close()
            missing = [text for text in dict.fromkeys(texts) if text not in self._cache]
            compiled = self._compile(missing) if missing else {}
            found = [self._cache[text] if text in self._cache else compiled[text] for text in texts]
            self._cache.update(compiled)
            for text in texts:
                self._cache.move_to_end(text)
            held = sum(map(len, self._cache)) if compiled else 0
            while len(self._cache) > CACHED_KERNELS or (held > CACHED_TEXT and len(self._cache) > len(found)):
                held -= len(self._cache.popitem(last=False)[0])
            return found

    def _compile(self, texts: Sequence[str]) -> dict[str, Kernel]:
        declared: dict[str, None] = {}
        bodies: list[str] = []
        for i, text in enumerate(texts):
            body, _, declarations = text.partition(DECLARATIONS)
            bodies.append(body.replace("@KERNEL", f"@kernel{i}"))
            declared.update(dict.fromkeys(declarations.splitlines()))
        known = {**libmvec(), **named(declared)}
        code = self._object("\n".join([*declared, *bodies]))
        names = [f"kernel{i}" for i in range(len(texts))]
        loaded = placed(code, known) or _llvm().load(code, names, known)
        return {text: Kernel(loaded, name, len(text)) for text, name in zip(texts, names, strict=True)}

    def _object(self, text: str) -> bytes:
        """Return the machine code of a module, which another process may have left."""
        kept = disk_cache()
        key = ("code", *self.about, text)
        found = None if kept is None else kept.get(key)
        if found is None or not is_object_file(found):
            WRITTEN.get()()
            found = _llvm().object_of(text)
            if kept is not None:
                kept.put(key, found)
        return found


def _about(host: Sequence[str]) -> tuple[str, ...]:
    """Return what machine code depends on beside its text: versions, primad's sources, processor, vector functions."""
    versions = (np.__version__, _version("scipy"), _version("llvmlite"))
    vectors = (str(WIDTH_BYTES), " ".join(sorted(libmvec())), *platform.libc_ver())
    return (sources(), sys.version, *versions, *host, str(BUDGET.level), *vectors)


def _version(package: str) -> str:
    """Return what a package says of its version: read, since to import SciPy takes longer than to run most programs.

    Raises:
        ImportError: without the package.
    """
    with suppress(OSError):
        return (_folder(package) / _SAID_IN[package]).read_text()
    version: str = import_module(package).__version__
    return version


def _folder(package: str) -> Path:
    """Return where the files of a package are, which is not imported for that."""
    origin: str | None = getattr(find_spec(package), "origin", None)
    if origin is None:
        raise ImportError(f"there is no {package}")
    return Path(origin).parent


_SAID_IN = {"scipy": "version.py", "llvmlite": "_version.py"}
"""The files in which packages say their version."""


def _host() -> tuple[str, ...]:
    """Return what LLVM says of itself and of the processor, which it is asked once each time the machine has started.

    Raises:
        ImportError: without llvmlite.
    """
    kept, key = disk_cache(), _started()
    found = None if kept is None or key is None else kept.get(key)
    if found is not None:
        with suppress(ValueError):
            said = json.loads(found)
            if isinstance(said, list) and list(map(type, said)) == [str] * 3:
                return tuple(said)
    about = _llvm().about
    if kept is not None and key is not None:
        kept.put(key, json.dumps(about).encode())
    return about


def _started() -> tuple[str, ...] | None:
    """Return what is the same until the machine starts again or gets another LLVM; None where that is not known.

    Raises:
        ImportError: without llvmlite.
    """
    library = _library()
    try:
        about, boot = library.stat(), _BOOT.read_text()
    except OSError:
        return None
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    processor = platform.machine(), " ".join([name for name, there in features.items() if there])
    return ("processor", boot, *processor, f"{library} {about.st_size} {about.st_mtime_ns}")


def _library() -> Path:
    """Return the file that llvmlite loads."""
    return _folder("llvmlite") / "binding" / "libllvmlite.so"


def _load_library() -> None:
    """Load LLVM while other threads run Python, which they can't while llvmlite's own call does."""
    with suppress(OSError, AttributeError, TypeError):  # where libraries are loaded otherwise, llvmlite knows how
        ctypes.CDLL(None).dlopen(os.fsencode(_library()), os.RTLD_NOW)


WRITTEN: ContextVar[Callable[[], object]] = ContextVar("written", default=lambda: None)
"""Called when LLVM begins, which needs no Python: who writes another text may go on."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux says which of the times it is that the machine has started."""
_COMPILING = Lock()
"""Held by who compiles, by who forks, since LLVM's own locks would stay locked in the child, and once at the end."""
_AHEAD: list[Any] = []
"""Of what began ahead on other threads, locks that are free once it holds `_COMPILING`; two at most."""
_FORKING = local()


def _compiling() -> Generator[None]:
    with _COMPILING:
        yield


def _before_fork() -> None:
    while True:
        _FORKING.holder = _compiling()
        try:
            next(_FORKING.holder)
            return
        except BaseException:  # an interrupt while it waits: a fork cannot be called off from here
            if _FORKING.holder.gi_frame is not None:
                return


def _after_fork() -> None:
    _FORKING.holder.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@atexit.register
def _wait_at_exit() -> None:
    """Wait for what is compiled though an interrupt ended the wait for it: LLVM's own memory goes with the process."""
    for begun in _AHEAD:
        begun.acquire(timeout=1.0)  # a thread begins at once, or never
    with _COMPILING:
        pass


@made_once()
def compiler() -> _Compiler | None:
    """Return the compiler; None without llvmlite, on an x86 without AVX2, or if the variable PRIMAD_NATIVE is 0."""
    if is_off("PRIMAD_NATIVE"):
        return None
    try:
        found = undisturbed(_Compiler)
    except ImportError:
        return None
    return found if found.has_vectors else None


def _ahead(start: Callable[[], Any]) -> None:
    """Begin on another thread with what will be waited for soon, if there can be a thread.

    Who forks waits for the end of it, and who needs it meets what goes wrong.
    """
    begun = Lock()
    begun.acquire()

    def run() -> None:
        with suppress(Exception), _COMPILING:
            begun.release()
            start()

    with suppress(RuntimeError):
        start_new_thread(run, ())
        _AHEAD.append(begun)


@made_once()
def start_compiler() -> None:
    """Begin to find out what processor this is: LLVM is asked where nothing on the disk says so."""
    if not is_off("PRIMAD_NATIVE"):
        _ahead(compiler)


@made_once()
def start_llvm() -> None:
    """Begin to load LLVM, which takes as long as recording a function of a hundred ops."""
    if compiler() is not None:
        _ahead(_llvm)


def compiled(what: str, make: Callable[[], Made]) -> Made | None:
    """Return what has native code, or None with a warning where LLVM refuses the text or has no memory.

    Args:
        what: what is compiled, for the warning.
        make: compiles it.
    """
    try:
        return make()
    except RuntimeError as error:  # what llvmlite raises
        warn(f"{what} could not be compiled, NumPy runs instead: {error}", RuntimeWarning)
        return None

"""Compiling text for the host processor, by llvmlite where there is one.

A function's text says `@KERNEL` for its name, and has the declarations of what it calls at its end. What is compiled is
cached by its text.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import sys
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from threading import Lock, local
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from primad.errors import warn
from primad.native.llvm.builder import DECLARATIONS
from primad.native.llvm.compile_limits import BUDGET
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
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class _Code:
    """Stands for the machine code of a module: when it goes, the code may go."""

    __slots__ = ("__weakref__",)


_ENGINES: dict[Any, Any] = {}
"""LLVM's engines, which hold the machine code, by weak references to what kernels keep of them. Kernels outlive the
compiler that made them, so their code is no compiler's own."""
_UNUSED: list[Any] = []
"""Those of which no kernel is left."""


class Kernel:
    """A compiled kernel; it keeps the machine code alive."""

    __slots__ = ("__weakref__", "_code", "address", "function", "size")

    def __init__(self, code: _Code, engine: Any, name: str, size: int) -> None:
        self._code = code
        self.address: int = engine.get_function_address(name)
        self.function = _FUNCTION(self.address)
        self.size = size


class _Compiler:
    """llvmlite and the host's description, loaded when the first kernel is wanted.

    Attributes:
        has_vectors: whether the processor has the vectors that texts are written for.
        about: what machine code, and its text, depend on beside the program.

    Nothing of llvmlite may run where an interrupt can come: cut short, it frees memory twice or keeps its own lock for
    ever. So it runs on threads other than the main one, and what is not needed any more is freed there too.
    """

    def __init__(self) -> None:
        import llvmlite.binding as llvm  # not there on all platforms, and 30 ms

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._features = llvm.get_host_cpu_features()
        wanted = {64: ("avx512f",), 32: ("avx2", "fma"), 16: ()}[WIDTH_BYTES]
        self.has_vectors = all(self._features.get(name) for name in wanted)
        self._cache: OrderedDict[str, Kernel] = OrderedDict()
        for symbol, address in libmvec().items():
            llvm.add_symbol(symbol, address)
        self._machine = self._new_machine()
        self.about = _about(llvm)

    def _new_machine(self) -> Any:
        target = self._llvm.Target.from_default_triple()
        features = self._features.flatten()
        name = self._llvm.get_host_cpu_name()
        return target.create_target_machine(cpu=name, features=features, opt=BUDGET.level, jit=True)

    def kernels(self, texts: Sequence[str]) -> list[Kernel]:
        """Return the kernels with these texts, compiling in one module those that are new."""
        return undisturbed(lambda: self._kernels(texts))

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
        llvm = self._llvm
        declared: dict[str, None] = {}
        bodies: list[str] = []
        for i, text in enumerate(texts):
            body, _, declarations = text.partition(DECLARATIONS)
            bodies.append(body.replace("@KERNEL", f"@kernel{i}"))
            declared.update(dict.fromkeys(declarations.splitlines()))
        for name, address in named(declared).items():
            llvm.add_symbol(name, address)
        code = self._object("\n".join([*declared, *bodies]))
        # What LLVM knows of the processor is 0.8 MB for each machine that has compiled. So one machine compiles all,
        # and an engine, which keeps the code, has another that never does.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._new_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        alive = _Code()
        # Of the list a method written in C: where the last kernel goes, an interrupt can come too.
        _ENGINES[ref(alive, _UNUSED.append)] = engine
        return {text: Kernel(alive, engine, f"kernel{i}", len(text)) for i, text in enumerate(texts)}

    def _object(self, text: str) -> bytes:
        """Return the machine code of a module, which another process may have left."""
        kept = disk_cache()
        key = ("code", *self.about, text)
        found = None if kept is None else kept.get(key)
        if found is None or not found.startswith(b"\x7fELF"):  # as an object file of Linux does
            with self._llvm.parse_assembly(text) as module:
                found = self._machine.emit_object(module)
            if kept is not None:
                kept.put(key, found)
        return found


def _about(llvm: Any) -> tuple[str, ...]:
    """Return what machine code depends on beside its text: versions, primad's sources, processor, vector functions."""
    import llvmlite
    import scipy

    versions = (np.__version__, scipy.__version__, llvmlite.__version__, str(llvm.llvm_version_info))
    vectors = (str(WIDTH_BYTES), " ".join(sorted(libmvec())), *platform.libc_ver())
    return (
        sources(),
        sys.version,
        *versions,
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        str(BUDGET.level),
        *vectors,
    )


_COMPILING = Lock()
"""Held by who compiles, by who forks, since LLVM's own locks would stay locked in the child, and once at the end."""
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

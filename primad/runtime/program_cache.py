"""Derived programs and plans that are kept between processes: making them takes longer than finding their code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from primad.errors import PrimadError
from primad.ir.json_form import NotSerializableError, digest, packed, unpacked
from primad.ir.law_families import LEFT_OUT
from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.native.llvm.persistent_cache import key_of, native_cache
from primad.runtime.executors.executor import Executable, Options
from primad.runtime.plan.memory_limit import check_memory
from primad.runtime.plan_form import packed_plan, unpacked_plan
from primad.runtime.tiling.tile_choice import blas_is_as_wide, blas_that_counts
from primad.system.disk_cache import DiskCache

_MISFITS = (
    PrimadError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What reading raises of something that was written by other code, or damaged, or whose text LLVM refuses."""


class Kept:
    """What is made of a program that was recorded: the program that is derived, and its plan.

    Both are found by all of the program, the user's lines included, which failures name. What is read is checked; what
    does not fit is made again. Where the plan can be said, the derived program is a part of it and not kept beside.

    Args:
        source: makes what all is made of, and of nothing else.
        known: the ops whose names say what they are. Of a program with an op of the user's own nothing is kept.
        options: how the plan is to run.
    """

    def __init__(self, source: Callable[[], Program], known: Mapping[str, Any], options: Options) -> None:
        self._make_source, self._known, self._options = source, known, options
        self._derived: Program | None = None

    @cached_property
    def _source(self) -> Program:
        return self._make_source()

    @cached_property
    def _cache(self) -> DiskCache | None:
        return None if LEFT_OUT.get() else native_cache()

    @cached_property
    def _keys(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The keys of the derived program and of its plan; None where nothing is kept."""
        said = None if self._cache is None else digest(self._source, self._known, lines=True)
        if said is None:
            return None
        return key_of("simplified", said), key_of("plan", said, json.dumps(self._options))

    def program(self, make: Callable[[], Program]) -> Program:
        """Return the derived program, from the disk if another process has derived it."""
        found: Program | None = self._read(0, lambda said: unpacked(said, self._known))
        if found is not None and found.in_types == self._source.in_types:
            return found
        self._derived = make()
        return self._derived

    def plan(self, signature: Signature | None) -> tuple[bool, Executable] | None:
        """Return the plan, if another process has left it, and whether it is a function.

        Args:
            signature: how Python calls it, if it does.
        """
        if "_plan" not in vars(self):
            self._plan: tuple[bool, Executable] | None = self._read(1, lambda said: self._fitting(said, signature))
        return self._plan

    def keep(self, plan: Executable, is_function: bool) -> None:
        """Keep a plan that was made, or the derived program where JSON does not hold the plan."""
        if self._cache is None or self._keys is None:
            return
        try:
            said = json.dumps(
                [is_function, None if is_function else blas_that_counts(), *packed_plan(plan, self._known)]
            )
        except NotSerializableError:
            derived = None if self._derived is None else packed(self._derived, self._known)
            if derived is not None:
                self._cache.put(self._keys[0], json.dumps(derived).encode())
        else:
            self._cache.put(self._keys[1], said.encode())
        self._derived = None

    def _fitting(self, said: Any, signature: Signature | None) -> tuple[bool, Executable]:
        is_function, blas, programs, how = said
        if blas is not None and blas is not blas_is_as_wide():
            raise ValueError("the plan is for another BLAS")
        found = unpacked_plan((programs, how), self._known, signature)
        if found.program.in_types != self._source.in_types or found.program.out_types != self._source.out_types:
            raise ValueError("the plan is that of another program")
        check_memory(found)
        return is_function is True, found

    def _read(self, which: int, read: Callable[[Any], Any]) -> Any:
        body = None if self._cache is None or self._keys is None else self._cache.get(self._keys[which])
        try:
            return None if body is None else read(json.loads(body))
        except _MISFITS:
            return None

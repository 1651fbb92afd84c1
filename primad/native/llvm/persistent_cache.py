"""Texts that are kept between processes, with what a plan needs to know of them: writing takes as long as compiling."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from primad import ops
from primad.ir.json_form import digest
from primad.ir.program import Program
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.compiler import compiler
from primad.system.disk_cache import DiskCache, disk_cache
from primad.system.machine import CORE, FIRST_CACHE, SECOND_CACHE

T = TypeVar("T")
_MISFITS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading raises of something that was written by other code, or damaged."""


def kept(kind: str, program: Program, more: Sequence[Any], make: Callable[[], Any], read: Callable[[Any], T]) -> T:
    """Return what is made of a program, from the disk if another process has made it.

    What is read is checked; what does not fit is made again, and written in its place.

    Args:
        kind: what is made.
        program: what it is made of.
        more: what else it depends on beside the machine: numbers, and lists of such.
        make: makes it: what JSON can say, and lists rather than tuples.
        read: returns what that says; it raises for what it does not understand.
    """
    cache = native_cache()
    if cache is None:
        return read(make())
    said = digest(program, ops.BY_NAME)
    if said is None:
        return read(make())
    key = key_of(kind, said, json.dumps(more))
    found = cache.get(key)
    if found is not None:
        with suppress(*_MISFITS):
            return read(json.loads(found))
    made = make()
    cache.put(key, json.dumps(made).encode())
    return read(made)


def native_cache() -> DiskCache | None:
    """Return the cache of what is made for native code; None where there is no such code, or no cache."""
    return None if compiler() is None else disk_cache()


def key_of(kind: str, *said: str) -> tuple[str, ...]:
    """Return the key of something that is kept: its kind, the machine, all versions and bounds, and what it is made of.

    Nothing is kept without native code.
    """
    host = compiler()
    assert host is not None
    return (kind, *host.about, f"{FIRST_CACHE} {SECOND_CACHE} {CORE} {BUDGET}", *said)

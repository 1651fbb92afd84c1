"""Derived programs that are kept between processes: deriving takes longer than all else where code is found again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from primad.errors import ProgramError
from primad.ir.json_form import digest, packed, unpacked
from primad.ir.law_families import LEFT_OUT
from primad.ir.program import Program
from primad.native.llvm.text_cache import key_of
from primad.system.disk_cache import disk_cache


def kept_program(kind: str, source: Program, known: Mapping[str, Any], make: Callable[[], Program]) -> Program:
    """Return what is derived from a program, from the disk if another process has derived it.

    It is found by all of the program, the user's lines included, which its failures name. What is read is checked; what
    does not fit is derived again.

    Args:
        kind: what is derived.
        source: what it is derived from, and from nothing else.
        known: the ops whose names say what they are. A program with an op of the user's own is never kept.
        make: derives it.
    """
    cache = disk_cache()
    said = None if cache is None or LEFT_OUT.get() else digest(source, known, lines=True)
    key = None if said is None else key_of(kind, said)
    if cache is None or key is None:
        return make()
    found = _read(cache.get(key), known)
    if found is not None and found.in_types == source.in_types:
        return found
    made = make()
    written = packed(made, known)
    if written is not None:
        cache.put(key, json.dumps(written).encode())
    return made


def _read(body: bytes | None, known: Mapping[str, Any]) -> Program | None:
    try:
        return None if body is None else unpacked(json.loads(body), known)
    except (ProgramError, ValueError, RecursionError):
        return None

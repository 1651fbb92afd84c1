"""Machine code of an object file, put into memory without LLVM: loading that takes longer than most code runs.

It is for what LLVM writes on x86-64 processors under Linux, where code refers to all else by whole addresses. Any other
file is left to LLVM's own loader.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping
from enum import IntEnum, IntFlag
from functools import lru_cache
from typing import Any, NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_ADDRESS = struct.Struct("<Q")
_KIND = b"\x7fELF\x02\x01\x01", 1, 62
"""The beginning of a file, its type and its machine: of 64 bits, the lowest byte first; to be linked; x86-64."""


class _Type(IntEnum):
    """What a section holds."""

    EMPTY = 0
    CONTENTS = 1
    SYMBOLS = 2
    TEXTS = 3
    RELOCATIONS = 4
    ZEROS = 8


class _Placing(IntFlag):
    """What becomes of a section in memory."""

    WRITTEN = 1
    PLACED = 2
    EXECUTED = 4
    OF_A_THREAD = 1024


class _Relocation(IntEnum):
    """What is written at a place: here the only kind that is known, an address of 64 bits."""

    WHOLE_ADDRESS = 1


class _OtherFileError(Exception):
    """A file has something that is not known here."""


class _Section(NamedTuple):
    """What a file says of a section, in its order and words."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int

    @property
    def protection(self) -> int:
        """How its memory may be used when all is there."""
        also = (
            mmap.PROT_EXEC
            if self.flags & _Placing.EXECUTED
            else mmap.PROT_WRITE
            if self.flags & _Placing.WRITTEN
            else 0
        )
        return mmap.PROT_READ | also


class PlacedCode:
    """Machine code in memory, as long as this is there.

    Attributes:
        functions: the addresses of its functions by name.
    """

    __slots__ = ("_memory", "functions")

    def __init__(self, memory: mmap.mmap, functions: Mapping[str, int]) -> None:
        self._memory = memory
        self.functions = functions


def is_object_file(code: bytes) -> bool:
    """Say whether bytes begin as an object file of Linux does, of any processor."""
    return code.startswith(_KIND[0][:4])


def placed(code: bytes, known: Mapping[str, int]) -> PlacedCode | None:
    """Put the code of an object file into memory; None where that is to be left to LLVM.

    Args:
        code: the file.
        known: addresses of functions by name; others are looked for in the process.
    """
    if not hasattr(mmap, "PROT_EXEC"):
        return None
    try:
        return _placed(code, known)
    except (_OtherFileError, LookupError, ValueError, struct.error, OSError):
        return None


def _placed(code: bytes, known: Mapping[str, int]) -> PlacedCode:
    start, type, machine, _, _, _, table, *_, count, _ = _HEADER.unpack_from(code)
    if (start[: len(_KIND[0])], type, machine) != _KIND:
        raise _OtherFileError
    every = [_Section(*_SECTION.unpack_from(code, table + i * _SECTION.size)) for i in range(count)]
    if any(
        section.flags & _Placing.OF_A_THREAD or section.type > _Type.ZEROS
        for section in every
        if section.flags & _Placing.PLACED
    ):
        raise _OtherFileError
    offsets, ends = _offsets(every)
    memory = mmap.mmap(-1, max(ends.values()), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for i, offset in offsets.items():
        if every[i].type != _Type.ZEROS:
            memory[offset : offset + every[i].size] = code[every[i].offset : every[i].offset + every[i].size]
    addresses = {i: base + offset for i, offset in offsets.items()}
    (symbols,) = [section for section in every if section.type == _Type.SYMBOLS]
    found, functions = _addresses(code, symbols, every[symbols.link], addresses, known)
    for section in every:
        if section.type == _Type.RELOCATIONS:
            for place, about, addend in _RELOCATION.iter_unpack(code[section.offset : section.offset + section.size]):
                if about & 0xFFFFFFFF != _Relocation.WHOLE_ADDRESS:
                    raise _OtherFileError
                value = (found[about >> 32] + addend) % 2**64
                _ADDRESS.pack_into(memory, offsets[section.info] + place, value)
        elif section.type not in (
            _Type.EMPTY,
            _Type.CONTENTS,
            _Type.SYMBOLS,
            _Type.TEXTS,
            _Type.ZEROS,
            _Type.RELOCATIONS,
        ):
            raise _OtherFileError
    begin = 0
    for protection, end in ends.items():
        if _protect()(base + begin, end - begin, protection):
            raise _OtherFileError
        begin = end
    return PlacedCode(memory, functions)


def _offsets(every: list[_Section]) -> tuple[dict[int, int], dict[int, int]]:
    """Return where each section is placed, by its number, and where the pages of each protection end."""
    offsets: dict[int, int] = {}
    ends: dict[int, int] = {}
    end = 0
    wanted = [(section.protection, i) for i, section in enumerate(every) if section.flags & _Placing.PLACED]
    for protection in sorted({protection for protection, _ in wanted}):
        for i in [i for own, i in wanted if own == protection]:
            offsets[i] = _rounded(end, max(1, every[i].align))
            end = offsets[i] + every[i].size
        ends[protection] = end = _rounded(end, mmap.PAGESIZE)
    return offsets, ends


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


def _addresses(
    code: bytes, symbols: _Section, texts: _Section, sections: Mapping[int, int], known: Mapping[str, int]
) -> tuple[list[int], dict[str, int]]:
    """Return the address of each symbol, and of those that have a name here by that."""
    found: list[int] = []
    own: dict[str, int] = {}
    for place, _, _, section, value, _ in _SYMBOL.iter_unpack(code[symbols.offset : symbols.offset + symbols.size]):
        begin = texts.offset + place
        name = code[begin : code.index(b"\0", begin)].decode()
        if not section:  # what is elsewhere
            found.append(_address(name, known) if name else 0)
        elif section in sections:
            found.append(sections[section] + value)
            own[name] = found[-1]
        elif not value:  # the name of a file, or of a section that is not placed
            found.append(0)
        else:
            raise _OtherFileError
    return found, own


def _address(name: str, known: Mapping[str, int]) -> int:
    """Return the address of a function that code calls."""
    address = known.get(name)
    if address is None:
        function = getattr(_process(), name, None)
        address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        raise _OtherFileError
    return address


@lru_cache(maxsize=1)
def _process() -> ctypes.CDLL:
    """Return what finds the functions of the process, the C library's among them."""
    return ctypes.CDLL(None)


@lru_cache(maxsize=1)
def _protect() -> Any:
    """Return the C function that sets how memory may be used."""
    function = _process().mprotect
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return function

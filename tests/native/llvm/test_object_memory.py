"""Machine code that is loaded without LLVM: it computes the same, and what it does not know is left to LLVM."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Callable

import numpy as np
import pytest

import primad
from primad.native.llvm import compiler as native
from primad.native.llvm.object_memory import placed
from primad.runtime.plan.interpreter import Plan

pytestmark = pytest.mark.skipif(
    native.compiler() is None or sys.platform != "linux" or platform.machine() != "x86_64",
    reason="LLVM's own loader is used here",
)
TEXT = """
@number = internal constant double 0x4004000000000000
@count = internal global i64 0
@empty = internal global [1000 x i64] zeroinitializer
declare ptr @memchr(ptr, i32, i64)
declare double @primad.own(double)
define double @kernel0(double %x) nounwind {
  %n = load double, ptr @number
  %y = fmul double %x, %n
  %z = call double @primad.own(double %y)
  ret double %z
}
define i64 @kernel1(i64 %x) nounwind {
  %before = load i64, ptr @count
  %now = add i64 %before, %x
  store i64 %now, ptr @count
  %far = getelementptr i64, ptr @empty, i64 999
  %zero = load i64, ptr %far
  %sum = add i64 %now, %zero
  ret i64 %sum
}
define i64 @kernel2(ptr %where) nounwind {
  %found = call ptr @memchr(ptr %where, i32 98, i64 4)
  %a = ptrtoint ptr %found to i64
  %b = ptrtoint ptr %where to i64
  %c = sub i64 %a, %b
  ret i64 %c
}
"""


def own(x: float) -> float:
    return x + 1.0


def test_code_reads_numbers_writes_memory_and_calls_functions() -> None:
    of_double = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    callback = of_double(own)
    known = {"primad.own": ctypes.cast(callback, ctypes.c_void_p).value or 0}
    code = native.undisturbed(lambda: native._llvm().object_of(TEXT))
    found, other = placed(code, known), placed(code, known)
    assert found is not None and other is not None
    functions = found.functions
    assert of_double(functions["kernel0"])(2.0) == 6.0
    add = [ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(x.functions["kernel1"]) for x in (found, other)]
    assert [add[0](3), add[0](4), add[1](5)] == [3, 7, 5]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(functions["kernel2"])(b"aabc") == 2
    assert placed(code, {}) is None  # nobody knows primad.own


def protection_of(address: int) -> str:
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            if begin <= address < end:
                return line.split()[1]
    return ""


def test_code_cannot_be_written() -> None:
    code = native.undisturbed(lambda: native._llvm().object_of(TEXT))
    found = placed(code, {"primad.own": 8})
    assert found is not None
    assert {protection_of(found.functions[f"kernel{i}"]) for i in range(3)} == {"r-xp"}
    where = found.functions["kernel1"]
    del found
    assert protection_of(where) != "r-xp"  # it is gone with the last one that holds it


def _sections(code: bytes) -> list[tuple[int, tuple[int, ...]]]:
    (table,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    places = [table + 64 * i for i in range(count)]
    return [(place, struct.unpack_from("<IIQQQQIIQQ", code, place)) for place in places]


def _first(code: bytes, type: int, holds: Callable[[tuple[int, ...]], bool] = lambda section: True) -> tuple[int, ...]:
    return next((place, *section) for place, section in _sections(code) if section[1] == type and holds(section))


def _damaged(code: bytes) -> dict[str, bytes]:
    def changed(place: int, format: str, value: int) -> bytes:
        body = bytearray(code)
        struct.pack_into(format, body, place, value)
        return bytes(body)

    relocations, placed_ones = _first(code, 4)[5], _first(code, 1, lambda section: section[2] & 2 and section[5] > 0)[0]
    symbols = _first(code, 2)[5]
    return {
        "no file": b"", "the beginning of one": code[:64], "half of one": code[: len(code) // 2],
        "another processor": changed(18, "<H", 183), "32 bits": changed(4, "<B", 1), "linked": changed(16, "<H", 3),
        "another relocation": changed(relocations + 8, "<I", 2),
        "a symbol that is not there": changed(relocations + 12, "<I", 10**6),
        "a section of a kind": changed(placed_ones + 4, "<I", 17),
        "memory of a thread": changed(placed_ones + 8, "<Q", 2 | 1024),
        "a common symbol": changed(symbols + 24 + 6, "<Q", 0xFFF2 | 8 << 16),
        "a place outside": changed(relocations, "<Q", 2**40),
    }  # fmt: skip


def test_what_is_not_known_is_left_to_llvm() -> None:
    code = native.undisturbed(lambda: native._llvm().object_of(TEXT))
    known = {"primad.own": 8}
    assert placed(code, known) is not None
    for what, body in _damaged(code).items():
        assert placed(body, known) is None, what
    assert placed(native.undisturbed(lambda: native._llvm().object_of(TEXT.replace("nounwind", ""))), known) is None


def test_llvm_loads_what_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.1, 1.0, 5000)
    program = primad.trace(lambda x: np.sum(np.sin(x) * np.exp(-x) + np.tanh(x) * x**2))(x)
    expected = Plan(program, 1e-9).run([x])[0]
    monkeypatch.setattr(native, "placed", lambda code, known: None)
    monkeypatch.setattr(native.compiler(), "_cache", type(native.compiler()._cache)())
    again = Plan(program, 1e-9)
    assert again.run([x])[0] == expected
    assert any(isinstance(call._kernel._code, native._Engine) for call in again._calls)

"""The loop around a compiled program: it takes steps, moves the addresses of rows on, and exchanges carried values."""

from __future__ import annotations

from primad.native.llvm.builder import Builder, module

DRIVER = "@KERNEL.driver"
"""Name of the loop in the text of a program that has it."""


def driver_text() -> str:
    """Return the loop around a compiled program as a text of its own."""
    return module([driver("@KERNEL")], ())


def driver(name: str) -> str:
    """Write the loop around a program `i64 (ptr %table, ptr %scratch)`, whatever that computes, as a function.

    Its arguments: `ptr %body, ptr %table, ptr %scratch, ptr %places, ptr %strides, i64 %moving, i64 %carry, i64 %out,
    i64 %steps, ptr %go, ptr %taken`. After each step the first `carry` addresses of the table are exchanged with those
    from place `out` on, and to `moving` addresses, at `places`, `strides` are added. The loop takes at least one step,
    and ends where the byte at `go` is 0. It leaves at `taken` how many steps it took, and returns what the program did
    last: 0, or which of its ops failed.
    """
    code = Builder()

    def turn(index: str, _: list[str]) -> tuple[list[str], str]:
        status = code.ask("i64", "%body", ("ptr", "%table"), ("ptr", "%scratch"))
        code.store("i64", index, "%taken")
        failed = code.emit(f"icmp ne i64 {status}, 0")
        with code.when(failed, ends=True):
            code.do(f"ret i64 {status}")

        def exchange(i: str, _: list[str]) -> None:
            first = code.place("ptr", "%table", i)
            second = code.place("ptr", "%table", code.emit(f"add i64 {i}, %out"))
            old, new = code.emit(f"load ptr, ptr {first}"), code.emit(f"load ptr, ptr {second}")
            code.store("ptr", new, first)
            code.store("ptr", old, second)

        def advance(i: str, _: list[str]) -> None:
            place = code.place("ptr", "%table", code.load("i64", "%places", i))
            address = code.emit(f"load ptr, ptr {place}")
            code.store("ptr", code.place("i8", address, code.load("i64", "%strides", i)), place)

        with code.when(code.emit("icmp ne i64 %carry, 0")):
            code.loop("%carry", exchange)
        with code.when(code.emit("icmp ne i64 %moving, 0")):
            code.loop("%moving", advance)
        return [], code.emit(f"icmp ne i8 {code.emit('load i8, ptr %go')}, 0")

    _, taken = code.turns("%steps", turn, [], [])
    code.store("i64", taken, "%taken")
    code.do("ret i64 0")
    names = ("ptr %body", "ptr %table", "ptr %scratch", "ptr %places", "ptr %strides", "i64 %moving", "i64 %carry")
    more = ("i64 %out", "i64 %steps", "ptr %go", "ptr %taken")
    return code.function(f"i64 {name}({', '.join((*names, *more))})")

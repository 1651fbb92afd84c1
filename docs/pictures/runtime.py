"""Draw the picture of docs/runtime.md: `python docs/pictures/runtime.py`."""

from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT = 960, 785, 20
PLAIN, NATIVE, PYTHON, ASKED = "#f4f4f2", "#dcebf7", "#fbeed5", "#e4f2df"


def box(x, y, width, title, lines=(), fill=PLAIN):
    """Return a box with a title and lines of text, and its height."""
    height = 26 + 16 * len(lines)
    text = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="#555"/>',
        f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{escape(title)}</text>',
    ]
    text += [
        f'<text x="{x + 10}" y="{y + 34 + 16 * i}" xml:space="preserve">{escape(line)}</text>'
        for i, line in enumerate(lines)
    ]
    return "\n".join(text)


def arrow(*points, label="", at=(0, 0)):
    """Return a line that ends in an arrow."""
    line = " ".join(f"{x},{y}" for x, y in points)
    text = f'<polyline points="{line}" fill="none" stroke="#555" marker-end="url(#end)"/>'
    return text + (f'\n<text x="{at[0]}" y="{at[1]}" font-style="italic">{escape(label)}</text>' if label else "")


def heading(y, text):
    return f'<text x="{LEFT}" y="{y}" font-size="15" font-weight="bold">{escape(text)}</text>'


def how_a_program_becomes_native_code():
    yield heading(26, "How a program becomes a native function")
    yield box(345, 40, 270, "lowered program", ["simplified, on types only"])
    yield arrow((400, 82), (150, 82), (150, 112), label="small, under jit", at=(180, 76))
    yield arrow((480, 82), (480, 112), label="a long axis that is only mapped and summed", at=(490, 100))
    yield arrow((560, 82), (810, 82), (810, 112), label="anything else", at=(700, 76))
    yield box(LEFT, 114, 260, "whole program", ["runtime/plan/compiled_program.py"], ASKED)
    yield box(335, 114, 330, "one tile", ["runtime/tiling/tiled_plan.py, tile_program.py, tile_choice.py"], ASKED)
    yield box(680, 114, 260, "steps", ["runtime/plan/interpreter.py, fusion.py"], ASKED)
    yield arrow((150, 156), (150, 188))
    yield arrow((480, 156), (480, 172), (240, 172), (240, 188))
    yield arrow((730, 156), (730, 188), label="pointwise groups", at=(740, 178))
    yield arrow((910, 156), (910, 306), label="rest", at=(876, 240))
    lines = [
        "native/schedule/grouping.py  which pointwise nodes share a loop",
        "native/schedule/storage.py   views are index arithmetic on their arrays",
        "native/schedule/layout.py    units in order, each value's place in memory",
        "native/schedule/contraction_plan.py, register_blocks.py  products in register blocks",
    ]
    yield box(LEFT, 190, 500, "layout", lines, NATIVE)
    lines = ["native/schedule/iteration_space.py  its loops", "native/emit/kernels.py  their text"]
    yield box(600, 190, 270, "kernel", lines, NATIVE)
    yield box(820, 308, 120, "NumPy", ["op.numpy"], PYTHON)
    yield arrow((150, 280), (150, 306))
    yield arrow((680, 248), (680, 306))
    lines = [
        "native/module/program_text.py, fused_loops.py  a function for each unit; equal ones are one; scratch memory",
        "native/llvm/strided_views.py, native/emit/product_loops.py  the loops     native/module/tile_worker.py  tiles",
        "native/llvm/vectors.py  ops on vectors     native/llvm/builder.py  values, loops, conditions, calls",
    ]
    yield box(LEFT, 308, 760, "LLVM text", lines, NATIVE)
    yield arrow((150, 382), (150, 404))
    yield box(
        LEFT,
        406,
        760,
        "machine code",
        ["native/llvm/compiler.py  llvmlite, on a thread of its own; cached by text"],
        NATIVE,
    )


def how_python_calls_it():
    top = 486
    yield heading(top, "How Python calls a whole program, and where objects lie")
    names = [("f(x, y)", PYTHON), ("the entry: native/cpython", NATIVE), ("the program", NATIVE)]
    lines = [
        ["arguments as an array", "of addresses"],
        [
            "argument_reading.py: checks type,",
            "dtype, axes, lengths; else NotImplemented",
            "result_making.py: arrays, then scalars",
        ],
        ["@KERNEL(table, scratch)", "table: addresses of inputs,", "captured arrays, outputs"],
    ]
    for x, width, (name, fill), text in zip((LEFT, 270, 660), (190, 330, 280), names, lines, strict=True):
        yield box(x, top + 14, width, name, text, fill)
    yield arrow((210, top + 40), (268, top + 40))
    yield arrow((600, top + 40), (658, top + 40))
    y = top + 110
    fields = ["0   reference count", "8   type", "16  value"]
    yield box(LEFT, y, 190, "float, NumPy scalar", fields, PYTHON)
    fields = [
        "0   reference count", "8   type", "16  address of the elements", "24  number of axes",
        "32  address of the lengths", "40  address of the strides", "48  base: the owner of the memory", "56  dtype",
        "64  flags: row-major, aligned",
    ]  # fmt: skip
    yield box(270, y, 330, "NumPy array", fields, PYTHON)
    own = [
        "(table, definition, constants, kept)",
        "table: uint64 array of addresses:",
        "the program's, then the constants'",
    ]
    yield box(660, y, 280, "the entry's self: a tuple", own, PYTHON)
    lines = ["values that die inside share it;", "on the stack up to 32 kB"]
    yield box(660, y + 96, 280, "scratch", lines, PLAIN)


def picture():
    head = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"
 font-family="DejaVu Sans Mono, monospace" font-size="11">
<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">
<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"""
    return "\n".join([head, *how_a_program_becomes_native_code(), *how_python_calls_it(), "</svg>", ""])


if __name__ == "__main__":
    (Path(__file__).parent / "runtime.svg").write_text(picture(), encoding="utf-8")

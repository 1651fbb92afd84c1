"""What making machine code may cost: how much is written and compiled before shorter parts, or NumPy, are better."""

from __future__ import annotations

from msgspec import Struct

from primad.system.machine import THREAD_WORK
from primad.transforms.lowering import SHORT_STEP


class Budget(Struct, frozen=True):
    """Bounds of what is compiled, each in what is counted before there is code.

    LLVM takes 0.15 to 1 millisecond for an op (`primad.native.module.outlined_text`), and for one function longer than
    for its parts. They are chosen so that first calls take below a second where there is another way to run. What runs
    as native code, and in which parts, depends on them, and so the last bits of results do.

    Attributes:
        worth_cutting: seconds of compiling, from which it is tried to find equal parts of a program.
        share: the share of the time of compiling, at most, that compiling equal parts once must take to be worth it.
        always_cut: seconds from which a program is cut in any case: one function takes longer than its parts together.
        most: seconds that a program may take. A step saves a microsecond a call: ten million steps pay for it.
        worth_kernels: ops in all of a plan's kernels together, at least, each on as many elements as take as long as a
            call of a NumPy function; a function counts as several. Compiling takes some milliseconds, and a run then
            saves some ten microseconds.
        worth_a_region: steps beside tiles, at least, of which those that can be are native: compiling takes as long as
            some thousand calls save, and little beside that of the tiles.
        worth_a_size: share of the time that blocks of a product of one more size must save: an edge that is cut badly
            costs more.
        lines: steps of a plan that becomes a function of Python's, at most: Python takes some 30 µs to compile a line,
            which then saves half a microsecond in each run.
        level: LLVM's level: 0 spills most values, and costs a sixth of a kernel's time; above 1 only compiling takes
            longer.
        fewest_repeated: times that a part must come back: two alike may be chance, as in a value and its derivative.
        shortest_repeated: nodes of a repeated part, at least: a call takes as long as ten of them on scalars.
        longest_repeated: nodes of a repeated part, at most.
        longest_part: nodes of another part, at most: of longer ones the time to compile grows faster than the length.
        long_function: characters of a function for which compiling takes twice as long as for so many in short ones;
            the rest is quadratic.
        tile_text: characters of a tile's functions that are not equal: more take seconds. (A loop that copies a growing
            array in each of 60 steps took six.)
        row: vectors of a row, up to which each has code of its own: a turn of a loop takes as long as a short body.
        row_ops: ops of such a row.
        meetings: times, at most, that vectors which a loop computes together have come as far: each takes four
            thousand characters.
        constant: elements of an array that becomes a part of the text.
        unrolled: elements that have code of their own: those of a window, each of which has a loop that adds it, and
            those of a row that is sorted, each of which is compared with each other.
        boxed: nodes of a program that may be computed in boxes: it is gone through node by node, one inside the other.
        panels: characters of a program in panels of rows, which save more than other texts of that length: a step of a
            method of Runge and Kutta of fourth order with its gradient has 1.1 million, is compiled in a third of a
            second, and takes a fifth of the time of whole arrays (at 512²); three steps have 3.7, compiled in two.
        shortest_stage: steps of a stage of such a program that is not cut again: a loop over whole arrays has as many.
        in_boxes: ops, at most, of all loops over boxes, in each of which joined arrays are one of their parts.
        padded: products with zeros around them in a sum, at least, for it to be computed inside apart: gradients of
            2 × 2 neighbours take 0.65 of the time, of 3 × 3 half, and those along one axis as long as before.
        exponent: the number up to which powers of complex numbers are written as products: four squares, and as many
            products with them.
        products: products of elements that are written out for the factors of a matrix, as of five rows and columns.
        minors: rows of a matrix whose cofactors are written out.
        instructions: those of a loop's body on single elements: more take longer to compile (a tenth of a second) than
            loops take to run.
        function: the instructions that a function of an element counts as.
        choice: those that compare two elements and choose or exchange them with their places, or check an index that is
            not known.
        in_registers: elements of an array, at most, for a program of such arrays to keep each in a register of its own:
            of longer ones a loop over vectors takes less.
        choices: elements that are compared for as many at places which are not known, as for each of eight one of
            eight: of more, or to sort more, loops over memory take less.
        uninterrupted: flops and bytes of a loop between two moments at which Python sees an interrupt: they take some
            hundredths of a second, less than anybody notices.
        uncounted: those of a loop that ends by itself, up to which it does not count them: a hundred such loops take
            as many as are uninterrupted, and to count them takes longer than some steps.
        alone: instructions of a step of all loops of a stack that one thread takes: ten steps of so many take less than
            a millisecond, of which threads would save little more than it takes to call them.
        through_steps: ops of a program, with all steps of its loops, for tiles to go through these, though each loop
            takes its steps in a cache by itself: 8 or 30 layers on 10⁴ points take 0.7 to 0.9 of the time, and are
            planned in a tenth of a second.
        handed_on: ops of such a program whose loops hand on rows that are read from memory: gradients of 8 to 100
            layers take 0.5 to 0.65 of the time, and planning takes 0.7 milliseconds an op, which fifty calls save.
        words: chains of ops on rows that an operand of a product is a sum of: differences have 8, differences of
            differences weighed in between 72.
        letters: ops of such an operand that are looked through: Cox's partial likelihood has a dozen.
        moved: bytes of the operands of a product by halves that are whole in memory, where tiles along the result's
            rows hold a part of them: memory may be short.
        stacks: bytes of the stacked results of a loop inside of a native function. They are memory only where a step
            writes them.
    """

    worth_cutting: float = 0.05
    share: float = 0.6
    always_cut: float = 0.4
    most: float = 10.0
    worth_kernels: int = 32
    worth_a_region: int = 12
    worth_a_size: float = 0.02
    lines: int = 256
    level: int = 1
    fewest_repeated: int = 3
    shortest_repeated: int = 48
    longest_repeated: int = 1500
    longest_part: int = 400
    long_function: int = 100_000
    tile_text: int = 1_000_000
    row: int = 4
    row_ops: int = 32
    meetings: int = 24
    constant: int = 4096
    unrolled: int = 64
    boxed: int = 200
    panels: int = 4_000_000
    shortest_stage: int = 8
    in_boxes: int = 1000
    padded: int = 4
    exponent: int = 16
    products: int = 130
    minors: int = 4
    instructions: int = SHORT_STEP
    function: int = 24
    choice: int = 6
    in_registers: int = 32
    choices: int = 64
    uninterrupted: int = 50_000_000
    uncounted: int = 500_000
    alone: int = THREAD_WORK
    through_steps: int = 128
    handed_on: int = 1500
    words: int = 256
    letters: int = 256
    moved: int = 1 << 30
    stacks: int = 32 * 1024 * 1024


BUDGET = Budget()
"""The one that everything goes by."""

"""Copies of strided arrays, as LLVM text: what exchanges axes goes by small square blocks in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from primad.native.emit.elementwise_loop import pointwise
from primad.native.llvm.strided_views import Code, View, merged
from primad.native.llvm.vectors import BY_SIZE, LONGEST_SIDE, lanes_of
from primad.native.schedule.storage import Place, Splat

Axis = tuple[int, ...]


def write_copy(code: Code, source: View, target: View) -> None:
    """Write the loops that copy an array."""
    axes = merged([(n, *steps) for n, *steps in zip(source.shape, source.strides, target.strides, strict=True)])
    across = next((axis for axis in axes if axis[1] == 1 and axis[2] != 1), None)
    down = next((axis for axis in axes if axis[1] != 1 and axis[2] == 1), None)
    if target.dtype.itemsize < 4 or across is None or down is None:
        pointwise(code, [source], [target], BY_SIZE[target.dtype.itemsize], lambda _, values: values)
    elif all(n for n, *_ in axes):
        others = [axis for axis in axes if axis not in (across, down)]
        _Exchange(code, source, target, across, down).write(others)


def copy(code: Code, source: Place, target: View) -> None:
    """Write a copy of a value."""
    if isinstance(source, Splat):
        value = source.value
        pointwise(code, [], [target], BY_SIZE[target.dtype.itemsize], lambda v, _: [v.of(target.dtype).constant(value)])
    else:
        assert isinstance(source, View)
        write_copy(code, source, target)


def halves(code: Code, type: str, lanes: int, x: str, y: str, group: int) -> list[str]:
    """Return the first half of each group of lanes, of x and then of y, and the second halves."""
    firsts = [start + lane for start in range(0, 2 * lanes, group) for lane in range(group // 2)]
    result = []
    for shift in (0, group // 2):
        picks = ", ".join(f"i32 {lane + shift}" for lane in firsts)
        result.append(code.emit(f"shufflevector {type} {x}, {type} {y}, <{lanes} x i32> <{picks}>"))
    return result


class _Exchange:
    """A copy by blocks: read along one axis, in which the source is contiguous, and written along another one."""

    def __init__(self, code: Code, source: View, target: View, across: Axis, down: Axis) -> None:
        self.code = code
        self.views = [source, target]
        self.across, self.down = across, down
        self.cell = target.cell
        self.side = min(lanes_of(target.dtype), LONGEST_SIDE)
        self.type = f"<{self.side} x {self.cell}>"

    def write(self, others: Sequence[Axis]) -> None:
        """Write the loops, over other axes first."""
        self.code.over(self.views, [self.code.start(view) for view in self.views], others, self._cut)

    def _cut(self, pointers: list[str]) -> None:
        self._in_pieces(
            self.down, pointers, lambda height, rows: self._in_pieces(self.across, rows, partial(self._block, height))
        )

    def _in_pieces(self, axis: Axis, pointers: list[str], body: Callable[[int, list[str]], None]) -> None:
        n, *steps = axis
        whole, rest = divmod(n, self.side)
        far = [self.side * step for step in steps]
        if whole:
            self.code.over(self.views, pointers, [(whole, *far)], partial(body, self.side))
        if rest:
            body(rest, self.code.step(self.views, pointers, str(whole), far))

    def _block(self, height: int, width: int, pointers: list[str]) -> None:
        code, side = self.code, self.side
        rows = []
        for i in range(height):
            place, _ = code.step(self.views, pointers, str(i), self.down[1:])
            rows.append(code.load_lanes(self.cell, place, 1, width, side, "poison"))
        columns = self._exchanged([*rows, *["poison"] * (side - height)], side)
        for i, column in enumerate(columns[:width]):
            _, place = code.step(self.views, pointers, str(i), self.across[1:])
            code.store_lanes(self.cell, place, 1, height, side, column)

    def _exchanged(self, values: list[str], group: int) -> list[str]:
        """Return the columns of a block, from its rows: what groups of lanes have, one vector for each lane of them."""
        if group == 1:
            return values
        pairs = [
            halves(self.code, self.type, self.side, x, y, group) for x, y in zip(values[::2], values[1::2], strict=True)
        ]
        firsts, seconds = ([pair[k] for pair in pairs] for k in (0, 1))
        return [*self._exchanged(firsts, group // 2), *self._exchanged(seconds, group // 2)]

"""`enclose`: guaranteed bounds of a function, or of its derivatives, on a box of arguments."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures.array_bounds import contract_bounds
from primad.enclosures.bounds import Bounds, intersection, middle_of, point, real
from primad.enclosures.interval_arithmetic import add, div, mul, power, sub
from primad.enclosures.interval_run import IntervalRun, Undefined, types_of
from primad.errors import EnclosureError, ShapeError
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.ir.array_types import ArrayType
from primad.ir.law_families import ROUNDING, SCALES, without
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.tracing import check_function, record, type_of
from primad.simplify import simplify
from primad.transforms.lowering import lower

HIGHEST = 4
"""The highest order of a Taylor model. Chosen: derivatives of higher orders are rarely narrow enough to help."""

INEXACT = (ROUNDING, SCALES)
"""What is left out of programs, since bounds are those of exact arithmetic."""


class IntervalArray:
    """All numbers between two, for each element of an array: an argument, or what is proven of a result.

    Attributes:
        low: the lower bounds, float64.
        high: the upper bounds, of the same shape.

    Args:
        low: lower bounds, a number or an array.
        high: upper bounds, of the same shape or one that broadcasts with it.

    Raises:
        ShapeError: if a lower bound is above the upper one, or either is not a number.

    Example:
        >>> from primad.enclosures import IntervalArray
        >>> box = IntervalArray([0.0, -1.0], 2.0)
        >>> box.width.tolist(), [1.0, 0.0] in box
        ([2.0, 3.0], True)
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any) -> None:
        ends = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64))
        self.low, self.high = [np.array(end) for end in ends]
        if not np.all(self.low <= self.high):
            raise ShapeError(
                "an interval needs low <= high for every element",
                fix="pass the smaller number first, and no NaN.",
            )

    @property
    def width(self) -> Any:
        """How far the bounds are apart."""
        return self.high - self.low

    @property
    def middle(self) -> Any:
        """A number within, near the middle."""
        return middle_of(Bounds(self.low, self.high))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of either bound."""
        shape: tuple[int, ...] = self.low.shape
        return shape

    def __contains__(self, values: Any) -> bool:
        """Say whether all values lie within."""
        return bool(np.all((self.low <= values) & (values <= self.high)))

    def __repr__(self) -> str:
        if self.low.ndim == 0:
            return f"[{self.low:.17g}, {self.high:.17g}]"
        shown = [np.array2string(end, threshold=20, precision=8) for end in (self.low, self.high)]
        return f"IntervalArray(low={shown[0]}, high={shown[1]})"


def enclose(function: Callable[..., Any], *box: Any, order: int = 0, finite: bool = False) -> Any:
    """Return guaranteed bounds of everything that a function takes on a box.

    The function is recorded, and its program computed in interval arithmetic whose every rounding goes outwards
    (Moore, Kearfott and Cloud 2009). What is proven is that of the function in exact arithmetic, with the numbers in it
    (constants, weights, the ends of the box) as they are in float64. Derivatives are functions too: the bounds of
    `primad.grad(f)`, `primad.hessian(f)` or a residual hold in the same sense.

    Where a variable stands twice, bounds are wider than the range. With `order` 1 they are those of the mean value form
    f(m) + f′(X)·(X − m) as well, with 2 to 4 those of Taylor's theorem to that order, and the intersection is returned:
    on a box of width w they are too wide by about w² where the plain ones are by w, and higher orders by less. Where
    the function, or a derivative that is used, may jump on the box, the order is lower there.

    Args:
        function: a function of arrays and pytrees of arrays. It is recorded: it may not ask for values.
        box: its arguments, with `IntervalArray` for each array that varies and numbers or arrays for what is known.
        order: the order of the Taylor model, 0 to 4; of more than 0 derivatives in all that varies are computed.
        finite: whether it is to be proven, too, that no step overflows. Then the function returns finite numbers when
            it runs in float64, at all points of the box, since the bounds of each step hold its rounded values.

    Returns:
        the function's result with an `IntervalArray` for each array: of float64, or of truth values.

    Raises:
        EnclosureError: for an op without bounds; where it is not proven that a value exists, naming the op that may be
            outside of its domain (1/x where x may be 0); for a branch or index that depends on the point; with
            `finite`, naming the op that may overflow.
        ShapeError: for an order that there is not.

    Example:
        >>> import numpy as np
        >>> from primad.enclosures import IntervalArray, enclose
        >>> enclose(lambda x: x * x - 2.0 * x, IntervalArray(0.9, 1.1))
        [-1.3900000000000008, -0.58999999999999941]
        >>> bounds = enclose(lambda x: x * x - 2.0 * x, IntervalArray(0.9, 1.1), order=2)
        >>> bool(bounds.low > -1.011), bool(bounds.high < -0.989)
        (True, True)
    """
    check_function(function)
    if order not in range(HIGHEST + 1):
        raise ShapeError(f"enclose: there is no Taylor model of order {order!r}", fix=f"take 0 to {HIGHEST}.")
    recorded = RecordedFunction(function, box)
    if finite and (narrow := recorded.narrow):
        raise EnclosureError(
            f"enclose: finite=True, and {narrow} is computed on the way",
            why="Its numbers are rounded by more than the bounds hold, so one may be 0 or too large where none is.",
            fix="compute in float64, or leave out finite: bounds of the function in exact arithmetic hold.",
        )
    found = recorded.bounds(recorded.start, order)
    if any(bounds.low.dtype.kind == "f" and np.any(np.isnan(bounds.low)) for bounds in found):
        raise undefined_error(recorded.undefined)
    if finite and recorded.overflown is not None:
        raise overflow_error(recorded.overflown)
    return recorded.result([IntervalArray(*real(bounds)) for bounds in found])


class RecordedFunction:
    """A function on boxes: its program, and those of its derivatives in what varies, recorded when they are asked for.

    Derivatives are those of its primitives: a rule of the user's own may say what is not so. Scales by which
    definitions keep steps from overflowing (norms, log Σ exp) are left out, since results do not depend on them.
    Without them squares may overflow or vanish, so bounds of the program as it is written count as well.

    Args:
        function: the function of `box`.
        box: its arguments, with an `IntervalArray` for each that varies.
        batch: how many boxes are asked about at once; None for one, without an axis for it.

    Attributes:
        start: the bounds of the arguments.
        varying: the places of those that vary.
    """

    def __init__(self, function: Callable[..., Any], box: Sequence[Any], batch: int | None = None) -> None:
        leaves, in_tree = tree.flatten(tuple(box))
        self.start = [
            Bounds(leaf.low, leaf.high) if isinstance(leaf, IntervalArray) else point(leaf) for leaf in leaves
        ]
        self.varying = [i for i, leaf in enumerate(leaves) if isinstance(leaf, IntervalArray)]
        self._batch = batch
        self._types = [_type(leaf) for leaf in leaves]
        self._function = lambda *given: function(*tree.unflatten(in_tree, given))
        self._alone = _recorded(self._function, self._types)
        self._programs: dict[int, Program] = {}
        self.undefined: Undefined | None = None
        self.overflown: Undefined | None = None

    def result(self, leaves: Sequence[Any]) -> Any:
        """Return the function's result with other leaves."""
        return tree.unflatten(self._alone.out_tree, leaves)

    @property
    def narrow(self) -> str:
        """A float dtype of fewer bits than bounds have that some step computes in; '' if none does."""
        kinds = {type.dtype for node in self._program(0).nodes for type in types_of(node) if type.dtype.kind == "f"}
        return next((str(dtype) for dtype in kinds if dtype != np.float64), "")

    @cached_property
    def _as_written(self) -> Program | None:
        """The program with its scales, as it runs in float64; None where it has none."""
        alone = _recorded(self._function, self._types, ROUNDING)
        return None if alone.key == self._alone.key else self._of_rows(alone, ROUNDING)

    def bounds(self, box: Sequence[Bounds], order: int) -> list[Bounds]:
        """Return the bounds of the results on a box; NaN where a value is not proven to exist."""
        run = IntervalRun()
        found = run.outputs(self._program(0), box)
        self.undefined, self.overflown = run.undefined, run.overflown
        if self._as_written is not None:
            written = IntervalRun()
            pairs = zip(found, written.outputs(self._as_written, box), strict=True)
            found = [intersection(*pair) if pair[0].low.dtype.kind == "f" else pair[0] for pair in pairs]
            self.undefined, self.overflown = written.undefined, written.overflown
        last = min(order, HIGHEST) if self.varying else 0
        on_box, reached, exists = found, 0, [np.asarray(True)] * len(found)
        while reached < last and run.continuous:  # what does not jump moves as its derivative says
            exists = [known & _is_defined(x, reached) for known, x in zip(exists, on_box, strict=True)]
            reached += 1
            on_box = run.outputs(self._program(reached), box)
        if not reached:
            return found
        with np.errstate(all="ignore"):
            better = [_where(*pair) for pair in zip(exists, self._taylor(box, on_box, reached), strict=True)]
        return [
            intersection(*pair) if pair[0].low.dtype.kind == "f" else pair[0]
            for pair in zip(found, better, strict=True)
        ]

    def derivatives(self, box: Sequence[Bounds]) -> list[Bounds]:
        """Return the bounds of the Jacobians in all that varies; NaN where the function may jump."""
        values = IntervalRun()
        at = values.outputs(self._program(0), box)
        exists = [_is_defined(x) & values.continuous for x in at]
        found = IntervalRun().outputs(self._program(1), box)
        return [_where(known[..., None], x) for known, x in zip(exists, found, strict=True)]

    def _taylor(self, box: Sequence[Bounds], on_box: Sequence[Bounds], order: int) -> list[Bounds]:
        """Return the bounds by Taylor's theorem around the middle of a box, from the derivatives on it."""
        middle = [point(middle_of(x)) if i in self.varying else x for i, x in enumerate(box)]
        moved = [sub(box[i], middle[i]) for i in self.varying]
        rows = () if self._batch is None else (self._batch,)
        move = Bounds(*[np.concatenate([x[end].reshape(*rows, -1) for x in moved], axis=-1) for end in (0, 1)])
        totals = IntervalRun().outputs(self._program(0), middle)
        for k in range(1, order + 1):
            values = on_box if k == order else IntervalRun().outputs(self._program(k), middle)
            terms = [_term(value, move, k) for value in values]
            totals = [add(total, term) for total, term in zip(totals, terms, strict=True)]
        return totals

    def _program(self, order: int) -> Program:
        """Return the program of the derivatives of an order in all that varies, joined to one vector."""
        if order not in self._programs:
            self._programs[order] = self._of_rows(self._derived(order) if order else self._alone)
        return self._programs[order]

    def _of_rows(self, function: Callable[..., Any], *left_out: str) -> Program:
        """Return the program of a function for all boxes that are asked about at once."""
        types = self._types
        if self._batch is not None:
            function = vmap(function, tuple([0 if i in self.varying else None for i in range(len(types))]))
            types = [
                ArrayType((self._batch, *type.shape), type.dtype) if i in self.varying else type
                for i, type in enumerate(types)
            ]
        with without(*(left_out or INEXACT)):
            return simplify(_recorded(function, types, *left_out))

    def _derived(self, order: int) -> Callable[..., Any]:
        def derived(*leaves: Any) -> Any:
            def of_vector(vector: Any) -> list[Any]:
                given, start = list(leaves), 0
                for i in self.varying:
                    size = math.prod(self._types[i].shape)
                    given[i] = pnp.reshape(vector[start : start + size], self._types[i].shape)
                    start += size
                return tree.flatten(self._alone(*given))[0]

            whole: Callable[[Any], Any] = of_vector
            for _ in range(order):
                whole = _matrices_of(whole)
            return whole(pnp.concatenate([pnp.ravel(leaves[i]) for i in self.varying]))

        return derived


def _is_defined(x: Bounds, axes: int = 0) -> Any:
    """Say where a value, or all derivatives along so many last axes, are proven to exist.

    A derivative alone proves no value: that of x/x is 0, and at 0 there is none.
    """
    known = ~np.isnan(x.low) if x.low.dtype.kind == "f" else np.ones(x.low.shape, bool)
    return np.all(known, axis=tuple(range(-axes, 0)))


def _where(known: Any, x: Bounds) -> Bounds:
    return Bounds(*[np.where(known, end, np.nan) for end in x])


def _recorded(function: Callable[..., Any], types: Sequence[ArrayType], *left_out: str) -> Program:
    with without(*(left_out or INEXACT)):
        return lower(record(function, types, tree.flatten(tuple(types))[1]))


def _matrices_of(function: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    return lambda vector: [pnp.asarray(matrix) for matrix in jacobian(function)(vector)]


def _term(derivatives: Bounds, move: Bounds, order: int) -> Bounds:
    """Return the derivatives of an order applied to a move so many times, divided by order!: powers are tight."""
    if order == 1:
        rows = string.ascii_letters[: move.low.ndim - 1]
        rest = string.ascii_letters[len(rows) : derivatives.low.ndim]
        return contract_bounds(derivatives, move, labels=f"{rows}{rest},{rows}{rest[-1]}->{rows}{rest[:-1]}")
    total: Bounds | None = None
    shape = move.low.shape[:-1] + (1,) * (derivatives.low.ndim - order - move.low.ndim + 1)
    for chosen in combinations_with_replacement(range(move.low.shape[-1]), order):
        term = Bounds(*[end[(..., *chosen)] for end in derivatives])
        for i, times in Counter(chosen).items():
            part = Bounds(*[end[..., i].reshape(shape) for end in move])
            term = div(mul(term, power(part, point(float(times)))), point(float(math.factorial(times))))
        total = term if total is None else add(total, term)
    return point(np.zeros(())) if total is None else total


def undefined_error(undefined: Undefined | None) -> EnclosureError:
    """Return the error that says which op may be outside of its domain."""
    if undefined is None:
        return EnclosureError("a value is not proven to exist: its bounds are infinite", fix="take a smaller box.")
    node, operands, line = undefined
    return EnclosureError(
        f"{node.op.name} is not proven to be defined on the whole box",
        why=f"{_shown(operands)}, as far as the bounds tell.",
        fix="take a smaller box, or divide it: primad.enclosures.range_of.",
        where=line,
    )


def overflow_error(overflown: Undefined) -> EnclosureError:
    """Return the error that says which op may overflow."""
    node, operands, line = overflown
    return EnclosureError(
        f"{node.op.name} is not proven to stay below the largest number of {node.type}",
        why=f"{_shown(operands)}, as far as the bounds tell.",
        fix="take a smaller box, or scale what grows.",
        where=line,
    )


def _shown(operands: Sequence[Bounds]) -> str:
    shown = " and ".join([f"[{np.nanmin(x.low):.6g}, {np.nanmax(x.high):.6g}]" for x in operands])
    return f"Its operand{'s lie' if len(operands) > 1 else ' lies'} in {shown}"


def _type(leaf: Any) -> ArrayType:
    return ArrayType(leaf.shape, np.dtype(np.float64)) if isinstance(leaf, IntervalArray) else type_of(leaf)

"""An eager tape: calls recorded with the values they met, and derivatives of what was recorded.

A call is an operator applied to entries (one array each). To differentiate, the calls between the outputs and the
wanted entries are recorded once as a program, whose derivative the engine derives, simplifies and plans; it reads what
the tape has already computed. The plan is kept under the structure of those calls, so that the next step of a training
loop only runs it. A gradient can itself be a call on the tape: then it is differentiated like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import PrimadError
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node, param_key
from primad.ir.program import Program
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepared_parts
from primad.simplify import simplify

Pullback = Callable[[list["TapeValue | None"]], Sequence["TapeValue | None"]]
"""A derivative of a call's own: gradients of its results to gradients of its operands; None where there is none."""


class TapeValue:
    """One value on the tape.

    Attributes:
        array: the value.
        active: whether derivatives pass through it.
        call: the call that computed it, or None for a leaf.
        index: which of the call's results it is.
        version: how often it has been overwritten in place.
        hooks: functions of its gradient, which may return another one; None where there are none.
        gradient: what backward passes have accumulated, in whatever form the API above keeps it.
        retained: the hooks after which backward passes accumulate its gradient though it is no leaf; None where they
            do not.
        owner: a weak reference to the user's handle on it, or None.
    """

    __slots__ = ("active", "array", "call", "gradient", "hooks", "index", "owner", "retained", "version")

    def __init__(self, array: Any, active: bool = False, call: TapeCall | None = None, index: int = 0) -> None:
        self.array = array
        self.active = active
        self.call = call
        self.index = index
        self.version = 0
        self.hooks: dict[int, Callable[[TapeValue], TapeValue | None]] | None = None
        self.gradient: Any = None
        self.retained: tuple[int, ...] | None = None
        self.owner: Any = None


_order = itertools.count()


class TapeCall:
    """An operator applied to entries.

    Attributes:
        operator: its `compute` takes one argument per slot (an array, a list of arrays, None), then the attributes.
            Operators compare by identity: equal structures of calls share their plans.
        pattern: for each slot None (left out), −1 (one operand), or the length of a list of operands.
        attributes: names and hashable values.
        operands: the entries, slot by slot; None once they were freed.
        versions: those of the operands when they were read.
        pullback: a derivative of its own, which runs when a gradient is taken and may look at values.
        order: later calls have greater ones.
    """

    __slots__ = ("attributes", "operands", "operator", "order", "pattern", "pullback", "versions")

    def __init__(
        self,
        operator: Any,
        pattern: tuple[int | None, ...],
        attributes: tuple[tuple[str, Any], ...],
        operands: tuple[TapeValue, ...],
        pullback: Pullback | None = None,
    ) -> None:
        self.operator = operator
        self.pattern = pattern
        self.attributes = attributes
        self.operands: tuple[TapeValue, ...] | None = operands
        self.versions = tuple([entry.version for entry in operands])
        self.pullback = pullback
        self.order = next(_order)

    def results(self, arrays: Iterable[Any]) -> tuple[Any, ...]:
        """Apply the operator to arrays in place of the operands."""
        found = _applied(self.operator, self.pattern, self.attributes, arrays)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _applied(
    operator: Any, pattern: Sequence[int | None], attributes: Iterable[tuple[str, Any]], arrays: Iterable[Any]
) -> Any:
    if pattern == (-1,) * len(pattern):
        return operator.compute(*arrays, **dict(attributes))
    values = iter(arrays)
    slots = [
        None if count is None else next(values) if count < 0 else [next(values) for _ in range(count)]
        for count in pattern
    ]
    return operator.compute(*slots, **dict(attributes))


class OperatorKey(NamedTuple):
    """What the plan of an operator depends on: its record, how operands are grouped, its attributes, their types."""

    operator: Any
    pattern: tuple[int | None, ...]
    attributes: Any
    types: tuple[tuple[tuple[int, ...], str], ...]
    kind: str = "operator"


PLANNED_SIZE = 1 << 14
"""Operators on arrays of at least so many elements may run as plans, with native kernels and threads."""


def computed(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> Any:
    """Apply an operator to arrays: with NumPy, or by a plan where the arrays are large and it does arithmetic.

    The plan is made once for each operator and types; nothing is recorded again.
    """
    if max([array.size for array in arrays], default=0) >= PLANNED_SIZE and all(type(x) is np.ndarray for x in arrays):
        types = tuple([(array.shape, array.dtype.char) for array in arrays])
        found = prepared_parts(
            OperatorKey(operator, pattern, param_key(attributes), types),
            lambda: _worthwhile(operator, pattern, attributes, arrays),
        )
        for executable in found:
            results = executable.run(arrays)
            return results if len(results) > 1 else results[0]
    with np.errstate(all="ignore"):
        return _applied(operator, pattern, attributes, arrays)


def refusal(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> PrimadError | None:
    """Return the engine's error for operands whose types do not fit, which says more than NumPy's; None if they do."""
    try:
        _recorded(operator, pattern, attributes, arrays)
    except PrimadError as error:
        return error
    except (AttributeError, IndexError, TypeError, ValueError):
        return None
    return None


def _recorded(
    operator: Any, pattern: Sequence[int | None], attributes: Iterable[tuple[str, Any]], arrays: Sequence[Any]
) -> tuple[Program, bool]:
    """Return the program of an operator on arrays of these types, and whether it gives a list of results."""
    listed = False

    def body(*operands: TracedArray) -> Sequence[Any]:
        nonlocal listed
        found = _applied(operator, pattern, attributes, operands)
        listed = isinstance(found, (tuple, list))
        return found if isinstance(found, (tuple, list)) else [found]

    program = program_of([ArrayType(array.shape, array.dtype) for array in arrays], body)
    return program, listed


def _worthwhile(
    operator: Any, pattern: tuple[int | None, ...], attributes: tuple[tuple[str, Any], ...], arrays: Sequence[Any]
) -> list[Program]:
    """Return the program of an operator where it does arithmetic; none where it does not."""
    program, listed = _recorded(operator, pattern, attributes, arrays)
    if listed and len(program.outputs) == 1:  # a list of one would be taken for its element
        return []
    program = simplify(program)
    worthwhile = any(node.op is ops.contract or node.op.kind == "elementwise" for node in _inner(program))
    return [program] if worthwhile else []


def _inner(program: Program) -> list[Node]:
    return [node for node in program.nodes if not isinstance(node.op, Leaf)]


class FreedError(Exception):
    """The calls were freed after an earlier gradient."""


class OverwrittenError(Exception):
    """A gradient reads a value that was overwritten in place; the arguments are its versions, now and when read."""


def reached(outputs: Iterable[TapeValue], closed: Collection[TapeValue] = ()) -> list[TapeCall]:
    """Return the calls that active outputs depend on, in order; the search passes no entry in `closed`.

    Raises:
        FreedError: if it meets a call that was freed.
    """
    seen: set[TapeCall] = set()
    stack = [entry.call for entry in outputs if entry.active and entry.call is not None]
    while stack:
        call = stack.pop()
        if call in seen:
            continue
        if call.operands is None:
            raise FreedError
        seen.add(call)
        for entry in call.operands:
            if entry.active and entry.call is not None and entry not in closed:
                stack.append(entry.call)
    return sorted(seen, key=lambda call: call.order)


def free(outputs: Iterable[TapeValue]) -> None:
    """Let go of everything that the outputs were computed from; no gradient passes there again."""
    for call in reached(outputs):
        call.operands = call.pullback = None

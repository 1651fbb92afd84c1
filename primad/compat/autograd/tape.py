"""What programs do with autograd's tape themselves: open it at a value, compute, and walk back from a result.

An open recording stands for a tape: its one input is the root, and a derivative is that of the program from there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from primad.compat.autograd.values import getval
from primad.errors import TracingError, no_attribute
from primad.functional.derivatives.first_order import jvp, vjp
from primad.ir.node import Node as Recorded
from primad.ir.node import Trace
from primad.ir.program import Program
from primad.recording.protocols import ATTRIBUTES
from primad.recording.traced_array import TracedArray, settled
from primad.recording.tracing import type_of
from primad.runtime.evaluation import evaluate_node

Function = Callable[..., Any]

_BOXED = (np.ndarray, np.floating, np.complexfloating, float, complex, TracedArray)
"""Types of values that a tape begins with, as in autograd: no integers, which derivatives do not concern."""


class Node:
    """A value on a tape; `VJPNode` and `JVPNode` are its kinds, and there are no others.

    Attributes:
        tape: where it is; None of a root that no box was made of yet.
        recorded: which value.
    """

    def __init__(self, tape: _Tape | None = None, recorded: Recorded | None = None) -> None:
        self.tape, self.recorded = tape, recorded

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            raise TracingError(
                f"{cls.__name__}: a kind of node of a program's own has no meaning here",
                why="Nothing is called for each operation: they are recorded, and derived together afterwards.",
                fix="primad.trace(f)(x) is the program that f records; its nodes are the operations.",
            )

    @classmethod
    def new_root(cls, *args: Any) -> Any:
        """Return a node to begin a tape with, by `new_box`."""
        root = cls()
        root.initialize_root(*args)
        return root

    def initialize_root(self, *args: Any) -> None:
        """Take what a root of its kind holds: of `VJPNode` nothing."""

    @cached_property
    def parents(self) -> list[Node]:
        """The nodes of the operands that depend on the root, as often as they stand there; none of the root itself."""
        if self.tape is None or self.recorded is None:
            return []
        return [self.tape.node(operand) for operand in self.recorded.inputs if self.tape.leads_to(operand)]

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(
            f"a {type(self).__name__}", name, dir(self), "backward_pass(g, node) walks back from a node to its root."
        )


class VJPNode(Node):
    """A value from which `backward_pass` leads back to the root of its tape."""

    @cached_property
    def pullback(self) -> Function:
        """The function from cotangents of the value to those of the root."""
        tape, program = _reached(self)
        found: Function = vjp(program, tape.value)[1]
        return found


class JVPNode(Node):
    """A value of which the tangent is asked for: `JVPNode.new_root(g)` begins a tape with a tangent.

    Attributes:
        g: the tangent.
    """

    def initialize_root(self, *args: Any) -> None:
        """Take the tangent of the root."""
        (self.g,) = args

    def __getattr__(self, name: str) -> Any:
        if name != "g" or self.tape is None:
            return super().__getattr__(name)
        tape, program = _reached(self)
        self.g = jvp(program, (tape.value,), (tape.root.g,))[1]
        return self.g


class _Tape:
    """A recording that is open, with the value of its only input.

    Args:
        value: the value.
        level: the number that the program gave the trace; results on two tapes of one level have no derivative here.
        root: the node at its beginning.
    """

    def __init__(self, value: Any, level: Any, root: Node) -> None:
        self.value, self.level, self.root = value, level, root
        self.trace = Trace(evaluate_node, True, "new_box")
        self.input = self.trace.input(type_of(value), value)
        self.trace.start([self.input])
        self.trace.noted[_Tape] = self
        root.tape, root.recorded = self, self.input
        self.nodes: dict[Recorded, Node] = {self.input: root}
        self._leads = {self.input: True}

    def program(self, recorded: Recorded) -> Program:
        """Return the program from the root to a value."""
        return Program(self.trace, [self.input], [recorded], label="new_box")

    def leads_to(self, recorded: Recorded) -> bool:
        """Say whether a value depends on the root."""
        unknown = [] if recorded in self._leads else [recorded]
        while unknown:
            node = unknown[-1]
            if before := [operand for operand in node.inputs if operand not in self._leads]:
                unknown += before
            else:
                self._leads[unknown.pop()] = any(self._leads[operand] for operand in node.inputs)
        return self._leads[recorded]

    def node(self, recorded: Recorded) -> Node:
        """Return the node of a value, of the root's kind; the same one every time."""
        return self.nodes.setdefault(recorded, type(self.root)(self, recorded))


def _reached(node: Node) -> tuple[_Tape, Program]:
    """Return the tape of a node, and the program from its root.

    Raises:
        TracingError: for a root without a box, and where a result depends on a second root of the same level, which
            autograd has on one tape.
    """
    tape, recorded = node.tape, node.recorded
    if tape is None or recorded is None:
        raise TracingError("a root of which no box was made", fix="call new_box(x, 0, root), and compute with the box.")
    program = tape.program(recorded)
    others = [captured.trace.noted.get(_Tape) for captured in program.captured]
    if any(other is not None and other.level == tape.level for other in others):
        raise TracingError(
            "a result depends on two boxes that new_box made on the same level",
            why="Each has a recording of its own, from which the result depends on one of them only.",
            fix="make one box of an array of both, or take make_vjp or grad of a function of several arguments.",
        )
    return tape, program


def new_box(value: Any, trace: Any, node: Node) -> TracedArray:
    """Begin a tape.

    Args:
        value: an array or a number.
        trace: the level; a tape that begins later is an inner one.
        node: the root, by `VJPNode.new_root()` or `JVPNode.new_root(g)`.

    Raises:
        TypeError: for values of other types.

    Example:
        >>> from primad.compat.autograd.core import VJPNode, backward_pass
        >>> from primad.compat.autograd.tracer import new_box
        >>> box = new_box(3.0, 0, VJPNode.new_root())
        >>> backward_pass(1.0, (box**2)._node)
        np.float64(6.0)
    """
    value = settled(value)
    if not isinstance(value, _BOXED):
        raise TypeError(f"Can't differentiate w.r.t. type {type(value)}: new_box takes arrays and numbers.")
    return TracedArray(_Tape(value, trace, node).input)


def backward_pass(g: Any, end_node: VJPNode) -> Any:
    """Return the cotangent of the root of a tape.

    Args:
        g: the cotangent of a value.
        end_node: the node of the value, `box._node`.
    """
    return end_node.pullback(g)[0]


class TraceStack:
    """The levels of functions that are being traced, one inside another.

    Attributes:
        top: the innermost level, −1 outside of all.
    """

    def __init__(self) -> None:
        self.top = -1

    @contextmanager
    def new_trace(self) -> Iterator[int]:
        """Return the number of a level that ends with the block."""
        self.top += 1
        try:
            yield self.top
        finally:
            self.top -= 1


trace_stack = TraceStack()
"""The levels of `trace`."""


def trace(start_node: Node, fun: Function, x: Any) -> tuple[Any, Node | None]:
    """Call a function on a tape of its own.

    Args:
        start_node: the root.
        fun: a function of an array or a number.
        x: its argument.

    Returns:
        the value and its node; None for the node, with a warning, where the value does not depend on the argument.
    """
    with trace_stack.new_trace() as level:
        start = new_box(x, level, start_node)
        end = settled(fun(start))
        if isinstance(end, TracedArray) and end.node.trace is start.node.trace:
            return value_below(end), node_of(end)
        warnings.warn("Output seems independent of input.", stacklevel=2)
        return end, None


def _tape_of(x: TracedArray) -> _Tape | None:
    found: _Tape | None = x.node.trace.noted.get(_Tape)
    return found


def node_of(x: Any) -> Node:
    """Return the node of a box, `box._node`.

    Raises:
        AttributeError: for a traced array of one of primad's derivatives, which has no tape.
    """
    x = settled(x)
    tape = _tape_of(x)
    if tape is None:
        raise AttributeError(
            "this traced array has no _node: it is on no tape. new_box(x, 0, VJPNode.new_root()) begins one; "
            "make_vjp(fun, x) is the pullback of a function."
        )
    return tape.node(x.node)


def value_below(x: Any) -> Any:
    """Return what a box holds, `box._value`: an array, or a box of the tape around where its own began with that."""
    x = settled(x)
    tape = _tape_of(x)
    if tape is None:
        return getval(x)
    program = tape.program(x.node)
    if not isinstance(tape.value, TracedArray) and not program.captured:
        return getval(x)
    found = settled(program(tape.value))
    around = _tape_of(found) if isinstance(found, TracedArray) else None
    return found if around is None or around.level != tape.level else value_below(found)


ATTRIBUTES["_value"] = value_below
ATTRIBUTES["_node"] = node_of
ATTRIBUTES["_trace"] = lambda x: settled(x).node.trace

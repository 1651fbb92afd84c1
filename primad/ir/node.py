"""Nodes and the arenas they live in.

A `Node` is (op, inputs, params, type). A `Trace` is an arena: it holds the table in which building a node that exists
returns the one that exists. A node belongs to the newest trace among its inputs; nodes of older traces are, seen from a
newer one, just captured values. That rule alone keeps nested derivatives apart: there is no trace stack and no level.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
from msgspec import Struct

from primad.errors import TracingError, user_line
from primad.ir.array_types import INFERRED, ArrayType, TupleType, array_type, in_machine_order
from primad.ir.law_families import LEFT_OUT, LOCAL

Params = tuple[tuple[str, Any], ...]


class Operation(Protocol):
    """What the IR needs to know of an op; `primitive.Primitive` is the full record."""

    @property
    def name(self) -> str:
        """Its name in program texts."""

    @property
    def inferred(self) -> Mapping[int, Any]:
        """What it was applied to, and its types then, by types of operands (see `INFERRED`)."""

    def infer(self, *types: ArrayType, **params: Any) -> Any:
        """Return the type of the result (of all results, where it has several), or raise ShapeError."""

    def rewrite(self, trace: Trace, inputs: tuple[Node, ...], params: Params) -> Node | None:
        """Return a simpler node that equals this application (a constructor law), or None."""


class Leaf:
    """The op of a node without inputs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


INPUT = Leaf("input")
LITERAL = Leaf("literal")
CAPTURED = Leaf("captured")
PACK = Leaf("pack")
"""Nodes that stand, while a program is built, for the results of an op that has several. No program contains it."""


WEAK: Params = (("weak", True),)
FLOAT64 = np.dtype(np.float64)


class Constant:
    """A captured array: a private copy that is never written to."""

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    @classmethod
    def of(cls, content: np.ndarray[Any, Any], checksum: int) -> Constant:
        """Return the copy of an array, the one of another trace where that has captured the same large array."""
        key = checksum, content.shape, content.dtype.char
        known = _SHARED.get(key) if content.nbytes >= _LARGE else None
        if known is not None and same_bits(known.array, content):
            return known
        frozen = np.array(content, order="K")
        frozen.flags.writeable = False
        found = cls(frozen)
        if content.nbytes >= _LARGE:
            _SHARED[key] = found
        return found


_SHARED: WeakValueDictionary[Any, Constant] = WeakValueDictionary()
"""Copies of large arrays that programs hold now, by their checksum and type: a function that is recorded for each call
captures the same data each time."""
_LARGE = 1 << 16
"""Bytes from which a copy is shared. Chosen: below, looking it up takes as long as copying."""


class Node(Struct, eq=False):  # which is made in half of the time
    """One value of a program: an op applied to nodes. Compared by identity; immutable by convention.

    The application of an op with several results is one node, whose type is a `TupleType`; each result that is used is
    a node of its own, a projection of it.
    """

    op: Any
    inputs: tuple[Node, ...]
    params: Params
    type: ArrayType
    trace: Trace
    index: int

    def __repr__(self) -> str:
        return f"<{self.op.name}: {self.type}>"


def is_literal(node: Node, value: float) -> bool:
    """Say whether `node` is the literal `value` (−0.0 is not 0)."""
    if node.op is not LITERAL:
        return False
    found = node.params[0][1]
    if found.__class__ is complex:
        return bool(param_key(found) == param_key(complex(value)))
    same_sign = found != 0 or struct.pack("d", float(found)) == struct.pack("d", float(value))
    return bool(found == value) and same_sign


def literal_value(node: Node) -> Any:
    """Return the Python scalar of a literal node."""
    return node.params[0][1]


def leaf_value(node: Node) -> Any:
    """Return the array of a literal or captured node, that of a literal read-only and without memory of its own."""
    if node.op is CAPTURED:
        return node.params[0][1].array
    return np.broadcast_to(np.asarray(literal_value(node), node.type.dtype), node.type.shape)


def param_key(value: Any) -> Any:
    """Return a hashable stand-in for a param that tells 0.0 from −0.0 and 1 from 1.0 from True."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if kind is bool:
        return ("bool", value)
    if kind is float:
        return ("float", struct.pack("d", value))
    if kind is complex:
        return ("complex", struct.pack("dd", value.real, value.imag))
    if kind is tuple:
        for item in value:
            if item.__class__ is not int:
                return tuple([param_key(part) for part in value])
        return value
    # A closed program stands for itself by its key alone, so that caches do not keep captured arrays alive.
    return getattr(value, "key", value)


def named(params: dict[str, Any]) -> Params:
    """Return the params of an application, in the order that nodes keep them in."""
    return (tuple(params.items()) if len(params) == 1 else tuple(sorted(params.items()))) if params else ()


def params_key(params: Params) -> Any:
    """Return a hashable stand-in for all params of an application: most of the time, they themselves."""
    for _, value in params:
        kind = value.__class__
        if kind is tuple:  # of lengths or axes, most of the time
            for item in value:
                if item.__class__ is not int:
                    break
            else:
                continue
        elif kind is int or kind is str:
            continue
        if param_key(value) is not value:
            return tuple([(name, param_key(part)) for name, part in params])
    return params


def literal_key(value: Any, type: ArrayType) -> Any:
    """Return what tells a scalar that fills an array of a type from all others: its dtype and bits."""
    dtype = type.dtype
    if dtype is not FLOAT64 or value.__class__ is not float:
        value = dtype.type(value).item()
    # The dtype tells 1 from 1.0 and True; only zeros and NaN, alone or as a part, need their bits to be told apart.
    return LITERAL, type.shape, dtype, value if value and value == value and not type.is_complex else param_key(value)


Neutral = tuple[int, Any, tuple[Node, ...], Params, Node]
"""An op that a law leaves out (see `Trace.neutral`)."""

_ages = itertools.count()


class Trace:
    """An arena of nodes: one function being recorded, or one program being built from another.

    Attributes:
        age: later traces have greater ages.
        values: values of nodes, where the inputs' values are known; filled on demand by `evaluator`.
        lines: the user's line for each node, recorded only while `recording`.
        several: whether a node of the trace has several results.
        neutral: of the ops that were asked for while `recording` and are one of their operands by a law, as x + 0 is x:
            how many nodes there were, the op, its operands and params, and which operand it is.
        noted: what the layers that record note of it while it is open, by keys of their own.
        knows_calls: whether `call` may know what a call gives without making it.
    """

    __slots__ = (
        "_captures", "_lawful", "_table", "age", "closed", "evaluator", "lines", "neutral", "noted", "origin",
        "recording", "several", "size", "values",
    )  # fmt: skip
    knows_calls = False

    def __init__(
        self, evaluator: Callable[[Node], np.ndarray[Any, Any]] | None = None, recording: bool = False, origin: str = ""
    ) -> None:
        self.age = next(_ages)
        self.closed = False
        self.values: dict[Node, Any] = {}
        self.lines: dict[Node, str] = {}
        self.evaluator = evaluator
        self.recording = recording
        self.origin = origin
        self.size = 0
        self.several = False
        self.neutral: list[Neutral] = []
        self.noted: dict[Any, Any] = {}
        self._lawful = LOCAL not in LEFT_OUT.get()
        self._table: dict[Any, Node] = {}
        self._captures: dict[int, list[Node]] = {}

    def _new(self, op: Any, inputs: tuple[Node, ...], params: Params, type: Any) -> Node:
        node = Node(op, inputs, params, type, self, self.size)
        self.size += 1
        if type.__class__ is TupleType:
            self.several = True
        if self.recording and (line := user_line(4)) is not None:  # what called what asked is no user
            self.lines[node] = line
        return node

    def start(self, inputs: Sequence[Node]) -> None:
        """Say that all inputs are there."""

    def end(self, outputs: Sequence[Node]) -> bool:
        """Say what the results are, before it is closed; return whether they are those of an earlier recording."""
        return False

    def input(self, type: ArrayType, value: Any = None, weak: bool = False) -> Node:
        """Return a fresh input. Inputs are nominal: two inputs are never the same node.

        A weak input was a Python float: it adopts the dtype of the arrays that it meets.
        """
        node = Node(INPUT, (), WEAK if weak else (), type, self, self.size)
        self.size += 1
        if value is not None:
            self.values[node] = value
        return node

    def literal(self, value: Any, type: ArrayType) -> Node:
        """Return the node of a scalar that fills an array of `type`; keyed by dtype and bits."""
        key = literal_key(value, type)
        node = self._table.get(key)
        if node is None:
            if value.__class__ is not float or type.dtype is not FLOAT64:
                value = type.dtype.type(value).item()
            node = self._table[key] = self._new(LITERAL, (), (("value", value),), type)
        return node

    def capture(self, array: Any) -> Node:
        """Return the node of an array that the program closes over, copied, so that later writes do not reach it.

        Arrays with equal types and bits give the same node, whether or not they are the same array.
        """
        constant = array if isinstance(array, Constant) else None
        content = in_machine_order(array) if constant is None else constant.array
        checksum = _checksum(content)
        alike = self._captures.setdefault(checksum, [])
        for known in alike:
            if same_bits(known.params[0][1].array, content):
                return known
        if constant is None:
            constant = Constant.of(content, checksum)
        node = self._new(CAPTURED, (), (("array", constant),), array_type(constant.array.shape, constant.array.dtype))
        self.values[node] = constant.array
        alike.append(node)
        return node

    def pack(self, parts: tuple[Node, ...]) -> Node:
        """Return a node that stands for the results of an op, given as nodes; what looks one up finds it."""
        return self._new(PACK, parts, (), TupleType(tuple([part.type for part in parts])))

    def build(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        """Return the node (op, inputs, params), simplified by the op's constructor laws; the same one every time."""
        key = (op, inputs, params_key(params) if params else ())
        node = self._table.get(key)
        if node is None:
            node = op.rewrite(self, inputs, params) if self._lawful else None
            if node is None:
                type, params = INFERRED.of(op, inputs, params, key[2])
                node = self._new(op, inputs, params, type)
            elif self.recording and node in inputs:
                self.neutral.append((self.size, op, inputs, params, node))
            self._table[key] = node
        return node

    def copy(self, node: Node, inputs: tuple[Node, ...], again: bool = False) -> Node:
        """Return a node like `node` on other inputs, without trying laws; another one than there is if `again`.

        For programs rebuilt node by node on fresh inputs: laws that did not apply to the original do not apply to it.
        """
        key = (node.op, inputs, params_key(node.params) if node.params else ())
        found = None if again else self._table.get(key)
        if found is None:
            found = self._table[key] = self._new(node.op, inputs, node.params, node.type)
        return found

    def place(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        """Return the node (op, inputs, params) as it stands: without constructor laws, to read programs back."""
        key = (op, inputs, params_key(params))
        node = self._table.get(key)
        if node is None:
            type, params = INFERRED.of(op, inputs, params, key[2])
            node = self._table[key] = self._new(op, inputs, params, type)
        return node

    def existing(self, op: Operation, inputs: tuple[Node, ...]) -> Node | None:
        """Return the node (op, inputs) without params if this trace already has it."""
        return self._table.get((op, inputs, ()))

    def call(self, record: Callable[..., Any], function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return what a function gives of arguments that are recorded here; `record` records it."""
        return record(*args, **options)

    def close(self) -> None:
        """End the trace. Its nodes stay usable as parts of a Program; building with them is an error from now on."""
        self.closed = True
        self._table = {}
        self._captures = {}
        self.values = {}
        self.lines = {}
        self.neutral = []
        self.noted = {}
        self.evaluator = None


def escaped(node: Node) -> TracingError:
    """Return the error for a traced array that is used after its trace has ended."""
    return TracingError(
        f"a traced array of type {node.type} is used after its trace ended ({node.trace.origin or 'a function'})",
        why="It was kept (in a global, a list, an attribute) by a function that a transform had recorded.",
        fix="return it from the function instead.",
    )


def _checksum(array: np.ndarray[Any, Any]) -> int:
    """Return a number that equal arrays share, of some 4000 elements spread over the array."""
    return zlib.crc32(array.flat[:: max(1, array.size // 4096)].tobytes())


def same_bits(x: np.ndarray[Any, Any], y: Any) -> bool:
    """Say whether two arrays have the same type and the same bits (so NaN equals NaN, and 0.0 is not −0.0)."""
    if x is y:
        return True
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.dtype.kind in "fc":
        integers = f"u{x.dtype.itemsize // (1 if x.dtype.kind == 'f' else 2)}"
        x, y = np.ascontiguousarray(x).view(integers), np.ascontiguousarray(y).view(integers)
    return bool((x == y).all())

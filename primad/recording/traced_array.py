"""The traced array.

A `TracedArray` stands for a node while a user's function runs. NumPy reaches it through its own protocols
(`__array_ufunc__`, `__array_function__`) and the operators (see `primad.recording.protocols`). Operations that would
lose a derivative silently raise instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np

from primad.errors import ShapeError, TracingError, no_attribute, users_frame
from primad.ir.array_types import ArrayType, array_type
from primad.ir.node import Constant, Node, Params, Trace, escaped, named
from primad.recording.attribute_names import instead_of, method_of_object
from primad.recording.foreign import holds_arrays, multiplied_by_sparse, plain, refuse_foreign, unasked
from primad.recording.object_arrays import OBJECTS, as_object, holds_traced, stacked
from primad.recording.operators import ArrayOperators
from primad.recording.protocols import (
    ATTRIBUTES,
    FUNCTIONS,
    METHODS,
    METHODS_OF,
    UFUNCS,
    call_function,
    call_named,
    call_ufunc,
    call_unnamed,
    called_as,
)
from primad.recording.refusals import Refusal, lost, unknown
from primad.recording.user_expressions import CodePlace, is_solver, place_of


@unasked
class TracedArray(ArrayOperators):
    """An array that a function is being recorded on: it has a type, and computes nothing.

    The arrays of `primad.numpy.inplace.writable` derive from it: what they hold now, `settled` says. What is written to
    becomes one (`primad.numpy.inplace.results`); so there is room for its memory, and for what it is a view of.

    Attributes:
        node: the node of the program that it stands for.
    """

    __slots__ = ("__weakref__", "_of", "_seen", "_view", "memory", "node")
    __array_priority__ = 1000
    __leaf__ = True

    def __init__(self, node: Node) -> None:
        self.node = node

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def type(self) -> ArrayType:
        """Shape and dtype together."""
        return self.node.type

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.node.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self.node.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.node.type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.node.type.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.node.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """Where it is by the Array-API standard, "cpu" as for all arrays of NumPy."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: None = None) -> TracedArray:
        """Return the array itself, which is on the one device that there is."""
        if device != "cpu" or stream is not None:
            raise TracingError(f"x.to_device({device!r}, stream={stream!r}) of a traced array", fix='there is "cpu".')
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return METHODS["__array_namespace__"](self, api_version=api_version)  # a class is asked for it, too

    @property
    def T(self) -> TracedArray:
        """The array with its axes reversed."""
        return cast("TracedArray", self._record(FUNCTIONS[np.transpose], np.transpose, (self,), {}))

    def __len__(self) -> int:
        if not self.shape:
            raise TracingError("len() of a 0-d traced array", fix="it is one number; x[None] is an array of it.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TracingError("iteration over a 0-d traced array", fix="it is one number; x[None] is an array of it.")
        return (self[i] for i in range(self.shape[0]))  # each when it is asked for: it may have been written to

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if method is None:
            own = METHODS_OF.get(self.node.op, {}).get(name)
            if own is not None:
                return partial(own, self)
            if name in ATTRIBUTES:
                return ATTRIBUTES[name](self)
            if name.startswith("__"):  # what NumPy, copy and notebooks look for
                raise AttributeError(name)
            method = None if self.shape else method_of_object(name)
        if method is None:
            if any(name in vars(cls) for cls in type(self).__mro__):  # not looked up well beside a pending exception
                return object.__getattribute__(self, name)
            raise no_attribute("a traced array", name, dir(self), instead_of(name))

        def bound(*args: Any, **kwargs: Any) -> Any:
            return self._record(partial(called_as, method, f"x.{name}"), method, (self, *args), kwargs)

        bound.__name__ = name  # by which what holds it tells methods apart: pint, the units of results
        return bound

    def __dir__(self) -> list[str]:
        own = METHODS_OF.get(self.node.op, {})
        return [*object.__dir__(self), *(name for name in METHODS if "." not in name), *own]

    def __getitem__(self, index: Any) -> Any:
        record = METHODS["__getitem__"]
        knows = self.node.trace.knows_calls
        return self._record(record, record, (self, index), {}) if knows else record(self, index)

    @property
    def mT(self) -> TracedArray:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise TracingError(f"x.mT of a traced array of type {self.type}", fix="it needs two axes at least.")
        return cast("TracedArray", self._record(METHODS["swapaxes"], METHODS["swapaxes"], (self, -1, -2), {}))

    @property
    def flat(self) -> Any:
        """All elements in a row."""
        return METHODS["flat"](self)

    @property
    def imag(self) -> Any:
        """The imaginary parts; of a real array plain zeros, to be read, as NumPy's are."""
        return METHODS["imag"](self)

    @property
    def real(self) -> TracedArray:
        """The real parts; a real array itself."""
        result: TracedArray = METHODS["real"](self)
        return result

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kind: Any
        for kind in map(type, inputs):
            if kind is not TracedArray and holds_arrays(kind, "__array_ufunc__"):
                return NotImplemented
        if method == "__call__" and not kwargs:
            record = UFUNCS.get(ufunc) or partial(call_unnamed, ufunc)
            return self._record(record, ufunc, inputs, kwargs) if self.node.trace.knows_calls else record(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        for kind in types:
            if kind is not TracedArray and holds_arrays(kind, "__array_function__"):
                return NotImplemented
        if not self.node.trace.knows_calls:
            return call_function(function, settled(args), kwargs)
        return self._record(partial(call_named, function), function, settled(args), kwargs)

    def _record(self, record: Callable[..., Any], function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        if self._has_memory or not self.node.trace.knows_calls:
            return record(*args, **options)
        return self.node.trace.call(record, function, args, options)

    # -- values --------------------------------------------------------------------------------------------------------

    def _read(self, what: str) -> np.ndarray[Any, Any]:
        """Compute the value on demand, where the inputs' values are known."""
        trace = self.node.trace
        if trace.closed:
            raise escaped(self.node)
        if trace.evaluator is None:
            raise unknown(what, self.type, trace.noted.get(CodePlace))
        return trace.evaluator(self.node)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(
                f"the truth value of a traced array of type {self.type} is ambiguous",
                fix="np.all(x > 0) and np.any(x > 0) ask for all elements; np.where(x > 0, a, b) chooses for each.",
            )
        if self.node.type.dtype.kind == "b" and is_solver(sys._getframe(1)):
            raise self._lost("the truth value")
        return bool(self._read("the truth value"))

    def __int__(self) -> int:
        if self.shape:
            raise TracingError(
                f"int(x) of a traced array of type {self.type}",
                fix="int(x[i]) is one element; x.astype(int) has all of them.",
            )
        return int(self._read("the integer value"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TracingError(
                f"a traced array of dtype {self.dtype} was used as an index, or as a count",
                fix="int(x) is the integer, where values are known; primad.numpy.take(a, i) takes elements.",
            )
        return int(self._read("the integer value"))

    def __repr__(self) -> str:
        trace = self.node.trace
        if not trace.closed and trace.evaluator is not None and self.size <= 100:
            return f"TracedArray({self.type}, value={trace.evaluator(self.node)})"
        return f"TracedArray({self.type})"

    def __float__(self) -> NoReturn:
        raise self._lost("float(x)")

    __trunc__ = __floor__ = __ceil__ = __float__

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self._read("the printed value"))[()], spec) if spec else repr(self)

    def __complex__(self) -> NoReturn:
        raise self._lost("complex(x)")

    def item(self, *args: Any) -> NoReturn:
        """Refuse: a Python number has no derivative."""
        raise self._lost("x.item()")

    def tolist(self) -> NoReturn:
        """Refuse: a Python list has no derivative."""
        raise self._lost("x.tolist()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.node.type.is_float:
            if multiplied_by_sparse(sys._getframe(1)):
                return as_object(self)
            if not self.shape and dtype in (None, OBJECTS):
                frame = users_frame()
                self.node.trace.noted[CodePlace] = None if frame is None else place_of(frame, self.type)
                return as_object(self)
            raise self._lost("np.asarray(x), np.array([x, y]), a[i] = x, or a function that converts its arguments")
        # Integers and booleans have no derivative to lose: their values may index a plain array.
        return np.array(self._read("the elements"), dtype)

    def _lost(self, what: str) -> TracingError:
        noted = self.node.trace.noted
        refusal = noted[Refusal] = lost(what, self.type, noted.get(CodePlace))
        return refusal.error()

    def __setitem__(self, index: Any, value: Any) -> None:
        METHODS["__setitem__"](self, index, value)

    def __copy__(self) -> TracedArray:
        return TracedArray(self.node)

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return TracedArray(self.node)

    def __reduce__(self) -> NoReturn:
        raise TracingError(
            "a traced array cannot be pickled",
            why="It stands for a value inside the function that is being recorded.",
            fix="return it from the function; primad.value(x) is a plain array.",
        )


def bind(primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply a primitive: in the newest trace among the operands, or with NumPy where nothing is traced."""
    if len(operands) == 1 and type(operands[0]) is TracedArray:
        only = operands[0].node
        if only.trace.closed:
            raise escaped(only)
        return TracedArray(only.trace.build(primitive, (only,), named(params)))
    trace: Trace | None = None
    first: Node | None = None
    inputs: list[Any] = []
    foreign = False
    for operand in operands:
        if type(operand) is TracedArray:
            node = operand.node
            inputs.append(node)
            owner = node.trace
            if owner is not trace:
                if owner.closed:
                    raise escaped(node)
                first = first or node
                if trace is None or owner.age > trace.age:
                    trace = owner
        else:
            inputs.append(operand)
            foreign = True
    if trace is None or first is None:
        if any(isinstance(operand, TracedArray) for operand in operands):  # with a mutable face
            return bind(primitive, settled(operands), params)
        return primitive.numpy(*operands, **params)
    if foreign:
        like = first.type
        for i, value in enumerate(inputs):
            kind = value.__class__
            if kind is float or kind is int or kind is bool or (kind is complex and like.is_complex):
                inputs[i] = trace.literal(value, like)
            elif type(operands[i]) is not TracedArray:
                inputs[i] = lift(value, trace)
    return TracedArray(trace.build(primitive, tuple(inputs), named(params)))


def bind_each(x: TracedArray, steps: Sequence[tuple[Any, Params]]) -> TracedArray:
    """Apply primitives of one operand, each to the result of the one before."""
    node = x.node
    for primitive, params in steps:
        if node.trace.closed:
            raise escaped(node)
        node = node.trace.build(primitive, (node,), params)
    return TracedArray(node)


def lift(value: Any, trace: Trace) -> Node:
    """Return the node of an operand: of a traced array, a captured array, or a scalar (a literal)."""
    if type(value) is TracedArray:
        if value.node.trace.closed:
            raise escaped(value.node)
        return value.node
    if isinstance(value, Constant):
        return trace.capture(value)
    if not isinstance(value, np.ndarray):
        if isinstance(value, (bool, int, float, complex, np.generic)):
            array = np.asarray(value)
            return trace.literal(array.item(), array_type((), array.dtype))
        if isinstance(value, TracedArray):  # with a mutable face
            return lift(settled(value), trace)
        value = plain(value)
    elif type(value) is not np.ndarray:
        refuse_foreign(value)
    if holds_traced(value):
        return lift(stacked(value), trace)
    array_type(value.shape, value.dtype)
    if value.dtype.kind == "f" and 0 in value.strides and value.size > 1:
        return _broadcast(value, trace)
    return trace.capture(value)


def _broadcast(value: np.ndarray[Any, Any], trace: Trace) -> Node:
    """Capture what `np.broadcast_to` (one direction for all points, say) was given, and record the broadcast."""
    small = value[tuple([slice(1) if stride == 0 else slice(None) for stride in value.strides])]
    return cast("Node", FUNCTIONS[np.broadcast_to](TracedArray(trace.capture(small)), value.shape).node)


_SETTLED = frozenset([TracedArray, float, int, bool, str, slice, type(None), np.float64])
"""Classes of what has no mutable face and holds nothing."""


def settled(value: Any) -> Any:
    """Return what an array with a mutable face holds now, a traced or a plain array; in lists and tuples too.

    An array of objects with traced numbers is the traced array that it stands for.
    """
    kind = type(value)
    if kind is TracedArray:
        return value
    if kind is list or kind is tuple:
        return value if _SETTLED.issuperset(map(type, value)) else kind([settled(item) for item in value])
    if kind is np.ndarray:
        return stacked(value) if value.dtype is OBJECTS else value
    return value.__settled__() if isinstance(value, TracedArray) else value


def is_traced(*values: Any) -> bool:
    """Say whether any value is a traced array."""
    return any(type(value) is TracedArray or holds_traced(value) for value in values)

"""NumPy's semantics in front of strict primitives: promotion (NEP 50), broadcasting, axes.

Also the registration that makes plain `np.sin(x)` on a traced array find its implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

from primad import ops
from primad.errors import ShapeError, TracingError
from primad.ir.array_types import array_type, check_dtype, is_float
from primad.ir.node import INPUT, Node
from primad.numpy.axis_arguments import broadcast_shape, expansion
from primad.numpy.inplace.seen import as_numpys
from primad.recording.foreign import plain
from primad.recording.object_arrays import OBJECTS, holds_traced, stacked
from primad.recording.protocols import FUNCTIONS, METHODS, UFUNCS, called, called_as
from primad.recording.traced_array import TracedArray, bind_each, lift, settled
from primad.system.deferred import Deferred

F = TypeVar("F", bound=Callable[..., Any])
_UFUNC_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")


def any_traced(values: Sequence[Any]) -> bool:
    """Say whether a value, or an item of a list or tuple, is traced."""
    for value in values:
        kind = type(value)
        if (
            kind is TracedArray
            or ((kind is list or kind is tuple) and any_traced(value))
            or (kind is np.ndarray and value.dtype is OBJECTS and holds_traced(value))
        ):
            return True
    return False


def joined(value: Any) -> Any:
    """Return a list, tuple or array of objects with traced values in it as one array; anything else as it is."""
    kind = type(value)
    if kind is TracedArray:
        return value
    if kind is np.ndarray:
        return stacked(value) if value.dtype is OBJECTS else value
    if not isinstance(value, (list, tuple)):
        return value
    if not any_traced(value):
        return value
    return FUNCTIONS[np.stack]([joined(item) for item in value])


def as_ufunc(function: F, doc: str, *ufuncs: np.ufunc) -> F:
    """Register a function that was made for ufuncs, under the name of the first; `doc` follows the name."""
    name = ufuncs[0].__name__
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"np.{name}: {doc}"
    return implements(*ufuncs, ufunc=True)(function)


def implements(
    *originals: Any, method: str | None = None, ufunc: bool = False, of_arrays: bool = False
) -> Callable[[F], F]:
    """Register an implementation for traced arrays; on plain arrays the function is NumPy's own.

    Args:
        originals: the NumPy or SciPy functions; the first one computes on plain arrays.
        method: name of the traced array's method, if there is one.
        ufunc: whether the originals are ufuncs.
        of_arrays: whether the first argument is a sequence of arrays; elsewhere a list there is an array, as in NumPy.
    """

    def decorate(function: F) -> F:
        if ufunc and isinstance(originals[0], Deferred):
            function = _in_loop(originals[0], function)
        if not ufunc:
            function = cast(F, as_numpys(originals[0], function))
        table = UFUNCS if ufunc else FUNCTIONS
        for original in originals:
            table[original] = function
        if method is not None:
            METHODS[method] = function
        plain = originals[0]
        if isinstance(plain, Deferred) and not ufunc:  # no protocol of NumPy's reaches it
            plain = _reached(plain, function)

        @wraps(function)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            if any_traced(args) or (kwargs and any_traced(list(kwargs.values()))):
                if kwargs and isinstance(kwargs.get("out"), TracedArray):
                    return plain(*args, **kwargs)  # by NumPy's protocols to what `out` does
                if ufunc:
                    if any(getattr(arg, "__array_priority__", 0) > TracedArray.__array_priority__ for arg in args):
                        return plain(*args, **kwargs)  # NumPy asks what knows better first
                    args = tuple([joined(arg) for arg in args])
                    if kwargs and not kwargs.keys().isdisjoint(("dtype", "casting")):
                        return plain(*args, **kwargs)  # by NumPy's protocol, which knows of loops
                elif args and not of_arrays:
                    args = (joined(args[0]), *args[1:])
                args = settled(args)
                if args and type(args[0]) is TracedArray and args[0].node.trace.knows_calls:
                    record = partial(called_as, function, function.__name__)
                    return args[0].node.trace.call(record, function, args, kwargs)
                return called(function, function.__name__, args, kwargs)
            return plain(*args, **kwargs)

        for name in _UFUNC_METHODS if isinstance(plain, np.ufunc) else ():
            setattr(dispatch, name, _of_lists(getattr(plain, name)))
        return cast(F, dispatch)

    return decorate


def _in_loop(ufunc: Deferred, function: F) -> F:
    """Return a function that computes in the dtype of SciPy's loop where operands are no floats of 32 or 64 bits.

    SciPy has no loops of half precision, of integers and of booleans.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = [arg for arg in args if isinstance(arg, TracedArray)]
        if any(arg.dtype.kind in "biu" or arg.dtype == np.float16 for arg in traced):
            dtypes = loop_dtypes(ufunc, *args)
            args = tuple(
                [
                    convert(arg, dtype) if isinstance(arg, TracedArray) and dtype.kind == "f" else arg
                    for arg, dtype in zip(args, dtypes, strict=True)
                ]
            )
        return function(*args, **kwargs)

    return cast(F, call)


def _of_lists(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a ufunc that takes lists of traced values."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*[joined(arg) for arg in args], **kwargs)

    return call


def _reached(plain: Callable[..., Any], recorded: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of plain arrays that takes arrays with a mutable face too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        args = settled(args)
        if any_traced(args):
            return called(recorded, recorded.__name__, args, kwargs)
        return plain(*args, **kwargs)

    return call


def as_traced(value: Any, like: TracedArray) -> TracedArray:
    """Return a traced array for a value that meets the traced array `like`."""
    value = joined(value)
    if type(value) is TracedArray:
        return value
    return TracedArray(lift(value, like.node.trace))


def first_traced(values: Sequence[Any]) -> TracedArray:
    """Return the traced array of the newest trace among the values."""
    found: TracedArray | None = None
    for value in values:
        if isinstance(value, (list, tuple)) and any_traced(value):
            value = first_traced(value)
        elif holds_traced(value):
            value = first_traced(value.ravel().tolist())
        if type(value) is TracedArray and (found is None or value.node.trace.age > found.node.trace.age):
            found = value
    if found is None:
        raise TracingError("this function needs a traced array", fix="call NumPy's function for plain arrays.")
    return found


def traced_operands(*values: Any) -> list[TracedArray]:
    """Return traced arrays for operands, at least one of which is, or holds, one; others are arrays as NumPy's."""
    values = tuple([joined(value) for value in values])
    like = first_traced(values)
    return [as_traced(value if isinstance(value, TracedArray) else plain(value), like) for value in values]


def _promotes_as(value: Any) -> Any:
    """Return what NumPy's promotion sees: a dtype, or a Python scalar, which adopts the other's dtype."""
    value = joined(value)
    if isinstance(value, TracedArray):
        if type(value) is not TracedArray:
            return value.dtype
        node = value.node
        if node.op is INPUT and node.params:
            return 1j if node.type.is_complex else 1.0 if node.type.is_float else 1
        return node.type.dtype
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return value
    return check_dtype(plain(value).dtype)


def result_dtype(*values: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to an operation on the values."""
    return check_dtype(np.result_type(*[_promotes_as(value) for value in values]))


def loop_dtypes(ufunc: Any, *values: Any, dtype: Any = None, casting: Any = "same_kind") -> tuple[np.dtype[Any], ...]:
    """Return the dtypes to which a NumPy ufunc converts such operands.

    Args:
        ufunc: the ufunc.
        values: its operands.
        dtype: the dtype that its results are to have; None for the one that follows from the operands.
        casting: which conversions are allowed.

    Raises:
        TracingError: if it does not take them.
    """
    given: list[Any] = []
    for value in values:
        promoted = _promotes_as(value)
        if isinstance(promoted, bool):
            given.append(np.dtype(np.bool_))
        else:
            given.append(promoted if isinstance(promoted, np.dtype) else type(promoted))
    try:
        results = [None if dtype is None else np.dtype(dtype)] * ufunc.nout
        asked = {} if dtype is None else {"signature": (*[None] * ufunc.nin, *results)}
        found = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), casting=casting, **asked)
        return cast(tuple[np.dtype[Any], ...], found[: len(given)])
    except (TypeError, ValueError):
        names = " and ".join(getattr(kind, "name", None) or kind.__name__ for kind in given)
        said = "" if dtype is None else f" for results of dtype {getattr(dtype, '__name__', dtype)}"
        said += "" if casting == "same_kind" else f" with casting={casting!r}"
        raise TracingError(
            f"np.{ufunc.__name__} does not take operands of dtype {names}{said}", fix="convert them with .astype."
        ) from None


def _converted(ufunc: Any, inputs: Sequence[Any], dtype: Any = None, casting: Any = "same_kind") -> list[Any]:
    """Return a ufunc's operands in the dtypes in which its `dtype=` and `casting=` let it compute."""
    dtypes = loop_dtypes(ufunc, *inputs, dtype=dtype, casting=casting)
    return [
        convert(x, each) if isinstance(x, TracedArray) else np.asarray(x).astype(each)
        for x, each in zip(inputs, dtypes, strict=True)
    ]


METHODS["__array_ufunc__"] = _converted


def loop_dtype(ufunc: Any, *values: Any) -> np.dtype[Any]:
    """Return the dtype that a NumPy ufunc computes in on such operands.

    Raises:
        TracingError: if it does not take them.
    """
    found = loop_dtypes(ufunc, *values)
    return found[0] if all(dtype == found[0] for dtype in found) else result_dtype(*values)


def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which NumPy sums and multiplies elements: booleans and short integers get 64 bits."""
    if dtype.kind == "u":
        return np.dtype(np.uint64)
    return np.dtype(np.int64) if dtype.kind in "bi" else dtype


def convert(x: TracedArray, dtype: Any) -> TracedArray:
    """Convert to a dtype: cast to floats and complex numbers, truncate to integers and booleans.

    Raises:
        TracingError: if imaginary parts would be dropped.
    """
    own = x.dtype
    if own is dtype:
        return x
    dtype = check_dtype(dtype)
    if own == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise TracingError(
            f"a conversion from {x.dtype} to {dtype}",
            why="It would drop the imaginary parts, of which NumPy warns.",
            fix="take the part that is meant: x.real, x.imag or abs(x).",
        )
    if is_float(dtype):
        return cast(TracedArray, ops.cast(x, dtype=str(dtype)))
    if dtype.kind == "b":
        return cast(TracedArray, ~ops.equal(x, 0))
    return cast(TracedArray, ops.truncate(x, dtype=str(dtype)))


def expand(x: TracedArray, shape: tuple[int, ...]) -> TracedArray:
    """Broadcast to a shape by NumPy's rule.

    Raises:
        ShapeError: if it does not broadcast.
    """
    own = x.shape
    return x if own == shape else bind_each(x, expansion(own, shape))


def of_one_shape(x: TracedArray, y: TracedArray) -> tuple[Node, Node] | None:
    """Return two arrays broadcast to each other; None if lengths do not fit."""
    shape = broadcast_shape(x.shape, y.shape)
    return None if shape is None else (expand(x, shape).node, expand(y, shape).node)


def common_shape(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the broadcast shape, or raise ShapeError naming the function."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"{name}: shapes {' and '.join(map(str, shapes))} do not broadcast together",
            why="Aligned from the right, lengths must agree or be 1.",
            fix="add axes of length 1 where they are to be repeated, as x[:, None].",
        ) from None


def harmonize(name: str, *values: Any, dtype: Any = None, floats: bool = False) -> list[TracedArray]:
    """Promote and broadcast operands as NumPy would.

    Args:
        name: the function, for messages.
        values: traced arrays, arrays and scalars, one at least traced.
        dtype: the dtype to use, or None for NumPy's.
        floats: whether integers and booleans become floats.
    """
    if dtype is None and len(values) == 2:
        quick = _with_number(*values)
        if quick is not None:
            return quick
    values = tuple([joined(value) for value in values])
    if dtype is None:
        dtype = result_dtype(*values)
        if floats and not is_float(dtype):
            dtype = np.dtype(np.float64)
    like = first_traced(values)
    trace = like.node.trace
    shape = common_shape(name, [value.shape if isinstance(value, TracedArray) else np.shape(value) for value in values])
    result = []
    for value in values:
        if type(value) is not TracedArray:
            if not isinstance(value, TracedArray) and np.ndim(value) == 0:
                exact = type(value) is int and dtype.kind in "iu"  # out of range: an OverflowError, as in NumPy
                scalar = np.array(value, dtype) if exact else np.asarray(value).astype(dtype)
                result.append(TracedArray(trace.literal(scalar.item(), array_type(shape, dtype))))
                continue
            value = as_traced(value, like)
        result.append(expand(convert(value, dtype), shape))
    return result


def _with_number(x: Any, y: Any) -> list[TracedArray] | None:
    """Return an array of real floats and a Python number, which adopts its type; None for other operands."""
    array, number = (x, y) if type(x) is TracedArray else (y, x)
    if type(array) is not TracedArray or (number.__class__ is not float and number.__class__ is not int):
        return None
    node = array.node
    if node.type.dtype.kind != "f":
        return None
    other = TracedArray(node.trace.literal(number, node.type))
    return [x, other] if array is x else [other, y]


def check_layout(name: str, order: Any = "K", device: Any = None) -> None:
    """Raise if NumPy has no such order or device for an array that is made; those it has say nothing about values."""
    if order is not None and str(order).upper() not in ("C", "F", "A", "K"):
        raise ShapeError(f"{name}: order must be 'C', 'F', 'A' or 'K', got {order!r}", fix="leave it out.")
    if device not in (None, "cpu"):
        raise ShapeError(f"{name}: the device must be 'cpu', got {device!r}", fix="leave it out.")


def as_float(x: TracedArray) -> TracedArray:
    """Promote integers and booleans to float64; floats and complex numbers stay."""
    return x if is_float(x.dtype) else convert(x, np.float64)


def refuse_out(name: str, out: Any) -> None:
    """Raise if a function was asked to write into an array."""
    if out is not None:
        raise TracingError(f"{name} with out= would lose the derivative", fix="assign its result.")

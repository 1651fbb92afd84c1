"""The traced array, and recording a function as a Program.

A `TracedArray` stands for a node while a user's function runs. NumPy reaches it through its own protocols
(`__array_ufunc__`, `__array_function__`) and the operators; three tables, filled by `primad.numpy`, say what each NumPy
name records. Operations that would lose a derivative silently raise instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from primad import tree
from primad.deferred import special
from primad.errors import PrimadError, TracingError, no_attribute
from primad.ir.node import Constant, Node, Trace
from primad.ir.program import Program
from primad.refusals import explained, lost
from primad.types import ArrayType

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""What a NumPy or SciPy ufunc records."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What a NumPy function records."""
METHODS: dict[str, Callable[..., Any]] = {}
"""What a method or an indexing of a traced array records."""


_HARMLESS: dict[str, Any] = {
    "where": (True,),
    "dtype": (None,),
    "casting": ("same_kind",),
    "order": ("K", "C", "A"),
    "subok": (True, False),
    "signature": (None,),
    "sig": (None,),
}
"""Values of a ufunc's keywords that say nothing about values: traced arrays have no memory layout and no subclasses."""


def called(recorded: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call what a NumPy function records; arguments that it has no parameters for are refused, never dropped."""
    try:
        return recorded(*args, **kwargs)
    except TypeError as error:
        try:
            inspect.signature(recorded).bind(*args, **kwargs)
        except TypeError as unfit:
            raise TracingError(
                f"{name} on a traced array: {unfit}",
                why="Some of NumPy's options are not supported there.",
                fix="write what it does with other functions; primad.numpy's docstrings say what they take.",
            ) from None
        raise error


def _recorded_by(table: dict[Any, Callable[..., Any]], function: Any) -> Callable[..., Any] | None:
    """Return what a NumPy or SciPy function records; SciPy's stand in the tables under deferred names."""
    found = table.get(function)
    return found if found is not None else table.get(special.deferred(function))


_EQUALITIES = (np.equal, np.not_equal)


def _operator(ufunc: np.ufunc, reflected: bool = False) -> Any:
    def apply(self: TracedArray, other: Any) -> Any:
        if type(other) is not TracedArray and not isinstance(other, _OPERANDS):
            # Nothing is equal to None or a text, element by element, as in NumPy.
            return np.full(self.shape, ufunc is np.not_equal)[()] if ufunc in _EQUALITIES else NotImplemented
        return UFUNCS[ufunc](other, self) if reflected else UFUNCS[ufunc](self, other)

    return apply


_power_of = _operator(np.power)


def _power(self: TracedArray, exponent: Any) -> Any:
    """Return a power; NumPy's operator, unlike its function, takes the square of booleans for one."""
    if exponent.__class__ is int and exponent == 2 and self.dtype.kind == "b":
        return UFUNCS[np.square](self)
    return _power_of(self, exponent)


class TracedArray:
    """An array that a function is being recorded on: it has a type, and computes nothing.

    Attributes:
        node: the node of the program that it stands for.
    """

    __slots__ = ("node",)
    __array_priority__ = 1000

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
    def T(self) -> TracedArray:
        """The array with its axes reversed."""
        result: TracedArray = METHODS["transpose"](self)
        return result

    def __len__(self) -> int:
        if not self.shape:
            raise TracingError("len() of a 0-d traced array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TracingError("iteration over a 0-d traced array")
        return iter([self[i] for i in range(self.shape[0])])

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if method is None:
            if name.startswith("__"):  # what NumPy, copy and notebooks look for
                raise AttributeError(name)
            raise no_attribute("a traced array", name, dir(self), _instead_of(name))

        def bound(*args: Any, **kwargs: Any) -> Any:
            return called(method, f"x.{name}", (self, *args), kwargs)

        return bound

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *METHODS]

    def __getitem__(self, index: Any) -> Any:
        return METHODS["__getitem__"](self, index)

    @property
    def real(self) -> TracedArray:
        """The array itself: traced arrays are real."""
        return self

    def conj(self) -> TracedArray:
        """Return the array itself: traced arrays are real."""
        return self

    conjugate = conj

    # -- operators -----------------------------------------------------------------------------------------------------

    __add__, __radd__ = _operator(np.add), _operator(np.add, True)
    __sub__, __rsub__ = _operator(np.subtract), _operator(np.subtract, True)
    __mul__, __rmul__ = _operator(np.multiply), _operator(np.multiply, True)
    __truediv__, __rtruediv__ = _operator(np.true_divide), _operator(np.true_divide, True)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide), _operator(np.floor_divide, True)
    __mod__, __rmod__ = _operator(np.remainder), _operator(np.remainder, True)
    __pow__, __rpow__ = _power, _operator(np.power, True)
    __matmul__, __rmatmul__ = _operator(np.matmul), _operator(np.matmul, True)
    __and__, __rand__ = _operator(np.bitwise_and), _operator(np.bitwise_and, True)
    __or__, __ror__ = _operator(np.bitwise_or), _operator(np.bitwise_or, True)
    __xor__, __rxor__ = _operator(np.bitwise_xor), _operator(np.bitwise_xor, True)
    __lt__, __le__ = _operator(np.less), _operator(np.less_equal)
    __gt__, __ge__ = _operator(np.greater), _operator(np.greater_equal)
    __eq__, __ne__ = _operator(np.equal), _operator(np.not_equal)
    __hash__ = None  # type: ignore[assignment]

    __lshift__, __rlshift__ = _operator(np.left_shift), _operator(np.left_shift, True)
    __rshift__, __rrshift__ = _operator(np.right_shift), _operator(np.right_shift, True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int = 0) -> Any:
        scale = 10**digits
        raise TracingError(
            f"round(x, {digits}) of a traced array" if digits else "round(x) of a traced array",
            fix=f"np.floor(x * {scale} + 0.5) / {scale} rounds; its derivative is 0." if digits else
            "np.floor(x + 0.5) rounds; its derivative is 0.",
        )  # fmt: skip

    def __neg__(self) -> Any:
        return UFUNCS[np.negative](self)

    def __pos__(self) -> Any:
        return UFUNCS[np.positive](self)

    def __abs__(self) -> Any:
        return UFUNCS[np.absolute](self)

    def __invert__(self) -> Any:
        return UFUNCS[np.invert](self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        recorded: Callable[..., Any] | None
        if method == "__call__" and not kwargs:
            recorded = UFUNCS.get(ufunc)
            if recorded is not None:
                return recorded(*inputs)
        name = ufunc.__name__
        if "out" in kwargs:
            raise TracingError(
                f"np.{name} was asked to write a traced array into an existing array",
                why="An in-place write (`a += x`, out=) into a NumPy array would lose the derivative.",
                fix="write `a = a + x`; primad.numpy.set_at and add_at update parts of an array.",
            )
        if kwargs.get("where", True) is not True:
            raise TracingError(
                f"np.{name} with where= is not supported on traced arrays", fix="use primad.numpy.where."
            )
        if kwargs.get("dtype") is not None or kwargs.get("casting", "same_kind") != "same_kind":
            raise TracingError(
                f"np.{name} with dtype= or casting= is not supported on traced arrays", fix="use .astype."
            )
        kwargs = {key: value for key, value in kwargs.items() if value not in _HARMLESS.get(key, ())}
        if method != "__call__":
            recorded = METHODS.get(f"{name}.{method}")
            if recorded is None:
                raise TracingError(f"np.{name}.{method} is not supported on traced arrays")
            return called(recorded, f"np.{name}.{method}", inputs, kwargs)
        recorded = _recorded_by(UFUNCS, ufunc)
        if recorded is None:
            raise TracingError(
                f"the ufunc {name} has no primitive, so it cannot be traced",
                fix="build it from supported functions, or make it a primitive with primad.elementwise.",
            )
        return called(recorded, f"np.{name}", inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        recorded = _recorded_by(FUNCTIONS, function)
        if recorded is None:
            module = str(getattr(function, "__module__", "numpy")).replace("numpy", "np", 1)
            name = f"{module}.{getattr(function, '__name__', function)}"
            raise TracingError(
                f"{name} has no implementation for traced arrays",
                why="primad can differentiate only what it records; docs/limitations.md lists what is missing.",
                fix="write it with functions that dir(primad.numpy) lists, or have it called as it is: primad.opaque, "
                "with a rule by primad.custom_jvp (docs/adding_a_primitive.md).",
            )
        if kwargs.get("out") is not None:
            raise TracingError(f"np.{function.__name__} with out= would lose the derivative", fix="assign its result.")
        # What NumPy's own wrappers pass on for an option that was not given, as it was for out=None, says nothing.
        kwargs = {key: value for key, value in kwargs.items() if key != "out" and value is not np._NoValue}
        return called(recorded, f"np.{function.__name__}", args, kwargs)

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, what: str) -> np.ndarray[Any, Any]:
        """Compute the value on demand, where the inputs' values are known."""
        trace = self.node.trace
        if trace.closed:
            raise escaped(self.node)
        if trace.evaluator is None:
            raise TracingError(
                f"{what} of a traced array was requested (type {self.type})",
                why="While primad records a function for jit, vmap or trace, arrays have a type but no value, so "
                "Python cannot branch on them.",
                fix="use primad.numpy.where to choose, primad.numpy.take to index a plain array with a traced one, "
                "or make the argument static by closing over it.",
            )
        return trace.evaluator(self.node)

    def __bool__(self) -> bool:
        return bool(self._value("the truth value"))

    def __int__(self) -> int:
        return int(self._value("the integer value"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TracingError(f"a traced array of dtype {self.dtype} was used as an index")
        return int(self._value("the integer value"))

    def __repr__(self) -> str:
        trace = self.node.trace
        if not trace.closed and trace.evaluator is not None and self.size <= 100:
            return f"TracedArray({self.type}, value={trace.evaluator(self.node)})"
        return f"TracedArray({self.type})"

    def __float__(self) -> NoReturn:
        raise self._lost("float(x)")

    __trunc__ = __floor__ = __ceil__ = __float__

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self._value("the printed value"))[()], spec) if spec else repr(self)

    def __complex__(self) -> NoReturn:
        raise self._lost("complex(x)")

    def item(self, *args: Any) -> NoReturn:
        """Refuse: a Python number has no derivative."""
        raise self._lost("x.item()")

    def tolist(self) -> NoReturn:
        """Refuse: a Python list has no derivative."""
        raise self._lost("x.tolist()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.dtype.kind == "f":
            raise self._lost("np.asarray(x), np.array([x, y]), a[i] = x, or a function that converts its arguments")
        # Integers and booleans have no derivative to lose: their values may index a plain array.
        return np.array(self._value("the elements"), dtype)

    def _lost(self, what: str) -> TracingError:
        refusal = self.node.trace.refusal = lost(what, self.type)
        return refusal.error()

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TracingError(
            "a traced array was written to in place (x[i] = …)",
            why="Recorded values are immutable.",
            fix="x = primad.numpy.set_at(x, i, value), or add_at; both work on plain arrays too.",
        )

    def __copy__(self) -> TracedArray:
        return self  # recorded values are immutable

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return self

    def __reduce__(self) -> NoReturn:
        raise TracingError(
            "a traced array cannot be pickled",
            why="It stands for a value inside the function that is being recorded.",
            fix="return it from the function; primad.value(x) is a plain array.",
        )


_OPERANDS = (TracedArray, np.ndarray, np.generic, int, float, complex, list, tuple)


def _instead_of(name: str) -> str:
    """Say what to write for an array's attribute that traced arrays do not have; "" for other names."""
    if not hasattr(np.ndarray, name):
        return ""
    function = getattr(np, name, None)
    if function in FUNCTIONS or function in UFUNCS:
        return f"write np.{name}(x)."
    if name == "round":
        return "np.floor(x + 0.5) rounds; its derivative is 0."
    return (
        f"primad.value(x).{name} is that of the plain array, without a derivative; dir(x) lists what traced ones have."
    )


def escaped(node: Node) -> TracingError:
    """Return the error for a traced array that is used after its trace has ended."""
    return TracingError(
        f"a traced array of type {node.type} is used after its trace ended ({node.trace.origin or 'a function'})",
        why="It was kept (in a global, a list, an attribute) by a function that a transform had recorded.",
        fix="return it from the function instead.",
    )


def bind(primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply a primitive: in the newest trace among the operands, or with NumPy where nothing is traced."""
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
        return primitive.numpy(*operands, **params)
    if foreign:
        like = first.type
        for i, value in enumerate(inputs):
            kind = value.__class__
            if kind is float or kind is int or kind is bool:
                inputs[i] = trace.literal(value, like)
            elif type(operands[i]) is not TracedArray:
                inputs[i] = lift(value, trace)
    named = tuple(sorted(params.items())) if params else ()
    return TracedArray(trace.build(primitive, tuple(inputs), named))


def lift(value: Any, trace: Trace) -> Node:
    """Return the node of an operand: of a traced array, a captured array, or a scalar (a literal)."""
    if type(value) is TracedArray:
        if value.node.trace.closed:
            raise escaped(value.node)
        return value.node
    if isinstance(value, Constant):
        return trace.capture(value)
    if not isinstance(value, np.ndarray):
        if isinstance(value, (bool, int, float, np.generic)):
            array = np.asarray(value)
            return trace.literal(array.item(), ArrayType((), array.dtype))
        value = np.asarray(value)
    ArrayType(value.shape, value.dtype)
    if value.dtype.kind == "f" and 0 in value.strides and value.size > 1:
        return _broadcast(value, trace)
    return trace.capture(value)


def _broadcast(value: np.ndarray[Any, Any], trace: Trace) -> Node:
    """Capture what `np.broadcast_to` (one direction for all points, say) was given, and record the broadcast."""
    small = value[tuple([slice(1) if stride == 0 else slice(None) for stride in value.strides])]
    node: Node = FUNCTIONS[np.broadcast_to](TracedArray(trace.capture(small)), value.shape).node
    return node


def is_traced(*values: Any) -> bool:
    """Say whether any value is a traced array."""
    return any(type(value) is TracedArray for value in values)


def type_of(value: Any) -> ArrayType:
    """Return the array type of an array, a number, a traced array or an ArrayType.

    Raises:
        TracingError: for anything else, and for dtypes that are not supported.
    """
    if isinstance(value, ArrayType):
        return value
    if isinstance(value, TracedArray):
        return value.type
    if type(value) is np.ndarray:
        return ArrayType(value.shape, value.dtype)
    # Only where it can be one: the first look at np.ma imports it, which takes as long as recording a program.
    if isinstance(value, np.ndarray) and isinstance(value, (np.ma.MaskedArray, np.matrix)):
        raise TracingError(
            f"an argument of type {type(value).__name__} cannot be traced",
            why="Its operators mean something else than an array's.",
            fix="pass a plain array: np.asarray(x), or x.filled(…) for a masked array.",
        )
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float)) and not hasattr(value, "__array__"):
        raise TracingError(
            f"an argument of type {type(value).__name__} cannot be traced",
            fix="pass arrays, numbers, or trees of them.",
        )
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise TracingError(
            f"the integer {value} does not fit into 64 bits with a sign",
            why="A Python integer is an int64, which adopts the dtype of the arrays that it meets.",
            fix="pass np.uint64(…), or a float.",
        )
    array = np.asarray(value)
    return ArrayType(array.shape, array.dtype)


def is_weak(value: Any) -> bool:
    """Say whether a value is a Python number, which adopts the dtype of the arrays that it meets."""
    return type(value) is float or type(value) is int


def record(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    in_tree: Any,
    values: Sequence[Any] | None = None,
    evaluator: Callable[[Node], Any] | None = None,
    recording: bool = True,
    weak: Sequence[bool] | None = None,
) -> Program:
    """Record a function of positional arguments as a program.

    Args:
        function: what to record.
        types: types of the flattened arguments.
        in_tree: structure of the tuple of arguments.
        values: the values, where known; a TracedArray stands for the value of an outer trace.
        evaluator: computes a node's value on demand.
        recording: whether to note the user's lines.
        weak: which arguments are Python numbers, which adopt the dtype of the arrays that they meet; told from `values`
            where those are known.
    """
    origin = getattr(function, "__qualname__", type(function).__name__)
    trace = Trace(evaluator, recording, origin)
    try:
        known = [None] * len(types) if values is None else values
        if weak is None:
            weak = [is_weak(value) for value in known]
        nodes = [trace.input(type, value, mark) for type, value, mark in zip(types, known, weak, strict=True)]
        args = tree.unflatten(in_tree, [TracedArray(node) for node in nodes])
        result = function(*args)
        leaves, out_tree = tree.flatten(result)
        outputs = [_output(leaf, trace) for leaf in leaves]
        names = partial(argument_names, function, in_tree)
        return Program(trace, nodes, outputs, in_tree, out_tree, names, origin)
    except PrimadError:
        raise
    except Exception as error:
        ours = explained(error, args, trace.refusal)
        if ours is None:
            raise
        raise ours.with_traceback(error.__traceback__) from None
    finally:
        trace.close()


def program_of(
    types: Sequence[ArrayType], body: Callable[..., Sequence[Any]], names: Sequence[str] | None = None
) -> Program:
    """Return the program that a function of traced arrays makes; what programs are built from other programs by.

    Args:
        types: types of its inputs.
        body: a function of the inputs that returns a list of outputs.
        names: names of the inputs.
    """
    trace = Trace()
    inputs = [trace.input(type) for type in types]
    outputs = body(*map(TracedArray, inputs))
    program = Program(trace, inputs, [lift(output, trace) for output in outputs], names=names)
    trace.close()
    return program


def _output(leaf: Any, trace: Trace) -> Node:
    if isinstance(leaf, TracedArray):
        if leaf.node.trace.closed:
            raise escaped(leaf.node)
        return leaf.node
    if hasattr(leaf, "__traced__"):
        return lift(leaf.__traced__(), trace)
    if leaf is None or isinstance(leaf, str) or callable(leaf):
        raise TracingError(f"a traced function returned {type(leaf).__name__}, not an array or a tree of arrays")
    return lift(leaf, trace)


def trace(function: Callable[..., Any]) -> Callable[..., Program]:
    """Record a function as a `Program`, on arguments or on their types; nothing is computed.

    Args:
        function: a function of arrays (or of pytrees of arrays), or a Program.

    Returns:
        a function of example arguments (arrays, numbers, `ArrayType`s, trees of them) that returns the Program.

    Raises:
        TracingError: where the function needs a value (`if x > 0`, `float(x)`), with the line.

    Example:
        >>> import numpy as np, primad
        >>> print(primad.trace(lambda x: np.sin(x) * 2.0)(primad.ArrayType((3,), float)))
        program(x: float64[3]) {
          a: float64[3] = sin x
          b: float64[3] = mul a 2.0
          return b
        }
    """

    def traced(*args: Any) -> Program:
        leaves, in_tree = tree.flatten(args)
        return record(function, [type_of(leaf) for leaf in leaves], in_tree)

    return traced


def argument_names(function: Callable[..., Any], in_tree: Any) -> list[str]:
    """Return readable names of the flattened arguments: the parameter's name, then the path inside it."""
    if isinstance(function, Program):
        return list(function.names) if function.in_tree in (None, in_tree) else []
    try:
        parameters = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # ufuncs and other functions that do not tell
        parameters = []
    paths = tree.paths(in_tree)
    alone = all(path[0] == 0 for path in paths)
    names = []
    for path in paths:
        head = parameters[path[0]] if path[0] < len(parameters) else "x" if alone else f"x{path[0]}"
        names.append("_".join([head, *(str(part) for part in path[1:])]))
    return names

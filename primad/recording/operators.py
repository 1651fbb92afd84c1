"""The operators of traced arrays, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import TracingError, users_frame
from primad.ir.array_types import ArrayType
from primad.recording.foreign import has_products, holds_arrays, is_sparse, kind_of, refuse_foreign
from primad.recording.protocols import METHODS, OF_SPARSE, UFUNCS
from primad.recording.user_expressions import doing

_EQUALITIES = (np.equal, np.not_equal)


def _operator(ufunc: np.ufunc, reflected: bool = False) -> Any:
    def apply(self: Any, other: Any) -> Any:
        known = type(other) is type(self) or isinstance(other, _OPERANDS)
        if not known and not (ufunc is np.matmul and is_sparse(other)):
            if ufunc in _EQUALITIES:  # nothing is equal to None or a text, element by element, as in NumPy
                return np.full(self.shape, ufunc is np.not_equal)[()]
            of_sparse = OF_SPARSE.get((ufunc, reflected)) if is_sparse(other) else None
            if of_sparse is not None and (not self.shape or has_products(other)):
                return of_sparse(other, self) if reflected else of_sparse(self, other)
            cls: Any = type(other)
            if not holds_arrays(cls, "__array_ufunc__"):
                refuse_operand(self.type, other)
            return NotImplemented
        args = (other, self) if reflected else (self, other)
        if self._has_memory or not self.node.trace.knows_calls:  # under jit, say
            return UFUNCS[ufunc](*args)
        return self.node.trace.call(UFUNCS[ufunc], ufunc, args, {})

    return apply


def _order(ufunc: np.ufunc, sign: str) -> Any:
    """Return an operator that compares: of real numbers only, where NumPy's function takes complex ones too."""
    compare = _operator(ufunc)

    def apply(self: Any, other: Any) -> Any:
        if self.type.is_complex or (not isinstance(other, (list, tuple, range)) and np.iscomplexobj(other)):
            raise TracingError(
                f"x {sign} y of complex numbers",
                why="They have no order that goes with sums and products: mostly parts or sizes are meant.",
                fix=f"compare x.real, x.imag or np.abs(x); np.{ufunc.__name__}(x, y) has NumPy's order, by real parts "
                "and then by imaginary ones.",
            )
        return compare(self, other)

    return apply


def refuse_operand(type: ArrayType, other: Any) -> None:
    """Raise for what would otherwise be asked for operators of its own: arrays with units, say, texts, Decimals.

    A text repeats itself as often as an index says, and would ask the traced array for one.
    """
    refuse_foreign(other)
    found = kind_of(other)
    if found is not None:
        text = doing(users_frame()).text
        raise TracingError(
            f"{text and text + ': '}an operator between a traced array of type {type} and {found[0]}", fix=found[1]
        )


_power_of = _operator(np.power)


def _power(self: Any, exponent: Any) -> Any:
    """Return a power; NumPy's operator, unlike its function, takes the square of booleans for one."""
    if exponent.__class__ is int and exponent == 2 and self.dtype.kind == "b":
        return UFUNCS[np.square](self)
    return _power_of(self, exponent)


def _in_place(ufunc: np.ufunc, forward: Any = None) -> Any:
    """Return an operator in place: whatever else holds the array, or a view of it, sees the result."""
    forward = forward or _operator(ufunc)

    def apply(self: Any, other: Any) -> Any:
        found = forward(self, other)
        if type(found) is not type(self) or not (self.node.type.shape or METHODS["view of"](self)):
            return found  # one number is replaced, as Python's is
        return METHODS["in place"](self, found, ufunc.__name__)

    return apply


class ArrayOperators:
    """What Python's operators record."""

    __slots__ = ()
    _has_memory = False

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
    __lt__, __le__ = _order(np.less, "<"), _order(np.less_equal, "<=")
    __gt__, __ge__ = _order(np.greater, ">"), _order(np.greater_equal, ">=")
    __eq__, __ne__ = _operator(np.equal), _operator(np.not_equal)
    __hash__ = None  # type: ignore[assignment]

    __lshift__, __rlshift__ = _operator(np.left_shift), _operator(np.left_shift, True)
    __rshift__, __rrshift__ = _operator(np.right_shift), _operator(np.right_shift, True)

    __iadd__, __isub__, __imul__ = _in_place(np.add), _in_place(np.subtract), _in_place(np.multiply)
    __itruediv__, __ifloordiv__ = _in_place(np.true_divide), _in_place(np.floor_divide)
    __imod__, __ipow__, __imatmul__ = _in_place(np.remainder), _in_place(np.power, _power), _in_place(np.matmul)
    __iand__, __ior__, __ixor__ = _in_place(np.bitwise_and), _in_place(np.bitwise_or), _in_place(np.bitwise_xor)
    __ilshift__, __irshift__ = _in_place(np.left_shift), _in_place(np.right_shift)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self: Any, digits: int | None = None) -> Any:
        if digits is not None and not self.shape:
            return METHODS["round"](self, digits)
        raise TracingError(
            "round(x) of a traced array",
            why="Python's is an integer, of one number." if digits is None else "Python's is of one number.",
            fix=f"np.round(x{f', {digits}' if digits else ''}) rounds; its derivative is 0.",
        )

    def __neg__(self: Any) -> Any:
        return self._record(UFUNCS[np.negative], np.negative, (self,), {})

    def __pos__(self) -> Any:
        return UFUNCS[np.positive](self)

    def __abs__(self: Any) -> Any:
        return self._record(UFUNCS[np.absolute], np.absolute, (self,), {})

    def __invert__(self) -> Any:
        return UFUNCS[np.invert](self)


_OPERANDS = (ArrayOperators, np.ndarray, np.generic, int, float, complex, list, tuple, range)

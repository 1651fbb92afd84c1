"""Python's own functions of numbers, on traced ones: `math`, and what asks for a number's class.

On plain numbers they are Python's. On a traced number whose value is known they raise what Python's raise there, so
that a program that catches an error goes on as it does with plain numbers.
"""

from __future__ import annotations

import builtins
import copyreg
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import TracingError
from primad.functional.recorded_values import value
from primad.numpy import special
from primad.recording import tree
from primad.recording.traced_array import TracedArray, settled

Function = Callable[..., Any]


def _log(x: Any, base: Any = math.e) -> Any:
    return pnp.log(x) if base is math.e else pnp.log(x) / pnp.log(base)


def _truth(function: Function) -> Function:
    return lambda *args, **options: bool(function(*args, **options))


def _whole(function: Function) -> Function:
    return lambda x: int(function(x))


def _parts(x: Any) -> tuple[Any, Any]:
    return x - pnp.trunc(x), pnp.trunc(x)


def _is_close(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    """Say whether two numbers are close, as Python defines it: their places may be exchanged, as NumPy's may not."""
    largest = pnp.maximum(rel_tol * pnp.maximum(pnp.abs(a), pnp.abs(b)), abs_tol)
    return bool(a == b) or bool(pnp.abs(a - b) <= largest)


def _number(found: Any) -> Function:
    """Return a function whose arguments that are lists are arrays."""
    return lambda *args: found(*[pnp.array(list(each)) for each in args])


MATH: MappingProxyType[str, Function] = MappingProxyType({
    **{name: getattr(pnp, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "degrees", "exp",
        "exp2", "expm1", "fabs", "fmod", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan",
        "tanh",
    )},
    "log": _log,
    "hypot": lambda *xs: pnp.linalg.norm(pnp.array(list(xs))),
    "dist": _number(lambda p, q: pnp.linalg.norm(p - q)),
    "fsum": _number(pnp.sum),
    "sumprod": _number(pnp.dot),
    "prod": lambda xs, *, start=1: start * pnp.prod(pnp.array(list(xs))),
    "remainder": lambda x, y: x - y * pnp.rint(x / y),
    "modf": _parts,
    "ldexp": lambda x, i: x * 2.0**i,
    "gamma": special.gamma, "lgamma": special.gammaln, "erf": special.erf, "erfc": special.erfc,
    **{name: _truth(getattr(pnp, name)) for name in ("isfinite", "isinf", "isnan")},
    "isclose": _is_close,
    "floor": _whole(pnp.floor), "ceil": _whole(pnp.ceil), "trunc": _whole(pnp.trunc),
})  # fmt: skip
"""name of a function of Python's `math` -> what is recorded on traced numbers."""

OF_INTEGERS = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm", "fma", "frexp", "nextafter", "ulp")
"""Those of integers, and of the bits of a number, which have no derivative: a traced number is refused there."""


def recorded(own: Function, function: Function) -> Function:
    """Return Python's function on plain numbers, and another one where one of them is traced.

    Args:
        own: Python's.
        function: what is recorded.
    """

    @wraps(own)
    def call(*args: Any, **options: Any) -> Any:
        args = tuple([list(each) if hasattr(each, "__next__") else each for each in args])
        leaves = tree.leaves((args, options))
        if not any(isinstance(leaf, TracedArray) for leaf in leaves):
            return own(*args, **options)
        with suppress(TracingError):  # values are not known under jit: NaN stands for what math refuses
            plain = [_known(leaf) for leaf in leaves]
            given, named = tree.unflatten(tree.flatten((args, options))[1], plain)
            own(*given, **named)
        return function(*args, **options)

    return call


def _known(leaf: Any) -> Any:
    found = value(settled(leaf)) if isinstance(leaf, TracedArray) else leaf
    return found.item() if isinstance(found, np.generic) else found


def _complex(own: type, *args: Any) -> Any:
    """Return the complex number of one that is traced, or of two parts."""
    parts = [settled(each) for each in args]
    if not any(builtins.isinstance(each, TracedArray) for each in parts) or (own is complex and parts[0].size != 1):
        return own(*args)
    x = parts[0] + 1j * parts[1] if len(parts) > 1 else pnp.astype(parts[0], np.complex128)
    return pnp.reshape(x, ()) if own is complex else x


def standing_for(own: type) -> type:
    """Return a class that is used as one of numbers, and leaves traced numbers traced: `float(x)` is x.

    Its instances are those of the class that it stands for, and it equals that one: as a dtype, and in dicts.
    """

    class Kind(type(own)):  # type: ignore[misc]
        def __instancecheck__(cls, x: Any) -> bool:
            return builtins.isinstance(x, own)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, own)

        def __eq__(cls, other: object) -> bool:
            return True if other is own or other is cls else NotImplemented

        def __hash__(cls) -> int:
            return hash(own)

    class Standing(own, metaclass=Kind):  # type: ignore[misc]
        dtype = np.dtype(own)

        def __new__(cls, *args: Any) -> Any:
            if cls is not Standing:  # a class of the package's own that derives from numbers
                return own.__new__(cls, *args)
            if issubclass(own, complex):
                return _complex(own, *args)
            x = settled(args[0]) if args and builtins.isinstance(args[0], TracedArray) else None
            if x is None or x.dtype.kind == "c" or (own is float and x.size != 1):
                return own(*args)  # which a traced array refuses
            x = pnp.reshape(x, ()) if own is float else x
            return x if x.dtype == cls.dtype else pnp.astype(x, cls.dtype)

    Standing.__name__ = Standing.__qualname__ = own.__name__
    Standing.__module__ = own.__module__
    copyreg.pickle(Kind, lambda cls: (type, (own(),)))  # type: ignore[arg-type, return-value]  # as what it stands for
    return Standing


class _Broadcast:
    """What `np.broadcast` says of traced arrays: the shape that they have together, and their elements in it."""

    def __init__(self, *args: Any) -> None:
        self._arrays = pnp.broadcast_arrays(*args)
        self.shape = self._arrays[0].shape
        self.ndim = self.nd = len(self.shape)
        self.size, self.numiter = math.prod(self.shape), len(args)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*map(pnp.ravel, self._arrays), strict=True)


def broadcast(*args: Any) -> Any:
    """Return NumPy's `broadcast` of plain arrays, and what says the same of traced ones."""
    args = tuple(map(settled, args))
    traced = any(builtins.isinstance(each, TracedArray) for each in args)
    return _Broadcast(*args) if traced else np.broadcast(*args)


CLASSES: MappingProxyType[type, type] = MappingProxyType(
    {own: standing_for(own) for own in (float, np.float64, complex, np.complex128)}
)
"""class of numbers -> what stands for it."""


def isinstance(x: Any, kinds: Any) -> bool:
    """Say whether a value is of a class; a traced number is what NumPy's is, and of floats in 64 bits Python's too."""
    if builtins.isinstance(x, kinds):
        return True
    if (
        not builtins.isinstance(x, TracedArray) or kinds is np.generic
    ):  # asked to make Python's number of NumPy's, as it is
        return False
    standing: type = np.ndarray if x.ndim else x.dtype.type
    return any(builtins.isinstance(kind, type) and issubclass(standing, kind) for kind in _classes(kinds))


def _classes(kinds: Any) -> list[Any]:
    if builtins.isinstance(kinds, tuple):
        return [kind for each in kinds for kind in _classes(each)]
    return list(getattr(kinds, "__args__", (kinds,)))


def hasattr(x: Any, name: str) -> bool:
    """Say whether a value has an attribute; a traced number has those of NumPy's: no length, and no elements."""
    number = type(x) is TracedArray and not x.shape and name.startswith("__")
    return builtins.hasattr(x.dtype.type if number else x, name)


def round(x: Any, ndigits: Any = None) -> Any:
    """Return the nearest integer of a number, of a traced one by its value: its derivative is 0; or decimals of it."""
    whole = builtins.isinstance(x, TracedArray) and ndigits is None
    return int(pnp.round(x)) if whole else builtins.round(x, ndigits)


BUILTINS: MappingProxyType[str, Function] = MappingProxyType(
    {"hasattr": hasattr, "isinstance": isinstance, "round": round}
)
"""Functions of Python's own that ask what a value is -> what stands for them."""

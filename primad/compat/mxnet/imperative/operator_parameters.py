"""Parameters of operators: reading them from Python values and from the strings that symbols keep."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.compat.mxnet.errors import MXNetError
from primad.ir.node import param_key

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()
"""The default of a parameter that must be given."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operator.

    Attributes:
        type: what MXNet calls its type, for messages.
        read: makes the value from what was given; raises ValueError, TypeError or SyntaxError.
        default: the value if none is given, or REQUIRED.
        minimum: the smallest value allowed.
    """

    type: str
    read: Callable[[Any], Any]
    default: Any = REQUIRED
    minimum: float | None = None


def plain(value: Any) -> Any:
    """Return a value with Python's numbers in place of NumPy's, at any depth; a float keeps the digits it prints."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else tuple(map(plain, value))
    if isinstance(value, np.ndarray):
        return tuple(map(plain, value)) if value.ndim else plain(value[()])
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def _spelt(value: Any) -> Any:
    """Return the Python value that a string spells."""
    return ast.literal_eval(value) if isinstance(value, str) else value


def _integer(value: Any) -> int:
    value = _spelt(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise ValueError(value)


def _real(value: Any) -> float | int:
    """Return a number; an integer stays one, and big integers keep their digits."""
    if isinstance(value, str) and value.strip().lower() in ("inf", "-inf", "nan"):
        return float(value)
    value = _spelt(value)
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, bool) else value
    raise ValueError(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    value = _spelt(value)
    if value in (0, 1):
        return bool(value)
    raise ValueError(value)


def read_shape(value: Any) -> tuple[int, ...]:
    """Return the shape that a tuple, a number or a string spells."""
    value = _spelt(value)
    if isinstance(value, int):
        return (value,)
    return tuple([_integer(entry) for entry in value])


def _optional_shape(value: Any) -> tuple[int | None, ...]:
    value = _spelt(value)
    if value is None or isinstance(value, int):
        return (value,)
    return tuple([None if entry is None else _integer(entry) for entry in value])


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None or value == "None" else read(value)


def _dtype(value: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(value)
    return found


def integer(default: Any = REQUIRED, minimum: int | None = None) -> Parameter:
    """Declare an integer."""
    return Parameter("int", _integer if default is not None else _or_none(_integer), default, minimum)


def optional_integer(default: int | None) -> Parameter:
    """Declare an integer or None."""
    return Parameter("int or None", _or_none(_integer), default)


def real(default: Any = REQUIRED) -> Parameter:
    """Declare a number."""
    return Parameter("float", _real if default is not None else _or_none(_real), default)


def boolean(default: Any = REQUIRED) -> Parameter:
    """Declare a truth value."""
    return Parameter("boolean", _boolean if default is not None else _or_none(_boolean), default)


def shape(default: Any = REQUIRED) -> Parameter:
    """Declare a tuple of integers; one integer stands for a tuple of one."""
    return Parameter("Shape(tuple)", read_shape if default is not None else _or_none(read_shape), default)


def partly_known(default: Any = REQUIRED) -> Parameter:
    """Declare a shape in which a length may be unknown: 0, or in other words −1."""
    return Parameter("Shape(tuple)", lambda value: tuple([max(n, 0) for n in read_shape(value)]), default)


def optional_shape(default: Any = REQUIRED) -> Parameter:
    """Declare a tuple of integers and Nones."""
    return Parameter("Shape(tuple)", _optional_shape, default)


def dtype(default: Any = REQUIRED) -> Parameter:
    """Declare a dtype."""
    if default is not None and default is not REQUIRED:
        default = np.dtype(default)
    return Parameter("dtype", _or_none(_dtype), default)


def choice(*values: str, default: Any = REQUIRED) -> Parameter:
    """Declare one of some words."""

    def read(value: Any) -> Any:
        if str(value) not in values and not (value is None and default is None):
            listed = ", ".join(repr(value) for value in sorted(values))
            raise MXNetError(f"Invalid Input: '{value}', valid values are: {{{listed}}}")
        return value if value is None else str(value)

    return Parameter("int", read, default)


def text(default: Any = REQUIRED) -> Parameter:
    """Declare a string."""
    return Parameter("string", lambda value: None if value is None else str(value), default)


class Settings:
    """The values of an operator's parameters, by attribute; immutable and hashable."""

    __slots__ = ("_hash", "_key", "_values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._key = tuple([(name, type(value), param_key(value)) for name, value in self._values.items()])
        self._hash = hash(self._key)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def replaced(self, **values: Any) -> Settings:
        """Return the settings with other values for some parameters."""
        return Settings({**self._values, **values})

    def texts(self) -> dict[str, str]:
        """Return the values as the strings that a symbol keeps; those that are None are left out."""
        return {
            name: value.name if isinstance(value, np.dtype) else str(value)
            for name, value in self._values.items()
            if value is not None
        }

    def __repr__(self) -> str:
        return f"Settings({self._values})"


def read_settings(operator: str, parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> Settings:
    """Read the parameters of an operator.

    Raises:
        MXNetError: for one that is missing, unknown, of a wrong format, too small or not among the allowed words.
    """

    def where() -> str:
        listed = [f'name="{given.get("name", "")}"', *(f'{key}="{given[key]}"' for key in given)]
        return f"in operator {operator}({', '.join(listed)})"

    for name in given:
        if name not in parameters:
            listed = "\n".join(
                f"{known} : {parameter.type}, "
                + ("required" if parameter.default is REQUIRED else f"optional, default={parameter.default}")
                for known, parameter in parameters.items()
            )
            raise MXNetError(
                f"Cannot find argument '{name}', Possible Arguments:\n----------------\n{listed}\n, {where()}"
            )
    values = {}
    for name, parameter in parameters.items():
        if name not in given:
            if parameter.default is REQUIRED:
                raise MXNetError(f"Required parameter {name} of {parameter.type} is not presented, {where()}")
            values[name] = parameter.default
            continue
        try:
            value = parameter.read(plain(given[name]))
        except MXNetError as error:
            raise MXNetError(f"{error.what}, {where()}") from None
        except (ValueError, TypeError, SyntaxError):
            raise MXNetError(
                f"Invalid Parameter format for {name} expect {parameter.type} but value='{given[name]}', {where()}"
            ) from None
        if parameter.minimum is not None and value is not None and value < parameter.minimum:
            raise MXNetError(
                f"value {value} for Parameter {name} should be greater equal to {parameter.minimum}, {where()}"
            )
        values[name] = value
    return Settings(values)

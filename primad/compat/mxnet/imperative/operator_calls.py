"""How MXNet's functions are called: inputs first, then parameters, each by place or by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.operators.record import Operator


def sort_arguments(
    operator: Operator, kind: type, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Split the arguments of a call.

    Args:
        operator: what is called.
        kind: the class of inputs.
        args: the arguments by place.
        kwargs: the arguments by name.

    Returns:
        inputs by place (None where one is left to a name), inputs by name, and parameters.

    Raises:
        AssertionError: for an input of another class.
        TypeError: for a parameter that is given twice.
    """
    known = operator.parameters
    named = {name: value for name, value in kwargs.items() if isinstance(value, kind)}
    given = {
        name: value for name, value in kwargs.items() if name not in named and (value is not None or name in known)
    }
    if operator.inputs is None:
        places = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        _check_kind(kind, [f"arg{i}" for i in range(len(places))], places)
        given.setdefault("num_args", len(places) + len(named))
        return places, named, given
    names = operator.inputs
    places, rest = list(args[: len(names)]), args[len(names) :]
    _check_kind(kind, names, places)
    for name, value in zip(operator.parameters, rest, strict=False):
        if name in given:
            raise TypeError(f"{operator.name}() got multiple values for argument '{name}'")
        given[name] = value
    if len(rest) > len(operator.parameters):
        raise TypeError(f"{operator.name}() takes {len(names) + len(operator.parameters)} arguments, got {len(args)}")
    return places, named, given


def _check_kind(kind: type, names: Sequence[str], values: Sequence[Any]) -> None:
    for name, value in zip(names, values, strict=False):
        if value is not None and not isinstance(value, kind):
            raise AssertionError(f"Argument {name} must be {kind.__name__} instances, but got {value}")


def function_of(name: str, operator: Operator, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the public function of an operator."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return call(operator, name, args, kwargs)

    inputs = "*data" if operator.inputs is None else ", ".join(operator.inputs)
    listed = ", ".join([inputs, *[f"{name}={found.default}" for name, found in operator.parameters.items()]])
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}({listed}): {operator.compute.__doc__ or 'the function of this name, elementwise.'}"
    return function


def unknown_input(name: str, candidates: Sequence[str]) -> MXNetError:
    """Return the error for an input by a name that the operator or the symbol does not have."""
    listed = "\n".join(f"\t[{i}]{candidate}" for i, candidate in enumerate(candidates))
    return MXNetError(f"Symbol.ComposeKeyword argument name {name} not found.\nCandidate arguments:\n{listed}")

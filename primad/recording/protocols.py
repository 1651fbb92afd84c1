"""What NumPy's protocols find on traced arrays, and what they say where they find nothing.

`primad.numpy` fills three tables with what each NumPy name records.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.errors import TracingError, users_frame
from primad.recording.foreign import refuse_among
from primad.recording.plain_makers import instead_of_plain
from primad.recording.user_expressions import doing
from primad.system.deferred import MODULE, special

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""What a NumPy or SciPy ufunc records."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What a NumPy function records."""
OF_SPARSE: dict[tuple[Any, bool], Callable[..., Any]] = {}
"""What the operator of a ufunc records of a traced array and one of SciPy's sparse ones, by whether that is first."""
METHODS: dict[str, Callable[..., Any]] = {}
"""What a method or an indexing of a traced array records."""

ATTRIBUTES: dict[str, Callable[..., Any]] = {}
"""What attributes of a traced array are that only another system's arrays have: functions of the array."""

METHODS_OF: dict[Any, dict[str, Callable[..., Any]]] = {}
"""What methods record that only the results of an op have."""

WRITERS: set[Any] = set()
"""Functions of NumPy's that write into their first argument, which is to be a result."""

REFUSED: dict[Any, str] = {}
"""Why a function of NumPy's records nothing."""

_HARMLESS: dict[str, Any] = {
    "where": (True,),
    "dtype": (None,),
    "order": ("K", "C", "A", "F"),
    "subok": (True, False),
    "signature": (None,),
    "sig": (None,),
}
"""Values of a ufunc's keywords that say nothing about values: traced arrays have no memory layout and no subclasses."""


_METHOD_FIXES = {"at": "primad.numpy.add_at(x, i, v) and set_at return a changed copy."}


def _says_nothing(key: str, value: Any) -> bool:
    return (value is None or isinstance(value, (bool, str))) and value in _HARMLESS.get(key, ())


def called(recorded: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call what a NumPy function records; arguments that it has no parameters for are refused, never dropped.

    So are arrays that are more than their elements.
    """
    refuse_among(args)
    if kwargs:
        refuse_among(kwargs.values())
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


def called_as(recorded: Callable[..., Any], name: str, *args: Any, **options: Any) -> Any:
    """Call what something of NumPy's that has a name records, as `called`."""
    return called(recorded, name, args, options)


def recorded_by(table: dict[Any, Callable[..., Any]], function: Any) -> Callable[..., Any] | None:
    """Return what a NumPy or SciPy function records; SciPy's stand in the tables under deferred names."""
    found = table.get(function)
    return found if found is not None else table.get(special.deferred(function))


def call_unnamed(ufunc: Any, *args: Any) -> Any:
    """Call what a ufunc records of arguments without names, as `call_ufunc`."""
    return call_ufunc(ufunc, "__call__", args, {})


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call what a ufunc, or a method of one, records, or say why it cannot."""
    name = ufunc.__name__
    if "out" in kwargs:
        if METHODS["written into"](kwargs["out"]):
            return getattr(ufunc, method)(*inputs, **kwargs)
        raise TracingError(
            f"np.{name} was asked to write a traced array into an existing array",
            why="An in-place write (`a += x`, out=) into a NumPy array would lose the derivative.",
            fix="write `a = a + x`, or a = primad.numpy.array(a) before: what primad.numpy makes may be written to.",
        )
    if kwargs.get("where", True) is not True and method != "reduce":
        raise TracingError(f"np.{name} with where= is not supported on traced arrays", fix="use primad.numpy.where.")
    if method == "__call__" and not kwargs.keys().isdisjoint(("dtype", "casting")):
        loop = {key: kwargs[key] for key in ("dtype", "casting") if key in kwargs}
        kwargs = {key: value for key, value in kwargs.items() if key not in loop}
        inputs = METHODS["__array_ufunc__"](ufunc, inputs, **loop)
    kwargs = {key: value for key, value in kwargs.items() if not _says_nothing(key, value)}
    if method == "at" and METHODS["written into"](inputs[:1], f"np.{name}.at"):
        return ufunc.at(*inputs)
    if method != "__call__":
        recorded: Callable[..., Any] | None = METHODS.get(f"{name}.{method}")
        if recorded is None:
            raise TracingError(
                f"np.{name}.{method} is not supported on traced arrays", fix=_METHOD_FIXES.get(method, "")
            )
        if method == "reduceat":
            kwargs.pop("indices", None)  # among the inputs; NumPy passes them again where they were given by name
        return called(recorded, f"np.{name}.{method}", inputs, kwargs)
    recorded = recorded_by(UFUNCS, ufunc)
    if recorded is None:
        raise TracingError(
            f"the ufunc {_place_of(ufunc)}{name} has no primitive, so it cannot be traced",
            why=REFUSED.get(ufunc, ""),
            fix=_instead_of(ufunc),
        )
    return called(recorded, f"np.{name}", inputs, kwargs)


def _instead_of(ufunc: Any) -> str:
    """Return what to write instead of a ufunc that records nothing."""
    now = doing(users_frame())
    function: Any = now.value(now.node.func) if isinstance(now.node, ast.Call) else None
    if function is not ufunc and (recorded_by(UFUNCS, function) or recorded_by(FUNCTIONS, function)):
        return f"call primad.numpy.special.{function.__name__}."  # SciPy's function in Python, which calls a ufunc
    if all(set(loop) == set("O->") for loop in ufunc.types):
        return "primad.numpy.vectorize(function) calls a function of Python's for each number."  # np.frompyfunc
    rules = ", ".join([f"lambda out, {', '.join('xyzpqr'[: ufunc.nin])}: …"] * ufunc.nin)
    return (
        "write it with functions of primad.numpy; or make it a primitive, with its partial derivatives: "
        f"primad.elementwise({ufunc.__name__!r}, {ufunc.__name__}, [{rules}])."
    )


def _place_of(ufunc: Any) -> str:
    """Return the path of a ufunc's module, where it is SciPy's and public."""
    is_scipys = getattr(sys.modules.get(MODULE), ufunc.__name__, None) is ufunc
    return f"{MODULE}." if is_scipys else ""


def _instead_of_caller() -> str:
    """Return what to write instead of a call of the user's that calls what records nothing; "" if it is not known."""
    now = doing(users_frame())
    if not isinstance(now.node, ast.Call):
        return ""
    return instead_of_plain(now, now.module, now.name_of(now.node.func))


def call_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call what a NumPy function records, or say why it cannot."""
    recorded = recorded_by(FUNCTIONS, function)
    if function in WRITERS and METHODS["written into"](args[:1]):
        return function(*args, **kwargs)
    if recorded is None:
        module = str(getattr(function, "__module__", "numpy")).replace("numpy", "np", 1)
        name = f"{module}.{getattr(function, '__name__', function)}"
        raise TracingError(
            f"{name} has no implementation for traced arrays",
            why=REFUSED.get(function, "primad can differentiate only what it records."),
            fix=_instead_of_caller()
            or "write it with functions of primad.numpy, or have it called as it is: primad.opaque, with a rule by "
            "primad.custom_jvp.",
        )
    if kwargs.get("out") is not None:
        if METHODS["written into"]((kwargs["out"],)):
            return function(*args, **kwargs)
        raise TracingError(f"np.{function.__name__} with out= would lose the derivative", fix="assign its result.")
    # What NumPy's own wrappers pass on for an option that was not given, as it was for out=None, says nothing.
    if kwargs:
        kwargs = {key: value for key, value in kwargs.items() if key != "out" and value is not np._NoValue}
    return called(recorded, f"np.{function.__name__}", args, kwargs)


def call_named(function: Any, *args: Any, **options: Any) -> Any:
    """Call what a NumPy function records, as `call_function`."""
    return call_function(function, args, options)

"""`mx.sym`: making symbols, and every operator as a function of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from primad.compat.mxnet.errors import unsupported
from primad.compat.mxnet.graph.name_scopes import current_scope
from primad.compat.mxnet.graph.symbol_graph import Entry, Node, stored
from primad.compat.mxnet.imperative.array_operand import function_of_two
from primad.compat.mxnet.operators import TABLE
from primad.compat.mxnet.symbol import Symbol as Symbol
from primad.compat.mxnet.symbol import compose, operator_function
from primad.compat.mxnet.symbol import load_json as load_json


def Variable(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: Any = None,
    **kwargs: str,
) -> Symbol:
    """Return a symbol that stands for an array given later.

    Args:
        name: its name.
        attr: attributes, strings.
        shape: its shape, a default for inference.
        lr_mult: what optimizers multiply the learning rate by.
        wd_mult: what optimizers multiply the weight decay by.
        dtype: its dtype, a default for inference.
        init: text of an initializer.
        stype: only None and 'default': arrays are dense.
        kwargs: further attributes, named `__like_this__`.

    Raises:
        TypeError: for a name that is no string.
        ValueError: for a keyword without underscores, or a sparse storage type.
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    if stype not in (None, "default"):
        raise ValueError(f"stype={stype!r}: arrays here are dense")
    attributes = {stored(key): value for key, value in current_scope().get(attr).items()}
    if not all(isinstance(value, str) for value in attributes.values()):
        raise ValueError("Set Attr only accepts string values")
    named = {"shape": shape, "lr_mult": lr_mult, "wd_mult": wd_mult, "init": init}
    attributes.update({f"__{key}__": str(value) for key, value in named.items() if value is not None})
    if dtype is not None:
        attributes["__dtype__"] = np.dtype(dtype).name
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(
                f"Attribute name={key} is not supported. Additional attributes must start and end with double "
                "underscores, e.g, __yourattr__"
            )
        attributes[key] = str(value)
    return Symbol([Entry(Node(None, name, attributes), 0)])


var = Variable


def Group(symbols: Sequence[Symbol], create_fn: Any = Symbol) -> Symbol:
    """Return a symbol of all outputs of several.

    Raises:
        TypeError: unless given a list of symbols that is not empty.
    """
    if not symbols or isinstance(symbols, Symbol) or any(not isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError("Expected a list of symbols as input")
    return Symbol([entry for symbol in symbols for entry in symbol.entries])


def load(fname: str) -> Symbol:
    """Return the symbol in a file."""
    if not isinstance(fname, str):
        raise TypeError("fname need to be string")
    return load_json(Path(fname).read_text(encoding="utf-8"))


# -- functions of two operands, each a symbol or a number --------------------------------------------------------------


maximum = function_of_two("maximum", "maximum")
minimum = function_of_two("minimum", "minimum")
power = pow = function_of_two("power", "power")
hypot = function_of_two("hypot", "hypot")


# -- arrays from nothing -----------------------------------------------------------------------------------------------


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of zeros."""
    return _made("_zeros", {"shape": shape, "dtype": dtype or "float32"}, kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones."""
    return _made("_ones", {"shape": shape, "dtype": dtype or "float32"}, kwargs)


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol filled with a number."""
    return _made("_full", {"shape": shape, "dtype": dtype or "float32", "value": float(val)}, kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones on a diagonal."""
    return _made("_eye", {"N": N, "M": M, "k": k, "dtype": dtype or "float32"}, kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Return a symbol of evenly spaced numbers, each `repeat` times."""
    parameters = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return _made("_arange", {**parameters, "dtype": dtype or "float32"}, {"name": name})


def _made(operation: str, parameters: dict[str, Any], options: dict[str, Any]) -> Symbol:
    parameters["dtype"] = np.dtype(parameters["dtype"]).name
    return compose(TABLE[operation], operation, [], {}, parameters, options.get("name"), options.get("attr"))


_PUBLIC = [
    "Group", "Symbol", "Variable", "arange", "eye", "full", "hypot", "load", "load_json", "maximum", "minimum", "ones",
    "pow", "power", "var", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in TABLE:
        return operator_function(name)
    raise unsupported("mx.sym", name, [*TABLE, *_PUBLIC])


def __dir__() -> list[str]:
    return sorted([*TABLE, *_PUBLIC])

"""Binding symbols to arrays: the user's own, or zeros of inferred shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.compat.mxnet.context import Context
from primad.compat.mxnet.executor import Executor
from primad.compat.mxnet.imperative.tape_recording import REQUESTS
from primad.compat.mxnet.ndarray import NDArray
from primad.compat.mxnet.symbol import Symbol


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Any = None,
    shared_exec: Any = None,
) -> Executor:
    """Bind a symbol to arrays.

    Args:
        symbol: what is computed.
        ctx: a device.
        args: the arguments: a list in the order of `list_arguments`, or a dict by name.
        args_grad: arrays for gradients, in the same form; a dict may be partial, a list may contain None.
        grad_req: 'write', 'add' or 'null', or a list or dict of them; a dict's missing names are 'null'.
        aux_states: the auxiliary states.
        group2ctx: accepted and not used: there is one device.
        shared_exec: accepted and not used.

    Raises:
        TypeError: for a context or arrays of another class.
        ValueError: for lists of a wrong length, missing names, and an unknown request.
        KeyError: for an unknown request in a list or dict.
        MXNetError: for shapes and dtypes that do not fit.
    """
    if not isinstance(ctx, Context):
        raise TypeError("Context type error")
    names = symbol.list_arguments()
    found = _listed("args", args, names, False)
    grads = [None] * len(names) if args_grad is None else _listed("args_grad", args_grad, names, True)
    requests = _requests(grad_req, names)
    states = symbol.list_auxiliary_states()
    auxiliary = _listed("aux_states", [] if aux_states is None else aux_states, states, False)
    return Executor(symbol, ctx, found, grads, requests, auxiliary)


def _listed(what: str, arrays: Any, names: Sequence[str], partial: bool) -> list[Any]:
    """Return arrays in the order of names."""
    if isinstance(arrays, list):
        if len(arrays) != len(names):
            raise ValueError(f"Length of {what} does not match the number of arguments")
        found = arrays
    elif isinstance(arrays, dict):
        for name in names:
            if name not in arrays and not partial:
                raise ValueError(f"key `{name}` is missing in `{what}`")
        found = [arrays.get(name) for name in names]
    else:
        raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    if any(not isinstance(array, NDArray) and not (partial and array is None) for array in found):
        raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    return list(found)


def _requests(grad_req: Any, names: Sequence[str]) -> list[str]:
    if isinstance(grad_req, str):
        if grad_req not in REQUESTS:
            raise ValueError("grad_req must be in {'null': 0, 'write': 1, 'add': 3}")
        return [grad_req] * len(names)
    if isinstance(grad_req, dict):
        found = [grad_req.get(name, "null") for name in names]
    else:
        found = list(grad_req)
        if len(found) != len(names):
            raise ValueError(f"Length of grad_req ({len(found)}) does not match the number of arguments ({len(names)})")
    for request in found:
        if request not in REQUESTS:
            raise KeyError(request)
    return found


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Any = None,
    group2ctx: Any = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    **kwargs: Any,
) -> Executor:
    """Bind a symbol to arrays of zeros, whose shapes and dtypes are inferred.

    Args:
        symbol: what is computed.
        ctx: a device.
        grad_req: as in `bind`.
        type_dict: dtypes by name; what follows from them is inferred, the rest is float32.
        stype_dict: accepted and not used: arrays are dense. So are the others that follow.
        group2ctx: not used.
        shared_arg_names: not used.
        shared_exec: not used.
        shared_buffer: not used.
        kwargs: shapes by name.

    Raises:
        RuntimeError: if the shapes do not suffice, and for requests that do not fit.
    """
    where = "simple_bind error. Arguments:\n" + "\n".join(f"{name}: {shape}" for name, shape in kwargs.items())
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    _check_simple_requests(grad_req, names, where)
    shapes = {name: shape for name, shape in kwargs.items() if isinstance(shape, tuple) and name in (*names, *states)}
    arg_shapes, _, state_shapes = symbol.infer_shape_partial(**shapes)
    open_names = [name for name, shape in zip(names, arg_shapes, strict=True) if not shape or 0 in shape]
    if open_names:
        listed = ", ".join(f"{name}: None" for name in open_names)
        raise RuntimeError(
            f"{where}\nInferShape pass cannot decide shapes for the following arguments (-1 means unknown dimensions). "
            f"Please consider providing them as inputs:\n{listed}"
        )
    given = {name: dtype for name, dtype in (type_dict or {}).items() if name in (*names, *states)}
    arg_types, _, state_types = _types_or_float(symbol, given)
    requests = _requests(grad_req, names)
    args = [NDArray(np.zeros(shape, dtype), ctx) for shape, dtype in zip(arg_shapes, arg_types, strict=True)]
    kept = [request != "null" and array.values.dtype.kind == "f" for request, array in zip(requests, args, strict=True)]
    grads = [NDArray(np.zeros_like(array.values), ctx) if on else None for array, on in zip(args, kept, strict=True)]
    auxiliary = [NDArray(np.zeros(shape, dtype), ctx) for shape, dtype in zip(state_shapes, state_types, strict=True)]
    return Executor(symbol, ctx, args, grads, requests, auxiliary)


def _types_or_float(symbol: Symbol, given: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Infer dtypes; the first argument that stays open is float32, until none does."""
    known = dict(given)
    while True:
        arguments, outputs, states = symbol.infer_type_partial(**known)
        names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
        unknown = [n for n, dtype in zip(names, (*arguments, *states), strict=True) if dtype is None]
        if not unknown:
            return arguments, outputs, states
        known[unknown[0]] = np.float32


def _check_simple_requests(grad_req: Any, names: Sequence[str], where: str) -> None:
    if isinstance(grad_req, (list, tuple, dict)) and not grad_req:
        kind = "dict" if isinstance(grad_req, dict) else "list"
        raise RuntimeError(f"grad_req in simple_bind cannot be an empty {kind}")
    requests = (
        [grad_req] if isinstance(grad_req, str) else list(grad_req.values() if isinstance(grad_req, dict) else grad_req)
    )
    for request in requests:
        if request not in REQUESTS:
            raise RuntimeError(
                f"{where}\ngrad_req={request} is not a valid input in simple_bind; only 'null', 'write', and 'add' are "
                "supported"
            )
    if isinstance(grad_req, (list, tuple)) and len(grad_req) != len(names):
        raise RuntimeError(
            f"{where}\nThe length of grad_req list does not match the number of input arguments in simple_bind, "
            f"expected {len(names)}, provided {len(grad_req)}"
        )


def evaluate(symbol: Symbol, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Return the outputs of a symbol for given arrays."""
    return bind(symbol, ctx or next(iter(kwargs.values())).context, kwargs).forward()


Symbol.bind = bind
Symbol.simple_bind = simple_bind
Symbol.eval = evaluate

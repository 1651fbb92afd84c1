"""Results of small programs as JSON: what a program returned, or the class of the error that it raised.

Plain NumPy, so that the interpreter of any system can load it. A program is a function of one argument, the system's
module; it returns tensors, arrays, numbers, texts and None in nested lists, tuples and dicts.
"""

import builtins
import inspect

import numpy as np


def programs(module):
    """Return the programs of a module by name: its public functions of one argument, in order."""
    return {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__code__.co_argcount == 1 and not name.startswith("_")
    }


def outcome(program, system):
    """Run a program; return {"value": …} or {"error": name of the built-in class of the exception}."""
    try:
        return {"value": encode(program(system))}
    except Exception as error:
        return {"error": built_in(type(error))}


def built_in(kind):
    """Return the name of the first built-in class among an exception's classes."""
    return next(base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)


def encode(value):
    """Return a result as JSON values; arrays with their dtypes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if hasattr(value, "numpy"):
        value = value.numpy()
    array = np.asarray(value)
    return {"array": str(array.dtype), "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def differences(found, expected, rtol, path="result"):
    """Yield what differs between two encoded results, numbers being compared with a tolerance."""
    if isinstance(expected, dict) and "array" in expected:
        if not isinstance(found, dict) or "array" not in found:
            yield f"{path}: {found} instead of an array"
            return
        for key in ("array", "shape"):
            if found[key] != expected[key]:
                yield f"{path}: {key} {found[key]} instead of {expected[key]}"
        a, b = (np.asarray(side["data"], float) for side in (found, expected))
        if a.shape == b.shape:
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1e-30)
            if not np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True):
                yield f"{path}: {found['data']} instead of {expected['data']}"
    elif isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            yield f"{path}: {found} instead of {expected}"
            return
        for key in expected:
            yield from differences(found[key], expected[key], rtol, f"{path}.{key}")
    elif isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            yield f"{path}: {found} instead of {expected}"
            return
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            yield from differences(a, b, rtol, f"{path}[{i}]")
    elif isinstance(expected, float) and isinstance(found, (int, float)):
        if not np.isclose(found, expected, rtol=rtol, atol=rtol, equal_nan=True):
            yield f"{path}: {found} instead of {expected}"
    elif found != expected or type(found) is not type(expected):
        yield f"{path}: {found!r} instead of {expected!r}"

"""Which operator each of Python's operators means, for two arrays, an array and a number, a number and an array."""

from __future__ import annotations

_TWO = {
    "add": ("elemwise_add", "_plus"),
    "sub": ("elemwise_sub", "_minus"),
    "mul": ("elemwise_mul", "_mul"),
    "div": ("elemwise_div", "_div"),
}
_ONE = {
    "add": ("_plus_scalar", "_plusscalar"),
    "sub": ("_minus_scalar", "_minusscalar"),
    "mul": ("_mul_scalar", "_mulscalar"),
    "div": ("_div_scalar", "_divscalar"),
    "mod": ("_mod_scalar", "_modscalar"),
    "power": ("_power_scalar", "_powerscalar"),
    "maximum": ("_maximum_scalar", "_maximumscalar"),
    "minimum": ("_minimum_scalar", "_minimumscalar"),
    "hypot": ("_hypot_scalar", "_hypotscalar"),
}
_REFLECTED = {
    "sub": ("_rminus_scalar", "_rminusscalar"),
    "div": ("_rdiv_scalar", "_rdivscalar"),
    "mod": ("_rmod_scalar", "_rmodscalar"),
    "power": ("_rpower_scalar", "_rpower_scalar"),
}


def binary_name(operation: str, form: str) -> tuple[str, str]:
    """Return an operator's name and the first part of its automatic names.

    Args:
        operation: 'add', 'sub', …, the key of `elementwise.ARITHMETIC`.
        form: 'array', 'scalar', or 'reflected' (the number comes first).
    """
    if form == "array":
        return _TWO.get(operation, (f"_{operation}", f"_{operation}"))
    if form == "reflected" and operation in _REFLECTED:
        return _REFLECTED[operation]
    return _ONE.get(operation, (f"_{operation}_scalar", f"_{operation}_scalar"))

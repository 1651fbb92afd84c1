"""Interpolators of SciPy's that were fitted before: at traced points they are those of `primad.scipy.interpolate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any

from primad import numpy as pnp
from primad.errors import TracingError
from primad.scipy.traced_calls import has_traced

Made = Callable[[Any, Any], Any]


def _pieces(here: Any, theirs: Any) -> Any:
    return here.PPoly.construct_fast(theirs.c, theirs.x, theirs.extrapolate, theirs.axis)


def _splines(here: Any, theirs: Any) -> Any:
    return here.BSpline.construct_fast(theirs.t, theirs.c, theirs.k, theirs.extrapolate, theirs.axis)


def _grids(here: Any, theirs: Any) -> Any:
    return here.RegularGridInterpolator(
        theirs.grid, theirs.values, theirs.method, theirs.bounds_error, theirs.fill_value
    )


def _smoothing(here: Any, theirs: Any) -> Any:
    """Return a spline of FITPACK's, which is told by a number what it is beyond its data."""
    t, c, k = theirs._eval_args
    spline = here.BSpline(t, c[: len(t) - k - 1], k)

    def call(x: Any, nu: int = 0, ext: Any = None) -> Any:
        ext = theirs.ext if ext is None else ext
        ext = _BEYOND.get(ext, ext)
        if ext not in (_GOES_ON, _ZERO, _STAYS):
            raise TracingError(
                "UnivariateSpline with ext=2 ('raise') at traced points",
                why="Whether a point is among the data may not be known while a function is recorded.",
                fix="ext=0 goes on beyond the data, ext=1 is 0 there, and ext=3 is what it is at the end.",
            )
        found = spline(pnp.clip(x, t[0], t[-1]) if ext == _STAYS and not nu else x, nu)  # slopes of FITPACK's go on
        return pnp.where((x >= t[0]) & (x <= t[-1]), found, 0.0) if ext == _ZERO else found

    return call


_GOES_ON, _ZERO, _STAYS = 0, 1, 3
_BEYOND = {"extrapolate": _GOES_ON, "zeros": _ZERO, "const": _STAYS}
"""FITPACK's numbers, by SciPy's words for them."""

FITTED: MappingProxyType[str, Made] = MappingProxyType(
    {"PPoly": _pieces, "BSpline": _splines, "RegularGridInterpolator": _grids, "UnivariateSpline": _smoothing}
)
"""name of a class of SciPy's -> how one is made here of a fitted one; classes that derive from it are such ones too."""


def take_traced_points() -> None:
    """Let SciPy's interpolators take traced points, from now on."""
    theirs = import_module("scipy.interpolate")
    for name, made in FITTED.items():
        cls = getattr(theirs, name)
        if not hasattr(cls.__call__, "__wrapped__"):
            cls.__call__ = _evaluating(cls.__call__, made)


def _evaluating(own: Callable[..., Any], made: Made) -> Callable[..., Any]:
    @wraps(own)
    def call(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        if not has_traced(x):
            return own(self, x, *args, **options)
        return made(import_module("primad.scipy.interpolate"), self)(x, *args, **options)

    return call

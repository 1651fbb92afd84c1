"""What holds of a function under one of SciPy's paths, whichever of its arguments are traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import primad

STEP = 1e-6
"""Of central differences; chosen."""


def other_defaults(ours: Callable[..., Any], theirs: Callable[..., Any]) -> list[str]:
    """Return where parameters that two functions share have different defaults; a mark for "not given" is as any."""
    try:
        mine, its = (inspect.signature(inspect.unwrap(function)).parameters for function in (ours, theirs))
    except (TypeError, ValueError):  # it says none
        return []
    shared = [
        (name, mine[name].default, its[name].default)
        for name in mine
        if name in its and mine[name].kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    ]
    return [
        f"{name}={own!r}, not {known!r}"
        for name, own, known in shared
        if isinstance(known, (int, float, str, tuple, type(None))) and own != known and not _same_window(own, known)
    ]


def _same_window(x: Any, y: Any) -> bool:
    """Say whether two names of a window mean the same: SciPy says of newer ones that they are periodic, as all are."""
    return str(x) == str(y).replace("_periodic", "")


def check_mirror(
    call: Callable[..., Any],
    ours: ModuleType,
    scipys: ModuleType,
    *args: Any,
    smooth: Sequence[int] | None = None,
    rtol: float = 1e-11,
    slope: float = 1e-6,
) -> None:
    """Check values and derivatives of a call: plain, and with each argument, and all, traced.

    Args:
        call: (module, *args) -> array.
        ours: the module of primad's.
        scipys: that of SciPy's.
        *args: arrays.
        smooth: the arguments that have a derivative; by default all.
        rtol: of values, as a share of the largest.
        slope: of derivatives beside central differences, as a share of the largest.
    """
    wanted = np.asarray(call(scipys, *args))
    np.testing.assert_array_equal(call(ours, *args), wanted)
    size = np.max(np.abs(wanted), initial=1e-300, where=np.isfinite(wanted))
    rng = np.random.default_rng(1)
    for traced in [*[(i,) for i in range(len(args))], tuple(range(len(args)))] if len(args) > 1 else [(0,)]:

        def some(*given: Any, places: tuple[int, ...] = traced) -> Any:
            every = list(args)
            for place, value in zip(places, given, strict=True):
                every[place] = value
            return call(ours, *every)

        given = [np.asarray(args[i]) for i in traced]
        if len(traced) > 1:
            _same(primad.jit(some, backend="reference")(*given), wanted, rtol * size)
            continue
        (x,), is_smooth = given, smooth is None or traced[0] in smooth
        ahead = rng.normal(size=x.shape) if is_smooth else None
        weights = np.where(np.isfinite(wanted), rng.normal(size=wanted.shape), 0.0) if is_smooth else None

        def weighed(x: Any, some: Any = some, weights: Any = weights) -> Any:
            values = some(x)
            values = values.real + 2 * values.imag if wanted.dtype.kind == "c" else values
            return np.sum(np.where(np.isfinite(wanted), values, 0.0) * weights)

        def asked(x: Any, stack: Any, ahead: Any, some: Any = some, weighed: Any = weighed) -> Any:
            derivatives = (primad.jvp(some, (x,), (ahead,))[1], primad.grad(weighed)(x)) if ahead is not None else ()
            return some(x), primad.vmap(some)(stack), *derivatives

        found, rows, *derivatives = primad.jit(asked, backend="reference")(x, np.stack([x, x]), ahead)
        _same(found, wanted, rtol * size)
        np.testing.assert_allclose(rows, np.stack([wanted, wanted]), rtol=0, atol=rtol * size)
        if not is_smooth:
            continue
        along, back = derivatives
        ends = []
        for sign in (1, -1):
            every = list(args)
            every[traced[0]] = x + sign * STEP * ahead
            ends.append(np.asarray(call(scipys, *every)))
        difference = (ends[0] - ends[1]) / (2 * STEP)
        scale = np.max(np.abs(difference), initial=1.0, where=np.isfinite(difference))
        np.testing.assert_allclose(along, np.where(np.isfinite(wanted), difference, along), rtol=0, atol=slope * scale)
        linear = np.where(np.isfinite(wanted), along, 0.0)
        linear = linear.real + 2 * linear.imag if wanted.dtype.kind == "c" else linear
        np.testing.assert_allclose(
            np.sum(back * ahead), np.sum(linear * weights), rtol=1e-9, atol=1e-10 * scale * max(1.0, np.abs(back).max())
        )


def _same(found: Any, wanted: Any, atol: float) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)

"""Large steps on several threads: functions that compute their result in blocks get the lanes to compute them on."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from primad.runtime.lanes import run_lanes


def on_lanes(work: Callable[[int], Any], count: int) -> list[Any]:
    """Call `work` with 0, 1, …, count − 1 on the threads of lanes and return the results in order."""

    def silent(lane: int, stopped: Callable[[], bool]) -> Any:
        with np.errstate(all="ignore"):  # a plan's setting is its own thread's
            return work(lane)

    return list(run_lanes(silent, count))


@lru_cache(maxsize=1024)
def takes(function: Any, name: str) -> bool:
    """Say whether a function has a parameter."""
    try:
        return name in signature(function).parameters
    except (TypeError, ValueError):
        return False


def lanes_for(function: Any) -> dict[str, Any]:
    """Return the argument that lets a definition share its blocks among threads, if it can."""
    # Python finds the parameters of built-in functions by reading a text, for which it compiles its tokenizer first.
    if isinstance(function, (np.ufunc, BuiltinFunctionType)):
        return {}
    return {"each": on_lanes} if takes(function, "each") else {}

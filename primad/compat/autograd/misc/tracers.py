"""What `autograd.misc.tracers` has for programs: functions whose structure does not depend on values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from primad.compat.autograd.importing import missing
from primad.functional.jit import jit


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return a function with some first arguments given that is called once for each type of the others, and then run.

    Its structure must not depend on values: it is `primad.jit` of the function.
    """
    made: Callable[..., Any] = jit(partial(fun, *args, **kwargs))
    return made


__all__ = ["const_graph"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)

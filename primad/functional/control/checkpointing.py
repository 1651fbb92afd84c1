"""checkpoint: functions whose inner values are computed again where they are needed, instead of being kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from primad.functional.derived_calls import Call
from primad.functional.transformed import transform
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import positional

P = ParamSpec("P")
R = TypeVar("R")


@transform
def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function whose inner values are recomputed in reverse mode, where storing them would take more memory.

    Values and derivatives are unchanged. A plan that runs in tiles needs no more memory for more points and computes
    nothing twice.

    Args:
        function: a function of arrays and pytrees.

    Returns:
        the marked function.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(primad.checkpoint(np.sin))(0.0)
        np.float64(1.0)
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def marked(*args: Any, **kwargs: Any) -> Any:
        inner, given = positional(function, args, kwargs)
        if not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(given)):
            return inner(*given)
        call = Call(inner, given)
        return tree.unflatten(call.out_tree, call.run(checkpoint_))

    return cast(Callable[P, R], marked)

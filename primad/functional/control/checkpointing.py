"""checkpoint: functions whose inner values are computed again where they are needed, instead of being kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from primad.errors import TracingError
from primad.functional.derived_calls import Call
from primad.functional.static_arguments import of_others, static_arguments
from primad.functional.transformed import transform
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import positional

P = ParamSpec("P")
R = TypeVar("R")


NOTHING, EVERYTHING = "nothing_saveable", "everything_saveable"
"""The policies that have a meaning, by JAX's names: all inner values are computed again, or none is."""


@transform
def checkpoint(
    function: Callable[P, R], *, prevent_cse: bool = True, policy: Any = None, static_argnums: Any = ()
) -> Callable[P, R]:
    """Mark a function whose inner values are recomputed in reverse mode, where storing them would take more memory.

    Values and derivatives are unchanged. A plan that runs in tiles needs no more memory for more points and computes
    nothing twice.

    Args:
        function: a function of arrays and pytrees.
        prevent_cse: as in JAX, of whose compiler it speaks; what is computed again stays apart from what was computed.
        policy: "nothing_saveable", as without one, or "everything_saveable", which marks nothing; also as
            `jax.checkpoint_policies` has them.
        static_argnums: positions of arguments that are constants, passed as they are: texts, functions, sizes.

    Returns:
        the marked function.

    Raises:
        TracingError: for another policy.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(primad.checkpoint(np.sin))(0.0)
        np.float64(1.0)
    """
    marks = _policy(policy) == NOTHING
    static = static_arguments(function, static_argnums, ())

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def marked(*args: Any, **kwargs: Any) -> Any:
        fixed, (named, others) = static.among(len(args)), static.named(kwargs)
        dynamic = tuple([arg for i, arg in enumerate(args) if i not in fixed])
        inner, given = positional(of_others(function, args, fixed, named), dynamic, others)
        if not marks or not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(given)):
            return inner(*given)
        call = Call(inner, given)
        return tree.unflatten(call.out_tree, call.run(checkpoint_))

    return cast(Callable[P, R], marked)


def _policy(policy: Any) -> str:
    """Return the name of a policy.

    Raises:
        TracingError: for one without a meaning here, by its name.
    """
    name = NOTHING if policy is None else policy if isinstance(policy, str) else getattr(policy, "__name__", "")
    if name in (NOTHING, EVERYTHING):
        return name
    raise TracingError(
        f"checkpoint: the policy {name or repr(policy)} has no meaning here",
        why="A marked function keeps its arguments, and nothing or everything of what it computes.",
        fix="mark smaller functions, between which values are kept; or leave policy out.",
    )

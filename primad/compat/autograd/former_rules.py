"""Ways to give rules that autograd had before version 1.2; it keeps them with a warning, and so does primad."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from primad.compat.autograd.rules_of_functions import Rules
from primad.compat.autograd.values import vspace


def _warn(name: str) -> None:
    warnings.warn(f"The {name} method is deprecated: give rules by autograd.extend.defvjp.", stacklevel=3)


class FormerRules:
    """Methods of a primitive that give rules for one argument at a time."""

    vjps: Rules
    _made: dict[Any, Any]

    def _pulled_by(self, maker: Callable[..., Any] | None, argnum: int) -> None:
        self.vjps.of[argnum] = maker
        self._made.clear()

    def defgrad(self, gradfun: Callable[..., Any], argnum: int = 0) -> None:
        """Say how cotangents are pulled back to an argument: a function of the result and all arguments gives it."""
        _warn("defgrad")
        self._pulled_by(gradfun, argnum)

    def defvjp(self, vjpmaker: Callable[..., Any], argnum: int = 0) -> None:
        """Say the same by a function of cotangent, result, the spaces of argument and cotangent, and all arguments."""
        _warn("defvjp")

        def staged(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
            return lambda g: vjpmaker(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        self._pulled_by(staged, argnum)

    def defvjp_is_zero(self, argnums: Iterable[int] = (0,)) -> None:
        """Say that the derivatives in some arguments are 0."""
        _warn("defvjp_is_zero")
        for argnum in argnums:
            self._pulled_by(None, argnum)

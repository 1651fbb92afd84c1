"""Rules that programs give: of a primitive's arguments, and of functions that have rules already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.compat.autograd.util import subval
from primad.errors import NotDifferentiableError
from primad.functional.derivatives.first_order import jvp, vjp
from primad.recording.protocols import FUNCTIONS, UFUNCS, recorded_by

_NUMBERS = (0.31, 0.42, 0.57, 0.68)
"""Arguments at which rules are compared, in the domain of most functions: the first ones, and these reversed."""

_MATRICES = tuple(
    np.diag([0.5, 0.8, 1.1]) + shift * np.array([[0.2, 0.1, -0.3], [0.3, 0.1, 0.2], [-0.1, 0.4, 0.3]])
    for shift in _NUMBERS
)
"""Such arguments of functions of matrices: neither symmetric nor near to singular, with eigenvalues apart."""


class NoRuleError(NotDifferentiableError, NotImplementedError):
    """A primitive has no rule that is needed; HIPS autograd's error is a NotImplementedError."""


class Rules:
    """The rules of a primitive for one mode.

    Args:
        kind: the function that gives them, `defvjp` or `defjvp`.

    Attributes:
        of: by the number of the argument; None says that the derivative is 0, "same" that of tangents the rule is the
            primitive itself.
        others: what gives the rule of an argument that has none of its own, from its number; or None.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.of: dict[int, Any] = {}
        self.others: Callable[[int], Any] | None = None

    def cover(self, places: Sequence[int]) -> bool:
        """Say whether all these arguments have a rule."""
        return self.others is not None or all(place in self.of for place in places)

    def rule(self, place: int, owner: str) -> Any:
        """Return the rule of an argument.

        Raises:
            NoRuleError: if it has none.
        """
        if place not in self.of and self.others is None:
            raise NoRuleError(
                f"primitive {owner} has no rule for argument {place} by {self.kind}",
                fix=f"give it one with {self.kind}, or {self.kind}(…, None) if there is no derivative.",
            )
        return self.of[place] if place in self.of or self.others is None else self.others(place)


def is_own(function: Any) -> bool:
    """Say whether a function is one of those that primad has rules for, its own or NumPy's."""
    module = str(getattr(function, "__module__", ""))
    return module.startswith("primad.") or any(recorded_by(table, function) for table in (UFUNCS, FUNCTIONS))


def has_already(function: Callable[..., Any], rules: Mapping[int, Any], forward: bool) -> bool:
    """Say whether a function of numbers or matrices has the derivatives that rules say; False if nobody can tell.

    Args:
        function: one of primad's.
        rules: what is given to `defvjp`, or to `defjvp`, by the number of the argument.
        forward: whether it is given to `defjvp`.
    """
    for samples in (_NUMBERS, _MATRICES):
        for count in range(max(rules, default=0) + 1, len(samples) + 1):
            try:
                return all(
                    _agrees(function, place, rule, args, forward)
                    for place, rule in rules.items()
                    for args in (samples[:count], samples[::-1][:count])
                )
            except Exception:  # of functions of anything else than this many, and of rules of any users
                continue
    return False


def _agrees(function: Callable[..., Any], place: int, rule: Any, args: tuple[Any, ...], forward: bool) -> bool:
    def along(x: Any) -> Any:
        return function(*subval(args, place, x))

    if forward or rule == "same":
        tangent = np.ones_like(args[place])
        ans, own = jvp(along, (args[place],), (tangent,))
        said = along(tangent) if rule == "same" else rule and rule(tangent, ans, *args)
    else:
        ans, pull = vjp(along, args[place])
        cotangent = np.cos(np.arange(float(np.size(ans)))).reshape(np.shape(ans))[()]
        (own,) = pull(cotangent)
        said = rule and rule(ans, *args)(cotangent)
    return bool(np.allclose(0.0 if rule is None else said, own, rtol=1e-10, atol=1e-12 * np.max(np.abs(own))))


def as_real(derivative: Any, of: Any) -> Any:
    """Return what a rule gives, of real numbers its real part: rules may compute with complex ones on the way."""
    return pn.real(derivative) if np.iscomplexobj(derivative) and of.dtype.kind != "c" else derivative

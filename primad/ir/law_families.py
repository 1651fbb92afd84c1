"""Which families of laws apply to the programs that are being built: all of them.

Only `primad.explain` leaves some out for a while, in its own thread, to show what each is worth, what writes formulas,
proves them or encloses values, and what computes a program another way where the first does not arrive. Scales are
among them: definitions leave them out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOCAL = "local laws"
"""The identities in the ops' constructors."""
DIRECTIONS = "sums over directions"
"""The pass that moves sums over directions towards the inputs."""
ROUNDING = "rounded numbers"
"""The identities that compute a number of numbers, where it is rounded."""
SOLVERS = "steps of solvers"
"""The definitions of ops that try (see `primad.ops.record.primitive`): without them they are computed the other way."""

SCALES = "scales against overflow"
"""What definitions divide or shift by so that nothing overflows, on which results do not depend: exact arithmetic has
no need for them, and where values vary they hide how."""

LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("families of laws that do not apply", default=frozenset())


def scales() -> bool:
    """Say whether definitions keep their steps from overflowing."""
    return SCALES not in LEFT_OUT.get()


@contextmanager
def without(*families: str) -> Iterator[None]:
    """Leave families of laws out of what is built meanwhile."""
    token = LEFT_OUT.set(frozenset(families))
    try:
        yield
    finally:
        LEFT_OUT.reset(token)

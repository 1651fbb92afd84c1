"""Recursions along the first axis: sections of filters, one behind the other, as one loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.functional.control.user_loops import scan


def cascade(
    sections: Sequence[tuple[Any, Any]], x: Any, states: Sequence[Sequence[Any]]
) -> tuple[Any, list[list[Any]]]:
    """Return what filters make of a signal, each of what the one before made, and their states in the end.

    A filter is y = b₀ x + z₀, zᵢ ← bᵢ₊₁ x − aᵢ₊₁ y + zᵢ₊₁: the transposed direct form II.

    Args:
        sections: (b, a) of each filter, vectors of the same length, with a₀ = 1.
        x: the signal, along the first axis.
        states: z of each filter, one array less than there are coefficients.
    """

    def step(states: Any, x: Any) -> tuple[Any, Any]:
        after = []
        for (b, a), z in zip(sections, states, strict=True):
            y = b[0] * x + z[0]
            kept = [b[i] * x - a[i] * y for i in range(1, b.shape[0])]
            after.append([one + z[i + 1] if i + 1 < len(z) else one for i, one in enumerate(kept)])
            x = y
        return after, x

    after, y = scan(step, [list(z) for z in states], x)
    return y, after

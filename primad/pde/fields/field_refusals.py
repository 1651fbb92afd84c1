"""What is said where something else stands for a field at points, or a field at points for a function."""

from __future__ import annotations

from typing import Any

from primad.errors import PrimadError, TracingError


def called() -> PrimadError:
    """Return the error for a field at points that is called."""
    return TracingError(
        "a field at points is called as a function",
        why="It stands for its values at these points, and knows no others.",
        fix="write u, u.x or u.d('xx'); an equation with values elsewhere, as u(x / 2), is one of SymPy's for "
        "primad.residual_of.",
    )


def no_field(found: Any, operator: str) -> PrimadError:
    """Return the error for something that an operator takes for a field at points.

    Args:
        found: what it got.
        operator: its name.
    """
    if hasattr(found, "coordinates") and callable(found):  # a field
        why, fix = "It is a function.", f"give it points: {operator}(u(x, y))."
    elif hasattr(found, "derivative"):  # an unknown of a solution
        why, fix = "It is the unknown of a solution.", 'its derivatives have names: solution.u.d("xx")(x, y).'
    else:
        why = "Values at points have no derivatives: what they are values of is not known."
        fix = (
            'of a solution, add up derivatives: solution.u.d("xx")(x, y) + …; of a function, pass pde.Field('
            'lambda x, y: …, "x y")(x, y).'
        )
    return TracingError(f"{operator}: it takes a field at points, got {type(found).__name__}", why=why, fix=fix)

"""What is said where something else stands for a field at points, or a field at points for a function."""

from __future__ import annotations

import re
from typing import Any

from primad.errors import PrimadError, ShapeError, TracingError
from primad.pde.fields.coordinate_names import Coordinates


def called() -> PrimadError:
    """Return the error for an unknown that is called where only its derivatives at points are known."""
    return TracingError(
        "an unknown is asked at another place",
        why="Only its values and derivatives at given points are known here.",
        fix="write u, u.x or u.d('xx'); with values elsewhere, as u(x / 2), an equation is solved by a network.",
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


def likely(name: str, known: Coordinates) -> str:
    """Return the derivative that a name as others write it means, "xx" for d2x or u_xx; "" for none."""
    names = "|".join(sorted(map(re.escape, known.names), key=len, reverse=True))
    found = re.fullmatch(rf"d?(\d?)(?:[a-z]?_)?(?:[a-z]?d)?((?:{names})+)(\d?)", name)
    if not found:
        return ""
    times = int(found[1] or found[3] or 1)
    alone = found[2] in known.names
    return (" " * (len(found[2]) > 1)).join([found[2]] * times) if alone else found[2]


def written(name: str, known: Coordinates) -> str:
    """Return what to write for an attribute that a field does not have."""
    meant = likely(name, known)
    first = known.names[0]
    if meant:
        return f"write u.{meant}." if " " not in meant else f'write u.d("{meant}").'
    return (
        f'derivatives are written u.{first} and u.d("{first} {first}"), by the coordinates {", ".join(known.names)}; '
        "operators are functions, pde.laplacian(u)."
    )


def of_values(error: PrimadError, known: Coordinates) -> PrimadError:
    """Return the error for a derivative that is written as of values, or of a function, with what to write."""
    if error.what.startswith("grad(FieldAt)"):
        return error.with_fix(f"derivatives of a field at points have names: write u, u.{known.names[0]}.")
    found = re.search(r"traced array has no attribute '(\w+)'", error.what)
    if not found:
        return error
    try:
        along = " ".join(known.split(found[1]))
    except ShapeError:
        return error
    return error.with_fix(
        f'a derivative is an array, and has none of its own: write u.d("… {along}") with all coordinates in it, u.xx '
        "for u.x.x."
    )


def axes_taken(index: Any) -> int:
    """Return along how many axes an index of several parts takes elements; 0 for one of a single part."""
    return sum(part is not None and part is not ... for part in index) if isinstance(index, tuple) else 0


def no_component(index: Any, names: Coordinates) -> PrimadError:
    """Return the error for an index of a field whose values are numbers, one at each point."""
    if isinstance(index, str):
        return ShapeError(f"a field has no component {index!r}", fix=written(index, names))
    return ShapeError(
        "a field is indexed as a matrix, and is one number at each point",
        fix="write u itself; several unknowns have names of their own: lambda u, v: ….",
    )

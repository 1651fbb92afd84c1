"""Names of coordinates and components, and derivatives written with them: `xxt` is ∂³/∂x²∂t."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from primad.errors import ShapeError, suggestion
from primad.pde.written_names import names_in
from primad.programs.jacobians.differential_operators import Direction

_ARGUMENT = re.compile(r"\(([^()]*)\)|([^\W\d]\w*)\[(\d+)\]|([^\W\d]\w*)|([\s,]+)|(.)")
MOST_PARTS = 64
"""Coordinates that a derivative's name is split into at most."""


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of a function, by name.

    Attributes:
        text: as they were written.
        names: all coordinates, in order.
        arguments: for each argument of the function the coordinates in it; of one that is a number the name alone.
        directions: for each coordinate the argument and the index along its last axis, if it has one.
    """

    text: str
    names: tuple[str, ...]
    arguments: tuple[str | tuple[str, ...], ...]
    directions: dict[str, Direction]

    def split(self, derivative: str) -> tuple[str, ...]:
        """Return the coordinates that a derivative's name says, in the order of the coordinates.

        Raises:
            ShapeError: if the name is not made of coordinates, or in more than one way.
        """
        parts = names_in(derivative)
        if len(parts) == 1 and parts[0] not in self.directions:
            found = self._readings(parts[0])
            if len(found) > 1:
                raise ShapeError(
                    f"the derivative {derivative!r} may be read as {' or as '.join(map(' '.join, found))}",
                    fix="put spaces between the coordinates: d('x1 x1 t').",
                )
            parts = found[0] if found else parts
        unknown = [part for part in parts if part not in self.directions]
        if unknown:
            raise ShapeError(
                f"{unknown[0]!r} is no coordinate, in the derivative {derivative!r}",
                why=suggestion(unknown[0], self.names) or f"The coordinates are {', '.join(self.names)}.",
                fix=f"write derivatives with {', '.join(self.names)}.",
            )
        return tuple(sorted(parts, key=self.names.index))

    def directions_of(self, names: Sequence[str]) -> tuple[Direction, ...]:
        """Return the directions of coordinates, in the order in which all derivatives are taken."""
        return tuple([self.directions[name] for name in sorted(names, key=self.names.index)])

    def _readings(self, text: str) -> list[tuple[str, ...]]:
        """Return the ways in which a text is made of names of coordinates, two at most."""
        if len(text) > MOST_PARTS * max(map(len, self.names)):
            return []
        ways: list[list[tuple[str, ...]]] = [[()]]
        for end in range(1, len(text) + 1):
            found = [
                (*before, name)
                for name in self.names
                if len(name) <= end and text.endswith(name, 0, end)
                for before in ways[end - len(name)]
            ]
            ways.append(list({tuple(sorted(way)): way for way in found}.values())[:2])
        return ways[-1]


def derivative_text(given: Sequence[Any], names: Sequence[str]) -> str:
    """Return the name of a derivative, of which the coordinates may be given one by one: d("x", "x").

    Raises:
        ShapeError: if it is no text.
    """
    parts = list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else list(given)
    if not all(isinstance(part, str) for part in parts) or not parts:
        shown = ", ".join(map(repr, given))
        raise ShapeError(
            f"a derivative is named by coordinates, got d({shown})",
            fix=f'write d("{names[0]} {names[0]}") for the second one along {names[0]}.',
        )
    return " ".join(parts)


def coordinates(text: str | Sequence[str]) -> Coordinates:
    """Read the coordinates of a function.

    Args:
        text: `"x t"` for a function f(x, t) of numbers; `"(x y) t"` where its first argument is an array of x and y;
            `"x[5] t"` where that is an array of five coordinates, x0 to x4. A sequence of names is one of numbers.

    Raises:
        ShapeError: if it is none of these, or a name is there twice.
    """
    text = text if isinstance(text, str) else " ".join(text)
    arguments: list[str | tuple[str, ...]] = []
    for group, vector, count, name, space, other in _ARGUMENT.findall(text):
        if other:
            raise ShapeError(
                f"the coordinates {text!r} are not understood at {other!r}",
                fix="write 'x t', '(x y) t' for an argument that is an array of x and y, or 'x[5] t' for one of five.",
            )
        if space:
            continue
        arguments.append(name or (tuple(f"{vector}{i}" for i in range(int(count))) if vector else names_in(group)))
    names = tuple(name for each in arguments for name in ((each,) if isinstance(each, str) else each))
    twice = [name for name, times in Counter(names).items() if times > 1]
    if not names or twice or not all(arguments):
        raise ShapeError(
            f"the coordinates {text!r} have " + (f"{twice[0]} twice" if twice else "an empty place"),
            fix="write each name once: 'x t', or '(x y) t' where x and y are in one array.",
        )
    directions: dict[str, Direction] = {}
    for place, each in enumerate(arguments):
        directions.update(
            {each: (place, None)} if isinstance(each, str) else {n: (place, i) for i, n in enumerate(each)}
        )
    return Coordinates(text, names, tuple(arguments), directions)

"""Names of variables: a counter for each stem, as `paddle.utils.unique_name` keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_counters: list[tuple[str, Counter[str]]] = [("", Counter())]
GRADIENT = "@GRAD"
"""What the name of a gradient ends in."""
TANGENT = "@TANGENT"
"""What the name of a tangent ends in."""


def generate(stem: str) -> str:
    """Return `stem_0`, `stem_1`, … in turn.

    Example:
        >>> from primad.compat.paddle.settings import naming
        >>> with naming.guard():
        ...     naming.generate("fc"), naming.generate("fc")
        ('fc_0', 'fc_1')
    """
    prefix, counter = _counters[-1]
    number = counter[stem]
    counter[stem] += 1
    return f"{prefix}{stem}_{number}"


class Layer:
    """The name that all operators of one layer share: given, or the next one of a stem when a variable needs it.

    Operators in a `with` block of a layer belong to it.
    """

    def __init__(self, stem: str, name: str | None = None) -> None:
        self._stem, self._name = stem, name

    @property
    def name(self) -> str:
        """The layer's name."""
        if self._name is None:
            self._name = generate(self._stem)
        return self._name

    def __enter__(self) -> Layer:
        _layers.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _layers.pop()


_layers: list[Layer] = []


def current_layer() -> Layer | None:
    """Return the layer whose `with` block is running, if any."""
    return _layers[-1] if _layers else None


@contextmanager
def guard(new_generator: str | None = None) -> Iterator[None]:
    """Count from zero inside a `with` block; a string is put in front of each name there."""
    _counters.append((new_generator or "", Counter()))
    try:
        yield
    finally:
        _counters.pop()

"""Paddle's operators: one record each, applied to tensors (computed at once) and variables (appended to a block).

A record says what Paddle calls the operator, its slots and its attributes, and what it computes, with primad's
functions. No derivative is written here: both modes differentiate `compute` with the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from primad.compat.paddle.settings.errors import unsupported
from primad.compat.paddle.settings.naming import Layer


@dataclass(frozen=True, eq=False)
class Prototype:
    """What is known of an operator before it is applied.

    Attributes:
        type: Paddle's name of the operator (`elementwise_add`, `reduce_mean`).
        compute: takes one argument per input slot (an array; a list of arrays for a slot that takes many; None for one
            that is left out), then the attributes by name; returns one value per output slot, in a tuple if many.
        inputs: names of the input slots.
        outputs: names of the output slots.
        attributes: names and defaults of the attributes, all of which `compute` takes.
        draw: of an operator with random numbers, what draws them on the host: takes a NumPy generator and the
            attributes by name, returns an array, which `compute` gets after the input slots.
    """

    type: str
    compute: Callable[..., Any]
    inputs: tuple[str, ...] = ("X",)
    outputs: tuple[str, ...] = ("Out",)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[..., Any] | None = None


def prototype(
    type: str, inputs: str = "X", outputs: str = "Out", draw: Callable[..., Any] | None = None, **attributes: Any
) -> Callable[[Callable[..., Any]], Prototype]:
    """Return a decorator that makes a function the `compute` of an operator; slots are named in one string."""
    return lambda compute: Prototype(type, compute, tuple(inputs.split()), tuple(outputs.split()), attributes, draw)


INSTEAD = {
    "cuda": "everything runs on the CPU; leave it out.",
    "backward": "append gradients to the program with paddle.static.append_backward(loss).",
    "numpy": "fetch it: Executor.run(..., fetch_list=[x]).",
}
"""What to write for names that values of one mode or the other lack."""


class Value:
    """What operators apply to: the base of `Tensor` and of the static `Variable`."""

    kind: ClassVar[list[type[Value]]] = []
    """The mode flag: the kind of value that operators without value operands make, last entry first."""

    if not TYPE_CHECKING:  # a type checker knows which names there are

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # Python and NumPy ask for these to see whether they are there
                raise AttributeError(name)
            raise unsupported(type(self).__name__, name, dir(type(self)), INSTEAD)

    @classmethod
    def apply(cls, operator: Prototype, slots: Sequence[Any], attributes: dict[str, Any], layer: str | Layer) -> Any:
        """Apply an operator to values, or to numbers and arrays beside them.

        Args:
            operator: its record.
            slots: one entry per input slot: a value, a list of values, or None.
            attributes: all attributes, defaults included.
            layer: where values have names, the first part of the names of the results.
        """
        raise NotImplementedError


def values_in(slots: Sequence[Any]) -> Iterator[Value]:
    """Yield the values among operands, also those in lists."""
    for slot in slots:
        if isinstance(slot, Value):
            yield slot
        elif isinstance(slot, (list, tuple)):
            yield from values_in(slot)


def apply(
    operator: Prototype, *slots: Any, layer: str | Layer | None = None, name: str | None = None, **attributes: Any
) -> Any:
    """Apply an operator in the mode of its operands; without value operands, in the current mode.

    Args:
        operator: its record.
        slots: one operand per input slot.
        layer: what static variables that it makes are called after: a stem (`mean` makes `mean_0.tmp_0`), a `Layer`
            that several operators share, or "" for plain temporaries (`tmp_0`); by default the operator's type.
        name: the user's name for the result: `n` makes `n.tmp_0`.
        attributes: those that differ from their defaults.
    """
    kind = next((type(value) for value in values_in(slots)), None) or Value.kind[-1]
    if name is not None:
        layer = Layer("", name)
    return kind.apply(operator, slots, {**operator.attributes, **attributes}, operator.type if layer is None else layer)

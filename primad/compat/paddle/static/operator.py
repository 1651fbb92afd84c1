"""One operator of a block: what it computes, on variables by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.static.inference import dependence
from primad.errors import user_line

FORWARD, BACKWARD, OPTIMIZE, LOSS = 0, 1, 2, 256
"""What an operator is there for (its attribute `op_role`); LOSS is added to the role of those at the loss."""


class Operator:
    """One operator of a block.

    Attributes:
        prototype: what it computes.
        slots: for each input slot, the variable's name, a list of names, or None.
        results: for each output slot, likewise; None for an output that is not wanted.
        attributes: by Paddle's names.
        where: the user's line that it comes from; by default the one that is running.
    """

    def __init__(
        self,
        prototype: Prototype,
        slots: Sequence[Any],
        results: Sequence[Any],
        attributes: dict[str, Any],
        where: str | None = None,
    ) -> None:
        self.prototype = prototype
        self.slots = list(slots)
        self.results = list(results)
        self.attributes = {**prototype.attributes, **attributes}
        self.where = where or user_line()
        self._dependence: list[Any] | None = None

    @property
    def type(self) -> str:
        """Paddle's name of the operator."""
        return self.prototype.type

    @property
    def input_arg_names(self) -> list[str]:
        """Names of all inputs."""
        return [name for slot in self.slots for name in names_of(slot)]

    @property
    def output_arg_names(self) -> list[str]:
        """Names of all outputs."""
        return [name for slot in self.results for name in names_of(slot)]

    @property
    def input_names(self) -> list[str]:
        """Names of the input slots."""
        return list(self.prototype.inputs)

    @property
    def output_names(self) -> list[str]:
        """Names of the output slots."""
        return list(self.prototype.outputs)

    def input(self, slot: str) -> list[str]:
        """Return the names of the variables in an input slot."""
        return names_of(self.slots[self.prototype.inputs.index(slot)])

    def output(self, slot: str) -> list[str]:
        """Return the names of the variables in an output slot."""
        return names_of(self.results[self.prototype.outputs.index(slot)])

    def attr(self, name: str) -> Any:
        """Return an attribute."""
        return self.attributes[name]

    def has_attr(self, name: str) -> bool:
        """Say whether there is such an attribute."""
        return name in self.attributes

    def all_attrs(self) -> dict[str, Any]:
        """Return all attributes."""
        return dict(self.attributes)

    @property
    def desc(self) -> OperatorDescription:
        """The operator in the form that callbacks see."""
        return OperatorDescription(self)

    def dependence(self, variables: Mapping[str, Any]) -> list[Any]:
        """Return, in the structure of the slots, whether gradients pass to that input."""
        if self._dependence is None:
            slots = [each(slot, variables.__getitem__) for slot in self.slots]
            self._dependence = dependence(self.prototype, slots, self.attributes)
        return self._dependence

    def rename(self, old: str, new: str) -> None:
        """Give a variable another name wherever the operator mentions it."""
        self.slots, self.results = (
            [each(slot, lambda name: new if name == old else name) for slot in side]
            for side in (self.slots, self.results)
        )

    def __str__(self) -> str:
        outputs = ", ".join(f"{name}={names_of(slot)}" for name, slot in _sorted(self.prototype.outputs, self.results))
        inputs = ", ".join(f"{name}={names_of(slot)}" for name, slot in _sorted(self.prototype.inputs, self.slots))
        shown = ", ".join(f"{name} = {_attribute(value)}" for name, value in sorted(self.attributes.items()))
        return f"{{{outputs}}} = {self.type}(inputs={{{inputs}}}, {shown})"

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = True) -> str:
        """Return the operator's line in the text of its program."""
        return str(self)


class OperatorDescription:
    """An operator as callbacks of `append_backward` see it: `type()` and the names are methods here."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def type(self) -> str:
        """Return Paddle's name of the operator."""
        return self._operator.type

    def input_arg_names(self) -> list[str]:
        """Return the names of all inputs."""
        return self._operator.input_arg_names

    def output_arg_names(self) -> list[str]:
        """Return the names of all outputs."""
        return self._operator.output_arg_names

    def input_names(self) -> list[str]:
        """Return the names of the input slots."""
        return self._operator.input_names

    def output_names(self) -> list[str]:
        """Return the names of the output slots."""
        return self._operator.output_names

    def input(self, slot: str) -> list[str]:
        """Return the names of the variables in an input slot."""
        return self._operator.input(slot)

    def output(self, slot: str) -> list[str]:
        """Return the names of the variables in an output slot."""
        return self._operator.output(slot)

    def attr(self, name: str) -> Any:
        """Return an attribute."""
        return self._operator.attr(name)

    def has_attr(self, name: str) -> bool:
        """Say whether there is such an attribute."""
        return self._operator.has_attr(name)

    def __str__(self) -> str:
        return str(self._operator)


def names_of(slot: Any) -> list[str]:
    """Return the names in a slot: none, one, or a list with None for what is left out."""
    if slot is None:
        return []
    return [slot] if isinstance(slot, str) else [name for name in slot if name is not None]


def _sorted(names: Sequence[str], slots: Sequence[Any]) -> list[tuple[str, Any]]:
    return sorted(zip(names, slots, strict=True), key=lambda pair: pair[0])


def _attribute(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def each(slot: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to what a slot holds: one thing, a list of things, or nothing (None)."""
    if slot is None:
        return None
    return [each(item, function) for item in slot] if isinstance(slot, list) else function(slot)

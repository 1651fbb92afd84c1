"""What an operator is: one record, used by symbols, by arrays and by recorded computations alike.

No derivative is written in these records. `compute` uses primad's functions, which know theirs; the gradient override
of a loss head says what MXNet sends backward instead of a derivative, and enters as a cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primad.compat.mxnet.graph.shape_rules import Rule, forward_only
from primad.compat.mxnet.imperative.operator_parameters import Parameter, Settings, read_settings

DType = np.dtype[Any] | None
TypeRule = Callable[[Settings, list[DType], list[DType]], None]


def one_type(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    """All inputs and outputs have one dtype."""
    found = next((dtype for dtype in (*inputs, *outputs) if dtype is not None), None)
    inputs[:] = [found] * len(inputs)
    outputs[:] = [found] * len(outputs)


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of MXNet.

    Attributes:
        name: its name in MXNet's registry, which JSON texts use.
        compute: `(settings, *arrays)` -> the array, or a tuple of outputs followed by new auxiliary states; further
            keywords `training` and `key` where it asks for them.
        parameters: its parameters by name.
        inputs: names of its inputs, or None where it takes as many as it gets and counts them in `num_args`.
        absent: which inputs some settings leave out.
        outputs: how many outputs it has, or a function of the settings that says so.
        hidden: how many more outputs MXNet counts in JSON texts, or a function of the settings that says so.
        numbered: whether hidden outputs count where the name of its output gets a number.
        suffix: what follows the operator's name in the name of its output.
        auxiliary: names of those inputs that are states, which it replaces in training.
        initial: initializers of its variables where MXNet writes them down.
        shapes: completes partly known shapes.
        types: completes partly known dtypes.
        override: `(settings, inputs, outputs)` -> what a loss head sends back to its first input, instead of anything
            that depends on the head gradient.
        check: `(settings, *arrays)`, which refuses values of NumPy arrays.
        training: whether `compute` takes `training`.
        key: whether `compute` takes `key`, an integer array of which random numbers are a function.
    """

    name: str
    compute: Callable[..., Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    inputs: tuple[str, ...] | None = ("data",)
    absent: Callable[[Settings], Collection[str]] = lambda settings: ()
    outputs: int | Callable[[Settings], int] = 1
    hidden: int | Callable[[Settings], int] = 0
    suffix: str = "output"
    numbered: bool = False
    auxiliary: tuple[str, ...] = ()
    initial: Mapping[str, str] = field(default_factory=dict)
    shapes: Rule = forward_only
    types: TypeRule = one_type
    override: Callable[..., Any] | None = None
    check: Callable[..., None] | None = None
    training: bool = False
    key: bool = False

    def settings(self, given: Mapping[str, Any]) -> Settings:
        """Read the parameters; see `read_settings`."""
        return read_settings(self.name, self.parameters, given)

    def input_names(self, settings: Settings, count: int) -> tuple[str, ...]:
        """Return the names of the inputs, of which `count` were given."""
        if self.inputs is None:
            return tuple([f"arg{i}" for i in range(count)])
        absent = self.absent(settings)
        return tuple([name for name in self.inputs if name not in absent])

    def output_count(self, settings: Settings) -> int:
        """Return the number of outputs."""
        return self.outputs(settings) if callable(self.outputs) else self.outputs

    def hidden_count(self, settings: Settings) -> int:
        """Return the number of outputs that only JSON texts count."""
        return self.hidden(settings) if callable(self.hidden) else self.hidden

    def apply(self, settings: Settings, arrays: Any, training: bool, key: Any) -> tuple[Any, ...]:
        """Compute outputs, followed by new auxiliary states, from NumPy or traced arrays."""
        options: dict[str, Any] = {}
        if self.training:
            options["training"] = training
        if self.key:
            options["key"] = key
        results = self.compute(settings, *arrays, **options)
        return results if isinstance(results, tuple) else (results,)


TABLE: dict[str, Operator] = {}
"""Operators by every name that MXNet gives them."""


def operator(
    name: str, *aliases: str, parameters: Mapping[str, Parameter] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Operator]:
    """Return a decorator that puts an operator into the table, under its name and aliases.

    Args:
        name: MXNet's name.
        aliases: further names.
        parameters: the operator's parameters.
        options: the other attributes of its record.
    """

    def decorate(compute: Callable[..., Any]) -> Operator:
        record = Operator(name, compute, parameters or {}, **options)
        for each in (name, *aliases):
            assert each not in TABLE, f"two operators are called {each}"
            TABLE[each] = record
        return record

    return decorate

"""Testing functions that are opaque, or have a rule by `custom_jvp` or `custom_vjp`, on floats.

What such a function computes may be known to nobody but itself, so that there is nothing to prove its rule from: it is
compared with differences of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from primad.errors import NotDifferentiableError, TracingError
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.first_order import function_name
from primad.functional.derivatives.gradient_checks import check_grads
from primad.functional.rules.custom_rules import custom_jvp, custom_vjp
from primad.functional.rules.opaque import MappingRefusedError, Opaque
from primad.ir.array_types import ArrayType
from primad.recording import tree
from primad.recording.tracing import record, type_of
from primad.verify.cases.drawn_cases import Choices, Example, Operand, sample
from primad.verify.checks.decide import FAULTS, Wrong
from primad.verify.checks.trial import close
from primad.verify.verdicts import How, Row

Function = Callable[..., Any]

RULED = (Opaque, custom_jvp, custom_vjp)
"""What is tested so."""
STACK = 3
"""Length of the axis that `vmap` is tried on."""


class FunctionCase(Struct, frozen=True):
    """A function, and the applications that it is tried on."""

    function: Function
    examples: tuple[Example, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return function_name(self.function)


def function_case(function: Function, examples: Sequence[Example] | None) -> FunctionCase:
    """Return the case of a function.

    Raises:
        TracingError: without examples, since nothing else says what it takes.
    """
    if not examples:
        name = function_name(function)
        raise TracingError(
            f"verify: {name} needs examples of its arguments",
            fix=f"from primad.verify import Example, Operand; verify({name}, "
            "examples=[Example((Operand(primad.ArrayType((3,), float)),))]).",
        )
    return FunctionCase(function, tuple(examples))


class _Drawn:
    """One application of a function: a function of the arrays alone, and their values, of which some are floats."""

    def __init__(self, case: FunctionCase, example: Example, choose: Choices) -> None:
        self.operands = example.operands
        self.inputs = example.inputs
        self.where = f"{case.name}({', '.join(map(str, example.types))})"
        self._call = partial(case.function, **example.params)
        self._choose = choose
        self.values = self.draw()

    def draw(self) -> list[Any]:
        """Return values of the arrays."""
        taken: set[Fraction] = set()
        return [self._values(operand, taken) if operand.array is None else operand.array for operand in self.inputs]

    def _values(self, operand: Operand, taken: set[Fraction]) -> Any:
        """Return numbers of an operand's domain; of complex ones it is that of either part."""
        count = 2 if operand.type.is_complex else 1
        real, *imag = ([float(number) for number in sample(self._choose, operand, taken)] for _ in range(count))
        found = [complex(*both) for both in zip(real, *imag, strict=True)] if imag else real
        return np.array(found, operand.type.dtype).reshape(operand.type.shape)[()]

    def function(self, *arrays: Any) -> Any:
        """Call the function on arrays."""
        rest = iter(arrays)
        return self._call(*[o.literal if o.literal is not None else next(rest) for o in self.operands])

    def of_floats(self) -> tuple[Function, list[Any]]:
        """Return the function of the float operands alone, and their values."""
        moving = [operand.array is None for operand in self.inputs]

        def function(*floats: Any) -> Any:
            rest = iter(floats)
            return self.function(*[next(rest) if on else x for x, on in zip(self.values, moving, strict=True)])

        return function, [x for x, on in zip(self.values, moving, strict=True) if on]

    @property
    def differentiable(self) -> bool:
        """Whether all results are floats, and some operand is."""
        found = tree.leaves(self.function(*self.values))
        return bool(self.of_floats()[1]) and all(type_of(leaf).is_float for leaf in found)


def _types(drawn: _Drawn) -> None:
    """The types that are recorded are those of the values."""
    _, in_tree = tree.flatten(tuple(drawn.values))
    inferred = record(drawn.function, [type_of(x) for x in drawn.values], in_tree).out_types
    found: list[ArrayType] = [type_of(leaf) for leaf in tree.leaves(drawn.function(*drawn.values))]
    if inferred != found:
        raise Wrong(f"{drawn.where}: type", found, inferred)


def _grads(drawn: _Drawn, order: int, mode: str) -> None:
    function, floats = drawn.of_floats()
    if drawn.differentiable:
        check_grads(function, floats, order=order, modes=(mode,), rtol=1e-5, atol=1e-7)


def _mapped(drawn: _Drawn) -> None:
    """`vmap` gives what a loop does: along all operands, and along each alone."""
    rows = [drawn.values, *[drawn.draw() for _ in range(STACK - 1)]]
    stacked = [np.stack(values) for values in zip(*rows, strict=True)]
    count = len(stacked)
    for flags in dict.fromkeys([(True,) * count, *[tuple([i == j for j in range(count)]) for i in range(count)]]):
        given = [x if on else x[0] for x, on in zip(stacked, flags, strict=True)]
        got = tree.leaves(vmap(drawn.function, in_axes=tuple([0 if on else None for on in flags]))(*given))
        loop = [
            tree.leaves(drawn.function(*[x[k] if on else x for x, on in zip(given, flags, strict=True)]))
            for k in range(STACK)
        ]
        for expected, found in zip(zip(*loop, strict=True), got, strict=True):
            close(f"{drawn.where}: batching of operands {flags}", np.stack(expected), found)


TESTS: tuple[tuple[str, Callable[[_Drawn], None]], ...] = (
    ("type", _types),
    ("JVP", lambda drawn: _grads(drawn, 1, "fwd")),
    ("JVP of JVP", lambda drawn: _grads(drawn, 2, "fwd")),
    ("transpose", lambda drawn: _grads(drawn, 1, "rev")),
    ("batching", _mapped),
)


def function_rows(case: FunctionCase, source: Callable[[str], Choices]) -> Iterator[Row]:
    """Test one function."""
    for what, test in TESTS:
        how: How = "tested"
        note = f"{len(case.examples)} examples" if len(case.examples) > 1 else "1 example"
        for index, example in enumerate(case.examples):
            try:
                test(_Drawn(case, example, source(f"{case.name}, {index}")))
            except (NotDifferentiableError, MappingRefusedError) as refusal:
                how, note = "exempt", refusal.what
            except Wrong as wrong:
                how, note = "failed", str(wrong)
            except FAULTS as error:
                how, note = "failed", f"{type(error).__name__}: {error}"
            if how == "failed":
                break
        yield Row(case.name, what, how, note)

"""What an op is tried on: examples of operand types, params and domains, drawn from a source of choices.

A `Case` belongs to one op. `draw` receives a source of choices, which is a seeded generator here and hypothesis in the
tests, and returns an `Example`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct, field

from primad.ir.array_types import ArrayType
from primad.ops.record.primitive import Primitive

if TYPE_CHECKING:
    from fractions import Fraction

Item = TypeVar("Item")


class Choices(Protocol):
    """A source of choices."""

    def integer(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""

    def among(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""


class Seeded:
    """Choices from a seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""
        return self._random.randint(low, high)

    def among(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return self._random.choice(items)


ANY = (-3.0, 3.0)
POSITIVE = (0.125, 3.0)
"""The domain of an op that may be tried on any number."""


class Operand(Struct, frozen=True):
    """One operand of an example.

    Attributes:
        type: shape and dtype.
        low, high: bounds of a float operand's values.
        array: the values of an integer or boolean operand.
        literal: the Python scalar passed instead of an array (a constant exponent).
        independent: whether its values must be in general position (the elements of a matrix that has full rank).
    """

    type: ArrayType
    low: float = ANY[0]
    high: float = ANY[1]
    array: Any = None
    literal: float | None = None
    independent: bool = False


class Example(Struct, frozen=True):
    """One application of an op.

    Attributes:
        operands: its operands.
        params: its params.
        linear: operands in which an op that holds a program is linear together, since its program is.
    """

    operands: tuple[Operand, ...]
    params: dict[str, Any] = field(default_factory=dict)
    linear: tuple[int, ...] = ()

    @property
    def inputs(self) -> list[Operand]:
        """The operands that are arrays."""
        return [operand for operand in self.operands if operand.literal is None]

    @property
    def types(self) -> list[ArrayType]:
        """Types of the operands that are arrays."""
        return [operand.type for operand in self.inputs]


class Case(Struct, frozen=True):
    """How to try one op.

    Attributes:
        op: the record.
        draw: `(choices) -> Example`.
        examples: how many examples are worth drawing.
        symbolic: the mathematical definition `(numbers, *object arrays, **params)` of an op whose NumPy function does
            not run on symbols; see `primad.verify.exact.object_arrays`.
        others: the same of further ops that its rules use.
        symbols_only: whether that definition needs symbols (it differentiates them), not just any numbers.
        reverse_only: whether the op refuses forward mode by design.
        numeric: whether the op's formulas are too long for SymPy: it is checked at numbers of high precision.
        through: for an op that takes the results of another one, that op: it makes the operand from the example's.
        slow: whether numbers of hundreds of digits are too slow in its meaning, a special function's.
        internal: whether only rules and other ops' definitions apply it: programs that are drawn have it through these.
        rounded: whether its definition in terms of other ops holds to rounding only, as a quadrature does; `symbolic`
            is then what is differentiated.
        bounded: whether the bounds of its operands are all that is known of where it is defined, as of a user's op.
    """

    op: Primitive
    draw: Callable[[Choices], Example]
    examples: int = 4
    symbolic: Callable[..., Any] | None = None
    symbols_only: bool = False
    reverse_only: bool = False
    numeric: bool = False
    through: Primitive | None = None
    slow: bool = False
    internal: bool = False
    rounded: bool = False
    bounded: bool = False
    others: Mapping[Primitive, Callable[..., Any]] = field(default_factory=dict)


def shape(choose: Choices, low: int = 0, high: int = 2, longest: int = 3) -> tuple[int, ...]:
    """Draw a small shape with `low` to `high` axes."""
    return tuple(choose.integer(1, longest) for _ in range(choose.integer(low, high)))


def floats(shape: tuple[int, ...], low: float = ANY[0], high: float = ANY[1]) -> Operand:
    """Return a float operand."""
    return Operand(ArrayType(shape, np.float64), low, high)


def integers(choose: Choices, shape: tuple[int, ...], low: int, high: int) -> Operand:
    """Draw an integer operand."""
    values = [choose.integer(low, high) for _ in range(int(np.prod(shape)))]
    return Operand(ArrayType(shape, np.int64), array=np.array(values, np.int64).reshape(shape))


def booleans(choose: Choices, shape: tuple[int, ...]) -> Operand:
    """Draw a boolean operand."""
    found = integers(choose, shape, 0, 1)
    return Operand(ArrayType(shape, np.bool_), array=found.array.astype(bool))


def pointwise(
    *domains: tuple[float, float], shapes: Sequence[tuple[int, ...]] = ((2, 2), (2, 2), (2,), ())
) -> Callable[[Choices], Example]:
    """Return a drawer of float operands of one shape, one for each domain."""

    def draw(choose: Choices) -> Example:
        common = choose.among(shapes)
        return Example(tuple(floats(common, low, high) for low, high in domains))

    return draw


def default_case(
    op: Primitive, examples: Sequence[Example] | None, domains: Any, arity: int, symbolic: Any = None
) -> Case:
    """Return the case of a user's op: its own examples, or float operands of one shape."""
    others = symbolic if isinstance(symbolic, Mapping) else {}
    meaning = others.get(op) if isinstance(symbolic, Mapping) else symbolic
    if examples:
        return Case(
            op, lambda choose: choose.among(examples), max(4, len(examples)), meaning, bounded=True, others=others
        )
    return Case(op, pointwise(*(domains or [(0.25, 2.0)] * arity)), 4, meaning, bounded=True, others=others)


def sample(choose: Choices, operand: Operand, taken: set[Fraction]) -> list[Fraction]:
    """Draw values of a float operand: exact, in its bounds, all different, no integers (off every usual kink)."""
    from fractions import Fraction  # loads numbers in decimals too

    low, high = Fraction(operand.low), Fraction(operand.high)
    values: list[Fraction] = []
    denominator = 64
    while len(values) < operand.type.size:
        numerator = choose.integer(int(low * denominator) + 1, int(high * denominator) - 1)
        value = Fraction(numerator | 1, denominator)
        if operand.independent:
            value += Fraction((len(values) + 1) ** 2, 65537)
        if value in taken or not low < value < high:
            denominator *= 2
            continue
        taken.add(value)
        values.append(value)
    return values


def varied(example: Any, **params: tuple[Any, ...]) -> Any:
    """Add params to a drawer, each one of the given values."""

    def draw(choose: Choices) -> Example:
        found = example(choose)
        return Example(found.operands, {name: choose.among(values) for name, values in params.items()})

    return draw

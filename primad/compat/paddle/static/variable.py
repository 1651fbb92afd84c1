"""Variable and Parameter: the named values of a block, which have no value before a program runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from primad.compat.paddle.eager.arrays import as_array
from primad.compat.paddle.eager.methods import attach
from primad.compat.paddle.eager.operators import Prototype, Value
from primad.compat.paddle.functions.creation import assign_, assign_value_, fill_constant_
from primad.compat.paddle.settings import naming
from primad.compat.paddle.settings.dtypes import as_dtype, get_default_dtype
from primad.compat.paddle.settings.dtypes import dtype as DataType
from primad.compat.paddle.settings.errors import ArgumentTypeError
from primad.compat.paddle.static.defaults import default_main_program
from primad.compat.paddle.static.inference import UNKNOWN, Shape
from primad.compat.paddle.static.operator import Operator

if TYPE_CHECKING:
    from primad.compat.paddle.static.program import Block, Program


class Variable(Value):
    """A named value of a block: a shape, in which −1 is an unknown length, and a dtype.

    Attributes:
        block: the block that it belongs to.
        name: its name, unique in the program.
        shape: lengths of the axes.
        persistable: whether its value outlives a run, in a scope.
        stop_gradient: whether gradients end here.
        op: the operator that computes it, if any.
    """

    def __init__(
        self,
        block: Block,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
    ) -> None:
        self.block = block
        self.name = name
        self.shape: Shape = tuple(shape)
        self.dtype: DataType = as_dtype(dtype)
        self.persistable = persistable
        self.stop_gradient = stop_gradient
        self.is_data = is_data
        self.op: Operator | None = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def program(self) -> Program:
        """The program that it belongs to."""
        return self.block.program

    def __len__(self) -> int:
        if not self.shape or self.shape[0] == UNKNOWN:
            raise ArgumentTypeError(f"len() of {self.name}, whose shape is {self.shape}")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])  # type: ignore[index]

    @property
    def grad_name(self) -> str:
        """The name that its gradient gets, if that is not taken."""
        return self.name + naming.GRADIENT

    def clone(self) -> Variable:
        """Append a copy, which gradients pass through."""
        copy: Variable = self.apply(assign_, [self], {}, "assign")
        return copy

    def detach(self) -> Variable:
        """Append a copy at which gradients end."""
        return _stopped(self.clone())

    def numpy(self) -> NoReturn:
        """Refuse: a variable has no value before a program runs."""
        raise ArgumentTypeError(
            f"the value of the static variable {self.name} was asked for",
            why="A program is described first and computed later, so Python cannot look at values or branch on them.",
            fix="fetch it: Executor.run(fetch_list=[…]); paddle.where chooses by a condition.",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self.numpy()

    def __bool__(self) -> bool:
        self.numpy()

    def __float__(self) -> float:
        self.numpy()

    def __int__(self) -> int:
        self.numpy()

    __index__ = __int__

    def __str__(self) -> str:
        shape = f"({', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''})"
        kind = ("persist " if self.persistable else "") + self._role
        type = f"DENSE_TENSOR.shape{shape}.dtype({self.dtype.name})"
        return f"{kind} {self.name} : {type}.stop_gradient({self.stop_gradient})"

    __repr__ = __str__
    _role = "var"

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the variable's line in the text of its program."""
        return str(self)

    @classmethod
    def apply(
        cls, operator: Prototype, slots: Sequence[Any], attributes: dict[str, Any], layer: str | naming.Layer
    ) -> Any:
        """Append an operator to the current block of the default main program, and return its outputs."""
        block = default_main_program().current_block()
        return block.append(operator, [_as_variables(slot, slots) for slot in slots], attributes, layer)


attach(Variable)


class Parameter(Variable):
    """A variable that is trained.

    Attributes:
        trainable: whether gradients are computed for it and optimisers change it.
        learning_rate: factor on the optimiser's learning rate.
        regularizer: what is added to its gradient, or None.
    """

    def __init__(
        self, block: Block, name: str, shape: Sequence[int], dtype: Any, trainable: bool = True, **options: Any
    ) -> None:
        super().__init__(block, name, shape, dtype, persistable=True, stop_gradient=not trainable)
        self.trainable = trainable
        self.learning_rate: float = options.get("learning_rate", 1.0)
        self.regularizer: Any = options.get("regularizer")

    @property
    def _role(self) -> str:  # type: ignore[override]
        return f"{'trainable ' if self.trainable else ''}param"


def _as_variables(operand: Any, slots: Sequence[Any]) -> Any:
    """Return an operand as variables; numbers and arrays become constants of the program.

    A number takes the data type of the variables beside it, unless it is a float and they are integers.
    """
    if operand is None or isinstance(operand, Variable):
        return operand
    if isinstance(operand, (list, tuple)):
        return [_as_variables(item, [*slots, *operand]) for item in operand]
    if isinstance(operand, Value):
        raise ArgumentTypeError(
            f"a {type(operand).__name__} is used beside a static Variable",
            why="A Variable describes a value and has none.",
            fix="feed values: paddle.static.data and Executor.run(feed=…); paddle.disable_static() goes back to eager.",
        )
    array = np.asarray(operand)
    if array.ndim:
        return constant(array)
    beside = next((item.dtype for item in slots if isinstance(item, Variable)), None)
    if beside is None:
        return constant(as_array(operand))
    kind = beside.name if beside.is_floating or array.dtype.kind != "f" else get_default_dtype()
    attributes = {"shape": (), "value": array.item(), "dtype": kind}
    return _stopped(Variable.apply(fill_constant_, (), attributes, ""))


def constant(array: np.ndarray[Any, Any]) -> Variable:
    """Append an operator that holds an array, and return its output."""
    return _stopped(Variable.apply(assign_value_, (), {"values": array}, "assign"))


def _stopped(variable: Variable) -> Variable:
    variable.stop_gradient = True
    return variable

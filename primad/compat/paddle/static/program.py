"""Program and Block: plain descriptions, with Paddle's names and text.

Nothing is computed here; `execution` lowers a block to a primad program when it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Prototype
from primad.compat.paddle.settings import naming
from primad.compat.paddle.settings.default_initializers import Initializer
from primad.compat.paddle.settings.dtypes import as_dtype, get_default_dtype
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError
from primad.compat.paddle.settings.randomness import generator
from primad.compat.paddle.static.defaults import MAIN, STARTUP, default_main_program
from primad.compat.paddle.static.inference import UNKNOWN, infer
from primad.compat.paddle.static.operator import BACKWARD, FORWARD, OPTIMIZE, Operator, each
from primad.compat.paddle.static.run.scope import Scope, global_scope
from primad.compat.paddle.static.variable import Parameter, Variable
from primad.runtime.cache import Cache
from primad.system.process import made_once


class Block:
    """Variables and operators, in the order in which they run.

    Attributes:
        program: the program that it belongs to.
        vars: variables by name.
        ops: operators.
    """

    idx = 0
    parent_idx = -1

    def __init__(self, program: Program) -> None:
        self.program = program
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []

    def var(self, name: str) -> Variable:
        """Return the variable of that name.

        Raises:
            ValueError: if there is none.
        """
        if name not in self.vars:
            raise InvalidArgumentError(f"var {name} not in this block")
        return self.vars[name]

    def has_var(self, name: str) -> bool:
        """Say whether there is a variable of that name."""
        return name in self.vars

    def all_parameters(self) -> list[Parameter]:
        """Return the parameters, in the order of their creation."""
        return [variable for variable in self.vars.values() if isinstance(variable, Parameter)]

    def create_var(
        self,
        name: str | None = None,
        shape: Sequence[int] = (),
        dtype: Any = None,
        *,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
        **ignored: Any,
    ) -> Variable:
        """Add a variable; without a name it gets one, without a dtype the default one."""
        name, dtype = name or naming.generate("_generated_var"), dtype or get_default_dtype()
        made: Variable = self.add(Variable(self, name, shape, dtype, persistable, stop_gradient, is_data))
        return made

    def create_parameter(
        self,
        shape: Sequence[int],
        dtype: Any,
        name: str | None = None,
        initializer: Initializer | None = None,
        **options: Any,
    ) -> Parameter:
        """Add a parameter, and an operator of this block that fills it if an initializer is given.

        Args:
            shape: its shape.
            dtype: its data type.
            name: its name, by default one that is not taken.
            initializer: what fills it; without one, the startup program must.
            options: `trainable`, `regularizer`, … of `Parameter`.

        Raises:
            InvalidArgumentError: for a length that is not positive.
        """
        if any(length <= 0 for length in shape):
            raise InvalidArgumentError(
                f"Each dimension of shape for Parameter must be greater than 0, but received {list(shape)}"
            )
        name = name or naming.generate("_generated_var")
        made: Parameter = self.add(Parameter(self, name, shape, dtype, **options))
        if initializer is not None:
            self.fill(made, initializer)
        return made

    def fill(self, variable: Variable, initializer: Initializer) -> None:
        """Append what fills a variable of this block."""
        attributes = {"shape": variable.shape, "dtype": variable.dtype.name, **initializer.attributes(variable.shape)}

        def draw(rng: np.random.Generator, *, shape: tuple[int, ...], dtype: str, **_: Any) -> Any:
            return initializer(rng, shape, dtype)

        record = Prototype(initializer.type, lambda drawn, **_: drawn, (), ("Out",), attributes, draw)
        self.append_operator(record, (), [variable], attributes)

    def add(self, variable: Variable) -> Any:
        """Add a variable that was made for this block, and return it."""
        self.vars[variable.name] = variable
        self.program.changed()
        return variable

    def append(
        self, prototype: Prototype, slots: Sequence[Any], attributes: dict[str, Any], layer: str | naming.Layer
    ) -> Any:
        """Append an operator on variables and create its outputs.

        Args:
            prototype: the operator's record.
            slots: for each input slot a variable, a list of variables, or None.
            attributes: by Paddle's names.
            layer: what its outputs are called after (see `operators.apply`).

        Returns:
            the output, or a tuple with one entry per output slot.
        """
        if prototype.draw is not None and prototype.inputs:
            prototype, drawing = _drawn_apart(prototype)
            slots = [*slots, self.append(drawing, (), attributes, "seed")]
        stem = _stem(layer)
        results = infer(prototype, slots, attributes)
        made = [each(result, lambda type: self.create_var(naming.generate(stem), *type)) for result in results]
        self.append_operator(prototype, slots, made, attributes)
        return made[0] if len(prototype.outputs) == 1 else tuple(made)

    def create_output(self, layer: str | naming.Layer, shape: Sequence[int], dtype: Any) -> Variable:
        """Add a variable for a result of a layer (see `operators.apply`)."""
        return self.create_var(naming.generate(_stem(layer)), shape, dtype)

    def append_operator(
        self,
        prototype: Prototype,
        slots: Sequence[Any],
        results: Sequence[Any],
        attributes: dict[str, Any],
        role: int = FORWARD,
    ) -> Operator:
        """Append an operator on variables that writes into given variables."""
        attributes = {**attributes, "op_role": role, "op_role_var": []}
        operator = Operator(prototype, [each(s, _name) for s in slots], [each(r, _name) for r in results], attributes)
        return self.append_made(operator)

    def append_made(self, operator: Operator) -> Operator:
        """Append an operator as it is."""
        self.ops.append(operator)
        for name in operator.output_arg_names:
            if name in self.vars:
                self.vars[name].op = operator
        self.program.changed()
        return operator

    def __str__(self) -> str:
        lines = [f"{{ // block_idx:{self.idx}  parent_idx:{self.parent_idx}  forward_idx:-1  backward_idx:-1"]
        lines += [f"    {variable}" for variable in self.vars.values()]
        lines += ["", *(f"    {operator}" for operator in self.ops), "}", ""]
        return "\n".join(lines)

    __repr__ = __str__


@made_once(most=256)
def _drawn_apart(prototype: Prototype) -> tuple[Prototype, Prototype]:
    """Return an operator that takes its random numbers in a slot `Seed`, and the operator that draws them.

    So its gradient operators take the same numbers.
    """
    taking = replace(prototype, inputs=(*prototype.inputs, "Seed"), draw=None)
    drawing = Prototype("seed", lambda drawn, **_: drawn, (), ("Out",), prototype.attributes, prototype.draw)
    return taking, drawing


def _stem(layer: str | naming.Layer) -> str:
    """Return what the results of a layer's operators are called, but for a number."""
    layer = naming.current_layer() or layer
    name = layer.name if isinstance(layer, naming.Layer) else naming.generate(layer) if layer else ""
    return f"{name}.tmp" if name else "tmp"


def _name(variable: Variable) -> str:
    return variable.name


class Program:
    """A description of a computation, that an `Executor` runs.

    Attributes:
        version: grows with each change; what was compiled for an older version is not used again.
        random_seed: seed of its random operators; 0 takes the seed of `paddle.seed`.
        backward_count: how often gradients were appended.
        rates: what gives the learning rates of its optimisers, by the names of their variables.
        lowered: the compiled forms of it, by what is fed and fetched.
    """

    def __init__(self) -> None:
        self.blocks = [Block(self)]
        self.version = 0
        self.random_seed = 0
        self.backward_count = 0
        self.rates: dict[str, Callable[[], float]] = {}
        self.lowered = Cache(64)
        self._generator: np.random.Generator | None = None

    def generator(self) -> np.random.Generator:
        """Return what its random operators draw from."""
        if not self.random_seed:
            return generator()
        if self._generator is None:
            self._generator = np.random.default_rng(self.random_seed)
        return self._generator

    def changed(self) -> None:
        """Note a change."""
        self.version += 1

    def global_block(self) -> Block:
        """Return the outermost block."""
        return self.blocks[0]

    def current_block(self) -> Block:
        """Return the block that new operators go to."""
        return self.blocks[0]

    def block(self, index: int) -> Block:
        """Return a block by its number."""
        return self.blocks[index]

    @property
    def num_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    def list_vars(self) -> Iterator[Variable]:
        """Yield all variables."""
        for block in self.blocks:
            yield from block.vars.values()

    def all_parameters(self) -> list[Parameter]:
        """Return all parameters, in the order of their creation."""
        return [parameter for block in self.blocks for parameter in block.all_parameters()]

    def clone(self, for_test: bool = False) -> Program:
        """Return a copy.

        Args:
            for_test: leave out gradients and updates, and let operators behave as in evaluation (`is_test`).
        """
        result = Program()
        result.random_seed = self.random_seed
        result.rates = {} if for_test else dict(self.rates)
        result.backward_count = 0 if for_test else self.backward_count
        for source, target in zip(self.blocks, result.blocks, strict=True):
            kept = [op for op in source.ops if not for_test or not op.attributes["op_role"] & (BACKWARD | OPTIMIZE)]
            used = {name for op in kept for name in (*op.input_arg_names, *op.output_arg_names)}
            for variable in source.vars.values():
                if not for_test or variable.name in used or variable.is_data:
                    target.add(_copy(variable, target))
            for op in kept:
                attributes = dict(op.attributes)
                if for_test and "is_test" in attributes:
                    attributes["is_test"] = True
                target.append_made(Operator(op.prototype, op.slots, op.results, attributes, op.where))
        return result

    def state_dict(self, mode: str = "all", scope: Scope | None = None) -> dict[str, Any]:
        """Return copies of the values of its persistable variables, by name.

        Args:
            mode: 'param' for the parameters, 'opt' for the rest (the state of optimisers), 'all' for both.
            scope: where the values are, by default the global scope.

        Raises:
            InvalidArgumentError: for another mode.
        """
        if mode not in ("all", "param", "opt"):
            raise InvalidArgumentError(f"state_dict: mode should be 'param', 'opt' or 'all', but received {mode!r}")
        values = (scope or global_scope()).values
        return {
            variable.name: values[variable.name].copy()
            for variable in self.list_vars()
            if variable.persistable
            and variable.name in values
            and (mode == "all" or isinstance(variable, Parameter) == (mode == "param"))
        }

    def set_state_dict(self, state_dict: Mapping[str, Any], scope: Scope | None = None) -> None:
        """Take over values of persistable variables.

        Args:
            state_dict: arrays or tensors by name; other names are ignored.
            scope: where the values go, by default the global scope.

        Raises:
            InvalidArgumentError: for a value of another shape.
        """
        scope = scope or global_scope()
        for variable in self.list_vars():
            if variable.persistable and variable.name in state_dict:
                array = np.array(state_dict[variable.name], variable.dtype.numpy)
                if array.shape != variable.shape:
                    raise InvalidArgumentError(
                        f"set_state_dict: {variable.name} has the shape {variable.shape}, got {array.shape}"
                    )
                scope.values[variable.name] = array

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the program as text."""
        return str(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self.blocks))

    __repr__ = __str__


def _copy(variable: Variable, block: Block) -> Variable:
    result: Variable = object.__new__(type(variable))
    result.__dict__.update(variable.__dict__)
    result.block, result.op = block, None
    return result


MAIN.append(Program())
STARTUP.append(Program())


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Append operators to other programs inside a `with` block.

    Raises:
        TypeError: if these are no programs.
    """
    for program in (main_program, startup_program):
        if program is not None and not isinstance(program, Program):
            raise ArgumentTypeError(f"program_guard takes Programs, but received {type(program)}.")
    MAIN.append(main_program)
    STARTUP.append(startup_program or STARTUP[-1])
    try:
        yield
    finally:
        MAIN.pop()
        STARTUP.pop()


def data(name: str, shape: Sequence[int | None], dtype: Any = None, lod_level: int = 0) -> Variable:
    """Return a variable of the main program that is fed when it runs.

    Args:
        name: its name.
        shape: lengths of its axes; None or −1 is a length that may differ from run to run.
        dtype: its dtype, float32 by default.
        lod_level: must be 0.

    Raises:
        InvalidArgumentError: if the program has a variable of this name and another shape or type.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     print(paddle.static.data("x", [None, 3]))
        var x : DENSE_TENSOR.shape(-1, 3).dtype(float32).stop_gradient(True)
    """
    known = [UNKNOWN if length is None else int(length) for length in shape]
    wanted = as_dtype(dtype or get_default_dtype())
    block = default_main_program().global_block()
    before = block.vars.get(name)
    if before is not None and (before.shape != tuple(known) or before.dtype != wanted):
        raise InvalidArgumentError(
            f"Variable '{name}' has been created before, of shape {before.shape} and type {before.dtype.name}; "
            f"now it would be of shape {tuple(known)} and type {wanted.name}",
            fix="give it another name, or make it in a program of its own (static.program_guard).",
        )
    return block.create_var(name, known, wanted, stop_gradient=True, is_data=True)

"""Appending gradients to a program: `append_backward` and `gradients`.

The walk goes from the targets back through the operators. For each it appends the gradient operator, whose outputs are
named after the variables (`x@GRAD`); a gradient that several operators contribute to is renamed once for each
(`x@GRAD@RENAME@block0@1`) and summed by a `sum` operator before it is used. Gradients that the program has already are
taken as they are; new ones whose names are taken get `grad/` in front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from primad.compat.paddle.eager.gradients import gradient_of
from primad.compat.paddle.functions.creation import assign_, fill_any_like_, fill_constant_
from primad.compat.paddle.functions.math import add_n_
from primad.compat.paddle.settings import naming
from primad.compat.paddle.settings.errors import (
    ArgumentAssertionError,
    ArgumentTypeError,
    InvalidArgumentError,
)
from primad.compat.paddle.settings.naming import GRADIENT
from primad.compat.paddle.static.operator import BACKWARD, LOSS, OPTIMIZE, Operator, each, names_of
from primad.compat.paddle.static.program import Block
from primad.compat.paddle.static.variable import Variable
from primad.recording import tree

Callback = Callable[..., Any]


def append_backward(
    loss: Any,
    parameter_list: Sequence[Any] | set[Any] | None = None,
    no_grad_set: Sequence[Any] | set[Any] | None = None,
    callbacks: Sequence[Callback] | None = None,
    checkpoints: Any = None,
    distop_context: Any = None,
) -> Any:
    """Append the gradients of a loss to its program.

    Args:
        loss: the variable to differentiate, of one element.
        parameter_list: the parameters whose gradients to return, as variables or names; by default all trainable ones.
        no_grad_set: variables, or their names, that gradients do not pass.
        callbacks: functions called as `callback(block=…, context=…)` once for each gradient operator; the context maps
            names of gradients to names of variables, and `__current_op_desc__` to the operator.
        checkpoints: if given, their names are returned as well; the engine decides what it computes again.
        distop_context: ignored.

    Returns:
        a list of (parameter, gradient); with checkpoints, that list and their names.

    Raises:
        ArgumentAssertionError, ArgumentTypeError: if the loss is no Variable (it is both an AssertionError and a
            TypeError), or another argument has the wrong type.
        InvalidArgumentError: if a callback cannot be called.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()), paddle.utils.unique_name.guard():
        ...     loss = paddle.mean(paddle.static.nn.fc(paddle.static.data("x", [None, 3]), 1))
        ...     [gradient.name for parameter, gradient in paddle.static.append_backward(loss)]
        ['fc_0.w_0@GRAD', 'fc_0.b_0@GRAD']
    """
    if not isinstance(loss, Variable):
        raise NotAVariableError(
            f"The type of 'loss' in append_backward must be Variable, but received {type(loss)}.",
            fix="pass the variable that the loss is computed into.",
        )
    block = loss.program.global_block()
    names = None if parameter_list is None else _parameter_names(parameter_list)
    _check_callbacks(callbacks)
    stopped = _names(no_grad_set)
    if loss.op is not None:
        loss.op.attributes["op_role"] |= LOSS
    program = loss.program
    program.backward_count += 1
    shape = tuple(loss.shape) if not loss.shape or 0 in loss.shape else (1,)
    attributes = {"shape": shape, "value": 1.0, "dtype": loss.dtype.name, "op_role": BACKWARD | LOSS, "op_role_var": []}
    seed = Operator(fill_constant_, (), [loss.name + GRADIENT], attributes)
    found = _BlockWalk(block, [loss], [], stopped).append([seed], callbacks or ())
    if names is None:
        names = [parameter.name for parameter in block.all_parameters() if parameter.trainable]
    pairs = [(block.var(name), block.var(found[name])) for name in names if name in found]
    for parameter, gradient in pairs:
        assert gradient.op is not None
        role = gradient.op.attributes["op_role_var"]
        if gradient.name not in role:
            gradient.op.attributes["op_role_var"] = [parameter.name, gradient.name, *role]
    return pairs if not checkpoints else (pairs, [getattr(point, "name", point) for point in checkpoints])


def gradients(
    targets: Any,
    inputs: Any,
    target_gradients: Any = None,
    no_grad_set: Sequence[Any] | set[Any] | None = None,
) -> list[Variable | None]:
    """Append the gradients of targets with respect to inputs, and return them.

    Args:
        targets: a variable or several; their gradients are summed.
        inputs: a variable or several.
        target_gradients: what the targets' gradients are multiplied with, of their shapes; None means ones.
        no_grad_set: variables, or their names, that gradients do not pass.

    Returns:
        a list with the gradient of each input, None where the targets do not depend on it.

    Raises:
        ArgumentTypeError: if an argument is no variable.
        InvalidArgumentError: if numbers or shapes do not match, or variables belong to different programs.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     x.stop_gradient = False
        ...     (first,) = paddle.static.gradients([x * x * x], [x])
        ...     (second,) = paddle.static.gradients([first], [x])
        ...     paddle.static.Executor().run(feed={"x": [1.0, 2.0]}, fetch_list=[first, second])
        [array([ 3., 12.], dtype=float32), array([ 6., 12.], dtype=float32)]
    """
    targets, inputs = _variables(targets, "targets"), _variables(inputs, "inputs")
    seeds: list[Any] = [None] * len(targets)
    if target_gradients is not None:
        seeds = _variables(target_gradients, "target_gradients", or_none=True)
    if len(seeds) != len(targets):
        raise InvalidArgumentError("Should have the same number of target_gradients as targets")
    block = targets[0].program.global_block()
    starts: list[Operator] = []
    for target, seed in zip(targets, seeds, strict=True):
        if target.program is not block.program or (seed is not None and seed.program is not block.program):
            raise InvalidArgumentError("all targets must be in the same block")
        attributes: dict[str, Any] = {"op_role": BACKWARD, "op_role_var": []}
        if seed is None:
            attributes["value"] = 1.0
            starts.append(Operator(fill_any_like_, [target.name], [target.name + GRADIENT], attributes))
        elif seed.shape != target.shape:
            raise InvalidArgumentError(
                f"The shapes of target and grad are different: {target.name} {seed.name}",
                why=f"They are {target.shape} and {seed.shape}.",
            )
        else:
            starts.append(Operator(assign_, [seed.name], [target.name + GRADIENT], attributes))
    if any(variable.program is not block.program for variable in inputs):
        raise InvalidArgumentError("input must be in the same program as targets")
    stopped = _names(no_grad_set)
    block.program.backward_count += 1
    found = _BlockWalk(block, targets, inputs, stopped).append(starts)
    return [block.var(found[variable.name]) if variable.name in found else None for variable in inputs]


class NotAVariableError(ArgumentAssertionError, ArgumentTypeError):
    """Something that must be a Variable is none (an AssertionError in Paddle's documents, a TypeError in 3.x)."""


# -- arguments ---------------------------------------------------------------------------------------------------------


def _parameter_names(parameters: Any) -> list[str]:
    if not isinstance(parameters, (list, tuple, set)):
        raise ArgumentTypeError(
            f"The type of 'parameter_list' in append_backward must be list, tuple or set, but received "
            f"{type(parameters)}."
        )
    for i, parameter in enumerate(parameters):
        if not isinstance(parameter, (Variable, str)):
            raise ArgumentTypeError(
                f"The type of 'parameter_list[{i}]' in append_backward must be Variable or str, but received "
                f"{type(parameter)}."
            )
    return [parameter if isinstance(parameter, str) else parameter.name for parameter in parameters]


def _names(no_grad_set: Any) -> set[str]:
    if no_grad_set is None:
        return set()
    if not isinstance(no_grad_set, (set, list, tuple)):
        raise ArgumentTypeError(
            f"The type of no_grad_set should be set or list or tuple, but received {type(no_grad_set)}"
        )
    for member in no_grad_set:
        if not isinstance(member, (Variable, str)):
            raise ArgumentTypeError(
                f"The type of no_grad_set's member must be Variable or str, but received {type(member)}."
            )
    return {member if isinstance(member, str) else member.name for member in no_grad_set}


def _check_callbacks(callbacks: Any) -> None:
    if callbacks is None:
        return
    if not isinstance(callbacks, (list, tuple)):
        raise ArgumentTypeError(
            f"The type of 'callbacks' in append_backward must be list or tuple, but received {type(callbacks)}."
        )
    if not all(map(callable, callbacks)):
        raise InvalidArgumentError("'callback' must be a callable object.")


def _variables(given: Any, what: str, or_none: bool = False) -> list[Any]:
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    for item in listed:
        if not isinstance(item, Variable) and not (or_none and item is None):
            raise ArgumentTypeError(
                f"The type of '{what}' in paddle.static.gradients must be Variable, list or tuple of Variables, but "
                f"received {type(item)}."
            )
    return listed


# -- the walk ----------------------------------------------------------------------------------------------------------


class _BlockWalk:
    """One call of append_backward or gradients on a block.

    Args:
        block: where to append.
        targets: what is differentiated.
        inputs: with respect to what; none means everything.
        stopped: names that gradients do not pass, beside those of variables with stop_gradient.
    """

    def __init__(self, block: Block, targets: list[Variable], inputs: list[Variable], stopped: set[str]) -> None:
        self.block = block
        self.asked = {variable.name for variable in inputs}
        self.path = path_between(block, {v.name for v in targets}, {v.name for v in inputs}, stopped)
        self.stopped = stopped | {variable.name for variable in block.vars.values() if variable.stop_gradient}
        self.variable_of: dict[str, str] = {}
        """The variable that each gradient belongs to: the context of callbacks."""
        self._names: dict[str, str] = {}

    def append(self, seeds: list[Operator], callbacks: Sequence[Callback] = ()) -> dict[str, str]:
        """Append gradients of targets, then of what they depend on; return the gradient's name of each variable."""
        for seed in seeds:
            (usual,) = seed.output_arg_names
            name = self._names.get(usual) or (naming.generate(usual) if usual in self.block.vars else usual)
            self._names[usual] = name
            seed.rename(usual, name)
            self.variable_of[name] = usual.removesuffix(GRADIENT)
        operators = _summed([*seeds, *self._gradient_operators(set(self.variable_of))], self.block.idx)
        operators, same = self._without_known(operators)
        context: dict[str, Any] = {same.get(name, name): variable for name, variable in self.variable_of.items()}
        for op in operators:
            self.block.append_made(op)
            if op not in seeds:
                context["__current_op_desc__"] = op.desc
                for callback in callbacks:
                    callback(block=self.block, context=context)
        made = {name: op for op in operators for name in op.output_arg_names}
        for name in sorted(made):
            original = self.block.var(self.variable_of[_whole(name) if name not in self.variable_of else name])
            self.block.create_var(name, original.shape, original.dtype).op = made[name]
        existing = {**made, **dict.fromkeys(same.values())}
        return {variable: gradient for gradient, variable in context.items() if gradient in existing}

    def _without_known(self, operators: list[Operator]) -> tuple[list[Operator], dict[str, str]]:
        """Leave out operators that the block has already, so that repeated calls give the gradients that are there.

        Returns:
            the new operators, and names of results that exist, by the names that they would have got.
        """
        known = {_key(op): op for op in self.block.ops if op.attributes["op_role"] & BACKWARD}
        same: dict[str, str] = {}
        new = []
        for op in operators:
            op.slots = [each(slot, lambda name: same.get(name, name)) for slot in op.slots]
            twin = known.setdefault(_key(op), op)
            pairs = list(zip(_flat(op.results), _flat(twin.results), strict=True))
            if twin is not op and all(there is not None for wanted, there in pairs if wanted is not None):
                same.update((wanted, there) for wanted, there in pairs if wanted is not None)
            else:
                new.append(op)
        return new, same

    def _gradient_operators(self, reached: set[str]) -> list[Operator]:
        """Return the gradient operators of the path, last operator first, on gradients that are reached."""
        made: list[Operator] = []
        for op in reversed(self.path):
            cotangents = [each(slot, lambda name: self._if_reached(name, reached)) for slot in op.results]
            outputs = [each(slot, self._output_name) for slot in self._differentiable(op)]
            if not any(map(names_of, cotangents)) or not any(map(names_of, outputs)):
                continue
            attributes = {**op.attributes, "op_role": BACKWARD, "op_role_var": []}
            for name in op.output_arg_names:  # of several results some are used: the gradients of the others are 0
                gradient = self._gradient_name(name) if name in self.asked else None
                if gradient is not None and gradient not in reached:
                    zeros = {"value": 0.0, "op_role": BACKWARD, "op_role_var": []}
                    made.append(Operator(fill_any_like_, [name], [gradient], zeros, op.where))
                    reached.add(gradient)
            made.append(Operator(gradient_of(op.prototype), [*op.slots, *cotangents], outputs, attributes, op.where))
            reached.update(name for slot in outputs for name in names_of(slot))
        return made

    def _differentiable(self, op: Operator) -> list[Any]:
        """Return the operator's slots, None in place of inputs that no gradient passes to."""
        return tree.map(lambda name, passes: name if passes else None, op.slots, op.dependence(self.block.vars))  # type: ignore[no-any-return]

    def _gradient_name(self, name: str) -> str | None:
        """Return the name of a variable's gradient, None for one that is no float."""
        if not self.block.var(name).dtype.is_floating:
            return None
        usual = name + GRADIENT
        if usual not in self._names:
            gradient, prefix = usual, "grad/" * self.block.program.backward_count
            # Names of higher orders have prefixes of their own, which may add up to one that this walk has given.
            while gradient in self.block.vars or gradient in self.variable_of:
                gradient, prefix = prefix + gradient, "grad/"
            self._names[usual] = gradient
        self.variable_of[self._names[usual]] = name
        return self._names[usual]

    def _if_reached(self, name: str, reached: set[str]) -> str | None:
        """Return the name of the gradient of a result; None, which stands for zeros, if the targets do not need it."""
        gradient = self._gradient_name(name)
        return gradient if gradient in reached else None

    def _output_name(self, name: str) -> str | None:
        return None if name in self.stopped else self._gradient_name(name)


def _key(op: Operator) -> Any:
    """Return what an operator computes: equal for equal values."""
    return op.prototype, str(op.slots), str([op.attributes[name] for name in op.prototype.attributes])


def _flat(slots: Sequence[Any]) -> list[Any]:
    return [name for slot in slots for name in (slot if isinstance(slot, list) else [slot])]


def _whole(part: str) -> str:
    """Return the name of the gradient that a renamed contribution belongs to."""
    return part.rpartition("@RENAME@")[0]


def path_between(block: Block, targets: set[str], inputs: set[str], stopped: set[str]) -> list[Operator]:
    """Return the operators between inputs (all, if there are none) and targets."""
    operators = [op for op in block.ops if not op.attributes["op_role"] & OPTIMIZE]
    if inputs:
        reached, between = set(inputs), []
        for op in operators:
            if not reached.isdisjoint(_passing(op, block)):
                reached.update(name for name in op.output_arg_names if name not in stopped)
                between.append(op)
        operators = between
    needed, path = set(targets), []
    for op in reversed(operators):
        if not needed.isdisjoint(op.output_arg_names):
            needed.update(name for name in _passing(op, block) if name not in stopped)
            path.append(op)
    return path[::-1]


def _passing(op: Operator, block: Block) -> list[str]:
    """Return the names of the inputs that gradients pass to."""
    return [
        name for name, passes in zip(op.input_arg_names, tree.leaves(op.dependence(block.vars)), strict=True) if passes
    ]


def _summed(operators: list[Operator], block: int) -> list[Operator]:
    """Give several contributions to one gradient names of their own, and sum them before the gradient is used."""
    counts = Counter(name for op in operators for name in op.output_arg_names)
    parts: dict[str, list[str]] = {name: [] for name, count in counts.items() if count > 1}
    result: list[Operator] = []

    def contribution(name: str) -> str:
        if name not in parts:
            return name
        parts[name].append(f"{name}@RENAME@block{block}@{len(parts[name])}")
        return parts[name][-1]

    def sum_up(names: Iterable[str]) -> None:
        for name in [name for name in dict.fromkeys(names) if name in parts]:
            attributes: dict[str, Any] = {"op_role": BACKWARD, "op_role_var": []}
            result.append(Operator(add_n_, [parts.pop(name)], [name], attributes))

    for op in operators:
        sum_up(op.input_arg_names)
        op.results = [each(slot, contribution) for slot in op.results]
        result.append(op)
    sum_up(list(parts))
    return result

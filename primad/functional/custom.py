"""Derivative rules that users give for a function: custom_jvp and custom_vjp.

A function with its own rule is one node; differentiating calls the rule instead of lowering the node. A custom JVP
serves both modes, since it is recorded and transposed like any other. A custom VJP gives only the pullback: its tangent
is a linear op that has a transpose and nothing else, so reverse mode works at every order and forward mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from primad import tree
from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.calls import Call
from primad.functional.compile import vmap
from primad.functional.held import held
from primad.functional.rules import Rule
from primad.ir.program import ClosedProgram
from primad.kinds import linear
from primad.primitive import Primitive
from primad.trace import TracedArray, lift
from primad.transforms.batching import vmap as batch_program
from primad.types import ArrayType, Zero

Function = Callable[..., Any]


class _Custom:
    """What custom_jvp and custom_vjp share: recording the function as one node."""

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        self._function = function
        self._fixed = tuple(sorted(nondiff_argnums))
        if any(i < 0 for i in self._fixed):
            raise ShapeError(f"nondiff_argnums must not be negative, got {tuple(nondiff_argnums)}")
        update_wrapper(self, function, updated=())

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        raise NotImplementedError

    def _primitive(self) -> Any:
        raise NotImplementedError

    def __call__(self, *args: Any) -> Any:
        fixed = tuple([args[i] for i in self._fixed])
        free = [arg for i, arg in enumerate(args) if i not in self._fixed]
        if not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(free)):
            return self._function(*args)

        def function(*values: Any) -> Any:
            full = list(values)
            for i, value in zip(self._fixed, fixed, strict=True):
                full.insert(i, value)
            return self._function(*full)

        call = Call(function, free)
        rule = self._rule(call, fixed)
        outputs = call.run(self._primitive(), len(call.program.outputs), rule=rule)
        return tree.unflatten(call.out_tree, outputs)


class custom_jvp(_Custom):
    """Give a function its own derivative, as a JVP.

    Args:
        function: a function of arrays and pytrees.
        nondiff_argnums: positions of arguments that are constants; they come first in the rule's arguments.

    `defjvp(rule)` sets the rule: rule(*constants, primals, tangents) returns (value, tangent), and must be linear in
    the
    tangents. Both modes and all orders follow from it.

    Raises:
        NotDifferentiableError: when differentiated without a rule, or with respect to a value that it closes over.

    Example:
        >>> import numpy as np, primad
        >>> @primad.custom_jvp
        ... def log1pexp(x):
        ...     return np.log1p(np.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return log1pexp(x), t / (1 + np.exp(-x))
        >>> primad.grad(log1pexp)(1000.0)
        np.float64(1.0)
    """

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self._jvp: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """Set the rule (primals, tangents) -> (value, tangent); return it, so that it can be a decorator."""
        self._jvp = rule
        return rule

    def _primitive(self) -> Any:
        return custom_jvp_

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        name = getattr(self, "__name__", "custom_jvp")
        if self._jvp is None:
            raise NotDifferentiableError(
                f"custom_jvp function {name} has no rule", fix=f"give it one with @{name}.defjvp."
            )
        jvp = partial(self._jvp, *fixed) if fixed else self._jvp
        types = call.program.in_types, call.program.out_types
        return Rule(name, call.in_tree, call.out_tree, jvp=jvp, types=types, owner=(self, *fixed))


class custom_vjp(_Custom):
    """Give a function its own derivative, as a pullback; forward mode through it raises.

    Args:
        function: a function of arrays and pytrees.
        nondiff_argnums: positions of arguments that are constants; they come first in the arguments of `backward`.

    `defvjp(forward, backward)` sets the rule: forward(*args) returns (value, residuals); backward(*constants,
    residuals,
    cotangent) returns a tuple with one cotangent per differentiable argument.

    Raises:
        NotDifferentiableError: when differentiated without a rule, or in forward mode.

    Example:
        >>> import numpy as np, primad
        >>> @primad.custom_vjp
        ... def clipped(x):
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
        >>> primad.grad(lambda x: 5.0 * clipped(x))(2.0)
        np.float64(1.0)
    """

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self._forward: Function | None = None
        self._backward: Function | None = None

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Set the rule: forward(*args) -> (value, residuals), backward(residuals, cotangent) -> cotangents."""
        self._forward, self._backward = forward, backward

    def _primitive(self) -> Any:
        return custom_vjp_

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        name = getattr(self, "__name__", "custom_vjp")
        if self._forward is None or self._backward is None:
            raise NotDifferentiableError(
                f"custom_vjp function {name} has no rule", fix=f"give it one with {name}.defvjp."
            )
        forward = self._forward

        def with_fixed(*values: Any) -> Any:
            full = list(values)
            for i, value in zip(self._fixed, fixed, strict=True):
                full.insert(i, value)
            return forward(*full)

        backward = partial(self._backward, *fixed) if fixed else self._backward
        types = call.program.in_types, call.program.out_types
        chosen = with_fixed if fixed else forward
        owner = (self, *fixed)
        return Rule(name, call.in_tree, call.out_tree, forward=chosen, backward=backward, types=types, owner=owner)


# -- the ops -----------------------------------------------------------------------------------------------------------


def _matching_leaves(
    structure: Any, types: Sequence[ArrayType], values: Any, what: str, like: TracedArray
) -> list[TracedArray]:
    leaves = tree.flatten_as(structure, values, what)
    result = []
    for leaf, type in zip(leaves, types, strict=True):
        if leaf is not None and not isinstance(leaf, TracedArray):
            leaf = (
                np.broadcast_to(np.asarray(leaf, type.dtype), type.shape)
                if np.ndim(leaf) == 0
                else np.asarray(leaf, type.dtype)
            )
        node = lift(leaf, like.node.trace)
        if node.type != type:
            raise ShapeError(f"{what}: expected the type {type}, got {node.type}")
        result.append(TracedArray(node))
    return result


def _instantiate(tangent: Any, like: TracedArray) -> TracedArray:
    return TracedArray(like.node.trace.literal(0, tangent.type)) if isinstance(tangent, Zero) else tangent


def _check_captured(name: str, tangents: Sequence[Any], count: int) -> None:
    if any(not isinstance(tangent, Zero) for tangent in tangents[count:]):
        raise NotDifferentiableError(
            f"{name} closes over a value that is being differentiated",
            why="Its rule knows of its arguments only, so this part of the derivative would be lost.",
            fix="pass the value as an argument.",
        )


def _push(tangents: Sequence[Any], out: Any, *inputs: Any, of: ClosedProgram, rule: Rule, index: int) -> Any:
    count = rule.in_tree.num_leaves
    _check_captured(rule.name, tangents, count)
    assert rule.jvp is not None
    primals = tree.unflatten(rule.in_tree, inputs[:count])
    moving = tree.unflatten(rule.in_tree, [_instantiate(t, out) for t in tangents[:count]])
    result = rule.jvp(primals, moving)
    if not isinstance(result, tuple) or len(result) != 2:
        raise ShapeError(f"the rule of {rule.name} must return a pair (value, tangent)")
    return _matching_leaves(
        rule.out_tree, of.out_types, result[1], f"tangent returned by the rule of {rule.name}", out
    )[index]


def _mapped(function: Function, flags: Sequence[bool], structure: Any, copies: int) -> Function:
    axes = tree.unflatten(structure, [0 if on else None for on in flags])
    return vmap(function, in_axes=(axes,) * copies if copies > 1 else axes)


def _batched(primitive: Callable[[], Any], make: Callable[[Rule, list[bool]], Rule]) -> Callable[..., Any]:
    def batch(flags: tuple[bool, ...], size: int, *operands: Any, of: ClosedProgram, rule: Rule, index: int) -> Any:
        program = batch_program(of.hoisted, flags, size)
        wide = make(rule, list(flags[: rule.in_tree.num_leaves]))
        return primitive()(*operands, of=ClosedProgram(program), rule=wide, index=index)

    return batch


def _batched_jvp(rule: Rule, flags: list[bool]) -> Rule:
    assert rule.jvp is not None
    return Rule(rule.name, rule.in_tree, rule.out_tree, jvp=_mapped(rule.jvp, flags, rule.in_tree, 2))


def _batched_vjp(rule: Rule, flags: list[bool]) -> Rule:
    assert rule.forward is not None and rule.backward is not None
    forward = _mapped(rule.forward, flags, rule.in_tree, 1)
    stacked = vmap(rule.backward)

    def backward(residuals: Any, cotangent: Any) -> Any:
        leaves, structure = tree.flatten(stacked(residuals, cotangent))
        return tree.unflatten(structure, [leaf if on else leaf.sum(0) for leaf, on in zip(leaves, flags, strict=True)])

    return Rule(rule.name, rule.in_tree, rule.out_tree, forward=forward, backward=backward)


custom_jvp_: Primitive = held(
    "custom_jvp",
    build=lambda program, *, rule: program,
    out_types=lambda of, *, rule: of.out_types,
    jvp=_push,
    batch=_batched(lambda: custom_jvp_, _batched_jvp),
    doc="A function with a JVP of its own.",
)


def _push_opaque(tangents: Sequence[Any], out: Any, *inputs: Any, of: ClosedProgram, rule: Rule, index: int) -> Any:
    count = rule.in_tree.num_leaves
    _check_captured(rule.name, tangents, count)
    assert rule.forward is not None
    result = rule.forward(*tree.unflatten(rule.in_tree, inputs[:count]))
    if not isinstance(result, tuple) or len(result) != 2:
        raise ShapeError(f"the forward rule of {rule.name} must return a pair (value, residuals)")
    residuals, structure = tree.flatten(result[1])
    pullback = Pullback(rule, structure, tuple(of.out_types))
    held_values = [TracedArray(lift(residual, out.node.trace)) for residual in residuals]
    moving = [_instantiate(t, out) for t in tangents[:count]]
    return custom_pullback(*held_values, *moving, pullback=pullback, index=index)


class Pullback:
    """The backward rule of one application of a custom_vjp function."""

    def __init__(self, rule: Rule, residuals: Any, out_types: tuple[ArrayType, ...]) -> None:
        self.name = rule.name
        self.rule = rule
        self.residuals = residuals
        self.out_types = out_types

    def _key(self) -> Any:
        return self.rule, self.residuals, self.out_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pullback) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _pull(cotangent: Any, *inputs: Any, pullback: Pullback, index: int) -> list[Any]:
    rule = pullback.rule
    assert rule.backward is not None
    count = pullback.residuals.num_leaves
    trace = cotangent.node.trace
    cotangents = [
        cotangent if i == index else TracedArray(trace.literal(0, type)) for i, type in enumerate(pullback.out_types)
    ]
    residuals = tree.unflatten(pullback.residuals, inputs[:count])
    result = rule.backward(residuals, tree.unflatten(rule.out_tree, cotangents))
    what = f"cotangents returned by the backward rule of {rule.name}"
    if not isinstance(result, (tuple, list)):
        raise ShapeError(f"{what}: expected a tuple with one entry per argument, got {type(result).__name__}")
    types = [x.type for x in inputs[count:]]
    return [None] * count + _matching_leaves(rule.in_tree, types, tuple(result), what, cotangent)


def _forward_refused(*arrays: Any, pullback: Pullback, index: int) -> Any:
    raise NotDifferentiableError(
        f"forward mode through {pullback.name}, which has only a custom VJP",
        why="Its rule says how to pull a cotangent back, not how to push a tangent forward.",
        fix="use reverse mode (grad, vjp, jacrev), or give it a custom_jvp, which serves both modes.",
    )


custom_pullback: Primitive = linear(
    "custom_pullback",
    numpy=_forward_refused,
    infer=lambda *types, pullback, index: pullback.out_types[index],
    transpose=_pull,
    axes=None,
    adapt=None,
    operands=None,
    doc="The derivative of a custom_vjp function: linear, with a transpose and nothing else.",
)

custom_vjp_: Primitive = held(
    "custom_vjp",
    build=lambda program, *, rule: program,
    out_types=lambda of, *, rule: of.out_types,
    jvp=_push_opaque,
    batch=_batched(lambda: custom_vjp_, _batched_vjp),
    doc="A function with a pullback of its own.",
)

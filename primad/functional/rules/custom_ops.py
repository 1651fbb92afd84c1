"""The ops of functions with rules of a user's own: how what a rule gives becomes tangents and cotangents.

A custom JVP is recorded and transposed like any other. A custom VJP gives only the pullback: its tangent is a linear op
that has a transpose and nothing else. Where both are given, the tangent that is to be transposed is that op too, and
what it computes is what the JVP says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.control.mapping import vmap
from primad.functional.rules.rule_identity import Rule
from primad.ir.array_types import ArrayType, Linear, TupleType, Zero, type_of_results
from primad.ir.program import ClosedProgram
from primad.ops.record.fields import Axes, DerivativeRules
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all
from primad.programs.program_ops import program_op, with_residuals
from primad.recording import tree
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import call_rule, program_of
from primad.transforms.forward import jvp
from primad.transforms.lowering import expand, inline

Backward = Callable[[list[Any], list[Any]], list[Any]]


def _matching_leaves(
    structure: Any, types: Sequence[ArrayType], values: Any, what: str, like: TracedArray
) -> list[TracedArray]:
    leaves = tree.flatten_as(structure, values, what)
    result = []
    for leaf, type in zip(leaves, types, strict=True):
        if not isinstance(leaf, TracedArray):
            leaf = (
                np.broadcast_to(np.asarray(leaf, type.dtype), type.shape)
                if np.ndim(leaf) == 0
                else np.asarray(leaf, type.dtype)
            )
        node = lift(leaf, like.node.trace)
        if node.type != type:
            raise ShapeError(
                f"{what}: expected the type {type}, got {node.type}",
                fix="return arrays of the shapes and dtypes that they belong to, converted by .astype.",
            )
        result.append(TracedArray(node))
    return result


def _instantiate(tangent: Any, like: TracedArray) -> TracedArray:
    return TracedArray(like.node.trace.literal(0, tangent.type)) if isinstance(tangent, Zero) else tangent


def _check_captured(rule: Rule, tangents: Sequence[Any]) -> None:
    captured = *tangents[: rule.closed], *tangents[rule.in_tree.num_leaves :]
    if any(not isinstance(tangent, Zero) for tangent in captured):
        raise NotDifferentiableError(
            f"{rule.name} closes over a value that is being differentiated",
            why="Its rule knows of its arguments only, so this part of the derivative would be lost.",
            fix="pass the value as an argument.",
        )


def _floating(found: Sequence[TracedArray]) -> Any:
    """Return what a rule gave as the tangents of an op's results; those of integers are zeros, whatever they were."""
    return one_or_all([x if x.type.is_float else Zero(x.type) for x in found])


def _told(rule: Rule, push: Callable[..., Any], operands: Sequence[Any]) -> tuple[Any, str]:
    """Return the tangents that a rule gives for arguments and their tangents, and what messages call them."""
    count = rule.in_tree.num_leaves
    found = call_rule(push, *(tree.unflatten(rule.in_tree, part) for part in (operands[:count], operands[count:])))
    if not isinstance(found, tuple) or len(found) != 2:
        raise ShapeError(f"the rule of {rule.name} must return a pair (value, tangent)", fix="return value, tangent.")
    return found[1], f"tangent returned by the rule of {rule.name}"


def _push(tangents: Sequence[Any], *inputs: Any, residuals: bool, of: ClosedProgram, rule: Rule) -> tuple[Any, Any]:
    """Residuals are what the rule computes; it, too, stays a node of its own, whose rule holds at the next order."""
    out = custom_jvp_(*inputs, of=of, rule=rule)
    count = rule.in_tree.num_leaves
    _check_captured(rule, tangents)
    like = as_tuple(out)[0]
    moving = [_instantiate(tangent, like) for tangent in tangents[:count]]
    push = rule.jvp
    assert push is not None
    if residuals and rule.backward is not None:
        pullback = Pullback(rule, rule.in_tree, tuple([t.type for t in moving]), tuple(of.out_types))
        return out, _floating(as_tuple(custom_pullback(*inputs[:count], *moving, pullback=pullback)))

    def pushed(*xs: TracedArray) -> list[TracedArray]:
        return _matching_leaves(rule.out_tree, of.out_types, *_told(rule, push, xs), xs[0])

    operands = [*inputs[:count], *moving]
    if not residuals:
        return out, _floating(pushed(*operands))
    apart = with_residuals(program_of([x.type for x in operands], pushed))
    return out, _floating(inline(apart, operands))


custom_jvp_: Primitive = program_op(
    "custom_jvp",
    build=lambda program, *, rule: program,
    out_types=lambda of, *, rule: of.out_types,
    linearize=_push,
    doc="A function with a JVP of its own.",
)


def _push_opaque(
    tangents: Sequence[Any], *inputs: Any, residuals: bool, of: ClosedProgram, rule: Rule
) -> tuple[Any, Any]:
    """Residuals are those that the forward rule returns."""
    out = custom_vjp_(*inputs, of=of, rule=rule)
    count = rule.in_tree.num_leaves
    _check_captured(rule, tangents)
    assert rule.forward is not None
    result = call_rule(rule.forward, *tree.unflatten(rule.in_tree, inputs[:count]))
    if not isinstance(result, tuple) or len(result) != 2:
        raise ShapeError(
            f"the forward rule of {rule.name} must return a pair (value, residuals)",
            fix="return value, residuals; what backward needs not may be left out: return value, ().",
        )
    given, structure = tree.flatten(result[1])
    like = as_tuple(out)[0]
    if rule.by_forward:
        out = one_or_all(_matching_leaves(rule.out_tree, of.out_types, result[0], f"value of {rule.name}", like))
    moving = [_instantiate(t, like) for t in tangents[:count]]
    pullback = Pullback(rule, structure, tuple([t.type for t in moving]), tuple(of.out_types))
    kept = [TracedArray(lift(residual, like.node.trace)) for residual in given]
    return out, _floating(as_tuple(custom_pullback(*kept, *moving, pullback=pullback)))


class Pullback:
    """The backward rule of one application of a custom_vjp function.

    Attributes:
        residuals: the tree of what the forward rule keeps; the op's first operands.
        in_types, out_types: types of the arguments and of the results that the rule speaks of.
        stacks: for each vmap, from the inside out, which operands have its axis, and its length.
    """

    def __init__(
        self,
        rule: Rule,
        residuals: Any,
        in_types: tuple[ArrayType, ...],
        out_types: tuple[ArrayType, ...],
        stacks: tuple[tuple[tuple[bool, ...], int], ...] = (),
    ) -> None:
        self.name = rule.name
        self.rule = rule
        self.residuals = residuals
        self.in_types = in_types
        self.out_types = out_types
        self.stacks = stacks

    def _key(self) -> Any:
        return self.rule.key, self.residuals, self.in_types, self.out_types, self.stacks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pullback) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def type(self) -> ArrayType | TupleType:
        """Type of the results of the op."""
        sizes = tuple([size for _, size in reversed(self.stacks)])
        wide = [ArrayType((*sizes, *type.shape), type.dtype) for type in self.out_types]
        return type_of_results(wide)

    def stacked(self, flags: tuple[bool, ...], size: int) -> Pullback:
        """Return the pullback of a stack of applications."""
        stacks = (*self.stacks, (flags, size))
        return Pullback(self.rule, self.residuals, self.in_types, self.out_types, stacks)

    def __call__(self, residuals: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return the cotangents of the arguments, flattened; those of arguments that a stack shares are summed."""
        backward: Backward = self._backward
        for flags, _ in self.stacks:
            backward = _over_stack(backward, flags[: len(residuals)], flags[len(residuals) :])
        return backward(residuals, cotangents)

    def push(self, *operands: Any) -> list[Any]:
        """Return the tangents of the results, flattened, by the JVP that the function has too."""
        pushed: Callable[..., list[Any]] = self._push
        for flags, _ in self.stacks:
            pushed = vmap(pushed, in_axes=tuple([0 if on else None for on in flags]))
        return pushed(*operands)

    def _push(self, *operands: Any) -> list[Any]:
        assert self.rule.jvp is not None
        found, what = _told(self.rule, self.rule.jvp, operands)
        if isinstance(operands[0], TracedArray):
            return list(_matching_leaves(self.rule.out_tree, self.out_types, found, what, operands[0]))
        return list(tree.flatten_as(self.rule.out_tree, found, what))

    def _backward(self, residuals: list[Any], cotangents: list[Any]) -> list[Any]:
        assert self.rule.backward is not None
        given = tree.unflatten(self.residuals, residuals), tree.unflatten(self.rule.out_tree, cotangents)
        result = call_rule(self.rule.backward, *given)
        what = f"cotangents returned by the backward rule of {self.name}"
        if not isinstance(result, (tuple, list)):
            raise ShapeError(
                f"{what}: expected a tuple with one entry per argument, got {type(result).__name__}",
                fix="return (cotangent,), with the comma, where there is one argument.",
            )
        like = next(leaf for leaf in (*cotangents, *residuals) if isinstance(leaf, TracedArray))
        return list(_matching_leaves(self.rule.in_tree, self.in_types, tuple(result), what, like))


def _over_stack(backward: Backward, kept: Sequence[bool], mapped: Sequence[bool]) -> Backward:
    """Return a backward rule on stacks of cotangents; `kept` and `mapped` say which residuals and arguments are one."""

    def pull(residuals: list[Any], cotangents: list[Any]) -> list[Any]:
        stacked = vmap(backward, in_axes=([0 if on else None for on in kept], 0))(residuals, cotangents)
        return [leaf if on else ops.sum(leaf, axes=(0,)) for leaf, on in zip(stacked, mapped, strict=True)]

    return pull


def _pull(cotangent: Any, *inputs: Any, pullback: Pullback) -> list[Any]:
    count = pullback.residuals.num_leaves
    if any(isinstance(residual, Linear) for residual in inputs[:count]):
        raise _forward_mode(pullback)
    given = as_tuple(cotangent)
    like = next(ct for ct in given if isinstance(ct, TracedArray))
    return [None] * count + pullback(list(inputs[:count]), [_instantiate(ct, like) for ct in given])


def _forward_mode(pullback: Pullback) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"forward mode through {pullback.name}, which has only a custom VJP",
        why="Its rule says how to pull a cotangent back, not how to push a tangent forward.",
        fix="use reverse mode (grad, vjp, jacrev), or give it a custom_jvp, which serves both modes; a primitive of "
        "primad.compat.autograd a rule by defjvp.",
    )


def _push_further(tangents: Sequence[Any], out: Any, *inputs: Any, pullback: Pullback) -> Any:
    """The derivative along tangents is linear in them; how it moves with the residuals only a JVP says."""
    count = pullback.residuals.num_leaves
    like = as_tuple(out)[0]
    if any(not isinstance(tangent, Zero) for tangent in tangents[:count]):
        if pullback.rule.jvp is None:
            raise _forward_mode(pullback)
        pushed = program_of([x.type for x in inputs], lambda *xs: pullback.push(*xs))
        active = [not isinstance(tangent, Zero) for tangent in tangents]
        moved = expand(jvp(pushed, active, residuals=True))
        found = inline(moved, [*inputs, *[t for t in tangents if not isinstance(t, Zero)]])
        return _floating(found[len(found) // 2 :])
    moving = [_instantiate(tangent, like) for tangent in tangents[count:]]
    return _floating(as_tuple(custom_pullback(*inputs[:count], *moving, pullback=pullback)))


def _computed(*arrays: Any, pullback: Pullback) -> Any:
    if pullback.rule.jvp is None:
        raise _forward_mode(pullback)
    return one_or_all([np.asarray(x, t.dtype) for x, t in zip(pullback.push(*arrays), pullback.out_types, strict=True)])


custom_pullback: Primitive = Primitive(
    name="custom_pullback",
    kind="custom",
    numpy=_computed,
    infer=lambda *types, pullback: pullback.type,
    derivative=DerivativeRules(jvp=_push_further, transpose=_pull, linear_operands=None, only_transposed=True),
    axes=Axes(
        batch=lambda flags, size, *operands, pullback: custom_pullback(
            *operands, pullback=pullback.stacked(flags, size)
        )
    ),
    doc="The derivative of a custom_vjp function: linear, with a transpose, and a value only beside a custom JVP.",
)

custom_vjp_: Primitive = program_op(
    "custom_vjp",
    build=lambda program, *, rule: program,
    out_types=lambda of, *, rule: of.out_types,
    linearize=_push_opaque,
    doc="A function with a pullback of its own.",
)

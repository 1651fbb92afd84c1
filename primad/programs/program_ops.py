"""Ops that hold a program: jvp, vjp, vmap as nodes, and what makes others (jacobian, hessian, …).

Inside another trace a derivative is recorded as one node that holds its program, and is built only when a plan is made:
a repeated call costs the trace of the function and the run. The op that consumes such a node chooses how it is
computed, by a law of the node's op (`consumed`): a diagonal of a Hessian needs second directional derivatives only, a
product with a vector one Hessian-vector product, a row of a Jacobian one pullback.

Operands of a program op: the arguments of its program, the program's captured values, then what the transform adds
(tangents, …). Its results are the outputs of the program that it builds: one, or several (see
`primad.ops.record.primitive`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, TupleType, type_of_results
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import Node, Trace, named
from primad.ir.program import ClosedProgram, Program
from primad.numpy.linalg.diagonals import diagonal_, trace_
from primad.ops.arrays.contraction import letters
from primad.ops.record.fields import Axes, DerivativeRules, Law, Laws, Programs, Work
from primad.ops.record.primitive import Primitive, application, consuming, one_or_all
from primad.programs.consumer_laws import node_of, of_operand, product_law
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.cache import BUILT
from primad.runtime.executors.dispatch import prepare
from primad.simplify.slice_pushdown import differentiable
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import alone, apply_program_op, expand, extended, inline, lower, replaced, rewritten

Types = list[ArrayType]


def program_op(
    name: str,
    build: Callable[..., Program],
    out_types: Callable[..., Types],
    consumed: Sequence[Law] = (),
    linearize: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | None = None,
    batch: Callable[..., Any] | None = None,
    doc: str = "",
) -> Primitive:
    """Make an op that holds a program.

    Args:
        name: its name in program texts.
        build: `(program, **options) -> Program`, on its program with captured values as inputs.
        out_types: `(closed program, **options) -> types of the outputs of what it builds`.
        consumed: laws of the ops that it is an operand of.
        linearize: a rule of its own (see `primad.ops.record.fields`), which differentiation uses instead of
            lowering.
        transpose: how it is transposed in operands in which its program is linear, where it has a rule of its own.
        batch: how to batch it; by default a vmap node holds it, or it is mapped with its rule if it has one of its own.
        doc: one line for the reference.
    """

    def infer(*types: ArrayType, of: ClosedProgram, **options: Any) -> ArrayType | TupleType:
        if types:  # asked for the result alone, without operands, by lazy matrices
            _check_operands(name, types, of, options)
        return type_of_results(out_types(of, **options))

    def batch_whole(flags: tuple[bool, ...], size: int, /, *operands: TracedArray, **params: Any) -> Any:
        return _batch_whole(primitive, flags, size, operands, params)

    primitive = holding_op(
        name,
        build,
        infer,
        DerivativeRules(linearize=linearize, transpose=transpose, linear_operands=None if transpose else ()),
        batch or (batch_whole if linearize is None else None),
        consumed,
        doc,
    )
    return primitive


def holding_op(
    name: str,
    build: Callable[..., Program],
    infer: Callable[..., Any],
    derivative: DerivativeRules,
    batch: Callable[..., Any] | None = None,
    consumed: Sequence[Law] = (),
    doc: str = "",
) -> Primitive:
    """Make an op that stands for what is built of the program that it holds.

    Args:
        name: its name in program texts.
        build: `(program, **options) -> Program`, on its program with captured values as inputs.
        infer: its type rule.
        derivative: its rules of derivatives.
        batch: how to batch it; by default a vmap node holds it.
        consumed: laws of the ops that it is an operand of.
        doc: one line for the reference.
    """

    def lower_built(*operands: Any, of: ClosedProgram, **options: Any) -> Any:
        return one_or_all(inline(built(primitive, of, options), operands))

    def numpy(*arrays: Any, of: ClosedProgram, **options: Any) -> Any:
        return one_or_all(prepare(built(primitive, of, options)).run(arrays))

    primitive = Primitive(
        name=name,
        kind="program",
        numpy=numpy,
        infer=infer,
        lower=lower_built,
        derivative=derivative,
        axes=Axes(batch=batch),
        programs=Programs(names=("of",), build=build),
        laws=Laws(consumed=tuple(consumed)),
        work=Work(
            flops=lambda node: lower(alone(node.op, [operand.type for operand in node.inputs], node.params)).cost()
        ),
        doc=doc,
    )
    return primitive


def _check_operands(name: str, types: Sequence[ArrayType], of: ClosedProgram, options: dict[str, Any]) -> None:
    """Raise unless the operands are what the program takes (more may follow: tangents, cotangents)."""
    batched = options.get("batched", ())
    expected = of.operand_types
    if len(types) < len(expected):
        raise ShapeError(
            f"{name}: its program takes {len(expected)} operands, got {len(types)}",
            fix="pass one operand for each input of its program.",
        )
    for i, (type, wanted) in enumerate(zip(types, expected, strict=False)):
        if type != (_wide(wanted, options["size"]) if i < len(batched) and batched[i] else wanted):
            raise ShapeError(
                f"{name}: operand {i} of type {type} is not what its program takes, {wanted}",
                fix="cast or reshape the operand, or build the program for its type.",
            )


class BuiltKey(NamedTuple):
    """What the program that an op stands for depends on: the op, the program that it holds, and its other params."""

    op: Primitive
    of: Key
    options: tuple[tuple[str, Any], ...]
    left_out: frozenset[str]
    kind: str = "built"


def built(primitive: Primitive, of: ClosedProgram, options: dict[str, Any]) -> Program:
    """Return the program that an op stands for, fit to be differentiated again, from the cache if it is there."""
    key = BuiltKey(primitive, of.key, named(options), LEFT_OUT.get())
    assert primitive.programs.build is not None
    build = primitive.programs.build
    program: Program = BUILT.get(key, lambda: expand(build(of.hoisted, **options)))
    return program


def _batch_whole(
    primitive: Primitive, flags: tuple[bool, ...], size: int, operands: Sequence[TracedArray], params: dict[str, Any]
) -> Any:
    """Batch a program op as a node: a vmap node that holds it."""
    types = [ArrayType(x.shape[1:], x.dtype) if on else x.type for x, on in zip(operands, flags, strict=True)]
    program = alone(primitive, types, named(params))
    return vmap_(*operands, of=ClosedProgram(program), batched=flags, size=size)


# -- forward and reverse mode ------------------------------------------------------------------------------------------


def _derived(transform: Callable[..., Program], program: Program, active: Sequence[bool]) -> Program:
    flags = extended(active, program)
    return transform(differentiable(program, flags), flags)


jvp_: Primitive = program_op(
    "jvp",
    build=lambda program, *, active: _derived(forward.jvp, program, active),
    out_types=lambda of, *, active: [*of.out_types, *of.out_types],
    doc="Outputs of the program, and their tangents for tangents of the active arguments.",
)


def with_residuals(program: Program) -> Program:
    """Return a program in which derivatives taken forwards stand in two parts, so that it can be transposed.

    One part computes values, and the other is linear in the tangents: where one op computed both, values that are
    read again would seem to depend on the tangents.
    """

    def change(node: Node, mapping: dict[Node, Node], trace: Trace) -> Node | None:
        return replaced(node, mapping, trace, _in_two_parts) if node.op in (jvp_, vmap_) else None

    return rewritten(program, change)


def _in_two_parts(node: Node, xs: Sequence[TracedArray]) -> Any:
    params = dict(node.params)
    of: Program = params["of"].hoisted
    if node.op is vmap_:
        flags = extended(params["batched"], of)
        return one_or_all(inline(batching.vmap(with_residuals(of), flags, params["size"]), xs))
    return one_or_all(inline(expand(forward.jvp(of, extended(params["active"], of), residuals=True)), xs))


vjp_: Primitive = program_op(
    "vjp",
    build=lambda program, *, active: _derived(reverse.vjp, program, active),
    out_types=lambda of, *, active: [
        *of.out_types,
        *(type for type, on in zip(of.program.in_types, active, strict=False) if on),
    ],
    doc="Outputs of the program, and cotangents of the active arguments for cotangents of its float outputs.",
)


# -- batching ----------------------------------------------------------------------------------------------------------


def _wide(type: ArrayType, size: int) -> ArrayType:
    return ArrayType((size, *type.shape), type.dtype)


def _inside(op: Primitive) -> Callable[..., Node | None]:
    """Return the rule that an op that maps the batch axis of a batched program moves inside it.

    It is for programs whose result it can choose, by a law, how to compute.
    """

    def rule(node: Node, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        assert op.axes.map is not None and op.axes.adapt is not None
        if not _chooses(op, node):
            return None
        types = [x.type for x in inputs]
        found = op.axes.map(*types, **params)
        place = inputs.index(node)
        batch = found.operands[place][0]
        if found.role(batch) != "mapped":
            return None
        inner = op.axes.adapt(found.change({batch: None}, types, [op.infer(*types, **params)]), **params)
        if inner is None:
            return None
        others = [
            (_led_by(TracedArray(x), labels.index(batch)), True) if batch in labels else (TracedArray(x), False)
            for i, (x, labels) in enumerate(zip(inputs, found.operands, strict=True))
            if i != place
        ]
        moved = _move_inside(node, lambda x, *rest: op(*rest[:place], x, *rest[place:], **inner), *others)
        to = found.results[0].index(batch)
        order = (*range(1, to + 1), 0, *range(to + 1, len(found.results[0])))
        return node_of(ops.permute(TracedArray(moved), order=order))

    return rule


def _along_later_axes(op: Primitive) -> Callable[..., Node | None]:
    """Return the rule that an op along two axes moves inside a batched program, if neither is the batch axis."""

    def rule(node: Node, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        if 0 in params.values() or not _chooses(op, node):
            return None
        return _move_inside(node, lambda x: op(x, **{name: axis - 1 for name, axis in params.items()}))

    return rule


def _chooses(op: Primitive, node: Node) -> bool:
    """Say whether an op has a law for what a batched program computes as this result."""
    mapped, index = application(node)
    inner, _ = application(dict(mapped.params)["of"].program.outputs[index])
    return bool(consuming(op, inner.op))


def _led_by(x: TracedArray, axis: int) -> Any:
    return ops.permute(x, order=(axis, *(i for i in range(x.ndim) if i != axis)))


def _move_inside(node: Node, function: Callable[..., Any], *others: tuple[TracedArray, bool]) -> Node:
    """Apply a function to one output of a batched program, before batching.

    Args:
        node: a result of a vmap node.
        function: of the output and the others, without their batch axes.
        others: further operands, and whether they have the batch axis in front.
    """
    mapped, index = application(node)
    params = dict(mapped.params)
    program = params["of"].hoisted
    count = len(program.inputs)
    rows = [ArrayType(x.shape[1:], x.dtype) if on else x.type for x, on in others]
    changed = program_of(
        [*program.in_types, *rows], lambda *xs: [function(inline(program, xs[:count])[index], *xs[count:])]
    )
    batched = (*extended(params["batched"], program), *(on for _, on in others))
    operands = [*map(TracedArray, mapped.inputs), *(x for x, _ in others)]
    moved: Node = apply_program_op(vmap_, ClosedProgram(changed), operands, batched=batched, size=params["size"]).node
    return moved


def _on_rows(body: Callable[..., Any], x: Any, *shared: Any) -> Any:
    """Apply a function to each row of an array, and to the others as they are, as a node."""
    rows = [ArrayType(x.shape[1:], x.dtype), *[ArrayType(y.shape, y.dtype) for y in shared]]
    of = ClosedProgram(program_of(rows, lambda *row: [body(*row)]))
    return vmap_(x, *shared, of=of, batched=(True, *[False] * len(shared)), size=x.shape[0])


def _sines(x: Any) -> Any:
    return _on_rows(ops.sin, x)


def _tail(x: Any, axis: int) -> Any:
    start = tuple([int(i == axis) for i in range(x.ndim)])
    return ops.slice_(x, start=start, stop=x.shape, step=(1,) * x.ndim)


def _goes_inside(op: Primitive, use: Callable[..., Any], shapes: Any, rule: Callable[..., Any]) -> Law:
    """Make the law that an op goes inside a batched program; `use` applies it so that some axis is the last but one."""

    def statement(x: Any, *others: Any) -> tuple[Any, Any]:
        outside = use(_on_rows(_sines, x), 1, *others)
        return outside, _on_rows(lambda row, *rest: use(_sines(row), 0, *rest), x, *others)

    statement.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in "xyz"[: len(shapes)]]
    )
    name = f"what leaves the batch axis alone goes inside a batched program: {op.name}"
    return Law(name, "bitwise", statement, shapes, of_operand(lambda: vmap_, rule(op)), (op.name,))


_VMAP_LAWS = (
    _goes_inside(ops.slice_, _tail, ((2, 3, 2),), _inside),
    _goes_inside(ops.sum, lambda x, axis: ops.sum(x, axes=(axis,)), ((2, 3, 2),), _inside),
    _goes_inside(
        ops.contract,
        lambda x, axis, y: ops.contract(x, y, labels=letters("abc"[-x.ndim :], "cd", "abd"[-x.ndim :])),
        ((2, 3, 2), (2, 3)),
        _inside,
    ),
    _goes_inside(diagonal_, lambda x, axis: diagonal_(x, axis1=axis, axis2=axis + 1), ((2, 3, 3),), _along_later_axes),
    _goes_inside(trace_, lambda x, axis: trace_(x, axis1=axis, axis2=axis + 1), ((2, 3, 3),), _along_later_axes),
    product_law("a batched program", lambda: vmap_, _sines, "bitwise", (2, 3), (3, 2)),
)


vmap_: Primitive = program_op(
    "vmap",
    build=lambda program, *, batched, size: batching.vmap(expand(program), extended(batched, program), size),
    out_types=lambda of, *, batched, size: [_wide(type, size) for type in of.out_types],
    consumed=_VMAP_LAWS,
    doc="The program on a stack of arguments.",
)

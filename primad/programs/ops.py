"""Ops that hold a program: jvp, vjp, vmap as nodes, and what makes others (jacobian, hessian, …).

Inside another trace a derivative is recorded as one node that holds its program, and is built only when a plan is made:
a repeated call costs the trace of the function and the run. The op that consumes such a node chooses how it is computed
(`consume`): a diagonal of a Hessian needs second directional derivatives only, a product with a vector one
Hessian-vector product, a row of a Jacobian one pullback.

Operands of a program op: the arguments of its program, the program's captured values, then what the transform adds
(tangents, …). Its results are the outputs of the program that it builds: one, or several (see `primad.primitive`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad import ops
from primad.errors import ShapeError
from primad.ir.families import LEFT_OUT
from primad.ir.node import Node, Params, Trace
from primad.ir.program import ClosedProgram, Program
from primad.numpy.products import diagonal_, matmul_, trace_
from primad.ops.contraction import letters, split
from primad.primitive import Primitive, application, one_or_all, project
from primad.recording import program_of
from primad.runtime.cache import BUILT
from primad.runtime.tiling import make_plan
from primad.simplify import simplify
from primad.trace import TracedArray
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import alone, apply_program_op, expand, inline, lower
from primad.types import ArrayType, TupleType

Types = list[ArrayType]


def program_op(
    name: str,
    build: Callable[..., Program],
    out_types: Callable[..., Types],
    consume: Callable[..., Node | None] | None = None,
    jvp: Callable[..., Any] | None = None,
    batch: Callable[..., Any] | None = None,
    doc: str = "",
) -> Primitive:
    """Make an op that holds a program.

    Args:
        name: its name in program texts.
        build: `(program, **options) -> Program`, on its program with captured values as inputs.
        out_types: `(closed program, **options) -> types of the outputs of what it builds`.
        consume: see `primad.primitive`.
        jvp: a JVP of its own, which differentiation uses instead of lowering.
        batch: how to batch it; by default a vmap node holds it, or it is mapped with its JVP if it has one of its own.
        doc: one line for the reference.
    """

    def infer(*types: ArrayType, of: ClosedProgram, **options: Any) -> ArrayType | TupleType:
        if types:  # asked for the result alone, without operands, by lazy matrices
            _check_operands(name, types, of, options)
        results = out_types(of, **options)
        return results[0] if len(results) == 1 else TupleType(tuple(results))

    def lower_built(*operands: Any, of: ClosedProgram, **options: Any) -> Any:
        return one_or_all(inline(built(primitive, of, options), operands))

    def numpy(*arrays: Any, of: ClosedProgram, **options: Any) -> Any:
        return one_or_all(make_plan(simplify(built(primitive, of, options))).run(arrays))

    def batch_whole(flags: tuple[bool, ...], size: int, /, *operands: TracedArray, **params: Any) -> Any:
        return _batch_whole(primitive, flags, size, operands, params)

    primitive = Primitive(
        name,
        "composite",
        numpy,
        infer,
        jvp,
        None,
        None,
        None,
        lower=lower_built,
        flops=lambda node: lower(alone(node.op, [operand.type for operand in node.inputs], node.params)).cost(),
        doc=doc,
        build=build,
        batch=batch or (batch_whole if jvp is None else None),
        consume=consume,
    )
    return primitive


def _check_operands(name: str, types: Sequence[ArrayType], of: ClosedProgram, options: dict[str, Any]) -> None:
    """Raise unless the operands are what the program takes (more may follow: tangents, cotangents)."""
    batched = options.get("batched", ())
    expected = [node.type for node in (*of.program.inputs, *of.program.sources)]
    if len(types) < len(expected):
        raise ShapeError(f"{name}: its program takes {len(expected)} operands, got {len(types)}")
    for i, (type, wanted) in enumerate(zip(types, expected, strict=False)):
        if type != (_wide(wanted, options["size"]) if i < len(batched) and batched[i] else wanted):
            raise ShapeError(f"{name}: operand {i} of type {type} is not what its program takes, {wanted}")


def built(primitive: Primitive, of: ClosedProgram, options: dict[str, Any]) -> Program:
    """Return the program that an op stands for, fit to be differentiated again, from the cache if it is there."""
    key = (primitive, of.key, tuple(sorted(options.items())), LEFT_OUT.get())
    assert primitive.build is not None
    build = primitive.build
    program: Program = BUILT.get(key, lambda: expand(build(of.hoisted, **options)))
    return program


def _batch_whole(
    primitive: Primitive, flags: tuple[bool, ...], size: int, operands: Sequence[TracedArray], params: dict[str, Any]
) -> Any:
    """Batch a program op as a node: a vmap node that holds it."""
    types = [ArrayType(x.shape[1:], x.dtype) if on else x.type for x, on in zip(operands, flags, strict=True)]
    program = alone(primitive, types, tuple(sorted(params.items())))
    return vmap_(*operands, of=ClosedProgram(program), batched=flags, size=size)


# -- forward and reverse mode ------------------------------------------------------------------------------------------


def _extended(active: tuple[bool, ...], program: Program) -> list[bool]:
    """Captured values, which come after the arguments, are constants."""
    return [*active, *[False] * (len(program.inputs) - len(active))]


jvp_: Primitive = program_op(
    "jvp",
    build=lambda program, *, active: forward.jvp(program, _extended(active, program)),
    out_types=lambda of, *, active: [*of.out_types, *of.out_types],
    doc="Outputs of the program, and their tangents for tangents of the active arguments.",
)

vjp_: Primitive = program_op(
    "vjp",
    build=lambda program, *, active: reverse.vjp(program, _extended(active, program)),
    out_types=lambda of, *, active: [
        *of.out_types,
        *(type for type, on in zip(of.program.in_types, active, strict=False) if on),
    ],
    doc="Outputs of the program, and cotangents of the active arguments for cotangents of its float outputs.",
)


# -- batching ----------------------------------------------------------------------------------------------------------


def _wide(type: ArrayType, size: int) -> ArrayType:
    return ArrayType((size, *type.shape), type.dtype)


def _vmap_consume(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: Params, node: Node) -> Node | None:
    """An op that leaves the batch axis alone moves inside the batched program, where it can choose."""
    mapped, index = application(node)
    named = dict(mapped.params)
    if op is project or application(named["of"].program.outputs[index])[0].op.consume is None:
        return None
    options = dict(params)
    if op is matmul_:
        return lowered(op, inputs)
    if op is ops.slice_ and (options["start"][0], options["stop"][0], options["step"][0]) == (0, named["size"], 1):
        return _move_inside(node, lambda x: ops.slice_(x, **{key: bounds[1:] for key, bounds in options.items()}))
    if op in (diagonal_, trace_) and 0 not in (options["axis1"], options["axis2"]):
        return _move_inside(node, lambda x: op(x, axis1=options["axis1"] - 1, axis2=options["axis2"] - 1))
    if op is ops.sum and 0 not in options["axes"]:
        return _move_inside(node, lambda x: ops.sum(x, axes=tuple([axis - 1 for axis in options["axes"]])))
    if op is ops.contract:
        return _contract_inside(inputs, options["labels"], node)
    return None


def lowered(op: Primitive, inputs: Sequence[Node]) -> Node:
    """Return what an op's definition makes of its operands."""
    assert op.lower is not None
    result: Node = op.lower(*map(TracedArray, inputs)).node
    return result


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
    batched = (*params["batched"], *[False] * (count - len(params["batched"])), *(on for _, on in others))
    operands = [*map(TracedArray, mapped.inputs), *(x for x, _ in others)]
    moved: Node = apply_program_op(vmap_, changed, operands, batched=batched, size=params["size"]).node
    return moved


def _contract_inside(inputs: tuple[Node, ...], labels: str, node: Node) -> Node | None:
    parts = split(labels)
    place = 0 if inputs[0] is node else 1
    mine, other, out = parts[place], parts[1 - place], parts[2]
    letter = mine[0]
    if letter not in out:
        return None
    y = TracedArray(inputs[1 - place])
    batched = letter in other
    if batched:
        front = other.index(letter)
        y = ops.permute(y, order=(front, *(i for i in range(y.ndim) if i != front)))
        other = other.replace(letter, "")
    rest = out.replace(letter, "")
    inner = letters(mine[1:], other, rest)
    moved = TracedArray(_move_inside(node, lambda x, v: ops.contract(x, v, labels=inner), (y, batched)))
    placed = letter + rest
    result: Node = ops.permute(moved, order=tuple([placed.index(c) for c in out])).node
    return result


vmap_: Primitive = program_op(
    "vmap",
    build=lambda program, *, batched, size: batching.vmap(
        expand(program), [*batched, *[False] * (len(program.inputs) - len(batched))], size
    ),
    out_types=lambda of, *, batched, size: [_wide(type, size) for type in of.out_types],
    consume=_vmap_consume,
    doc="The program on a stack of arguments.",
)

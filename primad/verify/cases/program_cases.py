"""Cases of the ops that hold a program (jacobian, hessian, jvp, vjp, vmap, …), against SymPy's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.functional.rules.custom_ops import Pullback, custom_jvp_, custom_pullback, custom_vjp_
from primad.functional.rules.rule_identity import Rule
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import Primitive
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.diagonal_ops import hessian_diagonal_, jacobian_diagonal_, mixed_diagonal_
from primad.programs.jacobians.differential_operators import partial_
from primad.programs.jacobians.hessian_laws import hessian_
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.programs.jacobians.jacobian_programs import hvp_, pullback_, pushforward_
from primad.programs.program_ops import jvp_, vjp_, vmap_
from primad.recording import tree
from primad.recording.tracing import trace
from primad.transforms.batching import mapped
from primad.transforms.reverse import transposed
from primad.verify.cases import meanings
from primad.verify.cases.drawn_cases import Case, Choices, Example, Operand, floats
from primad.verify.cases.spectral_cases import SPECTRAL_CASES
from primad.verify.exact.number_systems import Numbers

Array = np.ndarray[Any, Any]


def _body(x: Any, p: Any) -> tuple[Any, Any]:
    y = ops.sin(x) * p + x * ops.flip(x, axes=(0,))
    return y, ops.sum(ops.exp(x * p) * ops.flip(x, axes=(0,)), axes=(0,))


def _program() -> ClosedProgram:
    return ClosedProgram(trace(_body)(ArrayType((2,), float), ArrayType((2,), float)))


# -- examples ----------------------------------------------------------------------------------------------------------


def _part(choose: Choices, shape: tuple[int, ...]) -> Any:
    return tuple([choose.among(((0, n, 1), (0, 1, 1), (n - 1, n, 1), (n - 1, -1, -1))) for n in shape])


def _order(choose: Choices, ndim: int) -> dict[str, Any]:
    """Return the param that turns the axes of a matrix round, or none."""
    return {"order": tuple(range(ndim))[::-1]} if choose.among((True, False)) and ndim > 1 else {}


def _draw(options: Callable[[Choices, ClosedProgram], tuple[dict[str, Any], list[tuple[int, ...]]]]) -> Any:
    """Return a drawer of the two arguments, further float operands, and the options."""

    def draw(choose: Choices) -> Example:
        of = _program()
        chosen, extra = options(choose, of)
        shapes = chosen.pop("shapes", [(2,), (2,)])
        operands = [floats(shape, -1.5, 1.5) for shape in (*shapes, *extra)]
        return Example(tuple(operands), {"of": of, **chosen})

    return draw


def _jacobian_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    rows, columns = _part(choose, of.out_types[output].shape), _part(choose, (2,))
    mode = choose.among(("auto", "forward", "reverse"))
    place = {"output": output, "argument": choose.integer(0, 1), "mode": mode}
    return {**place, "rows": rows, "columns": columns, **_order(choose, len(rows) + 1)}, []


def _hessian_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    blocks = {"rows": whole(of.out_types[output].shape), "left": _part(choose, (2,)), "right": _part(choose, (2,))}
    order = _order(choose, len(blocks["rows"]) + 2)
    return {"output": output, "first": choose.integer(0, 1), "second": choose.integer(0, 1), **blocks, **order}, []


def _whole_or_part(choose: Choices) -> Any:
    return (choose.among(((0, 2, 1), (1, 2, 1), (1, -1, -1))),)


def _jacobian_diagonal_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": 0, "argument": choose.integer(0, 1), "mode": choose.among(("auto", "forward", "reverse"))}
    return {**place, "rows": _whole_or_part(choose), "columns": _whole_or_part(choose)}, []


def _mixed_diagonal_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": 1, "first": choose.integer(0, 1), "second": choose.integer(0, 1)}
    return {**place, "left": _whole_or_part(choose), "right": _whole_or_part(choose)}, []


def _hvp_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": choose.integer(0, 1), "argument": choose.integer(0, 1), "along": choose.integer(0, 1)}
    return place, [(2,)]


def _diagonal_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": choose.integer(0, 1), "argument": choose.integer(0, 1)}
    return {**place, "total": bool(choose.integer(0, 1))}, []


def _at_points(x: Any, t: Any) -> tuple[Any, Any]:
    """Functions of two coordinates in one argument and one in another, at points that stay apart."""
    y = ops.reshape(ops.slice_(x, start=(0, 1), stop=(2, 2), step=(1, 1)), shape=(2,))
    return ops.sum(ops.sin(x) * x * x, axes=(1,)) * t * ops.exp(y), ops.sin(x) * ops.broadcast(
        t * t, shape=(2, 2), axes=(1,)
    )


def _draw_partial(choose: Choices) -> Example:
    types = (ArrayType((2, 2), float), ArrayType((2,), float))
    of = ClosedProgram(trace(_at_points)(*types))
    output = choose.integer(0, 1)
    coordinates = ((0, 0), (0, 1), (1, None))
    signs = choose.among(((1,), (0,), (1, 0), (0, 0, -1)))
    groups = tuple(
        (sign, tuple([_draw_term(choose, coordinates) for _ in range(choose.integer(1, 2))])) for sign in signs
    )
    component = choose.among((None, 0, 1)) if output else None
    options = {"of": of, "output": output, "component": component, "groups": groups, "points": 1}
    return Example(tuple(floats(shape, -1.5, 1.5) for shape in ((2, 2), (2,), *((),) * signs.count(0))), options)


def _draw_term(choose: Choices, coordinates: Sequence[Any]) -> Any:
    return tuple([choose.among(coordinates) for _ in range(choose.integer(0, 3))])


def _forward_options(choose: Choices, of: ClosedProgram) -> Any:
    return {"output": choose.integer(0, 1), "argument": choose.integer(0, 1)}, [(2,)]


def _reverse_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    return {"output": output, "argument": choose.integer(0, 1)}, [of.out_types[output].shape]


def _jvp_options(choose: Choices, of: ClosedProgram) -> Any:
    active = choose.among(((True, True), (True, False), (False, True)))
    return {"active": active}, [(2,)] * sum(active)


def _vjp_options(choose: Choices, of: ClosedProgram) -> Any:
    active = choose.among(((True, True), (True, False), (False, True)))
    return {"active": active}, [(2,), ()]


def _vmap_options(choose: Choices, of: ClosedProgram) -> Any:
    batched = choose.among(((True, True), (True, False), (False, True)))
    shapes = [(2, 2) if on else (2,) for on in batched]
    return {"batched": batched, "size": 2, "shapes": shapes}, []


def _custom_jvp_options(choose: Choices, of: ClosedProgram) -> Any:
    """A rule that is right: the program's own derivative."""
    active = (True, True)

    def rule(primals: Any, tangents: Any) -> Any:
        found = jvp_(*primals, *tangents, of=of, active=active)
        return found[:2], found[2:]

    return {"rule": Rule("body", *_trees(), jvp=rule)}, []


def _custom_vjp_options(choose: Choices, of: ClosedProgram) -> Any:
    def forward(*primals: Any) -> Any:
        return _body(*primals), primals

    def backward(residuals: Any, cotangents: Any) -> Any:
        return vjp_(*residuals, *cotangents, of=of, active=(True, True))[2:]

    return {"rule": Rule("body", *_trees(), forward=forward, backward=backward)}, []


def _ruled(body: Callable[..., Any], count: int) -> ClosedProgram:
    """Return the program that applies a function of two results with a rule of its own, which is right."""

    def rule(primals: Any, tangents: Any) -> Any:
        of = ClosedProgram(trace(body)(*types))
        found = jvp_(*primals, *tangents, of=of, active=(True,) * count)
        return found[:2], found[2:]

    types = [ArrayType((2,), float)] * count
    of, trees = ClosedProgram(trace(body)(*types)), (tree.flatten((0.0,) * count)[1], _trees()[1])
    made = Rule("body", *trees, jvp=rule)
    return ClosedProgram(trace(lambda *xs: custom_jvp_(*xs, of=of, rule=made))(*types))


def _linear_body(t: Any, x: Any) -> tuple[Any, Any]:
    return ops.sin(x) * t + ops.flip(t, axes=(0,)) * x * x, ops.exp(x) * t


def _draw_same(choose: Choices) -> Example:
    operands = (floats((2,), -1.5, 1.5), floats((2,), -1.5, 1.5))
    if choose.integer(0, 1):
        return Example(operands, {"of": _program()})
    return Example(operands, {"of": ClosedProgram(trace(_linear_body)(*[x.type for x in operands]))}, linear=(0,))


def _draw_mapped(choose: Choices) -> Example:
    batched = choose.among(((True, True), (True, False), (False, True)))
    operands = [floats((2, 2) if on else (2,), -1.5, 1.5) for on in batched]
    of = _ruled(_body, 2)
    return Example(tuple(operands), {"of": of, "batched": batched, "size": 2})


def _draw_transposed(choose: Choices) -> Example:
    of = _ruled(_linear_body, 2)
    operands = (floats((2,), -1.5, 1.5), floats((2,)), floats((2,)))
    return Example(operands, {"of": of, "linear": (True, False)})


def _draw_pulled(choose: Choices) -> Example:
    """Residuals are numbers: it is linear in the other operands."""
    type = ArrayType((2,), float)
    rule = _custom_vjp_options(choose, _program())[0]["rule"]
    pullback = Pullback(rule, _trees()[0], (type, type), tuple(_program().out_types))
    fixed = [Operand(type, literal=choose.integer(1, 7) / 4) for _ in range(2)]
    return Example((*fixed, floats((2,)), floats((2,))), {"pullback": pullback})


def _pulled(n: Numbers, *xs: Array, pullback: Pullback) -> Any:
    return meanings.pulled(n, *xs, of=_program())


def _trees() -> tuple[Any, Any]:
    return tree.flatten((0.0, 0.0))[1], tree.flatten((0.0, 0.0))[1]


_TABLE: tuple[tuple[Primitive, Any, Any], ...] = (
    (jacobian_, _jacobian_options, meanings.jacobian),
    (hessian_, _hessian_options, meanings.hessian),
    (hvp_, _hvp_options, meanings.hvp),
    (hessian_diagonal_, _diagonal_options, meanings.hessian_diagonal),
    (jacobian_diagonal_, _jacobian_diagonal_options, meanings.jacobian_diagonal),
    (mixed_diagonal_, _mixed_diagonal_options, meanings.mixed_diagonal),
    (pushforward_, _forward_options, meanings.pushforward),
    (pullback_, _reverse_options, meanings.pullback),
    (jvp_, _jvp_options, meanings.jvp),
    (vjp_, _vjp_options, meanings.vjp),
    (vmap_, _vmap_options, meanings.vmap),
    (custom_jvp_, _custom_jvp_options, meanings.same),
    (custom_vjp_, _custom_vjp_options, meanings.same),
)

PROGRAM_OP_CASES: tuple[Case, ...] = (
    *(
        Case(op, _draw(options), 4, meaning, symbols_only=True, reverse_only=op is custom_vjp_)
        for op, options, meaning in _TABLE
    ),
    *SPECTRAL_CASES,
    Case(partial_, _draw_partial, 6, meanings.partial, symbols_only=True),
    *(Case(op, _draw_same, 4, meanings.same, symbols_only=True) for op in (call, checkpoint_)),
    Case(mapped, _draw_mapped, 4, meanings.mapped, symbols_only=True),
    Case(transposed, _draw_transposed, 4, meanings.transposed, symbols_only=True),
    Case(custom_pullback, _draw_pulled, 4, _pulled, symbols_only=True, reverse_only=True),
)

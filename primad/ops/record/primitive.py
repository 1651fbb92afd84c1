"""The record that a primitive is: the page to read first.

A primitive is one frozen record. Arrays are operands (positional), everything static is a param (keyword). Its fields:

- `numpy(*arrays, **params)`: the definition. It also runs on object arrays (of symbols, of high-precision numbers).
- `infer(*types, **params)`: the output's type, or a ShapeError. Primitives do not broadcast and do not promote. An op
  with several results infers a `TupleType`, and takes and gives tuples wherever others take or give one output.
- `jvp(tangents, out, *inputs, **params)`: the output's tangent, with `Zero` for operands that have none; made by the
  kind. Of an op with several results, a tuple with a tangent or a `Zero` for each.
- `transpose(cotangent, *inputs, **params)`: the cotangents of all operands at once, one for each. Those in which it is
  linear are passed as `Linear` (a type without a value); what is returned for others is not looked at. The cotangent
  of an op with several results is a tuple, with `Zero` for those that nothing depends on.
- `axes(*types, **params)`: the `AxisMap`: which axes of the operands and the output are the same index, which are
  summed, made, merged, split or mixed (see `primad.ir.axes`); absent where it is not known.
- `adapt(change, **params)`: the params that the op has after axes were inserted, dropped or resized (a `Change`); None
  if all operands must get the new axis.
- `lower(*inputs, **params)`: for composites, the definition in terms of other ops.
- `batch(flags, size, *inputs, **params)`: the op on operands with a leading axis, for composites that are batched as a
  whole and for ops without an axis map. Other composites are lowered first, but for those with a JVP of their own.
- `programs`: the params that are programs (`ClosedProgram`s); an op that has some is of the kind "program".
- `called`: whether a plan runs the programs that the op holds. Otherwise it stands for the program that it builds, and
  lowering replaces it by that one. An op that is called may have a `lower` too: what it stands for, where it is asked.
- `loop(node)`: for loops, how they apply the program that they hold (`LoopForm`): native code has them inside of other
  loops, and a plan may pass what some loops make and others take as streams, of which only a part is held.
- `runs(node)`: how an application of an op that is called runs, in words, where it can run in several ways.
- `build(program, **options)`: for ops that hold one program, the program that they stand for, of the same operands.
- `linearize(tangents, *inputs, residuals, **params)`: for ops that hold programs, instead of `jvp`: the results again,
  of an application that may have more of them, and their tangents. With `residuals` the tangents come from an
  application that is linear in those given, which can be transposed; without, one application may do both.
- `consumed`: for composites that hold a program, laws of ops that have them, or a result of them, as an operand: how
  to be computed for these (a trace does not need the whole Hessian).
- `outermost`: for ops that laws keep outside of others (a broadcast, a sign, a mask), how they leave these.
- `adds_rows`: for ops that add rows at indices, the axes of the first operand along which they stand.
- `takes_rows`: for ops that take rows of the first operand at indices, the second, the axis along which they stand.
- `slides(*types, **params)`: for ops that move windows along axes of their only operand, which are the same ones of the
  result, where the indices of each go (`primad.ir.axes.Slide`).
- `only_transposed`: whether it stands for a tangent that no rule gives, and can be transposed but not computed.
- `domain`: the values for which it is defined, if its definition raises an error for others (see `DomainOfDefinition`).
- `laws`: identities that hold where the op is applied; `rewrite` tries them in the constructor.

Rules are written in the language itself: they receive traced arrays and use operators and other primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from primad.errors import PrimadError
from primad.ir.array_types import TupleType, Zero
from primad.ir.axes import AxisMap, Slide
from primad.ir.node import PACK, Node, Params, Trace, named
from primad.ir.program import Cost
from primad.ir.replay import newest
from primad.recording.traced_array import TracedArray, bind, lift

Kind = Literal["elementwise", "linear", "multilinear", "piecewise constant", "custom", "composite", "program"]
LawClass = Literal["bitwise", "real", "finite"]
Rewrite = Callable[[Trace, tuple[Node, ...], dict[str, Any]], Node | None]


@dataclass(frozen=True)
class Law:
    """An identity that simplification may use.

    Attributes:
        name: what it says.
        holds: 'bitwise' (same bits), 'real' (equal in exact arithmetic; of a constructor's law, infinite or NaN where
            the op is) or 'finite' (equal for finite values).
        statement: a function of arrays that returns both sides, unsimplified; what `verify` proves.
        shapes: shapes of the statement's arguments.
        rewrite: (trace, inputs, params) -> node or None: the constructor form. Laws of a pass have none.
        at: names of ops of which an operand must be one for the constructor form to find anything ('literal' among
            them), or `SAME` for operands that are one node; None where it must always be tried. Of a law in
            `consumed`, names of the ops that consume.
    """

    name: str
    holds: LawClass
    statement: Callable[..., tuple[Any, Any]]
    shapes: tuple[tuple[int, ...], ...]
    rewrite: Rewrite | None = None
    at: tuple[str, ...] | None = None

    def may_apply(self, operands: Collection[str]) -> bool:
        """Say whether the constructor form can find something where the operands have these ops."""
        return self.at is None or any(name in operands for name in self.at)


@dataclass(frozen=True)
class Outermost:
    """How far outside laws keep an op: it leaves ops of lower rank that are applied to it, where it commutes with them.

    Attributes:
        rank: 0 for all ops that have none, then broadcasts, signs and masks.
        leave: (op, ops of its operands) -> the constructor form in which the op with this field is outside; None where
            they do not commute. None for ops that no family moves.
    """

    rank: int
    leave: Callable[[Primitive, Sequence[Any]], Rewrite | None] | None = None


@dataclass(frozen=True)
class DomainOfDefinition:
    """The values for which an op is defined, if it raises an error for others.

    Attributes:
        error: the class of its error.
        operand: the operand in which values are outside, and what messages call it.
        own_axes: how many of its last axes a value has: a matrix two.
        find: `(*arrays, **params) -> (place, value)`, or None: the first value outside, and its index or its matrix's
            index in the operand. It is asked only where the definition raised.
        say: `(value, *types, **params)`: what is wrong with it.
        fix: what to do.
        called: what messages call the op, where users call it by other names.
    """

    error: type[PrimadError]
    operand: int
    operand_name: str
    find: Callable[..., tuple[tuple[int, ...], int] | None]
    say: Callable[..., str]
    fix: str = ""
    called: str = ""
    own_axes: int = 0


class LoopForm(NamedTuple):
    """How a loop applies the program of a step, `of`: (carried values, rows, the rest) -> (carried values, results).

    Its operands are these, before them a `lead` if it has one; its results are the carried values after the last step
    and the results of all steps, stacked. Its definition takes `streams`, the numbers of the stacked results that may
    be streams, and `budget`, the bytes that these may take (see `primad.runtime.loops.rematerialised_rows`).

    Attributes:
        of: the program.
        carry: how many values are carried from step to step.
        stacked: how many operands have a row for each step.
        length: how many rows there are; the most steps.
        reverse: whether the last row that is taken comes first.
        lead: whether an operand before the others says how many steps are taken, or, of a loop that ends by itself,
            whether there is a first one.
        ends: whether the program says after the carried values if there is a further step; the loop's first result is
            then how many there were.
        separate: whether it is a stack of loops, each of which may be ended when it is done.
    """

    of: Any
    carry: int
    stacked: int
    length: int
    reverse: bool
    lead: bool
    ends: bool
    separate: bool = False

    @property
    def row_operands(self) -> range:
        """Places of the operands that are taken row by row."""
        first = int(self.lead) + self.carry
        return range(first, first + self.stacked)

    @property
    def first_stack(self) -> int:
        """Place of the first stacked result; all further ones are stacked too."""
        return int(self.ends) + self.carry


SAME = "same"
"""Stands among the names of the operands' ops where two operands are one node."""
MOST_CONTEXTS = 1024
"""Entries, one for each combination of operands' ops, that an op remembers. Chosen: programs have far fewer."""


@dataclass(frozen=True, eq=False)
class Primitive:
    """One op of the language. Make it with a kind constructor (`primad.ops.record.kinds`) and call it on arrays."""

    name: str
    kind: Kind
    numpy: Callable[..., Any]
    infer: Callable[..., Any]
    jvp: Callable[..., Any] | None
    transpose: Callable[..., Any] | None
    axes: Callable[..., AxisMap] | None
    adapt: Callable[..., dict[str, Any] | None] | None
    lower: Callable[..., Any] | None = None
    laws: tuple[Law, ...] = ()
    static_operands: tuple[int, ...] = ()
    pointwise: bool = False
    linear_operands: tuple[int, ...] | None = ()
    flops: Callable[..., Cost] | None = None
    doc: str = ""
    partials: tuple[Callable[..., Any], ...] = ()
    exempt: str = ""
    views: bool = False
    programs: tuple[str, ...] = ()
    called: bool = False
    runs: Callable[..., str] | None = None
    loop: Callable[..., LoopForm] | None = None
    build: Callable[..., Any] | None = None
    linearize: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    consumed: tuple[Law, ...] = ()
    domain: DomainOfDefinition | None = None
    outermost: Outermost | None = None
    only_transposed: bool = False
    adds_rows: Callable[..., range] | None = None
    takes_rows: Callable[..., int] | None = None
    slides: Callable[..., dict[int, Slide]] | None = None

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the primitive: record it if an operand is traced, else compute it. Several results are a tuple."""
        result = bind(self, operands, params)
        if type(result) is TracedArray and isinstance(result.node.type, TupleType):
            return results(result.node)
        return result

    def __copy__(self) -> Primitive:
        return self

    def __deepcopy__(self, memo: Any) -> Primitive:
        return self

    def __repr__(self) -> str:
        return f"<{self.kind} primitive {self.name}>"

    def rewrite(self, trace: Trace, inputs: tuple[Node, ...], params: Params) -> Node | None:
        """Try the constructor laws in order; return the first replacement."""
        context: tuple[Any, ...]
        if len(inputs) == 2:
            first, second = inputs
            context = (first.op, second.op) if first is not second else (first.op, second.op, SAME)
        else:
            context = tuple([node.op for node in inputs])
        rewriters = self._contexts.get(context)
        if rewriters is None:
            rewriters = self._contexts[context] = self._laws_in(context)
        if rewriters:
            options = dict(params)
            for rewriter in rewriters:
                node = rewriter(trace, inputs, options)
                if node is not None:
                    return node
        return None

    @cached_property
    def _contexts(self) -> dict[tuple[Any, ...], tuple[Rewrite, ...]]:
        return {}

    def _laws_in(self, context: tuple[Any, ...]) -> tuple[Rewrite, ...]:
        """Return the constructor forms that are worth trying where the operands have these ops."""
        if len(self._contexts) >= MOST_CONTEXTS:
            self._contexts.clear()
        ops = [op for op in context if op is not SAME]
        names = {SAME if op is SAME else op.name for op in context}
        consumed = [rewrite for op in dict.fromkeys(ops) for rewrite in consuming(self, op)]
        if project in ops:
            consumed.append(partial(_consume_results, self))
        laws = [law.rewrite for law in self.laws if law.rewrite is not None and law.may_apply(names)]
        return (*consumed, *self.families(ops).values(), *laws)

    def families(self, operands: Sequence[Any]) -> dict[Any, Rewrite]:
        """Return how operands leave this op, applied to operands of these ops, where laws keep them further outside."""
        rank = 0 if self.outermost is None else self.outermost.rank
        found = {}
        for op in dict.fromkeys(operands):
            if op.outermost is not None and op.outermost.leave is not None and op.outermost.rank > rank:
                rewrite = op.outermost.leave(self, operands)
                if rewrite is not None:
                    found[op] = rewrite
        return found

    @property
    def is_composite(self) -> bool:
        """Whether lowering replaces it by its definition."""
        return self.lower is not None and not self.called

    @property
    def has_rule(self) -> bool:
        """Whether this is a composite with a rule of its own, which differentiation uses instead of its definition."""
        return self.is_composite and (self.jvp is not None or self.linearize is not None)

    @property
    def holds_program(self) -> bool:
        """Whether a program is among its params."""
        return bool(self.programs)

    def held(self, params: Params) -> list[Any]:
        """Return the programs among the params of an application."""
        return [value for name, value in params if name in self.programs] if self.programs else []

    def is_linear_in(self, position: int) -> bool:
        """Say whether the op is linear in the operand at `position` (others fixed)."""
        return self.linear_operands is None or position in self.linear_operands

    def linear_groups(self, operands: int) -> list[tuple[int, ...]]:
        """Return the sets of operands in which the op, applied to so many, is jointly linear."""
        if self.transpose is None or self.kind in ("composite", "program"):
            return []
        positions = tuple([i for i in range(operands) if self.is_linear_in(i)])
        return [positions] if self.kind == "linear" else [(i,) for i in positions]

    def cost(self, node: Node) -> Cost:
        """Count one application."""
        if self.flops is not None:
            return self.flops(node)
        size = node.type.size
        return Cost(0, 0, 0, 1) if self.views else Cost(size, 0, node.type.nbytes, 1)


def apply(trace: Trace, op: Any, *inputs: Node, **params: Any) -> Node:
    """Build a node in the newest trace among its inputs (in `trace` if it has none)."""
    return newest(inputs, trace).build(op, inputs, named(params))


# -- several results ---------------------------------------------------------------------------------------------------


def result_of(node: Node) -> Any:
    """Return what an application gives, traced: an array, or a tuple of arrays for an op with several results."""
    return results(node) if isinstance(node.type, TupleType) else TracedArray(node)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return what an op gave as a tuple, of one result or of several."""
    return value if isinstance(value, tuple) else (value,)


def one_or_all(values: Sequence[Any]) -> Any:
    """Return the only value of a list, or all as a tuple: what an op with so many results gives."""
    return values[0] if len(values) == 1 else tuple(values)


def results(node: Node) -> tuple[TracedArray, ...]:
    """Return the results of a node that has several."""
    if node.op is PACK:
        return tuple([TracedArray(part) for part in node.inputs])
    assert isinstance(node.type, TupleType)
    return tuple([TracedArray(apply(node.trace, project, node, index=i)) for i in range(len(node.type.types))])


def packed(value: Any, trace: Trace) -> Node:
    """Return one node for what an op gave: an array, or a tuple of arrays for an op with several results."""
    if isinstance(value, tuple):
        return trace.pack(tuple([lift(item, trace) for item in value]))
    return lift(value, trace)


def _pull_projection(cotangent: Any, several: Any, *, index: int) -> tuple[tuple[Any, ...]]:
    return (tuple([cotangent if i == index else Zero(type) for i, type in enumerate(several.type.types)]),)


def application(node: Node) -> tuple[Node, int]:
    """Return the application that a value comes from, and which of its results the value is."""
    return (node.inputs[0], node.params[0][1]) if node.op is project else (node, 0)


def consuming(op: Primitive, operand: Any) -> list[Rewrite]:
    """Return the constructor forms of laws that another op has for being an operand of this one."""
    return [law.rewrite for law in operand.consumed if law.rewrite is not None and law.may_apply((op.name,))]


def _consume_results(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """An op with several results has laws for how each of them is consumed."""
    for several in dict.fromkeys([node.inputs[0].op for node in inputs if node.op is project]):
        for rewrite in consuming(op, several):
            found = rewrite(trace, inputs, params)
            if found is not None:
                return found
    return None


project: Primitive = Primitive(
    "project",
    "linear",
    numpy=lambda several, *, index: several[index],
    infer=lambda several, *, index: several.types[index],
    jvp=lambda tangents, out, several, *, index: tangents[0][index],
    transpose=_pull_projection,
    axes=None,
    adapt=None,
    linear_operands=(0,),
    views=True,
    batch=lambda flags, size, several, *, index: results(several.node)[index],
    doc="One of the results of an op that has several.",
)


def full(value: Any, like: Any) -> Any:
    """Return the literal `value` with the type of `like`, traced if `like` is (the statements of laws run on both)."""
    if isinstance(like, TracedArray):
        return TracedArray(like.node.trace.literal(value, like.node.type))
    return np.full(like.shape, value, like.dtype)

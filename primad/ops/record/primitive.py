"""The record that a primitive is: the page to read first.

A primitive is one frozen record. Arrays are operands (positional), everything static is a param (keyword). Its
definition stands in the record itself, all else in groups by meaning, which `primad.ops.record.fields` describes: its
derivative, what it does with axes, the programs that it holds, its laws, its rows and windows, memory, and work.

- `numpy(*arrays, **params)`: the definition. It also runs on object arrays (of symbols, of high-precision numbers).
- `meaning(numbers, *elements, **params)`: where `numpy` does not run on object arrays, what an op of single elements is
  in exact arithmetic, in terms of the functions of a number system (`primad.verify.exact.number_systems.Numbers`).
  Proofs, formulas and values of high precision follow from it.
- `infer(*types, **params)`: the output's type, or a ShapeError. Primitives do not broadcast and do not promote. An op
  with several results infers a `TupleType`, and takes and gives tuples wherever others take or give one output.
- `lower(*inputs, **params)`: for composites, the definition in terms of other ops.
- `tries`: of a composite, that its definition may fail where there is a solution: a program that has it is then
  computed again without the family `SOLVERS` (`primad.ir.law_families`), where the definition is another.
- `repeated(within, **params)`: the definition that an application has where it runs many times, if it has one there: in
  a loop (`within`), or mapped. It may fail as that of one that tries.
- `static_operands`: operands whose literal values rules look at (exponents): programs that differ in them are others.
- `domain`: the values for which it is defined, if its definition raises an error for others (see `DomainOfDefinition`).
- `complex`: what it does with complex numbers: refuses them, or computes with them by the rules it has, because they
  hold over the complex numbers too ("analytic"), by rules with conjugates, as a factorization with adjoints has
  ("real-differentiable"), or by rules of real-linear maps, as a conjugate is ("real-linear").
  Composites and ops that hold programs do as their programs do ("as defined"). See decision 0076.

Rules are written in the language itself: they receive traced arrays and use operators and other primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np
from msgspec import Struct

from primad.ir.array_types import TupleType, Zero
from primad.ir.node import PACK, Leaf, Node, Params, Trace, named
from primad.ir.program import Cost
from primad.ir.replay import newest
from primad.ops.record.fields import (
    COMPLEX,
    SAME,
    Axes,
    ComplexRole,
    DerivativeRules,
    DomainOfDefinition,
    Indexing,
    Kind,
    Law,
    Laws,
    MemoryUse,
    Programs,
    Rewrite,
    Work,
)
from primad.recording.traced_array import TracedArray, bind, lift
from primad.system.process import MOST_KEPT


class Primitive(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """One op of the language. Make it with a kind constructor (`primad.ops.record.kinds`) and call it on arrays."""

    name: str
    kind: Kind
    numpy: Callable[..., Any]
    infer: Callable[..., Any]
    meaning: Callable[..., Any] | None = None
    lower: Callable[..., Any] | None = None
    tries: bool = False
    repeated: Callable[..., Callable[..., Any] | None] | None = None
    static_operands: tuple[int, ...] = ()
    domain: DomainOfDefinition | None = None
    derivative: DerivativeRules = DerivativeRules()
    axes: Axes = Axes()
    programs: Programs = Programs()
    laws: Laws = Laws()
    indexing: Indexing = Indexing()
    memory: MemoryUse = MemoryUse()
    work: Work = Work()
    complex: ComplexRole = "as defined"
    doc: str = ""

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
        elif len(inputs) == 1:
            context = (inputs[0].op,)
        else:
            context = tuple([node.op for node in inputs])
        rewriters = self._contexts.get(context)
        if rewriters is None:
            rewriters = self._contexts[context] = self._laws_in(context)
        if rewriters:
            for operand in inputs:
                if operand.type.is_complex:
                    rewriters = self._over_complex(context)
                    break
            options = dict(params) if params else {}
            for rewriter in rewriters:
                node = rewriter(trace, inputs, options)
                if node is not None:
                    return node
        return None

    @cached_property
    def inferred(self) -> dict[int, Any]:
        """By the type of all operands, as an object, what it was last applied to, and its type (see `INFERRED`)."""
        return {}

    @cached_property
    def _contexts(self) -> dict[tuple[Any, ...], tuple[Rewrite, ...]]:
        return {}

    def _over_complex(self, context: tuple[Any, ...]) -> tuple[Rewrite, ...]:
        """Return the constructor forms that are worth trying, and hold, where operands are complex."""
        key = (COMPLEX, *context)
        found = self._contexts.get(key)
        if found is None:
            found = self._contexts[key] = self._laws_in(context, over_complex=True)
        return found

    def _laws_in(self, context: tuple[Any, ...], over_complex: bool = False) -> tuple[Rewrite, ...]:
        """Return the constructor forms that are worth trying where the operands have these ops."""
        if len(self._contexts) >= MOST_KEPT:
            self._contexts.clear()
        ops = [op for op in context if op is not SAME]
        names = {SAME if op is SAME else op.name for op in context}
        own = _rewrites(self.laws.own, names, over_complex)
        consumed = [rewrite for op in dict.fromkeys(ops) for rewrite in consuming(self, op, over_complex)]
        if project in ops and not over_complex:
            consumed.append(partial(_consume_results, self))
        if self.axes.pointwise and _is_view(ops[0]) and len({*ops}) == 1:
            consumed.append(partial(_consume_seen, self))
        return (*consumed, *self.families(ops).values(), *own)

    def seeing(self, operand: Any, over_complex: bool) -> tuple[Rewrite, ...]:
        """Return the constructor forms that are worth trying where all operands are views of results of an op."""
        key = (_consume_seen, operand, over_complex)
        found = self._contexts.get(key)
        if found is None:
            further = [partial(_consume_seen, self)] if _is_view(operand) else []
            found = self._contexts[key] = (*consuming(self, operand, over_complex), *further)
        return found

    def families(self, operands: Sequence[Any]) -> dict[Any, Rewrite]:
        """Return how operands leave this op, applied to operands of these ops, where laws keep them further outside."""
        rank = 0 if self.laws.outermost is None else self.laws.outermost.rank
        found = {}
        for op in dict.fromkeys(operands):
            outer = None if isinstance(op, Leaf) else op.laws.outermost
            if outer is not None and outer.rank > rank:
                rewrite = outer.leave(self, operands)
                if rewrite is not None:
                    found[op] = rewrite
        return found

    @cached_property
    def is_composite(self) -> bool:
        """Whether lowering replaces it by its definition."""
        return self.lower is not None and not self.programs.called

    @cached_property
    def has_rule(self) -> bool:
        """Whether this is a composite with a rule of its own, which differentiation uses instead of its definition."""
        return self.is_composite and (self.derivative.jvp is not None or self.derivative.linearize is not None)

    @cached_property
    def holds_program(self) -> bool:
        """Whether a program is among its params."""
        return bool(self.programs.names)

    def held(self, params: Params) -> list[Any]:
        """Return the programs among the params of an application."""
        names = self.programs.names
        return [value for name, value in params if name in names] if names else []

    def is_linear_in(self, position: int) -> bool:
        """Say whether the op is linear in the operand at `position` (others fixed)."""
        return self.derivative.linear_operands is None or position in self.derivative.linear_operands

    def linear_groups(self, operands: int) -> list[tuple[int, ...]]:
        """Return the sets of operands in which the op, applied to so many, is jointly linear."""
        if self.derivative.transpose is None or self.kind in ("composite", "program"):
            return []
        positions = tuple([i for i in range(operands) if self.is_linear_in(i)])
        return [positions] if self.kind == "linear" else [(i,) for i in positions]

    def cost(self, node: Node) -> Cost:
        """Count one application."""
        if self.work.flops is not None:
            return self.work.flops(node)
        size = node.type.size
        return Cost(0, 0, 0, 1) if self.memory.views else Cost(size, 0, node.type.nbytes, 1)


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


def is_of_several(node: Node) -> bool:
    """Say whether a node has several results, or is one of them: nothing else reads them."""
    return isinstance(node.type, TupleType) or node.op is project


def consuming(op: Primitive, operand: Any, over_complex: bool = False) -> list[Rewrite]:
    """Return the constructor forms of laws that another op has for being an operand of this one."""
    return [] if isinstance(operand, Leaf) else _rewrites(operand.laws.consumed, (op.name,), over_complex)


def _rewrites(laws: Sequence[Law], names: Collection[str], over_complex: bool) -> list[Rewrite]:
    """Return the constructor forms of those of some laws that may apply where ops of these names meet."""
    held = [law for law in laws if law.may_apply(names) and (law.complex is not None or not over_complex)]
    return [law.rewrite for law in held if law.rewrite is not None]


def _consume_results(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """An op with several results has laws for how each of them is consumed."""
    for several in dict.fromkeys([node.inputs[0].op for node in inputs if node.op is project]):
        for rewrite in consuming(op, several):
            found = rewrite(trace, inputs, params)
            if found is not None:
                return found
    return None


def _is_view(op: Any) -> bool:
    return not isinstance(op, Leaf) and op.memory.views and op is not project


def _consume_seen(op: Primitive, trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """What is seen of a value, by the same view of all operands, is consumed as the value is."""
    view = inputs[0]
    first = view.inputs[0]
    if isinstance(first.op, Leaf):
        return None
    for x in inputs:
        whole = x.inputs[0]
        if whole.op is not first.op or x.params != view.params or whole.type != first.type:
            return None
    wholes = tuple([x.inputs[0] for x in inputs])
    for rewrite in op.seeing(first.op, first.type.is_complex):
        found = rewrite(trace, wholes, params)
        if found is not None:
            return apply(trace, view.op, found, **dict(view.params))
    return None


project: Primitive = Primitive(
    name="project",
    kind="linear",
    numpy=lambda several, *, index: several[index],
    infer=lambda several, *, index: several.types[index],
    derivative=DerivativeRules(
        jvp=lambda tangents, out, several, *, index: tangents[0][index],
        transpose=_pull_projection,
        linear_operands=(0,),
    ),
    axes=Axes(batch=lambda flags, size, several, *, index: results(several.node)[index]),
    memory=MemoryUse(views=True),
    work=Work(few=lambda several, *, index: itemgetter(index)),
    doc="One of the results of an op that has several.",
)


def full(value: Any, like: Any) -> Any:
    """Return the literal `value` with the type of `like`, traced if `like` is (the statements of laws run on both)."""
    if isinstance(like, TracedArray):
        return TracedArray(like.node.trace.literal(value, like.node.type))
    return np.full(like.shape, value, like.dtype)

"""The kinds of primitive. Declare the kind; the rules follow.

- *elementwise*: the output at an index depends on the operands at that index; give the partial derivatives.
- *linear*: linear in the listed operands together (others are fixed); give the transpose. The JVP is the op itself.
- *multilinear*: linear in each operand alone; give one transpose per operand. The JVP is the product rule.
- *piecewise constant*: the derivative is zero wherever it exists; give nothing.
- *custom*: give one JVP contribution per operand.
- *composite*: a definition in terms of other ops; differentiating lowers it, unless it brings its own JVP.
- *program*: holds programs, and its rules are functions of these (see `primad.programs.program_ops`).

Rules never see a zero: the kinds skip absent tangents (`Zero`). The output is an argument of every JVP rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primad.ir.array_types import ArrayType, Zero
from primad.ir.axes import AxisMap, pointwise, same_params
from primad.ops.record.definitions import Definition
from primad.ops.record.fields import (
    Axes,
    ComplexRole,
    DerivativeRules,
    DomainOfDefinition,
    Indexing,
    Law,
    Laws,
    MemoryUse,
    Outermost,
    Work,
)
from primad.ops.record.operand_types import checked, float_type, same_type
from primad.ops.record.primitive import Primitive
from primad.ops.record.rules import (
    Rule,
    check_partials,
    moving_operands,
    sum_of_contributions,
    sum_of_partials,
    tangent_sum,
    transpose_by_operand,
)

AxisRule = Callable[..., AxisMap] | None
AdaptRule = Callable[..., dict[str, Any] | None] | None


def _axes(map: AxisRule, adapt: AdaptRule) -> Axes:
    return Axes(map=map, adapt=adapt, pointwise=map is pointwise)


def elementwise(
    name: str,
    numpy: Rule,
    partials: Sequence[Rule],
    laws: Sequence[Law] = (),
    consumed: Sequence[Law] = (),
    infer: Callable[..., ArrayType] | None = None,
    static_operands: tuple[int, ...] = (),
    smooth: Rule | None = None,
    memory: MemoryUse = MemoryUse(),
    work: Work = Work(),
    meaning: Callable[..., Any] | None = None,
    complex: ComplexRole = "refused",
    doc: str = "",
) -> Primitive:
    """Make an elementwise primitive.

    Args:
        name: its name in program texts.
        numpy: the function of arrays; it also runs on object arrays, or `primad.verify` is told the symbolic function.
        partials: one rule `(out, *inputs) -> partial derivative` per operand, written with operators and primitives.
        laws: constructor identities.
        consumed: laws of ops that have it as an operand (see `primad.ops.record.fields`).
        infer: output type, by default that of the operands, which must be floats.
        static_operands: operands whose literal values rules look at (exponents).
        smooth: whether it has derivatives of every order at all numbers (see `primad.ops.record.fields`).
        memory: what its definition can do with memory (see `primad.ops.record.fields`).
        work: what it costs (see `primad.ops.record.fields`).
        meaning: `(numbers, *elements, **params)`, what it is in exact arithmetic (see `primad.ops.record.primitive`).
        complex: what it does with complex operands (see `primad.ops.record.primitive`).
        doc: one line for the reference.

    Returns:
        the primitive, which is called as the function is.

    Raises:
        TracingError: unless there is a function for each operand's partial derivative.

    Example:
        >>> import numpy as np, primad
        >>> cube = primad.elementwise("cube", lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
        >>> primad.grad(cube)(2.0)
        np.float64(12.0)
    """
    rules = check_partials(name, numpy, partials)
    return Primitive(
        name=name,
        kind="elementwise",
        numpy=numpy,
        meaning=meaning,
        infer=checked(name, infer, complex) if infer else float_type(name, "f" if complex == "refused" else "fc"),
        static_operands=static_operands,
        derivative=DerivativeRules(jvp=sum_of_partials(rules), partials=rules, smooth=smooth),
        axes=_axes(pointwise, same_params),
        laws=Laws(own=tuple(laws), consumed=tuple(consumed)),
        memory=memory,
        work=work,
        complex=complex,
        doc=doc,
    )


def linear(
    name: str,
    numpy: Rule,
    infer: Callable[..., Any],
    transpose: Rule | Sequence[Rule | None],
    axes: AxisRule = pointwise,
    adapt: AdaptRule = same_params,
    operands: Sequence[int] | None = (0,),
    laws: Sequence[Law] = (),
    consumed: Sequence[Law] = (),
    outermost: Outermost | None = None,
    domain: DomainOfDefinition | None = None,
    indexing: Indexing = Indexing(),
    memory: MemoryUse = MemoryUse(),
    work: Work = Work(),
    complex: ComplexRole = "analytic",
    doc: str = "",
) -> Primitive:
    """Make a primitive that is linear in the listed operands, jointly.

    Args:
        name: its name in program texts.
        numpy: the function of arrays; it also runs on object arrays.
        infer: `(*types, **params) -> ArrayType`, or a `TupleType` for several results, raising ShapeError.
        transpose: one rule `(cotangent, *inputs, **params)` per operand (None where not linear), or, for ops with any
            number of operands or several results, a single rule of the same form that returns one cotangent for each.
        axes: `(*types, **params) -> AxisMap` (see `primad.ir.axes`), None if unknown; pointwise by default.
        adapt: the params after axes were inserted, dropped or resized (see `primad.ir.axes`); the same by default.
        operands: positions of the linear operands; None for all.
        laws: constructor identities.
        consumed: laws of ops that have it as an operand (see `primad.ops.record.fields`).
        outermost: how it leaves ops that are applied to it (see `primad.ops.record.fields`).
        domain: the values for which it is defined, if it raises an error for others.
        indexing: which rows or windows it reads or writes (see `primad.ops.record.fields`).
        memory: what its definition can do with memory, as that its result is a view (see `primad.ops.record.fields`).
        work: what it costs (see `primad.ops.record.fields`).
        complex: what it does with complex operands (see `primad.ops.record.primitive`).
        doc: one line for the reference.

    Example:
        >>> import numpy as np, primad
        >>> double = primad.linear("double", lambda x: 2 * x, infer=lambda x: x, transpose=[lambda ct, x: double(ct)])
        >>> primad.grad(lambda x: np.sum(double(x) ** 2))(np.array([1.0, 3.0]))
        array([ 8., 24.])
    """
    linear_operands = None if operands is None else tuple(operands)
    rule = transpose if callable(transpose) else transpose_by_operand(name, transpose)

    def jvp(tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> Any:
        return primitive(*moving_operands(tangents, inputs, linear_operands), **params)

    primitive = Primitive(
        name=name,
        kind="linear",
        numpy=numpy,
        infer=checked(name, infer, complex),
        domain=domain,
        derivative=DerivativeRules(jvp=jvp, transpose=rule, linear_operands=linear_operands),
        axes=_axes(axes, adapt),
        laws=Laws(own=tuple(laws), consumed=tuple(consumed), outermost=outermost),
        indexing=indexing,
        memory=memory,
        work=work,
        complex=complex,
        doc=doc,
    )
    return primitive


def multilinear(
    name: str,
    numpy: Rule,
    infer: Callable[..., ArrayType],
    transpose: Sequence[Rule],
    axes: AxisRule = pointwise,
    adapt: AdaptRule = same_params,
    laws: Sequence[Law] = (),
    memory: MemoryUse = MemoryUse(),
    work: Work = Work(),
    complex: ComplexRole = "analytic",
    doc: str = "",
) -> Primitive:
    """Make a primitive that is linear in each operand alone.

    Args:
        name: its name in program texts.
        numpy: the function of arrays; it also runs on object arrays.
        infer: `(*types, **params) -> ArrayType`, raising ShapeError.
        transpose: one rule `(cotangent, *inputs, **params)` per operand; the operand solved for is a `Linear`.
        axes: the axis map (see `primad.ir.axes`); pointwise by default.
        adapt: the params after axes were inserted, dropped or resized (see `primad.ir.axes`); the same by default.
        laws: constructor identities.
        memory: what its definition can do with memory (see `primad.ops.record.fields`).
        work: what it costs (see `primad.ops.record.fields`).
        complex: what it does with complex operands (see `primad.ops.record.primitive`).
        doc: one line for the reference.
    """

    def jvp(tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> Any:
        terms = []
        for i, tangent in enumerate(tangents):
            if not isinstance(tangent, Zero):
                operands = list(inputs)
                operands[i] = tangent
                terms.append(primitive(*operands, **params))
        return tangent_sum(terms)

    primitive = Primitive(
        name=name,
        kind="multilinear",
        numpy=numpy,
        infer=checked(name, infer, complex),
        derivative=DerivativeRules(jvp=jvp, transpose=transpose_by_operand(name, transpose), linear_operands=None),
        axes=_axes(axes, adapt),
        laws=Laws(own=tuple(laws)),
        memory=memory,
        work=work,
        complex=complex,
        doc=doc,
    )
    return primitive


def piecewise_constant(
    name: str,
    numpy: Rule,
    infer: Callable[..., ArrayType] = same_type,
    axes: AxisRule = pointwise,
    adapt: AdaptRule = same_params,
    laws: Sequence[Law] = (),
    exempt: str = "",
    memory: MemoryUse = MemoryUse(),
    work: Work = Work(),
    meaning: Callable[..., Any] | None = None,
    complex: ComplexRole = "refused",
    doc: str = "",
) -> Primitive:
    """Make a primitive whose derivative is zero wherever it exists.

    Args:
        name: its name in program texts.
        numpy: the function of arrays.
        infer: output type, by default that of the operands.
        axes: the axis map (see `primad.ir.axes`); pointwise by default.
        adapt: the params after axes were inserted, dropped or resized (see `primad.ir.axes`); the same by default.
        laws: constructor identities.
        exempt: why the zero derivative is a decree and not a theorem, where it is one.
        memory: what its definition can do with memory (see `primad.ops.record.fields`).
        work: what it costs (see `primad.ops.record.fields`).
        meaning: `(numbers, *elements, **params)`, what it is in exact arithmetic (see `primad.ops.record.primitive`).
        complex: what it does with complex operands (see `primad.ops.record.primitive`).
        doc: one line for the reference.
    """

    def jvp(tangents: Sequence[Any], out: Any, *inputs: Any, **params: Any) -> Any:
        return Zero(out.type)

    return Primitive(
        name=name,
        kind="piecewise constant",
        numpy=numpy,
        meaning=meaning,
        infer=checked(name, infer, complex),
        derivative=DerivativeRules(jvp=jvp, exempt=exempt),
        axes=_axes(axes, adapt),
        laws=Laws(own=tuple(laws)),
        memory=memory,
        work=work,
        complex=complex,
        doc=doc,
    )


def custom(
    name: str,
    numpy: Rule,
    infer: Callable[..., Any],
    jvp: Sequence[Rule] | Rule,
    transpose: Sequence[Rule | None] = (),
    operands: Sequence[int] = (),
    axes: AxisRule = pointwise,
    adapt: AdaptRule = same_params,
    laws: Sequence[Law] = (),
    consumed: Sequence[Law] = (),
    domain: DomainOfDefinition | None = None,
    indexing: Indexing = Indexing(),
    memory: MemoryUse = MemoryUse(),
    work: Work = Work(),
    meaning: Callable[..., Any] | None = None,
    found_in: Callable[..., Any] | None = None,
    complex: ComplexRole = "refused",
    doc: str = "",
) -> Primitive:
    """Make a primitive from one JVP contribution `(tangent, out, *inputs, **params)` per operand.

    Args:
        name: its name in program texts.
        numpy: the function of arrays.
        infer: `(*types, **params) -> ArrayType`, or a `TupleType` for several results, raising ShapeError.
        jvp: one contribution per operand, linear in the tangent; a tuple for an op with several results. Or a function
            `(tangents, out, *inputs, **params)` of all tangents, with `Zero` for those that are absent.
        transpose: where it is linear in some operands with the others fixed (as a quotient is in its numerator), one
            rule `(cotangent, *inputs, **params)` per operand, None elsewhere.
        operands: positions of those operands.
        axes: the axis map (see `primad.ir.axes`); pointwise by default.
        adapt: the params after axes were inserted, dropped or resized (see `primad.ir.axes`); the same by default.
        laws: constructor identities.
        consumed: laws of ops that have it as an operand (see `primad.ops.record.fields`).
        domain: the values for which it is defined, if it raises an error for others.
        indexing: which rows or windows it reads or writes (see `primad.ops.record.fields`).
        memory: what its definition can do with memory (see `primad.ops.record.fields`).
        work: what it costs (see `primad.ops.record.fields`).
        meaning: `(numbers, *elements, **params)`, what it is in exact arithmetic (see `primad.ops.record.primitive`).
        found_in: programs with its results that are written by other ops (see `primad.ops.record.fields`).
        complex: what it does with complex operands (see `primad.ops.record.primitive`).
        doc: one line for the reference.
    """
    return Primitive(
        name=name,
        kind="custom",
        numpy=numpy,
        meaning=meaning,
        infer=checked(name, infer, complex),
        domain=domain,
        derivative=DerivativeRules(
            jvp=jvp if callable(jvp) else sum_of_contributions(jvp),
            transpose=transpose_by_operand(name, transpose) if transpose else None,
            linear_operands=tuple(operands),
            partials=() if callable(jvp) else tuple(jvp),
            found_in=found_in,
        ),
        axes=_axes(axes, adapt),
        laws=Laws(own=tuple(laws), consumed=tuple(consumed)),
        indexing=indexing,
        memory=memory,
        work=work,
        complex=complex,
        doc=doc,
    )


def composite(
    name: str,
    numpy: Rule,
    lower: Rule,
    infer: Callable[..., Any] | None = None,
    jvp: Sequence[Rule] | None = None,
    laws: Sequence[Law] = (),
    consumed: Sequence[Law] = (),
    doc: str = "",
) -> Primitive:
    """Make an op whose meaning is a definition in terms of other ops.

    Args:
        name: its name in program texts.
        numpy: the reference function of arrays, which `verify` compares the definition with.
        lower: the definition, `(*inputs, **params) -> output`, written with operators and other ops.
        infer: output type; by default found by recording the definition.
        jvp: one contribution `(tangent, out, *inputs, **params)` per operand, linear in the tangent, where it is
            shorter or more accurate than the derivative of the definition; differentiating then keeps the op.
        laws: constructor identities.
        consumed: laws of ops that have it as an operand (see `primad.ops.record.fields`).
        doc: one line for the reference.

    Example:
        >>> import numpy as np, primad
        >>> def definition(x):
        ...     return np.exp(-x * x)
        >>> bell = primad.composite("bell", numpy=lambda x: np.exp(-x * x), lower=definition)
        >>> primad.grad(bell)(0.5)
        np.float64(-0.7788007830714049)
    """
    definition = Definition(lower)
    return Primitive(
        name=name,
        kind="composite",
        numpy=numpy,
        infer=infer or definition.infer,
        lower=lower,
        derivative=DerivativeRules(jvp=None if jvp is None else sum_of_contributions(jvp), partials=tuple(jvp or ())),
        laws=Laws(own=tuple(laws), consumed=tuple(consumed)),
        work=Work(flops=definition.cost),
        doc=doc,
    )

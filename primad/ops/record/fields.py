"""What a record says of its op, grouped by meaning. Each group is a small frozen record, all its fields are optional.

A field that is absent says that the op has no such property: no derivative, no axis map, no programs. Rules are written
in the language itself: they receive traced arrays and use operators and other primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from msgspec import Struct

from primad.errors import PrimadError
from primad.ir.axes import AxisMap, Running, Slide
from primad.ir.node import Node, Trace
from primad.ir.program import Cost, Program

if TYPE_CHECKING:
    from primad.ops.record.primitive import Primitive

Kind = Literal["elementwise", "linear", "multilinear", "piecewise constant", "custom", "composite", "program"]
LawClass = Literal["bitwise", "real", "finite"]
ComplexRole = Literal["refused", "analytic", "real-differentiable", "real-linear", "as defined"]
Rewrite = Callable[[Trace, tuple[Node, ...], dict[str, Any]], Node | None]


class Law(Struct, frozen=True):
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
        only: names of ops of which every operand must be one for that; None where others may stand there too.
        complex: the class in which it holds where an operand is complex; None where it is not to be applied there.
    """

    name: str
    holds: LawClass
    statement: Callable[..., tuple[Any, Any]]
    shapes: tuple[tuple[int, ...], ...]
    rewrite: Rewrite | None = None
    at: tuple[str, ...] | None = None
    complex: LawClass | None = None
    only: tuple[str, ...] | None = None

    def may_apply(self, operands: Collection[str]) -> bool:
        """Say whether the constructor form can find something where the operands have these ops."""
        if self.only is not None and not {*operands} - {SAME} <= {*self.only}:
            return False
        return self.at is None or any(map(operands.__contains__, self.at))


class Outermost(Struct, frozen=True):
    """How far outside laws keep an op: it leaves ops of lower rank that are applied to it, where it commutes with them.

    Attributes:
        rank: 0 for all ops that have none, then broadcasts, signs and masks.
        leave: (op, ops of its operands) -> the constructor form in which the op with this field is outside; None where
            they do not commute.
    """

    rank: int
    leave: Callable[[Primitive, Sequence[Any]], Rewrite | None]


class DomainOfDefinition(Struct, frozen=True):
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


class LoopOps:
    """The op of a loop, for those who make loops of programs and lie below it.

    Attributes:
        scan: the one that takes rows of arrays step by step; set by `primad.programs.loops.scan`.
    """

    scan: ClassVar[Any]


COMPLEX = "complex"
"""Stands before the operands' ops where an operand is complex."""
SAME = "same"
"""Stands among the names of the operands' ops where two operands are one node."""


class DerivativeRules(Struct, frozen=True, kw_only=True):
    """How an op is differentiated.

    Attributes:
        jvp: `(tangents, out, *inputs, **params)`: the output's tangent, with `Zero` for operands that have none; made
            by the kind. Of an op with several results, a tuple with a tangent or a `Zero` for each.
        transpose: `(cotangent, *inputs, **params)`: the cotangents of all operands at once, one for each. Those in
            which it is linear are passed as `Linear` (a type without a value); what is returned for others is not
            looked at. The cotangent of an op with several results is a tuple, with `Zero` for those that nothing
            depends on.
        linear_operands: places of the operands in which it is linear; None for all.
        linearize: `(tangents, *inputs, residuals, **params)`: for ops that hold programs, instead of `jvp`: the results
            again, of an application that may have more of them, and their tangents. With `residuals` the tangents come
            from an application that is linear in those given, which can be transposed; without, one application may
            do both.
        partials: the rules of single operands that `jvp` is made of.
        exempt: why the zero derivative is a decree and not a theorem, where it is one.
        found_in: `(program, active)`: for ops whose results have all derivatives in some forms of programs only, the
            program with these forms written by other ops; `active` says by which inputs it will be differentiated.
        only_transposed: whether the op stands for a tangent that no rule gives, and can be transposed but not computed.
        smooth: `(node)`: whether this application, of an op on single elements that is linear in none, has derivatives
            of every order at all finite numbers; absent where it may have a kink, an edge or a pole.
    """

    jvp: Callable[..., Any] | None = None
    transpose: Callable[..., Any] | None = None
    linear_operands: tuple[int, ...] | None = ()
    linearize: Callable[..., Any] | None = None
    partials: tuple[Callable[..., Any], ...] = ()
    exempt: str = ""
    found_in: Callable[[Program, Sequence[bool]], Program] | None = None
    only_transposed: bool = False
    smooth: Callable[[Node], bool] | None = None


class Axes(Struct, frozen=True, kw_only=True):
    """What an op does with axes.

    Attributes:
        map: `(*types, **params) -> AxisMap`: which axes of the operands and the output are the same index, which are
            summed, made, merged, split or mixed (see `primad.ir.axes`); absent where it is not known.
        adapt: `(change, **params)`: the params that the op has after axes were inserted, dropped, resized or put
            into another order (a `Change`); None if all operands must get the new axis.
        pointwise: whether each element of the result depends on the operands' elements at its index alone.
        batch: `(flags, size, *inputs, **params)`: the op on operands with a leading axis, for composites that are
            batched as a whole and for ops without an axis map. Other composites are lowered first, but for those with a
            JVP of their own.
    """

    map: Callable[..., AxisMap] | None = None
    adapt: Callable[..., dict[str, Any] | None] | None = None
    pointwise: bool = False
    batch: Callable[..., Any] | None = None


class Programs(Struct, frozen=True, kw_only=True):
    """How an op applies programs that are among its params.

    Attributes:
        names: the params that are programs (`ClosedProgram`s); an op that has some is of the kind "program".
        build: `(program, **options)`: for ops that hold one program, the program that they stand for, of the same
            operands.
        called: whether a plan runs the programs that the op holds. Otherwise it stands for the program that it builds,
            and lowering replaces it by that one. An op that is called may have a `lower` too: what it stands for, where
            it is asked.
        loop: `(node)`: for loops, how they apply the program that they hold (`LoopForm`): native code has them inside
            of other loops, and a plan may pass what some loops make and others take as streams, of which only a part is
            held.
        runs: `(node)`: how an application of an op that is called runs, in words, where it can run in several ways.
    """

    names: tuple[str, ...] = ()
    build: Callable[..., Any] | None = None
    called: bool = False
    loop: Callable[..., LoopForm] | None = None
    runs: Callable[..., str] | None = None


class Laws(Struct, frozen=True, kw_only=True):
    """The identities by which applications of an op are simplified.

    Attributes:
        own: those that hold where the op is applied; `Primitive.rewrite` tries them in the constructor.
        consumed: laws of ops that have it, or a result of it, as an operand: how to be computed for these (a trace does
            not need the whole Hessian, a square of a length no root).
        outermost: for ops that laws keep outside of others (a broadcast, a sign, a mask), how they leave these.
    """

    own: tuple[Law, ...] = ()
    consumed: tuple[Law, ...] = ()
    outermost: Outermost | None = None


class Indexing(Struct, frozen=True, kw_only=True):
    """Which rows or windows an op reads or writes.

    Attributes:
        adds_rows: `(*types, **params)`: for ops that add rows at indices, the axes of the first operand along which
            they stand.
        takes_rows: `(*types, **params)`: for ops that take rows of the first operand at indices, the second, the axis
            along which they stand.
        slides: `(*types, **params)`: for ops that move windows along axes of their only operand, which are the same
            ones of the result, where the indices of each go (`primad.ir.axes.Slide`).
        joins: whether the result is any number of operands one behind the other along the axis `axis`.
        running: `(*types, **params)`: for ops whose result at an index depends on what an operand has up to there, as
            running sums do, how they go along it (`primad.ir.axes.Running`).
    """

    adds_rows: Callable[..., range] | None = None
    takes_rows: Callable[..., int] | None = None
    slides: Callable[..., dict[int, Slide]] | None = None
    joins: bool = False
    running: Callable[..., Running] | None = None


class MemoryUse(Struct, frozen=True, kw_only=True):
    """What an op's definition can do with memory and with pieces. A plan gives it the arguments that are declared here.

    Attributes:
        views: whether the result is a view that costs nothing.
        out: `(node)`: whether the definition, in this application, writes its result into an array that it gets as
            `out`, rather than into one of its own. NumPy's ufuncs all do, and need not say so.
        each: whether the definition hands its pieces to a function that it gets as `each` and that calls them, on
            threads perhaps.
        times: whether the definition multiplies matrices by a function that it gets as `times`, native code perhaps, or
            as NumPy does where it gets none.
        wanted: whether the definition leaves out results that are not used: as `wanted` it gets a truth for each.
        limit: whether the definition holds less than the bytes that it gets as `memory`, at the cost of time.
    """

    views: bool = False
    out: Callable[[Node], bool] | None = None
    each: bool = False
    times: bool = False
    wanted: bool = False
    limit: bool = False


def always(node: Node) -> bool:
    """Say that something holds of every application."""
    return True


class Work(Struct, frozen=True, kw_only=True):
    """What an op costs.

    Attributes:
        flops: `(node)`: how to count one application; by default one flop per element.
        cheap: whether computing the result again takes no longer than reading it from memory, whatever runs it, as of
            arithmetic on each element and of views: reverse mode then keeps what it is computed from.
        few: `(*types, **params)`: a function of arrays of these types, which have few elements, that has the bits of
            the definition; what follows from types and params is found before it is called. None if there is none.
    """

    flops: Callable[[Node], Cost] | None = None
    cheap: bool = False
    few: Callable[..., Callable[..., Any] | None] | None = None


CHEAP = Work(cheap=True)
"""The work of arithmetic and of views."""

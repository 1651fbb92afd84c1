"""Proving rules: every primitive, composite and law against its definition, with SymPy.

`primad.verify(...)` is the entry point; the parts are `cases` (what an op is tried on), `table` (the cases of the
built-in ops), `checks` (what is checked), `laws`, `fuzz` (random programs) and `report`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from primad.verify.cases.drawn_cases import Example, Operand

if TYPE_CHECKING:
    from primad.ops.record.primitive import Primitive
    from primad.verify.cases.drawn_cases import Choices
    from primad.verify.verdicts import Report, Row

__all__ = ["Example", "Operand", "verify"]


def verify(
    *things: Any,
    examples: Sequence[Example] | None = None,
    domain: Sequence[tuple[float, float]] | None = None,
    symbolic: Callable[..., Any] | Mapping[Primitive, Callable[..., Any]] | None = None,
    choices: Callable[[str], Choices] | None = None,
    on_row: Callable[[Row], None] | None = None,
    jobs: int = 1,
) -> Report:
    """Prove the rules of primitives, composites and laws.

    Checked are: the inferred type against NumPy; the definition of a composite; the JVP against SymPy's derivative,
    to second order; the transpose by ⟨w, J v⟩ = ⟨Jᵀ w, v⟩; the axis map against a loop; laws by both of their sides.
    Where an op and its rules have bounds (`primad.enclose`), rules and laws are checked at all points of boxes, too.

    Args:
        things: names of built-in ops, primitives (built-in or your own), laws; everything built in if there are none.
            Functions that are opaque or have a rule by `custom_jvp` or `custom_vjp` are compared with differences of
            what they compute, which tests a rule and proves nothing.
        examples: applications that your own op is tried on, each an `Example` of `Operand`s and params; pointwise ops
            without params need none.
        domain: bounds (low, high) of each operand of your own elementwise op, by default (0.25, 2).
        symbolic: what your own op means, `(numbers, *object arrays, **params)` as in
            `primad.verify.exact.object_arrays`, if its
            NumPy function cannot be recorded and does not run on object arrays. Or a dict from ops to such functions,
            if its rules use others of your own.
        choices: where shapes and params are drawn from, by a name; a seeded generator by default.
        on_row: called with each row as it is done.
        jobs: how many processes verify things that are named. The report is the same for any number.

    A bar on the error stream shows how far it is, where that is a terminal.

    Returns:
        a report; `report.ok` says whether everything holds, `print(report)` shows the table. A wrong rule is a row that
        shows the counterexample.

    Example:
        >>> import primad
        >>> cube = primad.elementwise("cube", lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
        >>> primad.verify(cube).ok
        True

        An op with params, or one that is not pointwise, needs examples:

        >>> from primad.verify import Example, Operand
        >>> scaled = primad.elementwise("scaled", lambda x, *, n: n * x, partials=[lambda out, x, *, n: n])
        >>> primad.verify(scaled, examples=[Example((Operand(primad.ArrayType((3,), float)),), {"n": 2.0})]).ok
        True
    """
    from primad.verify.checker import run  # SymPy loads when something is verified

    return run(things, examples, domain, symbolic, choices, on_row, jobs)

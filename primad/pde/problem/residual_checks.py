"""Whether what a function returns are residuals: real numbers, one a point, that move with what is sought.

Where a function asks unknowns elsewhere, it is also checked that these places are in the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import MissingAttributeError, ProblemError, ShapeError
from primad.ir.array_types import is_complex
from primad.ir.program import Program
from primad.pde.fields.coordinate_names import coordinates
from primad.pde.fields.field_refusals import of_values
from primad.pde.fields.integrals import Quadrature, integrating
from primad.pde.fields.named_fields import FieldAt
from primad.pde.problem.terms import Row, Term, real_residuals
from primad.recording import tree
from primad.recording.tracing import trace
from primad.transforms.lowering import active_nodes

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

ASKED_AT = 64
"""Points at which it is checked which places a function asks for. Chosen: some along each of several coordinates."""
EDGE_POINTS = 8
"""Further ones on each part of the boundary, where delays and limits reach farthest."""


def labels_of(problem: Problem, term: Term) -> tuple[str, ...]:
    """Return the names of a term's residuals; check that they are such, and note in the problem what they ask for."""
    row = {**problem.family.drawn((0,), 2), **term.draw(3, (0,))}

    def recorded(params: Any, row: Row) -> Any:
        known = problem.known(params, row)
        try:
            found = real_residuals(tree.map(plain, term.residual(known, row)))
        except (MissingAttributeError, ShapeError) as error:
            raise of_values(error, coordinates(problem.domain.names)) from None
        before = problem.asked.get(term.name, {})  # of another term that is called the same
        problem.asked[term.name] = {name: known[name].asked | before.get(name, set()) for name in problem.unknowns}
        problem.complex |= {name for name in problem.unknowns if is_complex(known[name].dtype)}
        return found

    given = problem.init(), row
    members = problem.family.members(row) if problem.family else 0
    with integrating(Quadrature(problem.quadrature, members=members)) as how:
        program = trace(recorded)(*given)
    problem.integrals |= {term.name} if how.used else set()
    problem.elsewhere |= {term.name} if how.places else set()
    inside = set(program.nodes)
    operands = tree.unflatten(tree.flatten(given)[1], program.inputs)[0]
    wanted = set(tree.leaves(operands))
    problem.learned |= {name for name, operand in operands["coefficients"].items() if operand in inside}
    sought = [leaf in wanted for leaf in program.inputs]
    check_residuals(term.name, program, sought, _shape(problem, term, row))
    if len(program.out_types) == 1:
        return (term.name,)
    paths = tree.paths(program.out_tree)
    return tuple([f"{term.name} {' '.join(str(part) for part in path)}" for path in paths])


def check_elsewhere(problem: Problem, params: Any) -> None:
    """Raise where equations or conditions ask unknowns outside of the domain: by a delay, an integral, a place.

    Args:
        problem: the problem.
        params: of the networks, and the coefficients, with which a delay is learned.

    Raises:
        ProblemError: if one does.
    """
    domains = {one.name: one.domain for one in problem.statement.equations}
    for name in sorted(problem.elsewhere):
        row = {**problem.family.drawn((0,), 2), **problem.terms[name].draw(ASKED_AT, (0,))}
        domain = domains.get(name)
        if domain is not None:
            edges = [domain.boundary(part, EDGE_POINTS).at for part in domain.parts]
            row["at"] = np.concatenate([row["at"], *edges])
        with np.errstate(all="ignore"):
            problem.raw(params, problem.terms[name], row, Quadrature(problem.quadrature, ends=True))


def plain(leaf: Any) -> Any:
    """Return the values of a field at points, and what is none as it is."""
    return leaf.value if isinstance(leaf, FieldAt) else leaf


def _shape(problem: Problem, term: Term, row: Row) -> tuple[int, ...]:
    """Return the shape of a residual: of a family with an axis of functions."""
    count = len(row["at"])
    return () if term.kind == "integral" else (problem.family.members(row), count) if problem.family else (count,)


def check_residuals(name: str, program: Program, sought: Sequence[bool], shape: tuple[int, ...]) -> None:
    """Refuse what no search can make zero, or what would be zero whatever the unknowns are.

    Args:
        name: of the term.
        program: of its residuals.
        sought: for each input whether it is a parameter of networks, or a coefficient.
        shape: of each residual: that of the points, or () of an integral.

    Raises:
        ProblemError: if there is no residual, or one is no real number at each point, or does not move with anything
            that is sought.
    """
    if not program.outputs:
        raise ProblemError(f"{name!r} returns no residual", fix="return what is to be zero: return u.xx - f, say.")
    moving = active_nodes(program, sought)
    for node in program.outputs:
        if node.type.dtype.kind in "biu":
            kind = "true or false" if node.type.dtype.kind == "b" else "a whole number"
            raise ProblemError(
                f"the residual of {name!r} is {kind}, of type {node.type.dtype}",
                why="It has no derivative that a search could follow, and may be 0 where nothing holds.",
                fix="return the difference of both sides: u.xx - f for the equation u.xx == f.",
            )
        if node not in moving:
            raise ProblemError(
                f"the residual of {name!r} does not move with any unknown or coefficient",
                why="It is the same whatever they are, or moves by jumps only, as np.sign and np.round do: "
                "a search has nothing to follow.",
                fix="return what is to be zero, with the unknowns in it, u.xx - f say; leave out what holds anyway; a "
                "jump that is meant is rounded off: np.tanh(u / 0.05) for np.sign(u).",
            )
        if node.type.shape != shape:
            raise _of_another_shape(name, node.type.shape, shape)


def _of_another_shape(name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> ProblemError:
    if shape == ():
        return ProblemError(
            f"the integrand of {name!r} does not give a number",
            why=f"Summed over its points it has the shape {found}.",
            fix="return one number at each point.",
        )
    if found == ():
        return ProblemError(
            f"the residual of {name!r} is one number for all points together",
            why="A residual is one number at each point; their mean square is taken by the problem.",
            fix="return what np.mean or np.sum is taken of, without a square; what holds in the mean only is "
            "pde.Integral(lambda u: …, value).",
        )
    return ProblemError(
        f"the residual of {name!r} has the shape {found} at {shape[0]} points",
        why="A residual is one number at each point.",
        fix="return a tuple of several residuals; write u.value where an unknown is meant, not its points, "
        "and n·∇u as pde.normal_derivative(u, np.stack(n, axis=-1)) or n @ pde.gradient(u).",
    )

"""Whether a model fits: what is left of data beside noise, and of equations beside their terms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from primad.ir.law_families import LOCAL, without
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.pde.fields.integrals import Quadrature
from primad.pde.geometry.sampling import Array
from primad.recording import tree
from primad.recording.tracing import trace

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Tree = Any
Drawn = Mapping[str, Mapping[str, Array]]
Means = Mapping[str, Array]
LARGE = 0.1
"""How large what is left may be beside how far data vary, or beside the terms of an equation."""
CERTAIN = 4.0
"""Standard deviations by which neighbours are off alike, from which on it is no chance."""
OUTWEIGHED = 8.0
"""By which factor terms of an equation, in size times the root of the weight, may be larger than how far data vary."""
ORDERS = 100.0
"""By which factor a mean square may be larger at points that a search has not seen: new points of a solution that holds
between its points as well give a few times as much."""

NODES_TRIED = 64
"""Points at which integrals are computed with twice as many nodes."""


class Residual(NamedTuple):
    """One residual of a problem, at the points of its term.

    Attributes:
        term: name of the term.
        place: which of the term's residuals.
        label: its name.
        kind: of the term.
        at: the points.
        values: at the points, without scale.
        given: the data, in the same unit; None of others.
    """

    term: str
    place: int
    label: str
    kind: str
    at: Array
    values: Array
    given: Array | None


def residuals_of(problem: Problem, params: Tree, points: Mapping[str, Mapping[str, Array]]) -> Iterator[Residual]:
    """Yield the residuals of all terms."""
    values = problem.evaluated(params, points)
    for name, labels in problem.labels.items():
        term, row = problem.terms[name], points[name]
        for place, label in enumerate(labels):
            given = None
            if term.kind == "data":
                key = [key for key in row if key.startswith("of ")][place]
                given = row[key] / (term.noise or 1.0)
            yield Residual(name, place, label, term.kind, row["at"], np.asarray(values[name])[:, place], given)


def alike(residual: Residual, bounds: Array) -> float:
    """Return the correlation of residuals with those of nearest neighbours, or 0 if it may be chance.

    Of a family neighbours are those of the same function.
    """
    count = len(residual.at)
    square = float(np.sum(residual.values**2))
    if count == 1 or not square:
        return 0.0
    from scipy.spatial import cKDTree  # loads when residuals are looked at

    at = (residual.at - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    nearest = cKDTree(at).query(at, 2)[1]
    other = np.where(nearest[:, 0] == np.arange(count), nearest[:, 1], nearest[:, 0])
    rows = residual.values.reshape((-1, count))
    found = float(np.sum(rows * rows[:, other])) / square
    # Most pairs count from both sides, which makes the variance of a sum of independent ones 1.5 to 2 times as large.
    return found if found > CERTAIN * np.sqrt(1.5 / rows.size) else 0.0


def misfits(problem: Problem, params: Tree, points: Mapping[str, Mapping[str, Array]]) -> list[str]:
    """Return in words which data and equations a solution does not fit, though their residuals are counted as errors.

    Data are not fitted where neighbours are off alike by a good part of how far the data vary; equations where what is
    left of them is a good part of their terms.
    """
    found, terms = [], dict[str, list[float]]()
    for one in residuals_of(problem, params, points):
        size = float(np.sqrt(np.mean(one.values**2)))
        if one.given is not None and alike(one, problem.domain.bounds):
            spread = float(np.std(one.given))
            if size > LARGE * spread:
                found.append(
                    f"what is left of {one.label!r} is no noise: neighbours are off alike, by {_share(size, spread)} "
                    "of how far the data vary"
                )
        elif one.kind == "equation":
            if one.term not in terms:
                terms[one.term] = _sizes(problem, params, one.term, points[one.term])
            whole = terms[one.term][one.place]
            if whole and size > LARGE * whole:
                found.append(f"what is left of {one.label!r} is {_share(size, whole)} of its terms")
    return found


def imbalance(
    problem: Problem, params: Tree, points: Mapping[str, Mapping[str, Array]], weights: Mapping[str, float]
) -> str:
    """Return in words which equation outweighs data that are not fitted, by its unit alone; "" if none does."""
    largest, smallest, unfitted = (0.0, ""), (np.inf, ""), False
    for one in residuals_of(problem, params, points):
        if one.given is not None:
            spread = float(np.std(one.given))
            size = float(np.sqrt(np.mean(one.values**2)))
            unfitted |= size > LARGE * spread and alike(one, problem.domain.bounds) > 0
            smallest = min(smallest, (np.sqrt(weights[one.term]) * spread, one.term))
    if not unfitted or not smallest[0]:
        return ""
    for name, row in points.items():
        if problem.terms[name].kind == "equation":
            size = max(_sizes(problem, params, name, row))
            largest = max(largest, (np.sqrt(weights[name]) * size, name))
    (most, equation), (least, data) = largest, smallest
    if most < OUTWEIGHED * least:
        return ""
    wanted = 10.0 ** round(2 * np.log10(most / least)) * weights[data]
    return (
        f"{data!r} is not fitted, and the terms of {equation!r} count {most / least:.0f} times as much as how far data "
        f'vary. Give data more weight: solve(weights={{"{data}": {wanted:g}}}), or write the problem in other units.'
    )


def unseen(problem: Problem, params: Tree, points: Drawn, fresh: Drawn, means: Means, new: Means) -> str:
    """Return in words which term holds at the points of a search only, and not between them; "" if none does.

    What is left at new points counts beside the terms of an equation or condition, or, where nothing is added up in it,
    beside what networks give that nobody trained.

    Args:
        problem: the problem.
        params: what was found.
        points: those of the search.
        fresh: as many others.
        means: the mean squares at the former.
        new: likewise at the latter.
    """
    worst, found = ORDERS, ""
    for name, labels in problem.labels.items():
        if problem.terms[name].fixed:
            continue
        wrong = [place for place in range(len(labels)) if new[name][place] > worst * means[name][place]]
        if not wrong:
            continue
        sizes = _sizes(problem, params, name, fresh[name])
        for place in wrong:
            whole = sizes[place] or _untrained(problem, name, place, fresh[name])
            before, after = float(means[name][place]), float(new[name][place])
            if whole and after > max(worst * before, (LARGE * whole) ** 2):
                worst = after / before if before else np.inf
                beside = "its terms" if sizes[place] else "that of an untrained network"
                found = (
                    f"{labels[place]!r} holds at its {len(points[name]['at'])} points only: its mean square is "
                    f"{before:.2g} there, and {after:.2g} at as many new ones, {_share(float(np.sqrt(after)), whole)} "
                    f"of {beside}. The solution may be wrong, whatever the loss. Take more points (points=…), drawn "
                    "anew where residuals are large: solve(resample=10, refine=0.5); and round off what jumps."
                )
    return found


def coarse(problem: Problem, params: Tree, points: Drawn) -> str:
    """Return in words which equation changes with the number of nodes of its integrals; "" if none does.

    What counts is more than what is left of the equation, and than rounding.

    Args:
        problem: the problem.
        params: what was found.
        points: those of the search.
    """
    worst, found = 1.0, ""
    for name in sorted(problem.integrals):
        term, row = problem.terms[name], points[name]
        if term.kind == "equation":
            row = {**row, "at": row["at"][:NODES_TRIED]}
        once, twice = (
            tree.leaves(problem.raw(params, term, row, Quadrature(problem.quadrature, times))) for times in (1, 2)
        )
        size = max(float(np.max(np.abs(one.value))) for one in problem.fields(params, row["at"], row).values())
        for label, before, after in zip(problem.labels[name], once, twice, strict=True):
            change = float(np.max(np.abs(after - before)))
            left = float(np.sqrt(np.mean(np.square(before)))) + math.sqrt(np.finfo(float).eps) * size
            if change > worst * left:
                worst = change / left
                found = (
                    f"with twice as many points of its integrals, {label!r} changes by up to {change:.2g}, more than "
                    f"what is left of it, {left:.2g}. Take more: pde.Problem(…, quadrature={2 * problem.quadrature}); "
                    "and divide an integral where its integrand has a kink or is infinite."
                )
    return found


def _untrained(problem: Problem, name: str, place: int, row: Mapping[str, Array]) -> float:
    """Return the size of a residual for parameters to begin with."""
    values = problem.evaluated(problem.init(), {name: row})[name]
    return float(np.sqrt(np.mean(np.asarray(values)[:, place] ** 2)))


def _share(size: float, of: float) -> str:
    return f"{size / of:.0%}" if of and size < 10 * of else "many times"


def _sizes(problem: Problem, params: Tree, name: str, row: Mapping[str, Array]) -> list[float]:
    """Return how large the terms of an equation are, for each of its residuals; 0 where nothing is added up."""
    with without(LOCAL):  # derivatives that are added up would be one operator, in which no term is seen
        program = trace(lambda params, row: tree.leaves(problem.raw(params, problem.terms[name], row)))(params, row)
    inner: dict[Node, None] = {}
    stack = list(program.outputs)
    while stack:
        node = stack.pop()
        if node not in inner:
            inner[node] = None
            if _adds(node) or _multiplies(node):
                stack += node.inputs
    nodes = list(inner)
    inside = Program(program.trace, program.inputs, nodes, program.in_tree, tree.flatten(nodes)[1])
    values = dict(zip(nodes, inside(params, row), strict=True))
    known: dict[Node, Array] = {}
    for node in [node for node in program.nodes if node in inner]:
        sides = [known[operand] for operand in node.inputs if operand in known]
        if _adds(node):
            known[node] = sum(sides[1:], start=sides[0])
        elif _multiplies(node):
            known[node] = math.prod(sides[1:], start=sides[0])
        else:
            known[node] = np.abs(np.asarray(values[node]))
    found = []
    for node in program.outputs:
        whole, left = (float(np.sqrt(np.mean(np.square(a)))) for a in (known[node], np.asarray(values[node])))
        found.append(whole if whole > (1 + 1e-9) * left else 0.0)
    return found


def _adds(node: Node) -> bool:
    """Say whether a node is a sum, or a difference, of its operands, element by element."""
    op = node.op
    if isinstance(op, Leaf) or not (op.axes.pointwise and op.kind == "linear"):
        return False
    return op.derivative.linear_operands in (None, tuple(range(len(node.inputs))))


def _multiplies(node: Node) -> bool:
    """Say whether a node is the product of its operands, element by element."""
    return not isinstance(node.op, Leaf) and node.op.axes.pointwise and node.op.kind == "multilinear"

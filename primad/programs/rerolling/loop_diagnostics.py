"""Lines of the user's code that were recorded many times and are no loop: which they are, why, and what to change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from primad.ir.node import LITERAL, Leaf, Node, params_key
from primad.ir.program import Program
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling import repeated_runs
from primad.system.quantities import several


def unrolled_loops(program: Program, refused: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each loop in Python that a program holds step by step, with its first line.

    Args:
        program: any program.
        refused: what is known to be in the way of loops whose arrays change their lengths, by their lines.
    """
    if repeated_runs.is_short(program.nodes):
        return []
    found = [(line, nodes) for line, nodes in _repeated_lines(program) if not repeated_runs.is_short(nodes)]
    return [
        f"{several(len(_repeated(nodes)[0]), 'step')} of a loop in Python ({line}) stay unrolled: "
        f"{_too_few(nodes) or _reason(_repeated(nodes), refused or {}) or _of_lengths(nodes)}"
        for line, nodes in found
    ]


def short_loops(program: Program) -> list[str]:
    """Return a sentence for each line that was recorded many times, in steps too few or too short to be a loop.

    Args:
        program: any program, whose long loops are found or named already.
    """
    return [
        f"{several(len(_repeated(nodes)[0]), 'step')} of a loop in Python, or repeated ops of a line, ({line}) stay "
        f"unrolled: {_too_few(nodes)}"
        for line, nodes in _repeated_lines(program)
        if repeated_runs.is_short(nodes)
    ]


def _repeated_lines(program: Program) -> list[tuple[str, list[Node]]]:
    """Return lines that were recorded many times with their nodes, those that take turns as one, by the first."""
    of: dict[str, list[Node]] = {}
    for node in sorted(program.lines, key=attrgetter("index")):
        of.setdefault(program.lines[node], []).append(node)
    known = set(program.nodes)
    groups: list[tuple[str, list[Node]]] = []
    last = -1
    for line, recorded in of.items():
        nodes = [node for node in recorded if node in known]
        if not _repeated(nodes):
            continue
        if groups and nodes[0].index <= last:  # lines of one loop take turns
            groups[-1][1].extend(nodes)
        else:
            groups.append((line, nodes))
        last = max(last, nodes[-1].index)
    return groups


def _too_few(nodes: Sequence[Node]) -> str:
    """Say that steps are too few ops for a run, not counting views, which take no time; nothing if they are not."""
    computed = [node for node in nodes if _is_computed(node)]
    if not repeated_runs.is_short(computed):
        return ""
    fewest = repeated_runs.FEWEST_NODES
    return f"they are {several(len(computed), 'op')}, of which {fewest} are worth a loop; nothing is to do."


def _is_computed(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and not node.op.memory.views


def _repeated(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the applications of each op that is applied the fewest times of those that many steps apply."""
    of: dict[object, list[Node]] = {}
    for node in nodes:
        if _is_computed(node):
            of.setdefault(node.op, []).append(node)
    often = [applied for applied in of.values() if len(applied) >= FEWEST_STEPS]
    fewest = min(map(len, often), default=0)
    return [applied for applied in often if len(applied) == fewest]


def _reason(steps: Sequence[Sequence[Node]], known: Mapping[str, str]) -> str:
    """Say why applications of ops are no steps of one loop, and what to change; nothing if they do not tell."""
    for applied in steps:
        before, after = applied[len(applied) // 2 - 1 : len(applied) // 2 + 1]
        if before.type != after.type:
            why = "".join([f", and {reason}" for reason in known.values()])
            return (
                f"arrays change their shapes from step to step ({before.type}, then {after.type}){why}; arrays of one "
                "length, with np.where for what is not used, are a loop."
            )
        one, other = dict(params_key(before.params)), dict(params_key(after.params))
        if one != other:
            names = " and ".join(sorted({*one, *other} - {name for name in one if one[name] == other.get(name)}))
            return f"{before.op.name} has another {names} in each; primad.scan over an array of them is one."
        numbers = [(x.inputs[k], y.inputs[k]) for x, y in [(before, after)] for k in x.op.static_operands]
        if any(x is not y and LITERAL in (x.op, y.op) for x, y in numbers):
            return f"{before.op.name} has another constant in each; primad.scan over an array of them is one."
    return ""


def _of_lengths(nodes: Sequence[Node]) -> str:
    """Say whether steps have more ops than those before, as those of a loop inside of the loop."""
    applied = [node.index for node in _repeated(nodes)[0]]
    places = sorted(node.index for node in nodes if _is_computed(node))
    ends = [bisect_left(places, index) for index in applied[len(applied) // 2 - 1 :][:3]]
    counts = [stop - start for start, stop in pairwise(ends)]
    if len(set(counts)) > 1:
        return (
            f"steps have other numbers of ops ({counts[0]}, then {counts[1]}), as where a loop inside goes on longer; "
            "primad.scan over the turns of both is one loop, and an op on an array of all of them, in which np.where "
            "leaves out those not there yet, needs none inside."
        )
    return "steps differ in what they compute, or in what they take from those before; primad.scan is a loop."

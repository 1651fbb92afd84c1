"""Ops that were recorded later than others of their form, moved to where the others stand.

An expression that two cells of a table share is recorded once, by the first of them: by the next cell of the
row, and at the end of a row by a cell of the row below. So the last cells of all rows would differ from the others.
"""

from __future__ import annotations

import numpy as np

from primad.ir.node import Node
from primad.ir.node_arrays import Places
from primad.programs.loop_sizes import FEWEST_STEPS
from primad.programs.rerolling.node_sequences import NodeSequence

MOST_LATE = 0.25
"""Part of the ops of one form that may be late. Chosen: those at the ends of rows of four cells."""


def late_ops(sequence: NodeSequence) -> list[tuple[Node, Node]]:
    """Return ops that are late, in order, each with the op behind which others of its form stand; none if few are.

    An op is as far from the last of what it takes as it is late. Where nearly all of a form are equally far from it,
    the others are late if they are further away by some steps, or if what they are so far from is late.
    """
    own = np.flatnonzero(sequence.count)
    latest = np.maximum.reduceat(sequence.operands, sequence.first[own])
    which = _first_equal(sequence, own, latest)
    inside = latest >= 0
    own, latest, which = own[inside], latest[inside], which[inside]
    far = own - latest
    forms = sequence.forms[own]
    order = np.lexsort((far, forms))
    own, latest, far, which = own[order], latest[order], far[order], which[order]
    first = np.flatnonzero(np.diff(forms[order], prepend=-1 - forms[order[:1]]))
    count = np.diff(first, append=len(order))
    most = first + ((1 - MOST_LATE) * (count - 1)).astype(int)
    good = np.repeat((count >= FEWEST_STEPS) & (far[most] == far[first]) & (which[most] == which[first]), count)
    usual, operand = np.repeat(far[first], count), np.repeat(which[first], count)
    behind = np.full(len(sequence.nodes), -1)
    late = good & (far > FEWEST_STEPS * (1 + usual))
    before = latest
    while late.any():
        behind[own[late]] = before[late] + usual[late] - 1
        late = good & (far == usual) & (which == operand) & (behind[latest] >= 0) & (behind[own] < 0)
        before = behind[latest]
    found = np.flatnonzero(behind >= 0).tolist()
    return [(sequence.nodes[i], sequence.nodes[behind[i]]) for i in found] if len(found) >= FEWEST_STEPS else []


def _first_equal(sequence: NodeSequence, own: Places, operands: Places) -> Places:
    """Return for each of some nodes which of its operands is the first that was made at a place."""
    count, first = sequence.count[own], sequence.first[own]
    own_operand = np.arange(len(sequence.operands)) - np.repeat(first, count)
    others = sequence.operands != np.repeat(operands, count)
    found: Places = np.minimum.reduceat(np.where(others, len(others), own_operand), first)
    return found

"""Products leftᵀ·right of matrices that are linear in others, found to be symmetric by what is done to their rows.

The Hessian of a loss of differences or of running sums of z = X·w, as a path's length or Cox's partial likelihood, is
XᵀMX with a symmetric M, as SᵀDS is for differences S. M is a sum of words: of scalings of rows, and of moves, slices
and running sums of rows, one after the other. The transposed word has the transposed letters in the reversed order, and
M is symmetric if with each word it has the transposed one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, NamedTuple

from primad import ops
from primad.ir.node import Leaf, Node, is_literal
from primad.native.llvm.compile_limits import BUDGET
from primad.simplify.collapse import is_constant_along


class Letter(NamedTuple):
    """A linear map of rows.

    Attributes:
        kind: what it does.
        of: its settings; of a scaling how often each factor is taken.
    """

    kind: str
    of: Hashable

    @property
    def transposed(self) -> Letter:
        """The transposed map."""
        if self.kind in ("take", "put"):
            return Letter("put" if self.kind == "take" else "take", self.of)
        return Letter(self.kind, not self.of) if self.kind == "sum" else self


Word = tuple[Letter, ...]


class _Term(NamedTuple):
    """A word applied to rows of a matrix, and the matrix with its axes in order: rows, then columns.

    Attributes:
        word: the letter that comes last is first.
        root: the matrix.
        axes: its axes.
    """

    word: Word
    root: Node
    axes: tuple[int, ...]


Terms = Counter[_Term]
"""Terms, and how often each is added."""


def is_self_adjoint(x: Node, left: tuple[int, ...], y: Node, right: tuple[int, ...]) -> bool:
    """Say whether leftᵀ·right, of two operands with their axes in these orders, is a symmetric matrix by its words.

    Args:
        x: the first operand.
        left: its axes, the one that is summed over first.
        y: the second operand.
        right: its axes.
    """
    if x.type.dtype != y.type.dtype or x.type.is_complex:
        return False
    found = [_terms(node, axes, {}) for node, axes in ((x, left), (y, right))]
    whole, turned = Counter[Any](), Counter[Any]()
    for a, times in found[0].items():
        back = tuple([letter.transposed for letter in reversed(a.word)])
        for b, more in found[1].items():
            word = _joined(back, b.word)
            whole[a[1:], word, b[1:]] += times * more
            turned[b[1:], tuple([letter.transposed for letter in reversed(word)]), a[1:]] += times * more
    return {k: n for k, n in whole.items() if n} == {k: n for k, n in turned.items() if n}


def _joined(first: Word, second: Word) -> Word:
    """Return one word after another; scalings side by side are one."""
    if not first or not second or first[-1].kind != "scale" or second[0].kind != "scale":
        return first + second
    factors: Counter[Hashable] = Counter(dict(first[-1].of))  # type: ignore[call-overload]
    factors.update(dict(second[0].of))  # type: ignore[call-overload]
    return (*first[:-1], Letter("scale", frozenset(factors.items())), *second[1:])


class _Part(NamedTuple):
    """An operand that an op is linear in.

    Attributes:
        letter: what the op does to it; None if nothing.
        node: the operand.
        axes: its axes in order.
        sign: 1, or -1 where it is subtracted.
    """

    letter: Letter | None
    node: Node
    axes: tuple[int, ...]
    sign: int = 1


def _terms(node: Node, axes: tuple[int, ...], known: dict[tuple[Node, tuple[int, ...]], Terms]) -> Terms:
    """Return the terms of a value, and note them: each value is looked through once."""
    if (node, axes) in known:
        return known[node, axes]
    known[node, axes] = whole = Terms({_Term((), node, axes): 1})
    parts = _parts(node, axes) if len(known) < BUDGET.letters else []
    found = Terms()
    for part in parts:
        for term, times in _terms(part.node, part.axes, known).items():
            word = term.word if part.letter is None else _joined((part.letter,), term.word)
            found[term._replace(word=word)] += part.sign * times
        if len(found) > BUDGET.words:
            return whole
    if parts:
        known[node, axes] = found
    return known[node, axes]


def _parts(node: Node, axes: tuple[int, ...]) -> list[_Part]:
    """Return the operands that an op is linear in; none where it is not known to be linear in what it has."""
    if isinstance(node.op, Leaf) or node.type.ndim != len(axes):
        return []
    if node.op is ops.permute:
        order = dict(node.params)["order"]
        return [_Part(None, node.inputs[0], tuple([order[axis] for axis in axes]))]
    if node.op is ops.neg:
        return [_Part(None, node.inputs[0], axes, -1)]
    if node.op in (ops.add, ops.sub):
        signs = (1, 1 if node.op is ops.add else -1)
        return [_Part(None, x, axes, s) for x, s in zip(node.inputs, signs, strict=True) if not is_literal(x, 0)]
    if node.op is ops.concatenate:
        return _joined_rows(node, axes)
    moved = _move(node, axes)
    return _scaled(node, axes) if moved is None else [_Part(moved, node.inputs[0], axes)]


def _scaled(node: Node, axes: tuple[int, ...]) -> list[_Part]:
    """Return the operand of an op that scales each row by numbers that are the same for all columns."""
    if not node.op.axes.pointwise:
        return []
    for group in node.op.linear_groups(len(node.inputs)):
        own = [i for i in group if not is_literal(node.inputs[i], 0)]
        others = [x for i, x in enumerate(node.inputs) if i not in group]
        same = len(own) == 1 and node.inputs[own[0]].type == node.type
        if same and all(is_constant_along(x, axis) for x in others for axis in axes[1:]):
            keys = tuple([_of_rows(x, axes[0]) for x in others])
            place = 0 if node.op is ops.mul else own[0]  # a product is the same the other way round
            letter = Letter("scale", frozenset({((node.op, node.params, place, keys), 1)}))
            return [_Part(letter, node.inputs[own[0]], axes)]
    return []


def _joined_rows(node: Node, axes: tuple[int, ...]) -> list[_Part]:
    """Return what is joined along the rows, each where it is put."""
    if dict(node.params)["axis"] != axes[0]:
        return []
    parts, start = [], 0
    for x in node.inputs:
        length = x.type.shape[axes[0]]
        parts.append(_Part(Letter("put", (node.type.shape[axes[0]], start, 1, length)), x, axes))
        start += length
    return [part for part in parts if not is_literal(part.node, 0)]


def _of_rows(factor: Node, rows: int) -> Hashable:
    """Return what stands for the numbers by which rows are scaled, however they are laid out."""
    if factor.op is ops.broadcast and dict(factor.params)["axes"] == (rows,):
        return factor.inputs[0]
    return factor if not factor.type.shape else (factor, rows)


def _move(node: Node, axes: tuple[int, ...]) -> Letter | None:
    """Return the letter of an op that moves or adds up rows."""
    params, rows = dict(node.params), axes[0]
    if node.op is ops.flip and params["axes"] == (rows,):
        return Letter("flip", ())
    if node.op is ops.cumsum and params["axis"] == rows:
        return Letter("sum", params["reverse"])
    if node.op not in (ops.slice_, ops.pad):
        return None
    small, large = (node, node.inputs[0]) if node.op is ops.slice_ else (node.inputs[0], node)
    if any(small.type.shape[axis] != large.type.shape[axis] for axis in axes[1:]):
        return None
    if node.op is ops.slice_:
        start, step = params["start"][rows], params["step"][rows]
    else:
        start, step = params["low"][rows], params["interior"][rows] + 1
    if start < 0 or step < 1 or (node.op is ops.pad and params["high"][rows] < 0):
        return None
    return Letter(
        "take" if node.op is ops.slice_ else "put", (large.type.shape[rows], start, step, small.type.shape[rows])
    )

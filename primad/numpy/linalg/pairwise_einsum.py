"""NumPy's einsum, contracted pair by pair."""

from __future__ import annotations

import operator
import re
import string
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.linalg.products import as_product, contract_letters, diagonalize, product_operands, sum_lonely
from primad.numpy.promotion import (
    any_traced,
    expand,
    implements,
    refuse_out,
)
from primad.ops.arrays.contraction import ALPHABET

__all__ = ["einsum"]


def _einsum_parts(subscripts: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    text = subscripts.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", text):
        raise ShapeError(
            f"einsum: {subscripts!r} is not made of letters, commas, an ellipsis and an arrow",
            fix="write as 'ij,jk->ik'.",
        )
    left, arrow, out = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ShapeError(
            f"einsum: {subscripts!r} names {len(parts)} operands, got {len(shapes)}",
            fix="write the letters of each operand, with a comma between them.",
        )
    spare = [c for c in ALPHABET if c not in text]
    widest = max([len(shape) - len(part.replace("...", "")) for part, shape in zip(parts, shapes, strict=True)] + [0])
    extra = "".join(spare[:widest])
    expanded = []
    for part, shape in zip(parts, shapes, strict=True):
        missing = len(shape) - len(part.replace("...", ""))
        if ("..." not in part and missing) or missing < 0 or part.count(".") not in (0, 3):
            raise ShapeError(
                f"einsum: {part!r} of {subscripts!r} does not name the axes of shape {shape}",
                fix="write a letter for each of its axes, or ... for those that are left.",
            )
        expanded.append(part.replace("...", extra[len(extra) - missing :]))
    if arrow:
        out = out.replace("...", extra)
    else:
        letters_ = sorted({c for part in expanded for c in part if sum(p.count(c) for p in expanded) == 1} - set(extra))
        out = (extra if "..." in left else "") + "".join(letters_)
    if len(set(out)) != len(out) or any(all(c not in part for part in expanded) for c in out):
        raise ShapeError(
            f"einsum: the result {out!r} of {subscripts!r} has unknown or repeated letters",
            fix="name in the result letters of the operands, each once.",
        )
    return expanded, out


def _lettered(*operands: Any) -> tuple[str, tuple[Any, ...]]:
    """Return subscripts in letters, and the operands, of operands that are each followed by numbers of their axes."""
    names = string.ascii_uppercase + string.ascii_lowercase  # in the order of the numbers
    lists = [*operands[1::2], operands[-1]] if len(operands) % 2 else list(operands[1::2])
    for number in [operator.index(item) for each in lists for item in each if item is not Ellipsis]:
        if not 0 <= number < len(names):
            raise ShapeError(
                f"einsum: an axis has the number {number}, which is not between 0 and {len(names) - 1}",
                fix="number the axes from 0 on, or write letters.",
            )
    texts = ["".join(["..." if item is Ellipsis else names[operator.index(item)] for item in each]) for each in lists]
    count = len(operands) // 2
    return ",".join(texts[:count]) + "".join(["->" + text for text in texts[count:]]), operands[: 2 * count : 2]


@implements(np.einsum)
def einsum(subscripts: Any, *operands: Any, optimize: Any = False, out: Any = None) -> Any:
    """np.einsum with letters or lists of numbers, and ellipses; several operands are contracted from left to right.

    With `optimize`, they are contracted in the order of NumPy's path.

    Raises:
        ShapeError: for letters that do not fit the shapes.
    """
    refuse_out("einsum", out)
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered(subscripts, *operands)
    if not any_traced(operands):
        return np.einsum(subscripts, *operands, optimize=optimize)
    return _contracted(subscripts, *operands, optimize=optimize)


@as_product
def _contracted(subscripts: str, *operands: Any, optimize: Any) -> Any:
    arrays = product_operands(*operands)
    parts, result = _einsum_parts(subscripts, [x.shape for x in arrays])
    lengths: dict[str, int] = {}
    for part, x in zip(parts, arrays, strict=True):
        for letter, n in zip(part, x.shape, strict=True):
            known = lengths.setdefault(letter, n)
            if known != n and 1 not in (known, n):
                raise ShapeError(
                    f"einsum: letter {letter!r} of {subscripts!r} has lengths {known} and {n}",
                    fix="give the two axes letters of their own, or one length.",
                )
            lengths[letter] = max(known, n) if 0 not in (known, n) else 0
    arrays = [expand(x, tuple([lengths[letter] for letter in part])) for part, x in zip(parts, arrays, strict=True)]
    while len(arrays) > 2:
        i, j = _next_pair(parts, arrays, result, optimize)
        kept = "".join(dict.fromkeys(c for c in parts[i] + parts[j] if c in result or _elsewhere(c, parts, i, j)))
        joined = contract_letters(arrays[i], arrays[j], parts[i], parts[j], kept)
        arrays = [x for k, x in enumerate(arrays) if k not in (i, j)] + [joined]
        parts = [part for k, part in enumerate(parts) if k not in (i, j)] + [kept]
    if len(arrays) == 2:
        return contract_letters(arrays[0], arrays[1], parts[0], parts[1], result)
    x, part = diagonalize(arrays[0], parts[0])
    x, part = sum_lonely(x, part, result)
    return ops.permute(x, order=tuple([part.index(c) for c in result]))


def _elsewhere(letter: str, parts: list[str], i: int, j: int) -> bool:
    return any(letter in part for k, part in enumerate(parts) if k not in (i, j))


def _next_pair(parts: list[str], arrays: list[Any], result: str, optimize: Any) -> tuple[int, int]:
    if not optimize:
        return 0, 1
    text = ",".join(parts) + "->" + result
    shapes = [np.broadcast_to(0.0, x.shape) for x in arrays]
    path = np.einsum_path(text, *shapes, optimize="greedy")[0][1]
    return int(path[0]), int(path[1])

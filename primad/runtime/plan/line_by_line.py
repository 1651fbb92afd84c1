"""Plans of few small arrays as one function of Python's: a line for each step, with nothing to look up between two.

To interpret a step takes as long as to compute it, where arrays have some elements. The lines compute the same bits, so
it does not matter from which run of a plan on they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad.ir.node import Node
from primad.native.llvm.compile_limits import BUDGET
from primad.ops import broadcast
from primad.system.process import quietly


def line_by_line(
    units: Sequence[Node],
    steps: Sequence[Any],
    inputs: int,
    constants: Sequence[tuple[int, Any]],
    finish: Sequence[tuple[int, Any, bool, bool]],
) -> Callable[[Sequence[Any]], list[Any]] | None:
    """Return what computes the outputs of arguments, as a plan of these steps does, with NumPy's warnings off.

    It is None of many steps, which take long to compile.

    Args:
        units: the steps in order, none of them native.
        steps: as the plan has them: what computes each, its operands, its params, and its place.
        inputs: how many arguments there are.
        constants: places with their values.
        finish: for each output its place, its dtype, whether it is a number, and whether it is an array of its own.
    """
    if len(steps) > BUDGET.lines:
        return None
    known: dict[str, Any] = {f"v{place}": value for place, value in constants}
    known["array"] = np.array
    single = {step[3]: step[1][0] for unit, step in zip(units, steps, strict=True) if _is_of_number(unit)}
    made, read = {}, {place for place, *_ in finish}
    for unit, (definition, operands, params, place, *_) in reversed([*zip(units, steps, strict=True)]):
        if place not in read:
            continue
        few = unit.op.work.few
        direct = None if few is None else few(*[operand.type for operand in unit.inputs], **dict(unit.params))
        taken = operands
        if isinstance(definition, np.ufunc) and not all(operand in single for operand in operands):
            taken = [single.get(operand, operand) for operand in operands]  # a ufunc broadcasts numbers by itself
        read.update(taken)
        given = [f"v{operand}" for operand in taken]
        if direct is None:
            known.update({f"{name}{place}": value for name, value in params.items()})
            given += [f"{name}={name}{place}" for name in params]
        known[f"f{place}"] = definition if direct is None else direct
        made[place] = f"v{place} = f{place}({', '.join(given)})"
    results = []
    for i, (place, dtype, is_number, is_own) in enumerate(finish):
        known[f"t{i}"] = dtype.type if is_number else dtype
        results.append(f"t{i}(v{place})" if is_number else f"v{place}" if is_own else f"array(v{place}, t{i})")
    names = "".join([f"v{i}, " for i in range(inputs)])
    lines = [f"{names} = arguments"] if inputs else []
    lines += [*reversed(made.values()), f"return [{', '.join(results)}]"]
    exec("def run(arguments):\n " + "\n ".join(lines), known)
    return partial(quietly, known["run"])


def _is_of_number(unit: Node) -> bool:
    """Say whether a step is a number that is repeated."""
    return unit.op is broadcast and not unit.inputs[0].type.shape

"""What a definition can do with memory and pieces, and what stands for it where elements are few, by its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Node, Trace, named
from primad.verify.checks.decide import Wrong
from primad.verify.checks.trial import Trial, close, listed
from primad.verify.verdicts import How


def check_memory(trial: Trial) -> How | None:
    """A definition takes each argument that its record declares, and gives the same results with it.

    So does what is called in its place for arrays of few elements.
    """
    facts, few = trial.op.memory, trial.op.work.few
    if not (facts.out or facts.each or facts.wanted or facts.limit or few):
        return None
    types = [operand.type for operand in trial.example.operands]
    operands = [np.asarray(x, t.dtype) for x, t in zip(trial.operands(trial.values), types, strict=True)]
    params, through = trial.example.params, trial.case.through
    expected = trial.results(operands)
    if through is not None:
        operands, types = listed(through.numpy(*operands)), [through.infer(*types)]

    def given(**arguments: Any) -> list[Any]:
        return listed(trial.op.numpy(*operands, **params, **arguments))

    direct = None if few is None else few(*types, **params)
    if direct is not None:
        with np.errstate(all="ignore"):
            given_whole = [tuple(operands)] if isinstance(types[0], TupleType) else operands
            _same(trial, "on few elements", expected, listed(direct(*given_whole)))
    if facts.out is not None and facts.out(_node(trial, types)):
        array = np.full(expected[0].shape, 7, expected[0].dtype)
        (found,) = given(out=array)
        if found is not array:
            raise Wrong(f"{trial.where()}: memory", "the array that was given as out", "another one")
        _same(trial, "written into out", expected, [array])
    if facts.each:
        _same(trial, "in pieces, the last one first", expected, given(each=_last_first))
    if facts.limit:
        _same(trial, "within a limit of memory", expected, given(memory=2**40))
    for i in range(len(expected) if facts.wanted else 0):
        found = given(wanted=tuple([j == i for j in range(len(expected))]))
        close(f"{trial.where()}: result {i}, where it alone is wanted", expected[i], found[i], trial)
    return "tested"


def _node(trial: Trial, types: Sequence[ArrayType]) -> Node:
    """Return the application as it stands, which laws would replace by another one."""
    trace = Trace()
    return trace.place(trial.op, tuple([trace.input(type) for type in types]), named(trial.example.params))


def _last_first(work: Callable[[int], Any], count: int) -> list[Any]:
    return [work(i) for i in reversed(range(count))][::-1]


def _same(trial: Trial, how: str, expected: list[Any], found: list[Any]) -> None:
    """Raise unless results have the same bits."""
    for x, y in zip(expected, map(np.asarray, found), strict=True):
        if x.shape != y.shape or x.dtype != y.dtype or x.tobytes() != y.tobytes():
            inputs = {f"input {i}": value.tolist() for i, value in enumerate(trial.values)}
            raise Wrong(f"{trial.where()}: {how}", x.tolist(), y.tolist(), inputs)

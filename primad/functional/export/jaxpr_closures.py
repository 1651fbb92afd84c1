"""What JAX's rules close over: values that JAX traced with the function which they are in, before a rule is traced.

A rule is a Python function. It is traced where a derivative is asked for, when the values that it closes over are
tracers of a trace that is over. While it is traced, tracers of the new trace stand in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import CellType, FunctionType
from typing import Any, NamedTuple

from primad.xla.jax_functions import jax_module

MEMO = "cells"
"""What JAX calls the table, in the closure of a rule, of what was traced before."""

LIFTED = "num_consts"
"""What JAX calls the number, in the closure of a rule, of operands that the function closed over before it was traced
again, as a part of another rule. They come first."""


class Closure(NamedTuple):
    """What the rules of an equation close over of what JAX traced with the function that they are in.

    Attributes:
        cells: where they hold it, or what was made of it.
        tracers: what JAX traced.
        own: how many operands of the equation, which come first, are what the function itself closes over.
    """

    cells: list[CellType]
    tracers: list[Any]
    own: int

    def only(self, known: Callable[[Any], bool]) -> Closure:
        """Return the same of those tracers whose values are known."""
        return Closure(self.cells, [tracer for tracer in self.tracers if known(tracer)], self.own)

    def scope(self, values: Sequence[Any]) -> tuple[dict[Any, Any], ...]:
        """Return the values of the variables that the tracers are."""
        return ({tracer.val: x for tracer, x in zip(self.tracers, values, strict=True)},)

    @contextmanager
    def of(self, values: Sequence[Any]) -> Iterator[None]:
        """Let the rules close over other values instead of the tracers, and over nothing that was made before."""
        new = {id(old): value for old, value in zip(self.tracers, values, strict=True)}
        before = [cell.cell_contents for cell in self.cells] if new else []
        for cell, content in zip(self.cells, before, strict=False):
            cell.cell_contents = _with(content, new)
        try:
            yield
        finally:
            for cell, content in zip(self.cells, before, strict=False):
                cell.cell_contents = content


def _with(content: Any, new: Mapping[int, Any]) -> Any:
    """Return a tree with other values instead of tracers; a table without any is what was made before."""
    leaves, structure = jax_module().tree.flatten(content)
    if not any(id(leaf) in new for leaf in leaves):
        return {} if isinstance(content, dict) else content
    return jax_module().tree.unflatten(structure, [new.get(id(leaf), leaf) for leaf in leaves])


def closure_of(equation: Any) -> Closure:
    """Return what the rules of an equation close over of what JAX traced."""
    found = RulesSeen({}, {}, {}, [equation.params.get(LIFTED, 0)])
    for param in equation.params.values():
        _look(param, found)
    return Closure(list(found.cells.values()), list(found.tracers.values()), sum(found.lifted))


class RulesSeen(NamedTuple):
    """What was found so far, each by its identity."""

    cells: dict[int, CellType]
    tracers: dict[int, Any]
    seen: dict[int, Any]
    lifted: list[int]


def _look(item: Any, found: RulesSeen) -> None:
    """Go through functions, what they close over, and objects of JAX's that hold functions."""
    if id(item) in found.seen:
        return
    found.seen[id(item)] = item
    for name, cell in _cells_of(item):
        of_jax = str(item.__module__).startswith("jax.")
        leaves = jax_module().tree.leaves(cell.cell_contents)
        traced = [leaf for leaf in leaves if isinstance(leaf, jax_module().core.Tracer)]
        if traced or (of_jax and name == MEMO):
            found.cells[id(cell)] = cell
        if of_jax and name == LIFTED and item.__qualname__.startswith("lift_"):
            found.lifted.append(cell.cell_contents)
        found.tracers.update({id(leaf): leaf for leaf in traced})
        for leaf in leaves:
            _look(leaf, found)
    for part in _parts_of(item):
        _look(part, found)


def _cells_of(found: Any) -> list[tuple[str, CellType]]:
    """Return the cells of a function that hold something, with the names of what they hold."""
    if not isinstance(found, FunctionType) or found.__closure__ is None:
        return []
    return [pair for pair in zip(found.__code__.co_freevars, found.__closure__, strict=True) if _is_set(pair[1])]


def _is_set(cell: CellType) -> bool:
    try:
        return cell.cell_contents is cell.cell_contents
    except ValueError:
        return False


def _parts_of(found: Any) -> Sequence[Any]:
    """Return what an object holds that may be a rule, or a part of one."""
    if isinstance(found, (tuple, list)):
        return found
    if isinstance(found, partial):
        return [found.func, *found.args, *found.keywords.values()]
    if isinstance(found, FunctionType):
        return [getattr(found, "__wrapped__", None)]
    if type(found).__name__ in {"WrappedFun", "custom_jvp", "custom_vjp"}:
        return [getattr(found, name, None) for name in ("f", "transforms", "fun", "jvp", "fwd", "bwd")]
    return ()

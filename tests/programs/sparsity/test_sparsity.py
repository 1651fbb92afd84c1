"""What an element reaches of a value is never more than what is said, and colours keep apart what meets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.ir.node import Node
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.diagonal_coloring import MOST_COLORS, Wanted, coloring
from primad.programs.sparsity.listed_places import Known, Listed
from primad.programs.sparsity.paths import AffinePath, AffinePlace, Paths, everywhere
from primad.programs.sparsity.reach import reach
from primad.transforms.lowering import expand
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial, run_floats
from tests.cases import CASES, NAMES


def pattern(paths: Paths, size: int, shape: tuple[int, ...]) -> Any:
    """Return a mask: which of so many elements reach which elements of a value of a shape."""
    mask = np.zeros((size, *shape), bool)
    places = np.indices(shape)
    for path in paths:
        for element in range(size):
            there = np.ones(shape, bool)
            for digit, place in zip(np.unravel_index(element, path.lengths), path.places, strict=True):
                if isinstance(place, Listed):
                    there &= place.elements[places[place.axis]] == element
                elif place is not None:
                    there &= place.factor * digit + place.shift == place.divisor * places[place.axis]  # type: ignore[index]
            mask[element] |= there
    return mask


def whole(shape: tuple[int, ...]) -> Paths:
    """Return the paths of an argument to itself."""
    if not shape:
        return everywhere(1)
    return frozenset([AffinePath(shape, tuple([AffinePlace(axis) for axis in range(len(shape))]))])


def differs(x: Any, y: Any) -> Any:
    return ~((x == y) | ((x != x) & (y != y)))


def known_to_be(values: Mapping[Node, Any]) -> Constants:
    return Constants({node: KnownValue(np.asarray(value), frozenset()) for node, value in values.items()})


def check(program: Any, values: Any, position: int, known: Any = None) -> list[Paths]:
    """Move each element of an input, and compare where results move with what it is said to reach."""
    x = np.asarray(values[position])
    found = reach(program, {program.inputs[position]: whole(x.shape)}, x.size, known_to_be(known or {})).outputs
    before = run_floats(program, values)
    masks = [pattern(paths, x.size, np.shape(y)) for paths, y in zip(found, before, strict=True)]
    for element in range(x.size):
        moved = [*values]
        moved[position] = x.copy()
        moved[position].flat[element] += 1e-3
        for y, z, mask in zip(before, run_floats(program, moved), masks, strict=True):
            assert not (differs(np.asarray(y), np.asarray(z)) & ~mask[element]).any(), str(program)
    return found


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", NAMES)
def test_each_op_moves_no_more_than_what_its_elements_reach(name: str) -> None:
    case = CASES[name]
    for seed in range(2):
        trial = Trial(case, case.op, Seeded(f"{name}, {seed}"))
        program = expand(trial.program)
        for position, type in enumerate(program.in_types):
            if type.is_float and type.size > 0 and not case.op.derivative.only_transposed:
                known = {
                    node: value
                    for node, value in zip(program.inputs, trial.values, strict=True)
                    if np.asarray(value).dtype.kind == "i"
                }
                check(program, trial.values, position, known)


def steps(x: Any) -> Any:
    return primad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + np.roll(s[1], 1)), (0, x), max_steps=5)[1]


INDICES = np.array([3, 0, 3, -1, 5])
CELLS = np.array([[0, 1, 2], [2, 3, 1], [4, 5, -2]])
FUNCTIONS = {
    "a grid, cut and merged": (lambda x: np.ravel(np.pad(x.reshape(2, 6), 1)[1:, ::2]), 3),
    "merged and split again": (lambda x: np.ravel((x.reshape(2, 6)[:, 1:] * 2).ravel().reshape(5, 2)[::-1]), 12),
    "shifted and split": (lambda x: np.ravel(np.roll(x, 2).reshape(3, 4) + x[::-1].reshape(3, 4)), 12),
    "split twice": (lambda x: np.ravel(np.sin(x.reshape(3, 4)).reshape(3, 2, 2).transpose(2, 0, 1)), 1),
    "transposed": (lambda x: np.ravel(x.reshape(3, 4).T[1:]), 1),
    "every third": (lambda x: np.pad(x[1::3], 1), 1),
    "repeated": (lambda x: np.repeat(x[::2], 3), 3),
    "tiled": (lambda x: np.tile(x, 2), 2),
    "mixed along an axis": (lambda x: np.ravel(np.cumsum(x.reshape(4, 3), axis=1)), 5),
    "mixed along the other": (lambda x: np.ravel(np.cumsum(x.reshape(4, 3), axis=0)), 12),
    "windows": (lambda x: np.convolve(x, [1.0, 2.0, 3.0], "full"), 3),
    "taken": (lambda x: x[INDICES], 2),
    "taken of shifted": (lambda x: (x[1:] - x[:-1])[INDICES][::-1], 4),
    "cells": (lambda x: np.ravel(x[CELLS] ** 2), 9),
    "added": (lambda x: primad.numpy.add_at(np.zeros(7), INDICES, x[:5])[1:], 2),
    "cells added": (lambda x: primad.numpy.add_at(np.zeros(6), CELLS, x[CELLS] * 2) * 3, 12),
    "a loop": (lambda x: primad.scan(lambda u, _: (u + np.roll(u, 1), u[0]), x, length=3)[0], 12),
    "a loop's rows": (lambda x: np.ravel(primad.scan(lambda c, a: (c * 0.5, a * c), 1.0, x.reshape(4, 3))[1]), 12),
    "steps": (steps, 12),
    "called": (primad.jit(lambda x: np.sin(x)[1:] * x[:-1]), 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chains_of_ops_move_no_more_than_what_their_elements_reach(name: str) -> None:
    """And not so much more that each element would seem to reach all, where it does not."""
    function, most = FUNCTIONS[name]
    x = np.linspace(0.1, 1.0, 12)
    program = primad.trace(function)(x)
    hoisted = expand(program.hoisted())
    values = [x, *program.source_values]
    known = {
        node: np.asarray(value)
        for node, value in zip(hoisted.inputs, values, strict=True)
        if np.asarray(value).dtype.kind == "i" and np.ndim(value)
    }
    (paths,) = check(hoisted, values, 0, known)
    mask = pattern(paths, 12, np.shape(function(x)))
    assert mask.sum(axis=0).max() <= most


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_no_column_that_reaches_a_row_has_the_colour_of_the_wanted_one(data: Any) -> None:
    size = data.draw(st.integers(2, 40))
    count = data.draw(st.integers(1, size))
    start, step = data.draw(st.sampled_from([(0, 1), (count - 1, -1), (size - count, 1)]))
    wanted = Wanted(start, step, count)
    affine = st.builds(
        AffinePlace, st.just(0), st.sampled_from([1, 1, 1, -1, 2]), st.integers(-size, size), st.sampled_from([1, 2])
    )
    lists = st.lists(st.integers(-1, size - 1), min_size=count, max_size=count).map(lambda x: Listed(0, np.array(x)))
    places = data.draw(st.lists(st.one_of(affine, lists), max_size=4))
    paths = frozenset([AffinePath((size,), (place,)) for place in places])
    found = coloring(paths, size, wanted)
    colors = np.arange(size) % found.count if found.listed is None else found.listed
    own = wanted.columns(np.arange(count))
    mask = pattern(paths, size, (count,))
    for row in range(count):
        others = [c for c in np.flatnonzero(mask[:, row]) if c != own[row]]
        assert colors[own[row]] not in colors[others]
    assert found.count <= min(size, MOST_COLORS)


def test_known_indices_are_told_apart_by_their_values_and_not_kept() -> None:
    a, b, c = np.array([1, 2]), np.array([1, 2]), np.array([2, 1])
    first, same, other = (Known({1: x}) for x in (a, b, c))
    assert first == same and hash(first) == hash(same) and first != other
    assert first != Known({0: a}) and first != Known({1: a.reshape(1, 2)}) and list(first.values) == [1]
    del a
    assert first.values == {}

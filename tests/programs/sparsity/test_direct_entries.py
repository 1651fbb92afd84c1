"""Entries of stencils are computed as they are; all others by products, and both are the derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.programs.sparsity.compressed import Compressed, SumsKey
from primad.programs.sparsity.direct import block_programs, entry_sums

RNG = np.random.default_rng(0)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def reaction(x: Any) -> Any:
    u, v = x.reshape(2, 4, 5)
    spread = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
    return np.stack([u * u * v + spread, 3.4 * u - u * u * v]).ravel()


CELLS = RNG.integers(0, 20, size=(30, 3))
"""Of a mesh, or pairs and triples of a graph; an element may be in one twice."""
FRAMES = RNG.normal(size=(30, 2, 2))
SIGHTS = np.stack([RNG.integers(0, 4, size=25), RNG.integers(0, 4, size=25)])


CROWD = RNG.integers(0, 3, size=(200, 2))


def elastic(x: Any) -> Any:
    corners = x.reshape(20, 2)[CELLS]
    F = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2) @ FRAMES
    return np.sum(np.log(1.0 + np.sum(F * F, axis=(1, 2)) + np.linalg.det(F) ** 2))


def springs(x: Any) -> Any:
    ends = x.reshape(-1, 2)
    return np.sum((np.linalg.norm(ends[CELLS[:, 0]] - ends[CELLS[:, 1]], axis=1) - 0.9) ** 2)


def sights(x: Any) -> Any:
    """What cameras of seven numbers see of points of three."""
    camera, point = x[:28].reshape(4, 7)[SIGHTS[0]], x[28:].reshape(4, 3)[SIGHTS[1]]
    turned = np.cross(camera[:, :3], point) + point * np.sin(camera[:, 3:4]) + camera[:, 4:]
    return (turned[:, :2] / (2.0 + turned[:, 2:] ** 2)).ravel()


def flows(x: Any) -> Any:
    """What flows into the nodes of a network along its branches."""
    size, angle = x[:20], x[20:]
    begin, end = CELLS[:, 0], CELLS[:, 1]
    flow = size[begin] * size[end] * np.sin(angle[begin] - angle[end])
    return primad.numpy.bincount(begin, flow, 20) - primad.numpy.bincount(end, flow, 20)


def between(cells: Any) -> Any:
    """What changes from cell to cell: nothing where there is one cell."""
    return np.diff(cells / (1.5 + np.sum(cells**2, axis=1, keepdims=True)), axis=0).ravel()


Case = tuple[Callable[..., Any], Callable[[Any], Any], bool]
CASES: dict[str, Case] = {
    "chain": (primad.hessian, rosenbrock, True),
    "sum of elements": (primad.hessian, lambda x: np.sum(np.sin(x)), True),
    "grid": (primad.jacobian, reaction, True),
    "bands": (primad.jacobian, lambda x: sum(np.sin((k + 2) * np.pad(x, 2)[k : k + len(x)]) for k in range(5)), True),
    "second differences": (primad.jacobian, lambda x: np.diff(np.pad(x, 1), 2) + x**3, True),
    "repeated": (primad.jacobian, lambda x: x[0] * x, True),
    "one row": (primad.jacobian, lambda x: np.sum(x**2), True),
    "reversed": (primad.jacobian, lambda x: 2 * x[::-1], True),
    "itself": (primad.jacobian, lambda x: x, True),
    "chosen": (primad.jacobian, lambda x: np.where(x > 0, x[::-1], x**2), True),
    "at most": (primad.jacobian, lambda x: np.maximum(x[1:], x[:-1]), True),
    "quotient": (primad.jacobian, lambda x: x[1:] / x[:-1] / 3, True),
    "strides": (primad.jacobian, lambda x: x[::2] * x[1::2] + np.repeat(x[:2], 10), True),
    "subtracted": (primad.jacobian, lambda x: np.pad(x[1:] ** 2, 1)[1:] - np.pad(np.sin(x[1:]), 1)[:-1], True),
    "scaled behind a move": (primad.jacobian, lambda x: (lambda y: y[1:] + y[1:] - y[:-1])(x**2), True),
    "added in rows": (primad.jacobian, lambda x: np.sum(np.stack([x[1:] ** 2, x[:-1]]), axis=0), True),
    "cancelled": (primad.jacobian, lambda x: (lambda y: y[1:] - y[:-1])(x**2) + 0 * x[1:], True),
    "points": (primad.jacobian, lambda x: np.linalg.norm(x.reshape(-1, 4), axis=1), True),
    "sum over everything": (primad.jacobian, lambda x: x - np.mean(x), False),
    "cumulative": (primad.jacobian, lambda x: np.cumsum(x) * x, False),
    "cells": (primad.jacobian, lambda x: np.prod(x[np.arange(12).reshape(3, 4)], axis=1), True),
    "moved between": (primad.jacobian, lambda x: np.sin(np.roll(np.cos(x), 1))[::-1], True),
    "cells of a mesh": (primad.hessian, elastic, True),
    "cells of a mesh, residuals": (primad.jacobian, lambda x: np.tanh(x[CELLS] @ FRAMES[0].ravel()[:3]), True),
    "springs": (primad.hessian, springs, True),
    "sights": (primad.jacobian, sights, True),
    "squares of sights": (primad.hessian, lambda x: np.sum(sights(x) ** 2), True),
    "flows": (primad.jacobian, flows, True),
    "masked behind a move": (primad.jacobian, lambda x: np.where(x > 0, (x**2)[::-1], 0.0) * np.cos(x), True),
    "added behind two factors": (primad.jacobian, lambda x: np.exp(x) * (x**2)[::-1] - x * (x**2)[::-1], True),
    "scaled before it is taken": (primad.hessian, lambda x: np.sum(np.prod((0.1 * x + 1.0)[CELLS], axis=1)), True),
    "computed before it is taken": (primad.jacobian, lambda x: np.prod(np.sin(x)[CELLS], axis=1), True),
    "computed before it is padded": (primad.jacobian, lambda x: (lambda y: y[2:] * y[:-2])(np.pad(np.exp(x), 1)), True),
    "one cell less one": (primad.jacobian, lambda x: between(x[CELLS[:1]]), False),
    "one cell less one, and others": (
        primad.jacobian,
        lambda x: np.concatenate([between(x[CELLS[:1]]), np.prod(x[CELLS], axis=1)]),
        True,
    ),
    "all pairs": (primad.hessian, lambda x: np.sum(np.sin(x[:, None] - x)), False),
    "cells that all meet": (primad.hessian, lambda x: np.sum(np.prod(x[CROWD], axis=1)), False),
    "nothing": (primad.jacobian, lambda x: np.ones(5), False),
    "single precision between": (primad.hessian, lambda x: np.sum((x.astype(np.float32) ** 3)[CELLS] * 1.0), False),
    "complex numbers between": (primad.jacobian, lambda x: np.real(np.exp(1j * x)[CELLS[:, 0]] * (1 + 2j)), False),
    "single precision": (primad.jacobian, lambda x: (x[1:] * x[:-1]).astype(np.float32), False),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CASES)
def test_entries_are_the_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, f, direct = CASES[name]
    counted: list[bool] = []
    fill = Compressed._fill

    def counting(key: Any, *rest: Any) -> None:
        counted.append(isinstance(key, SumsKey))
        fill(key, *rest)

    monkeypatch.setattr(Compressed, "_fill", staticmethod(counting))
    x, y = RNG.normal(size=(2, 40)) + 0.1
    kept = of(f)(x).sparse()
    for at, formats in ((x, ("csr", "csc", "coo")), (y, ("csr",))):
        lazy = of(f)(at)
        expected = np.asarray(lazy).reshape(kept.shape)
        for format in formats:
            np.testing.assert_allclose(lazy.sparse(format).toarray(), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(lazy.sparse(out=kept).toarray(), expected, rtol=1e-6, atol=1e-9)
        recorded = primad.jit(lambda x: of(f)(x).sparse())(at)
        np.testing.assert_allclose(recorded.toarray(), expected, rtol=1e-6, atol=1e-9)
    assert any(counted) == direct


@pytest.mark.parametrize(
    ("f", "points"),
    [
        (lambda x: np.sin(x), 40),
        (lambda x: np.linalg.norm(x.reshape(-1, 4), axis=1), 10),
        (sights, 25),
        (lambda x: x[1:] * x[:-1], 39),
        (lambda x: np.sin(x)[::-1], 0),
        (lambda x: np.prod(x[CELLS], axis=1), 0),  # an element may be in a cell twice
    ],
)
def test_rows_of_points_have_no_list_of_places(f: Callable[[Any], Any], points: int) -> None:
    x = RNG.normal(size=40)
    J = primad.jacobian(f)(x)
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-12, atol=1e-12)
    form: Any = J._form
    sums = form._found.sums("csr")
    assert (sums.rows.points if sums.rows else 0) == points
    assert len(sums.lists) == (0 if points else len(sums.places))


@pytest.mark.parametrize("seed", range(40))
def test_elements_of_blocks_point_by_point(seed: int) -> None:
    """Any elements of any blocks that are the same at each point are recognised; what is read is what was listed."""
    rng = np.random.default_rng(seed)
    points = int(rng.integers(2, 6))
    shapes = [(int(rng.integers(1, 4)), points, int(rng.integers(1, 4))) for _ in range(int(rng.integers(1, 4)))]
    sizes = [int(np.prod(shape)) for shape in shapes]
    blocks = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    apart = [block.reshape(shape) for block, shape in zip(blocks, shapes, strict=True)]
    columns = np.concatenate([x.transpose(1, 0, 2).reshape(points, -1) for x in apart], axis=1)
    chosen = rng.integers(0, columns.shape[1], size=int(rng.integers(1, 9)))
    places = columns[:, chosen if seed % 4 else slice(None)].ravel()

    def read(rows: entry_sums.PointRows) -> Any:
        parts = [blocks[run.block].reshape(-1, rows.points, run.elements) for run in rows.runs]
        kept = [slice(run.part, run.part + rows.parts) for run in rows.runs]
        own = [x[k, :, run.start : run.stop] for x, k, run in zip(parts, kept, rows.runs, strict=True)]
        return np.concatenate(own, axis=2).transpose(1, 0, 2).ravel()

    found = entry_sums._rows(places, shapes)
    assert found is not None
    np.testing.assert_array_equal(read(found), places)
    other = rng.permutation(places)
    found = entry_sums._rows(other, shapes)
    assert found is None or np.array_equal(read(found), other)
    assert entry_sums._rows(np.append(places, sum(sizes)), shapes) is None  # the 0 that stands behind all blocks


def drawn(rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return a random function of moves, pointwise ops and sums, in any order."""
    steps = rng.integers(0, 9, size=5)
    numbers = rng.integers(1, 4, size=5)

    def function(x: Any) -> Any:
        for step, k in zip(steps.tolist(), numbers.tolist(), strict=True):
            x = [
                lambda x, k: x[k:] * x[:-k],
                lambda x, k: np.roll(x, k) - 0.5 * x,
                lambda x, k: np.pad(x, k),
                lambda x, k: np.sin(x),
                lambda x, k: np.diff(x),
                lambda x, k: np.concatenate([x[k:] ** 2, -x[:k]]),
                lambda x, k: x[::-1] / (2.0 + x * x),
                lambda x, k: np.where(x > 0.1, x, np.roll(x, -k)),
                lambda x, k: np.sum(np.stack([x, x[::-1]]), axis=0),
            ][step](x, k)
        return x

    return function


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_random_stencils(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, x = drawn(rng), rng.normal(size=17)
    np.testing.assert_allclose(primad.jacobian(f)(x).sparse().toarray(), primad.jacfwd(f)(x), rtol=1e-9, atol=1e-11)
    H = primad.hessian(lambda x: np.sum(f(x) ** 2))(x)
    np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-9, atol=1e-9)


def test_infinite_factors_stay_where_they_are() -> None:
    """An entry that is not finite reaches no other one, since nothing is multiplied by 0."""
    x = np.array([1.0, 0.0, 4.0, 9.0])
    with np.errstate(all="ignore"):
        found = primad.jacobian(lambda x: np.sqrt(x[1:]) + x[:-1])(x).sparse().toarray()
    assert np.isinf(found[0, 1]) and np.isfinite(np.delete(found.ravel(), 1)).all()


def test_two_threads_that_ask_first_get_the_same_blocks() -> None:
    J = primad.jacobian(lambda x: np.sin(x[1:] * x[:-1]))(np.arange(9.0))
    J.sparse()
    form: Any = J._form
    found = form._found
    late = type(found).blocks.func(found)  # as a thread does that found nothing kept, and was overtaken
    assert late is not None and late is found.blocks


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [20, 40, 81])
def test_products_of_many_pieces_are_looked_at_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of blocks for each of the pieces, which are far too many, would take the square of their number."""
    made: list[None] = []
    looked_at = block_programs.Dimensions

    def counted(program: Any) -> Any:
        made.append(None)
        return looked_at(program)

    monkeypatch.setattr(block_programs, "Dimensions", counted)
    x = np.linspace(0.5, 1.5, 5 * count)
    hessian = primad.hessian(lambda x: sum([np.prod(piece) for piece in np.array_split(x, count)]))(x)
    np.testing.assert_allclose(hessian.sparse().toarray(), np.asarray(hessian[:, :]), rtol=1e-12)
    assert len(made) <= 2 * block_programs.MOST_BLOCKS

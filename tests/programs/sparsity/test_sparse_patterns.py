"""Entries that are said to be zero are zero, few others are said not to be, and colours keep apart what meets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap
from primad.ops.record.kinds import multilinear
from primad.programs.jacobians import diagonals
from primad.programs.sparsity import compressed, dependence, kept_entries, labels
from primad.programs.sparsity.coloring.colored_products import colored_products
from primad.programs.sparsity.constants import Constants, KnownValue
from primad.programs.sparsity.dependence import follow
from primad.programs.sparsity.found_entries import Found
from primad.programs.sparsity.labels import Labels, Sets, listed, own
from primad.programs.sparsity.listed_places import Known, Listed
from primad.recording.tracing import program_of
from primad.transforms.lowering import lower
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial, run_floats
from tests.cases import CASES, NAMES
from tests.numpy.test_numpy_surface import CASES as NUMPY


def differs(x: Any, y: Any) -> Any:
    return ~((x == y) | ((x != x) & (y != y)))


def masks_of(program: Any, values: Any, position: int, kinds: str = "iub") -> list[Any]:
    """Return for each output which of its elements are said to be reached by which; values of some kinds are known."""
    node = program.inputs[position]
    integers = {
        x: KnownValue(np.asarray(value), frozenset())
        for x, value in zip(program.inputs, values, strict=True)
        if np.asarray(value).dtype.kind in kinds and x is not node
    }
    size = node.type.size
    found = follow(program, {node: own(node.type.shape)}, Constants(integers), size)
    masks = []
    for reached, y in zip(found, program.outputs, strict=True):
        entries = listed(reached, y.type.size, size)
        assert entries is not None
        mask = np.zeros((y.type.size, size), bool)
        mask[np.repeat(np.arange(y.type.size), np.diff(entries[0])), entries[1]] = True
        masks.append(mask)
    return masks


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", NAMES)
def test_each_op_moves_no_more_than_what_its_elements_reach(name: str) -> None:
    case = CASES[name]
    trial = Trial(case, case.op, Seeded(f"{name}, labels"))
    program = lower(trial.program)
    for position, type in enumerate(program.in_types):
        if type.is_float and type.size > 0 and not case.op.derivative.only_transposed:
            masks = masks_of(program, trial.values, position)
            before = run_floats(program, trial.values)
            for element in range(type.size):
                moved = [*trial.values]
                moved[position] = np.array(trial.values[position])
                moved[position].flat[element] += 1e-3
                for y, z, mask in zip(before, run_floats(program, moved), masks, strict=True):
                    assert not (differs(np.ravel(y), np.ravel(z)) & ~mask[:, element]).any(), str(program)


INDICES = np.array([3, 0, 3, -1, 5])
CELLS = np.array([[0, 1, 2], [2, 3, 1], [4, 5, -2]])
BANDED = np.diag(np.arange(1.0, 13)) + np.diag(np.ones(11), 1) - np.diag(np.ones(9), -3)
SYMMETRIC = BANDED + BANDED.T
WHERE = np.arange(12) % 3 == 0


def until(x: Any) -> Any:
    return primad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * s[1]), (0, x), max_steps=5)[1]


def loop(x: Any) -> Any:
    return primad.scan(lambda u, _: (u * u + np.roll(u, 1), u[0]), x, length=2)[0]


TIGHT: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: np.sin(x) * x,
    "a stencil": lambda x: x[2:] * x[:-2] - x[1:-1] ** 2,
    "a periodic grid": lambda x: np.roll(x.reshape(3, 4), 1, 0) * x.reshape(3, 4) + np.roll(x.reshape(3, 4), -1, 1),
    "padded": lambda x: np.pad(x[::2], 2) ** 2,
    "joined, turned and split": lambda x: np.concatenate([x[6:][::-1], x[:3] ** 2]).reshape(3, 3).T[1:],
    "a dense row and column": lambda x: np.concatenate([np.sum(x**2, keepdims=True), x[1:] * x[0]]),
    "a row": lambda x: np.sum(x[::2] ** 2, keepdims=True),
    "a column": lambda x: np.exp(x[3]) * np.arange(1.0, 8.0),
    "nothing": lambda x: np.arange(5.0) + 0 * np.sum(x),
    "no rows": lambda x: x[:0] ** 2,
    "one number": lambda x: x[4] * x[7],
    "blocks": lambda x: np.tanh(x.reshape(4, 3) @ np.arange(1.0, 7.0).reshape(3, 2)),
    "batches of matrices": lambda x: np.linalg.solve(x[:8].reshape(2, 2, 2) + 3 * np.eye(2), x[8:].reshape(2, 2, 1)),
    "taken": lambda x: x[INDICES] ** 2,
    "cells": lambda x: np.prod(x[CELLS], axis=1),
    "cells added": lambda x: pnp.add_at(np.zeros(7), CELLS, x[CELLS] ** 2),
    "chosen": lambda x: np.where(WHERE, x**2, x[::-1]),
    "zeros of a vector": lambda x: x**2 * WHERE,
    "a banded matrix": lambda x: np.sin(BANDED @ x),
    "a banded matrix on both sides": lambda x: (BANDED[:4, :4] @ (x.reshape(4, 3) ** 2)) @ BANDED[:3, :3].T,
    "windows": lambda x: np.convolve(x**2, [1.0, 2.0, 3.0], "full"),
    "a loop": loop,
    "a loop's rows": lambda x: primad.scan(lambda c, a: (c * a, c), 1.0, x)[1],
    "a loop's rows from the end": lambda x: primad.scan(lambda c, a: (c * a, c), 1.0, x, reverse=True)[1],
    "until": until,
    "called": primad.jit(lambda x: np.sin(x)[1:] * x[:-1]),
    "no derivative": lambda x: np.floor(x) + np.sum(np.sign(x)),
}
SCALARS: dict[str, Callable[..., Any]] = {
    "Rosenbrock": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "an elementwise sum": lambda x: np.sum(np.sin(x)),
    "linear": lambda x: np.sum(3 * x),
    "an arrow": lambda x: x[0] * np.sum(x**2),
    "dense": lambda x: np.sum(np.sin(x)) ** 2,
    "points": lambda x: np.sum(np.prod(x.reshape(4, 3), axis=1)),
    "a banded form": lambda x: x @ SYMMETRIC @ x,
    "partly used": lambda x: x[3] ** 2 * x[9],
    "pairs": lambda x: np.sum(x[INDICES] ** 2 * x[CELLS[:, 0]].sum() * 0 + x[INDICES] ** 3),
    "a loop": lambda x: np.sum(loop(x)),
}
X = np.linspace(0.5, 1.6, 12)


def drawn_points() -> list[Any]:
    rng = np.random.default_rng(0)
    return [X, *rng.uniform(0.3, 2.0, (2, 12))]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TIGHT)
def test_the_entries_of_a_jacobian_are_those_that_are_not_zero(name: str) -> None:
    numbers = 0
    for x in drawn_points():
        J = primad.jacobian(TIGHT[name])(x)
        dense = np.asarray(J).reshape(-1, 12)
        numbers = (dense != 0) | numbers
        np.testing.assert_allclose(J.sparse().toarray(), dense, rtol=1e-12, atol=1e-14)
        assert J.pattern().dtype == bool
    np.testing.assert_array_equal(J.pattern().toarray(), numbers)


@pytest.mark.parametrize("name", SCALARS)
def test_the_entries_of_a_hessian_are_those_that_are_not_zero(name: str) -> None:
    numbers = 0
    for x in drawn_points():
        H = primad.hessian(SCALARS[name])(x)
        numbers = (np.asarray(H) != 0) | numbers
        np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(H.pattern().toarray(), numbers)


def pieces() -> list[Callable[..., Any]]:
    """Functions from twelve numbers to twelve, of which chains are made."""
    return [
        *[lambda x, f=f: np.resize(np.ravel(f(x)), 12) for f in (TIGHT["a stencil"], TIGHT["cells added"])],
        *[lambda x, f=TIGHT[name]: f(x).reshape(12) for name in ("a periodic grid", "a dense row and column")],
        TIGHT["a loop"],
        *[TIGHT[name] for name in ("elementwise", "chosen", "a banded matrix", "until", "a loop's rows")],
        lambda x: np.cumsum(x.reshape(3, 4), axis=0).ravel(),
        lambda x: np.sort(x)[::-1],
        lambda x: x / np.sum(x),
        lambda x: np.max(x.reshape(6, 2), axis=1)[np.arange(12) // 2],
        lambda x: np.repeat(np.linalg.norm(x.reshape(4, 3), axis=1), 3),
    ]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(6))
def test_chains_of_functions_have_no_other_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [pieces()[i] for i in rng.integers(0, len(pieces()), 3)]

    def chain(x: Any) -> Any:
        for function in chosen:
            x = np.tanh(function(x)) + 0.1 * x
        return x

    J = primad.jacobian(chain)(X)
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-10, atol=1e-13)
    H = primad.hessian(lambda x: np.sum(chain(x) ** 2))(X)
    np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-8, atol=1e-11)


def is_float(found: Any) -> bool:
    return isinstance(found, (np.ndarray, np.floating)) and found.dtype.kind == "f"


SOME = [(name, *case) for name in list(NUMPY)[::8] for case in NUMPY[name] if is_float(case[0](np, *case[1]))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("name", "function", "args"), SOME, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(SOME)])
def test_functions_of_numpy_have_no_other_entries(name: str, function: Any, args: Any) -> None:
    for position, x in enumerate(args):
        if np.asarray(x).dtype.kind != "f" or not np.size(x):
            continue
        J = primad.jacobian(lambda x, i=position: function(np, *args[:i], x, *args[i + 1 :]))(np.asarray(x))
        np.testing.assert_allclose(J.sparse().toarray().ravel(), np.ravel(J), rtol=1e-9, atol=1e-11)


def test_entries_depend_on_what_known_arrays_hold() -> None:
    def taken(x: Any, indices: Any) -> Any:
        return x[indices] ** 2

    for indices in (np.array([0, 1, 2]), np.array([3, 3, 1]), np.array([0, 1, 2])):
        for function in (lambda x, i=indices: taken(x, i), lambda x, i=indices: np.eye(4)[i] @ x**2):
            J = primad.jacobian(function)(X[:4])
            np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J))
        J = primad.jacobian(taken)(X[:4], indices)
        np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J))


def test_zeros_count_whichever_array_was_captured_first() -> None:
    """Arrays without zeros, and other arrays with the same ones, find what was found before."""

    def count(f: Any, *arrays: Any) -> list[int]:
        return [primad.jacobian(lambda x, a=a: f(x, a))(X).pattern().nnz for a in arrays]

    ones, some = np.ones(12), np.arange(12.0) % 3
    for f in (lambda x, a: a * np.roll(x, 1) ** 2, lambda x, a: x * (2 * a)[::-1]):
        assert count(f, ones, some, 0 * ones, -some, 2 * ones) == [12, 8, 0, 8, 12]
    assert count(lambda x, a: np.where(a > 0, x, 0.0), ones, some, -ones) == [12, 8, 0]
    assert count(lambda x, a: np.sin(a @ x), np.ones((12, 12)), np.eye(12), np.tri(12)) == [144, 12, 78]
    assert count(lambda x, a: x / a, ones, np.where(some > 0, 1.0, np.inf)) == [12, 12]  # holds, if not tightly


def test_entries_are_found_again_where_zeros_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(a: Any) -> Any:
        return primad.jacobian(lambda x: a * np.roll(x, 1) ** 2 + np.cos(x)[::-1])(X).sparse().nnz

    kept = [entries(a) for a in (np.ones(12), np.arange(12.0) % 3)]
    monkeypatch.setattr(kept_entries, "follow", None)
    assert [entries(a) for a in (3 + X, -2.0 * (np.arange(12) % 3))] == kept


@pytest.mark.parametrize("large", [False, True])
def test_arrays_that_change_in_place_have_other_entries(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are compared with a copy, large ones by a digest; NaN is no zero, and like itself."""
    n = 5000 if large else 12
    found, own = [], kept_entries.follow
    monkeypatch.setattr(kept_entries, "follow", lambda *args: found.append(0) or own(*args))
    index, scale = np.zeros(n, np.int64), np.ones(n)
    scale[1], x = np.nan, np.linspace(1.0, 2.0, 8)

    def entries() -> Any:
        return primad.jacobian(lambda x: np.append(np.sum(x[index]), (x[index] * scale)[3]))(x).pattern().toarray()

    first = entries()
    assert (entries() == first).all()
    assert len(found) == 1
    for change in (lambda: index.__setitem__(3, 7), lambda: scale.__setitem__(3, 0.0)):
        change()
        assert (entries() != first).any()
    assert len(found) == 3


def test_a_number_that_is_zero_by_chance_is_an_entry() -> None:
    def product(x: Any, factors: Any) -> Any:
        return x**2 * factors

    J = primad.jacobian(product)(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert J.pattern().nnz == J.sparse().nnz == 2
    np.testing.assert_array_equal(primad.jacobian(product)(np.ones(2), np.ones(2)).sparse().data, [2.0, 2.0])


def test_symmetry_is_not_used_where_a_rule_of_the_users_need_not_have_it() -> None:
    @primad.custom_vjp
    def odd(x: Any) -> Any:
        return x

    odd.defvjp(lambda x: (x, x), lambda x, ct: (ct * np.roll(x, 1),))
    H = primad.hessian(lambda x: np.sum(odd(x)))(X)
    np.testing.assert_array_equal(H.sparse().toarray(), np.asarray(H))


def test_what_has_a_pullback_only_is_pulled_back() -> None:
    @primad.custom_vjp
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))

    def rows(x: Any) -> Any:
        return primad.scan(lambda c, a: (c * a, c), 1.0, sine(x))[1][:7]

    J = primad.jacobian(rows)(X)
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-12)
    np.testing.assert_array_equal(J.pattern().toarray(), np.asarray(J) != 0)
    assert J.coloring().directions == 6 and (J.coloring().columns < 0).all()
    H = primad.hessian(lambda x: np.sum(rows(x) ** 2))(X)
    np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "x", "holomorphic"),
    [
        (lambda z: np.abs(z) ** 2 * np.real(np.roll(z, 1)), X[:4] + 1j * X[4:8], False),
        (lambda z: np.sum(np.abs(z), keepdims=True), X[:4] + 1j * X[4:8], False),
        (lambda x: np.exp(1j * x) * np.roll(x, 1), X[:4], False),
        (lambda x: np.sum(np.exp(1j * x) * x, keepdims=True), X[:4], False),
        (lambda z: z**2 * np.roll(z, 1), X[:4] + 1j * X[4:8], True),
        (lambda z: np.prod(z, keepdims=True), X[:4] + 1j * X[4:8], True),
    ],
)
def test_complex_jacobians_are_those_of_the_whole_matrix(function: Any, x: Any, holomorphic: bool) -> None:
    J = primad.jacobian(function, holomorphic=holomorphic)(x)
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-12, atol=1e-14)
    assert J.sparse().dtype == np.complex128


def test_formats_shapes_and_dtypes() -> None:
    J = primad.jacobian(lambda x: x.reshape(3, 4)[:, 1:] ** 2)(X.astype(np.float32))
    dense = np.asarray(J).reshape(9, 12)
    for format in ("csr", "csc", "coo", "dia", "bsr"):
        found = J.sparse(format)
        assert found.format == format and found.dtype == np.float32
        np.testing.assert_array_equal(found.toarray(), dense)
    np.testing.assert_array_equal(J.reshape(9, 12).sparse().toarray(), dense)
    np.testing.assert_array_equal(J.reshape(9, 12).T.sparse().toarray(), dense.T)
    np.testing.assert_array_equal(J.reshape(9, 12).T.pattern().toarray(), dense.T != 0)
    with pytest.raises(primad.ShapeError, match="csr, csc"):
        J.sparse("lil")
    with pytest.raises(primad.ShapeError, match="two axes"):
        J.T.sparse()
    several = primad.hessian(lambda x: np.stack([x[0] * x[1], x[1] ** 3]))(X[:3])
    np.testing.assert_array_equal(several.sparse().toarray(), np.asarray(several).reshape(6, 3))
    found = J.sparse()
    found.indices[:] = 0  # what is given does not change what is kept
    np.testing.assert_array_equal(J.sparse().toarray(), dense)


def test_a_matrix_too_large_for_a_list_is_refused() -> None:
    x = np.ones(10**5)
    with pytest.raises(primad.MemoryLimitError, match="more than"):
        primad.hessian(lambda x: np.sum(x) ** 2)(x).sparse()


@pytest.mark.parametrize(
    ("name", "most"),
    [("an elementwise sum", 1), ("Rosenbrock", 3), ("an arrow", 2), ("points", 3), ("linear", 0), ("partly used", 2)],
)
def test_hessians_take_few_directions(name: str, most: int) -> None:
    assert primad.hessian(SCALARS[name])(X).coloring().directions <= most


def test_jacobians_take_few_directions() -> None:
    counts = {name: primad.jacobian(function)(X).coloring().directions for name, function in TIGHT.items()}
    few = {"elementwise": 1, "a stencil": 3, "a dense row and column": 3, "a row": 1, "a column": 1, "nothing": 0}
    assert {name: counts[name] for name in few} == few
    coloring = primad.jacobian(TIGHT["a dense row and column"])(X).coloring()
    assert (coloring.rows >= 0).sum() == 1 and (coloring.columns >= 0).all()


def test_loops_that_go_back_keep_their_rows_in_order() -> None:
    H = primad.hessian(lambda x: np.sum((np.tanh(TIGHT["a loop's rows"](x)) + 0.1 * x) ** 3))(X)
    np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-12, atol=1e-14)


def test_long_loops_settle_or_are_taken_to_reach_everything() -> None:
    def decay(x: Any) -> Any:
        return primad.scan(lambda u, _: (u * u * 0.5, u[:2]), x, length=5000)[0]

    def spread(x: Any) -> Any:
        return primad.scan(lambda u, _: (u + 0.1 * np.roll(u, 1) * u, None), x, length=5000)[0]

    assert primad.jacobian(decay)(X).pattern().nnz == 12
    assert primad.jacobian(spread)(X).pattern().nnz == 144


def test_lists_that_are_the_same() -> None:
    """By their elements, and the axis or the input that they are of; not by what else there is."""
    numbers, others = np.array([3, 1, 2], np.int32), np.array([3, 1, 0], np.int32)
    listed = Listed("i", numbers)
    assert listed == Listed("i", numbers.copy()) and listed.along("j") != listed
    known = Known({0: numbers})
    assert known == Known({0: numbers.copy()})
    for other in (Listed("i", others), Listed("j", numbers), "i", None, known):
        assert listed != other
    for other in (Known({0: others}), Known({1: numbers}), "i", None, listed):
        assert known != other
    starts, counts = np.array([0, 2]), np.array([2, 1])
    sets = Sets(starts, counts, numbers)
    assert sets.same(sets) and sets.same(Sets(starts.copy(), counts.copy(), numbers.copy()))
    for other in (
        None,
        Sets(starts, counts, others),
        Sets(starts - starts, counts, numbers),
        Sets(starts, counts // counts, numbers),
    ):
        assert not sets.same(other)


def test_loops_settle_when_nothing_new_is_reached_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reaches the first element comes to the next ones step by step, with as many arrays of labels."""

    def shifted(x: Any) -> Any:
        return primad.scan(lambda u, _: (np.concatenate([x[:1], u[:-1]]), None), np.zeros(4), length=5)[0]

    monkeypatch.setattr(dependence, "MOST_STEPPED", 0)
    traced = primad.trace(shifted)(X)
    (mask,) = masks_of(lower(traced.hoisted()), [X, *traced.source_values], 0)
    np.testing.assert_array_equal(mask, np.arange(12) * np.ones((4, 1)) == 0)


def test_limits_are_the_most_that_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of twelve steps is followed if its ops, a multiple of that, are as many as the limit."""

    def counts(name: str, module: Any, limit: int) -> int:
        monkeypatch.setattr(module, name, limit)
        return int(masks_of(program, values, 0, "iubf")[0].sum())

    program, values = lower(primad.trace(TIGHT["a loop's rows"])(X).hoisted()), [X]
    whole = counts("MOST_STEPPED", dependence, 10**6)
    least = next(limit for limit in range(1000) if counts("MOST_STEPPED", dependence, limit) == whole)
    assert least >= 24 and least % 12 == 0
    traced = primad.trace(lambda x: BANDED @ x)(X)
    program, values = lower(traced.hoisted()), [X, *traced.source_values]
    entries = np.count_nonzero(BANDED)
    assert [counts("MOST_ENTRIES", dependence, entries - i) for i in (0, 1)] == [entries, 144]
    two = Labels(np.ones(3, np.int32), Sets(np.array([0]), np.array([2]), np.arange(2, dtype=np.int32)))
    for reached, number in ((own((3,)), 3), ((two,), 6), ((*own((3,)), two), 9)):
        for limit, some in ((number, True), (number - 1, False)):
            monkeypatch.setattr(labels, "MOST_ENTRIES", limit)
            assert (listed(reached, 3, 3) is not None) == some


def nothing(*args: Any) -> Any:
    raise AssertionError


triple = multilinear("triple", numpy=lambda x, y, z: x * y * z, infer=lambda x, y, z: x, transpose=[nothing] * 3)
quadruple = multilinear(
    "quadruple", numpy=lambda x, y, z: np.einsum("ij,jk,kl->il", x, y, z), transpose=[nothing] * 3,
    infer=lambda x, y, z: ArrayType((x.shape[0], z.shape[1]), x.dtype),
    axes=lambda x, y, z: AxisMap(((0, 1), (1, 2), (2, 3)), ((0, 3),)),
)  # fmt: skip
circular = multilinear(
    "circular", numpy=lambda x, y: np.fft.ifft(np.fft.fft(x) * np.fft.fft(y)).real, infer=lambda x, y: x,
    transpose=[nothing] * 2, axes=lambda x, y: AxisMap((("i", None), ("i", None)), (("i", None),)),
)  # fmt: skip


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("op", [triple, quadruple, circular], ids=lambda op: op.name)
def test_products_of_several_operands_are_zero_where_known_ones_are(op: Any, position: int) -> None:
    """Known numbers are arrays, and one number everywhere; some ops have axes without a name."""
    square, two = np.array([[1.0, 0, 2], [0, 0, 0], [3, 0, 0]]), np.broadcast_to(2.0, (3, 3))
    count = 2 if op is circular else 3
    values = [two, square, two][:count]
    if position >= count:
        return
    x = np.random.default_rng(0).uniform(1.0, 2.0, (3, 3))
    values[position] = x
    program = program_of([ArrayType((3, 3), x.dtype)] * count, lambda *xs: [op(*xs)])
    (mask,) = masks_of(program, values, position, "f")
    before = np.ravel(op.numpy(*values))
    for element in range(9):
        moved = [*values]
        moved[position] = x + (np.arange(9) == element).reshape(3, 3)
        there = np.abs(np.ravel(op.numpy(*moved)) - before) > 1e-9
        assert (mask[:, element] >= there).all()
        assert op is circular or (mask[:, element] == there).all()


def chosen(x: Any) -> Any:
    return np.where(np.real(x) > 0.6, x, 2 * x)


def powers(x: Any) -> Any:
    return primad.scan(lambda c, a: (c * a, c), 0 * x[0] + 1, x)[1][:7]


def test_pullbacks_alone() -> None:
    """Rows are pulled back where there are no columns, at a point too, but not where columns are needed."""

    @primad.custom_vjp
    def square(z: Any) -> Any:
        return z * z

    @primad.custom_vjp
    def turned(x: Any) -> Any:
        return x * 1j

    square.defvjp(lambda z: (z * z, z), lambda z, ct: (ct * 2 * z,))
    turned.defvjp(lambda x: (x * 1j, None), lambda _, ct: (np.real(ct * 1j),))
    for x, local in itertools.product((X, X + 1j), (False, True)):
        J = primad.jacobian(lambda x: powers(square(chosen(x))), holomorphic=np.iscomplexobj(x))(x)
        np.testing.assert_allclose(J.sparse(local=local).toarray(), np.asarray(J), rtol=1e-12)
        assert (J.coloring(local=local).columns < 0).all()
    with pytest.raises(primad.NotDifferentiableError):
        primad.jacobian(lambda x: powers(turned(x)))(X).sparse()


def test_rules_that_choose_by_the_direction_are_pushed_only() -> None:
    @primad.custom_jvp
    def square(x: Any) -> Any:
        return x * x

    square.defjvp(lambda x, t: (x[0] ** 2, np.where(t[0] == 0, 0, 2 * x[0] * t[0])))
    for local in (False, True):
        J = primad.jacobian(lambda x: square(chosen(x)))(X)
        np.testing.assert_allclose(J.sparse(local=local).toarray(), np.diag(2 * chosen(X) * np.where(X > 0.6, 1, 2)))


@pytest.mark.parametrize("block", [1, 2, 3])
def test_directions_that_do_not_fit_into_memory_together(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five are taken in blocks, of which the last one is not full."""
    blocks = []

    def products(along: Any, count: int) -> Any:
        blocks.append(count)
        return colored_products(along, count)

    monkeypatch.setattr(diagonals, "BLOCK_BYTES", block * X.nbytes)
    monkeypatch.setattr(compressed, "colored_products", products)
    monkeypatch.setattr(compressed, "read_products", nothing)  # by which all are taken together

    def f(x: Any) -> Any:
        y = np.pad(x, 2)
        return np.sin(block * y[2:-2]) * y[4:] * y[:-4] + y[1:-3] * y[3:-1]

    J = primad.jacobian(f)(X)
    assert J.coloring().directions == 5
    for format in ("csr", "csc"):
        np.testing.assert_allclose(J.sparse(format).toarray(), np.asarray(J), rtol=1e-12, atol=1e-14)
    recorded = primad.jit(lambda x: primad.jacobian(f)(x).sparse())(X)
    np.testing.assert_allclose(recorded.toarray(), np.asarray(J), rtol=1e-12, atol=1e-14)
    H = primad.hessian(lambda x: np.sum(f(x) ** 2))(X)
    np.testing.assert_allclose(H.sparse(substitution=True).toarray(), np.asarray(H), rtol=1e-10, atol=1e-12)
    assert set(blocks) == {block}


def test_indices_are_as_long_as_the_matrix_takes() -> None:
    for columns, dtype in ((2**31 - 1, np.int32), (2**31, np.int64)):
        found = Found((np.array([0, 1]), np.array([7]), (1, columns)), False, "", lambda: (1.0, 1.0))
        assert [x.dtype for x in found.indices("csr")] == [dtype, dtype]

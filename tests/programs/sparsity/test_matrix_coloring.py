"""Colours keep apart what meets, however they were made, and are as few as those of the literature."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
from primad.native.loops import acyclic_coloring, graph_coloring, graph_orders
from primad.programs.jacobians import diagonals
from primad.programs.sparsity.coloring import coloring_orders, matrix_coloring
from primad.programs.sparsity.coloring.bicoloring import bicolored
from primad.programs.sparsity.coloring.entries import Entries, Reading
from primad.programs.sparsity.coloring.grid_coloring import grid_colors
from primad.programs.sparsity.coloring.matrix_coloring import sweeps
from primad.programs.sparsity.coloring.substitution import Substitution
from primad.programs.sparsity.direct import block_programs
from tests.benchmarks.sparse.functions import brusselator

ORDERS = (graph_orders.smallest_last, graph_orders.incidence_degree, graph_orders.largest_first)


def drawn_matrix(seed: int, symmetric: bool) -> Any:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 12, 2)
    m = n if symmetric else m
    matrix = rng.random((m, n)) < rng.choice([0.0, 0.1, 0.3, 0.9])
    if seed % 3 == 0:
        matrix[rng.integers(m)] = True
    if seed % 4 == 0:
        matrix[:, rng.integers(n)] = True
    return matrix | matrix.T if symmetric else matrix


def entries_of(matrix: Any) -> Entries:
    found = sparse.csr_array(matrix)
    found.sort_indices()
    return Entries(found.shape, found.indptr.astype(np.int64), found.indices, np.arange(found.nnz))


def check_alone(matrix: Any, found: Any, symmetric: bool = False) -> None:
    """Raise unless each entry stands alone in a product where it is read, whatever made the colours."""
    matrix = sparse.csr_array(matrix).toarray() != 0
    rows, columns = np.nonzero(matrix)
    seen = set()
    for sweep in found:
        across = matrix.T if sweep.pulled else matrix
        assert set(np.unique(sweep.colors)) | {-1} == set(range(-1, sweep.count))
        for entry, place in zip(sweep.entries, sweep.places, strict=True):
            color, at = divmod(place, len(across))
            (only,) = np.flatnonzero(across[at] & (sweep.colors == color))
            pair = (only, at) if sweep.pulled else (at, only)
            assert pair == (rows[entry], columns[entry]) or (symmetric and pair == (columns[entry], rows[entry]))
            seen.add(entry)
    assert seen == set(range(len(rows)))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_each_entry_is_alone_where_it_is_read(seed: int, symmetric: bool) -> None:
    matrix = drawn_matrix(seed, symmetric)
    check_alone(matrix, sweeps(entries_of(matrix), symmetric), symmetric)


@pytest.mark.parametrize("seed", range(40))
def test_both_ways_together_have_each_entry(seed: int) -> None:
    matrix = drawn_matrix(seed, False)
    given = entries_of(matrix)
    check_alone(matrix, bicolored(given, given.transposed()))


def lists_of(matrix: Any) -> Any:
    found = entries_of(matrix)
    return found.starts, found.columns.astype(np.int64)


@pytest.mark.parametrize("seed", range(12))
def test_colours_and_orders_are_the_same_where_nothing_is_compiled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, other = drawn_matrix(seed, True), drawn_matrix(seed, False)
    np.fill_diagonal(matrix, False)
    lists, pair = lists_of(matrix), (lists_of(other.T), lists_of(other))
    order = np.random.default_rng(seed).permutation(len(matrix))
    ways = [
        lambda: graph_coloring.star_colors(lists, order),
        lambda: graph_coloring.first_colors(lists, lists, order),
        *[lambda make=make: make(*pair) for make in ORDERS],
    ]
    compiled = [way() for way in ways]
    for made in compiled[2:]:
        np.testing.assert_array_equal(np.sort(made), np.arange(other.shape[1]))
    for module in (graph_coloring, graph_orders):
        monkeypatch.setattr(module, "compiler", lambda: None)
    for way, found in zip(ways, compiled, strict=True):
        np.testing.assert_array_equal(way(), found)


def first_star_colors(near: Any, order: Any) -> Any:
    """Return the first colour that each vertex may have by the definition, of all paths that lead away from it."""
    colors = np.zeros(len(near), int)
    for v in order:
        taken = set(colors[near[v]])
        for w, x in itertools.product(np.flatnonzero(near[v]), range(len(near))):
            if near[w, x] and x != v:
                leads = near[x] & (colors == colors[w]) & (np.arange(len(near)) != w)
                taken |= {colors[x]} if not colors[w] or leads.any() else set()
        colors[v] = next(c for c in itertools.count(1) if c not in taken)
    return colors


@pytest.mark.parametrize("seed", range(24))
def test_star_colours_are_the_first_that_paths_leave(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near = rng.random((14, 14)) < rng.choice([0.1, 0.3, 0.6, 0.95, 1.0])
    near = np.triu(near, 1) | np.triu(near, 1).T
    order = rng.permutation(14)
    np.testing.assert_array_equal(graph_coloring.star_colors(lists_of(near), order), first_star_colors(near, order))


FULL = {
    "all": lambda n: np.ones((n, n), np.bool_),
    "nearly all": lambda n: drawn_symmetric(n, 0.95),
    "two blocks": lambda n: np.kron(np.eye(2, dtype=np.bool_), np.ones((n // 2, n // 2), np.bool_)),
    "all but a band": lambda n: np.abs(np.subtract.outer(np.arange(n), np.arange(n))) != 1,
    "bipartite": lambda n: np.kron(~np.eye(2, dtype=np.bool_), np.ones((n // 2, n // 2), np.bool_)),
}


def drawn_symmetric(n: int, share: float) -> Any:
    drawn = np.triu(np.random.default_rng(0).random((n, n)) < share)
    return drawn | drawn.T


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FULL)
def test_colours_of_nearly_full_matrices_take_little_time(name: str) -> None:
    """A step for each path of four vertices would take 10¹⁰ steps here."""
    matrix = FULL[name](300)
    sweeps(entries_of(FULL[name](4)), True)  # loads what a process loads once
    start = time.process_time()
    found = sweeps(entries_of(matrix), True)
    assert time.process_time() - start < 1.0
    assert sum(sweep.count for sweep in found) <= 300


@pytest.mark.parametrize("seed", range(12))
def test_orders_are_those_of_their_definitions(seed: int) -> None:
    matrix = drawn_matrix(seed, False)
    near = (matrix.T.astype(int) @ matrix.astype(int)) > 0
    np.fill_diagonal(near, False)
    last, by_incidence, _ = (make(lists_of(matrix.T), lists_of(matrix)) for make in ORDERS)
    for i, v in enumerate(last):
        degrees = near[np.ix_(last[: i + 1], last[: i + 1])].sum(axis=1)
        assert degrees[-1] == degrees.min(), v
    for i, v in enumerate(by_incidence):
        placed = near[:, by_incidence[:i]].sum(axis=1)
        assert placed[v] == placed[by_incidence[i:]].max()


def grid(n: int, corners: bool = False, wide: int | None = None) -> Any:
    wide = wide or n
    row, column = band(wide, 1), band(n, 1)
    if corners:
        return sparse.kron(column, row)
    return sparse.kron(column, sparse.eye_array(wide)) + sparse.kron(sparse.eye_array(n), row)


def band(n: int, half: int) -> Any:
    return sparse.diags_array([np.ones(n - abs(k)) for k in range(-half, half + 1)], offsets=range(-half, half + 1))


def arrow(n: int, wide: int) -> Any:
    found = np.eye(n)
    found[:wide] = found[:, :wide] = 1
    return found


def shuffled(matrix: Any) -> Any:
    order = np.random.default_rng(0).permutation(matrix.shape[0])
    return sparse.csr_array(matrix)[order][:, order]


def leaning() -> Any:
    """Return a matrix of which one half is cheap one way only, and the other half the other way."""
    half = np.zeros((21, 200), bool)
    half[:, 0] = True
    half[np.arange(20)[:, None], 1 + np.arange(180).reshape(20, 9)] = True
    return sparse.csr_array(np.block([[half, np.zeros((21, 21))], [np.zeros((200, 200)), half.T]]))


COUNTS = {
    "nine diagonals: Curtis, Powell and Reid 1974": (band(300, 4), False, 9),
    "grid of five points: Curtis, Powell and Reid 1974": (grid(20), False, 5),
    "grid of five points, oblong": (grid(17, wide=40), False, 5),
    "grid of thirteen points: Coleman and Moré 1983": (grid(20) @ grid(20), False, 13),
    "grid of five points in another order": (shuffled(grid(20)), False, 7),
    "grid of nine points: Coleman and Moré 1983": (grid(20, True), False, 9),
    "grid of nine points in another order": (shuffled(grid(20, True)), False, 12),
    "three diagonals, symmetric: Coleman and Moré 1984": (band(300, 1), True, 3),
    "nine diagonals, symmetric: Coleman and Moré 1984": (band(300, 4), True, 9),
    "grid of five points, symmetric": (grid(20), True, 6),
    "arrow, symmetric": (arrow(100, 1), True, 2),
    "arrow: Coleman and Verma 1998": (arrow(100, 1), False, 3),
    "wide arrow": (arrow(100, 5), False, 11),
    "both ways": (leaning(), False, 4),
}


@pytest.mark.parametrize("name", COUNTS)
def test_colours_are_as_few_as_published(name: str) -> None:
    matrix, symmetric, most = COUNTS[name]
    found = sweeps(entries_of(matrix), symmetric)
    assert sum(sweep.count for sweep in found) <= most
    check_alone(matrix, found, symmetric)


def test_rows_with_many_entries_are_no_stencils() -> None:
    """All pairs of the entries of such a row would not fit into memory."""
    n = 200_000
    assert grid_colors((np.array([0, n]), np.arange(n)), n, n + 1) is None


def test_the_brusselator_takes_fewer_than_the_twelve_of_its_tutorial() -> None:
    assert primad.jacobian(brusselator(np, 32))(np.ones(2048)).coloring().directions < 12


@pytest.mark.parametrize(("moved", "times"), [(0, 1), (1, 2)])
def test_mirrored_places_are_coloured_once(moved: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transposed matrix has the same colours, unless one entry has no other side."""
    matrix = np.kron(np.eye(4), np.ones((3, 3))) + np.eye(12, k=4) + np.eye(12, k=-4)
    matrix[0, 11] += moved
    counted: list[bool] = []
    swept = matrix_coloring._swept
    monkeypatch.setattr(matrix_coloring, "_swept", lambda *given: (counted.append(True), swept(*given))[1])
    found = sweeps(entries_of(matrix), costs=lambda: (1.0, 1.0))
    assert len(counted) == times
    check_alone(matrix, found, False)


def test_cheap_products_are_taken() -> None:
    """Of two ways of about as many directions the one whose products cost less in all."""
    matrix = entries_of(np.kron(np.eye(10), np.ones((2, 3))))
    for pull, wanted in ((1.0, (True, 2)), (5.0, (False, 3))):
        (found,) = sweeps(matrix, False, lambda pull=pull: (1.0, pull))
        assert (found.pulled, found.count) == wanted


def test_chosen_products_are_computed() -> None:
    halves = leaning().toarray()

    def f(x: Any) -> Any:
        return np.sin(halves @ x)

    J = primad.jacobian(f)(np.linspace(0.1, 1.0, halves.shape[1]))
    coloring = J.coloring()
    assert coloring.directions <= 4 and (coloring.rows >= 0).any() and (coloring.columns >= 0).any()
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-12)
    made = primad.jit(lambda x: primad.jacobian(f)(x).sparse())(np.linspace(0.1, 1.0, halves.shape[1]))
    np.testing.assert_allclose(made.toarray(), np.asarray(J), rtol=1e-12)


# -- entries that follow one from another ------------------------------------------------------------------------------


def graph_of(matrix: Any) -> Any:
    """Return the lists of neighbours of a symmetric matrix, and the number of each edge."""
    off = np.array(sparse.csr_array(matrix).toarray() != 0)
    np.fill_diagonal(off, False)
    rows, columns = np.nonzero(off)
    pairs = np.minimum(rows, columns) * len(off) + np.maximum(rows, columns)
    return off, lists_of(off), np.unique(pairs, return_inverse=True)[1]


def has_cycle(edges: Any) -> bool:
    parents: dict[int, int] = {}

    def root(v: int) -> int:
        while parents.setdefault(v, v) != v:
            v = parents[v]
        return v

    for v, w in edges:
        if root(v) == root(w):
            return True
        parents[root(v)] = root(w)
    return False


@pytest.mark.parametrize("seed", range(30))
def test_two_colours_have_no_cycle(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    off, lists, edges = graph_of(drawn_matrix(seed, True))
    order = np.random.default_rng(seed).permutation(len(off))
    colors = acyclic_coloring.acyclic_colors(lists, edges, order)
    pairs = [(v, w) for v, w in zip(*np.nonzero(off), strict=True) if v < w]
    assert all(colors[v] != colors[w] for v, w in pairs)
    for both in itertools.combinations(range(1, colors.max() + 1), 2):
        assert not has_cycle([(v, w) for v, w in pairs if {colors[v], colors[w]} == set(both)])
    monkeypatch.setattr(acyclic_coloring, "compiler", lambda: None)
    np.testing.assert_array_equal(acyclic_coloring.acyclic_colors(lists, edges, order), colors)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_entries_follow_from_products(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(acyclic_coloring, "compiler", lambda: None)
    pattern, rng = drawn_matrix(seed, True), np.random.default_rng(seed)
    numbers = rng.normal(size=pattern.shape)
    matrix = np.where(pattern, numbers + numbers.T, 0)
    way = Substitution(entries_of(matrix))
    seeds = np.array([way.colors == color for color in range(way.count)], float).reshape(way.count, len(matrix))
    np.testing.assert_allclose(way.data((seeds @ matrix).ravel()), sparse.csr_array(matrix).data, atol=1e-12)


FEWER = {
    "three diagonals: Coleman and Cai 1986": (band(300, 1), 2),
    "nine diagonals: Coleman and Moré 1984": (band(300, 4), 5),
    "grid of five points": (grid(20), 4),
    "grid of nine points": (grid(20, True), 6),
    "arrow": (arrow(100, 1), 2),
}


@pytest.mark.parametrize("name", FEWER)
def test_substitution_takes_fewer_directions(name: str) -> None:
    matrix, most = FEWER[name]
    assert Substitution(entries_of(matrix)).count <= most


def test_hessians_by_substitution() -> None:
    def coupled(x: Any) -> Any:
        return np.sum(np.sin(x[4:] * x[:-4]) + x[3:-1] * x[1:-3] ** 2 + x[2:-2] ** 3)

    x = np.linspace(0.3, 1.2, 40)
    H = primad.hessian(coupled)(x)
    assert H.coloring(substitution=True).directions < H.coloring().directions
    for format in ("csr", "csc", "dia"):
        found = H.sparse(format, substitution=True)
        assert found.format == format
        np.testing.assert_allclose(found.toarray(), np.asarray(H), rtol=1e-10, atol=1e-12)
    out = H.sparse("csc")
    assert primad.hessian(coupled)(2 * x).sparse(out=out, substitution=True, local=True) is out
    np.testing.assert_allclose(out.toarray(), np.asarray(primad.hessian(coupled)(2 * x)), rtol=1e-9, atol=1e-11)
    with pytest.raises(primad.ShapeError, match="not known to be symmetric"):
        primad.jacobian(np.sin)(x).sparse(substitution=True)
    with pytest.raises(primad.ShapeError, match="leave substitution=True out"):
        primad.jit(lambda x: primad.hessian(coupled)(x).sparse(substitution=True))(x)
    for empty in (lambda x: np.sum(x), lambda x: np.sum(x**2)):
        np.testing.assert_allclose(
            primad.hessian(empty)(x).sparse(substitution=True).toarray(), primad.hessian(empty)(x)
        )


def test_a_declared_pattern_that_misses_an_entry_is_found() -> None:
    J = primad.jacobian(lambda x: x * np.roll(x, 1) + 0 * np.roll(x, 2))(np.arange(4.0))
    J.check_pattern(J.pattern())
    wanted = np.asarray(J) != 0
    J.check_pattern(wanted)  # zeros at the point may be declared or not
    wanted[2, 1] = False
    with pytest.raises(primad.ShapeError, match=r"derivative of result 2 in parameter 1 is 2(?s:.*)pattern"):
        J.check_pattern(sparse.csr_array(wanted))
    with pytest.raises(primad.ShapeError, match=r"of shape \(3, 4\)"):
        J.check_pattern(wanted[1:])


def test_large_matrices_are_coloured_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = lists_of(np.ones((3, 2), bool))
    members = lists_of(np.ones((2, 3), bool))
    for limit, orders in ((len(groups[1]), 4), (len(groups[1]) - 1, 1)):
        monkeypatch.setattr(coloring_orders, "MOST_REORDERED", limit)
        counts = iter([4, 2, 3, 3])
        best = coloring_orders.fewest_colors(lambda _, counts=counts: np.array([next(counts)]), groups, members, 1)
        assert best == (2 if orders == 4 else 4) and len(list(counts)) == 4 - orders


def test_a_block_of_colours_from_which_no_entry_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two neighbours of the same two have one colour, in which neither is alone: their entries are read elsewhere.

    That colour is left out; if it were not, its block would have nothing that is read.
    """
    x = np.arange(1.0, 21.0)
    monkeypatch.setattr(block_programs, "MOST_BLOCKS", 0)
    monkeypatch.setattr(diagonals, "BLOCK_BYTES", 2 * x.nbytes)

    def f(x: Any) -> Any:
        u, v, p, q = x.reshape(4, 5)
        return np.sum(u * v * (p + q))

    hessian = primad.hessian(f)(x)
    assert hessian.coloring().directions == 2
    np.testing.assert_array_equal(hessian.sparse().toarray(), hessian)
    np.testing.assert_array_equal(primad.jit(lambda x: primad.hessian(f)(x).sparse())(x).toarray(), hessian)
    places, targets = Reading(np.array([0, 1]), np.array([3, 0])).within(4, 4)
    assert not len(places) and not len(targets)

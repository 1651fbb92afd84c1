"""Parts, diagonals and products of matrices of derivatives take memory for what is asked, and not for the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.programs import program_ops
from primad.programs.jacobians import diagonal_ops, diagonals, jacobian_products
from primad.programs.jacobians.diagonals import Diagonal
from primad.runtime.cache import Cache
from primad.runtime.executors import dispatch
from primad.runtime.plan import memory_limit
from tests.sweeps import thinned

LARGE = 20_000
"""Elements of an argument at which a matrix takes 3.2 GB, or 400 MB as a mask: more than the limit of the tests."""
LIMIT = LARGE**2 // 2
RNG = np.random.default_rng(3)
W = RNG.standard_normal((4, 4))
SLOPES = RNG.standard_normal((5, LARGE))


class Function(NamedTuple):
    """A function, and how many directions the diagonal of its matrix of derivatives takes.

    Attributes:
        of: the function of a vector whose length is a multiple of 4.
        derivative: `primad.jacobian` or `primad.hessian`.
        directions: at most; None where there is no structure to be found.
    """

    of: Callable[[Any], Any]
    derivative: Any = primad.jacobian
    directions: int | None = 1


def heat(x: Any) -> Any:
    return primad.scan(lambda u, _: (u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) - u**3, None), x, length=3)[0]


def grid(x: Any) -> Any:
    u = np.pad(x.reshape(4, -1), 1)
    return u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * u[1:-1, 1:-1] + u[1:-1, 1:-1] ** 3


def shuffled(x: Any) -> Any:
    return np.random.default_rng(len(x)).permutation(len(x))


def ends(x: Any) -> Any:
    return np.random.default_rng(len(x)).integers(0, len(x), (2, len(x)))


def stepped(x: Any) -> Any:
    return primad.scan(lambda carry, a: (0.5 * carry + np.sin(a), carry * a), 0.5, x)[1]


H = primad.hessian
FUNCTIONS = {
    "elementwise": Function(lambda x: np.sin(x)),
    "rolled": Function(lambda x: np.sin(x) * np.roll(x, 1), directions=3),
    "32 bits": Function(lambda x: np.sin(x) * np.roll(x, 1).astype(np.float32), directions=3),
    "steps of a stencil": Function(heat, directions=9),
    "a stencil on a grid": Function(lambda x: np.ravel(grid(x)), directions=6),
    "energy on a grid": Function(lambda x: np.sum(grid(x) ** 2), H, 16),
    "joined": Function(lambda x: np.concatenate([x[:1] ** 2, np.sin(x[1:-1]) * x[2:], x[-1:] ** 3]), directions=2),
    "padded with edges": Function(lambda x: (lambda p: p[2:] * p[:-2])(np.pad(x, 1, mode="edge")), directions=8),
    "padded around": Function(lambda x: (lambda p: p[2:] * p[:-2] * x)(np.pad(x, 1, mode="wrap")), directions=8),
    "taken": Function(lambda x: np.sin(x[shuffled(x)]) * x, directions=8),
    "springs": Function(lambda x: np.sum((x[ends(x)[0]] - x[ends(x)[1]]) ** 4), H, 64),
    "small matrices": Function(lambda x: np.ravel(np.tanh(x.reshape(-1, 4) @ W)), directions=4),
    "a layer": Function(lambda x: np.sum(np.log(np.cosh(x.reshape(-1, 4) @ W))), H, 4),
    "filtered": Function(lambda x: np.convolve(np.sin(x), [1.0, -2.0, 1.0], "same"), directions=2),
    "turned round": Function(lambda x: x[::-1] * x, directions=4),
    "repeated": Function(lambda x: np.repeat(x[::2] ** 2, 2) * x, directions=4),
    "interleaved": Function(lambda x: np.ravel(np.stack([x[:-1] * x[1:], x[1:] ** 2], 1)), directions=8),
    "chosen": Function(lambda x: np.where(x > 0.5, x**2, np.roll(x, -1)), directions=2),
    "normalised": Function(lambda x: (x - np.mean(x)) / np.std(x)),
    "softmax": Function(lambda x: np.exp(x) / np.sum(np.exp(x))),
    "log of a sum": Function(lambda x: np.log(np.sum(np.exp(x))), H),
    "few slopes": Function(lambda x: np.sum(np.sin(SLOPES[:, : len(x)] @ x)), H),
    "valley": Function(lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), H, 2),
    "checkpointed": Function(lambda x: np.sum(primad.checkpoint(lambda x: np.sin(x) * np.roll(x, 1))(x) ** 2), H, 3),
    "jitted": Function(primad.jit(lambda x: np.sin(x) * np.roll(x, 1)), directions=3),
    "summed up": Function(lambda x: np.cumsum(np.sin(x)), directions=None),
    "carried along": Function(stepped, directions=None),
}


def lazy(name: str, n: int) -> Any:
    function = FUNCTIONS[name]
    x = np.linspace(0.1, 1.0, n, dtype=np.float32 if name == "32 bits" else float)
    return function.derivative(function.of)(x)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "physical_memory", lambda: LIMIT)


def forget_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive programs anew: with other constants they are others."""
    monkeypatch.setattr(program_ops, "BUILT", Cache(512))
    monkeypatch.setattr(dispatch, "EXECUTABLES", Cache(512))


@pytest.fixture
def no_small_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are treated as large ones: directions are coloured, a few of them are a block."""
    monkeypatch.setattr(diagonal_ops, "SMALL", 0)
    monkeypatch.setattr(diagonals, "BLOCK_BYTES", 400)
    monkeypatch.setattr(jacobian_products, "SPARE_DOUBLES", 0)
    forget_programs(monkeypatch)


def accesses(matrix: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what a matrix is asked, at a size or another."""
    m, n = matrix.shape
    v, w = np.cos(np.arange(n)), np.cos(np.arange(m))
    return {
        "an entry": lambda a: a[3, 4],
        "a row": lambda a: a[3],
        "the last row": lambda a: a[-1],
        "a column": lambda a: a[:, 5],
        "dots": lambda a: a[..., -2],
        "a new axis": lambda a: a[None, 3],
        "a block": lambda a: a[2:5, 1:4],
        "steps backwards": lambda a: a[5:1:-2, :: -(n // 3)],
        "rows": lambda a: a[[1, 5, 7]],
        "columns, one twice": lambda a: a[:, [2, -1, 2]],
        "pairs": lambda a: a[[1, 5, 5], [2, 6, 4]],
        "a grid of pairs": lambda a: a[np.array([1, 5])[:, None], [2, 6, 7]],
        "few rows by a mask": lambda a: a[np.arange(m) < 3],
        "a row of the transpose": lambda a: a.T[3],
        "an entry of the transpose": lambda a: a.T[4, -3],
        "a diagonal": np.diag,
        "a diagonal above": lambda a: np.diag(a, 1),
        "a diagonal below": lambda a: np.diagonal(a, -2),
        "the transpose's diagonal": lambda a: np.diag(a.T),
        "a diagonal by letters": lambda a: np.einsum("ii->i", a) if m == n else a[0],
        "a trace": np.trace,
        "a product": lambda a: a @ v,
        "a product from the left": lambda a: w @ a,
        "a product of the transpose": lambda a: a.T @ w,
        "products": lambda a: a @ np.stack([v, v**2], 1),
        "products of the transpose": lambda a: a.T @ np.stack([w, w**2], 1),
        "sums of columns": lambda a: np.sum(a, axis=0),
        "means of rows": lambda a: np.mean(a, axis=1),
        "taken rows": lambda a: np.take(a, [0, 2], axis=0),
        "the first of all rows": lambda a: next(iter(a)),
        "shown": repr,
    }


SHORT = ("an entry", "a row", "steps backwards", "pairs", "a diagonal", "a diagonal below")
"""What every function's matrix is asked at a large size; the rest is the same whatever the function."""
ALL = ("rolled", "valley", "softmax", "summed up")


def close(found: Any, wanted: Any, dtype: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
    atol = (1e-5 if dtype == np.float32 else 1e-11) * scale
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=atol)


@pytest.mark.one_in(6)
@thinned(2, name=list(FUNCTIONS), part=range(2))
def test_all_that_a_matrix_is_asked_is_that_of_the_dense_one(name: str, part: int, no_small_matrices: None) -> None:
    """At a small size, with what large ones do."""
    matrix = lazy(name, 24)
    dense = np.asarray(lazy(name, 24))
    for access, ask in list(accesses(dense).items())[part::2]:
        if access != "shown":
            close(ask(matrix), ask(dense), matrix.dtype)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["rolled", "energy on a grid", "taken", "springs"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_drawn_indices_are_those_of_the_dense_one(name: str, data: Any) -> None:
    dense, matrix = np.asarray(lazy(name, 12)), lazy(name, 12)
    index = data.draw(
        st.one_of(
            hnp.basic_indices(dense.shape, allow_newaxis=True, allow_ellipsis=True),
            hnp.integer_array_indices(dense.shape),
            st.tuples(st.slices(12), st.lists(st.integers(-12, 11), min_size=1, max_size=3)),
        )
    )
    close(matrix[index], dense[index], matrix.dtype)
    close(matrix.T[index], dense.T[index], matrix.dtype)


def checks(matrix: Any, found: dict[str, Any]) -> None:
    """Compare what was found of a large matrix with products of it and with one another."""
    m, n = matrix.shape
    columns = {j: matrix @ np.eye(1, n, j)[0] for j in (2, 4, 6)}
    close(found["an entry"], columns[4][3], matrix.dtype)
    close(found["a row"][list(columns)], [column[3] for column in columns.values()], matrix.dtype)
    close(found["pairs"], [columns[2][1], columns[6][5], columns[4][5]], matrix.dtype)
    close(found["a diagonal"][list(columns)], [column[j] for j, column in columns.items()], matrix.dtype)
    close(found["a diagonal below"][[2, 4, 6]], [column[j + 2] for j, column in columns.items()], matrix.dtype)
    if "a trace" in found:
        scale = max(1.0, np.sum(np.abs(found["a diagonal"])))
        close(found["a trace"] / scale, np.sum(found["a diagonal"]) / scale, np.float32)
        close(found["a diagonal above"][3], columns[4][3], matrix.dtype)
        close(found["an entry of the transpose"], columns[4][m - 3], matrix.dtype)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if FUNCTIONS[name].directions])
def test_nothing_of_the_size_of_the_matrix_is_made(name: str, little_memory: None) -> None:
    """Each access runs in a memory in which not even a mask of all entries fits."""
    matrix = lazy(name, LARGE)
    asked = accesses(matrix)
    checks(matrix, {access: asked[access](matrix) for access in (asked if name in ALL else SHORT)})
    assert "not computed" in repr(matrix)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not FUNCTIONS[name].directions])
def test_parts_without_a_structure_take_no_more_memory(name: str, little_memory: None) -> None:
    matrix = lazy(name, LARGE)
    asked = {
        access: ask for access, ask in accesses(matrix).items() if "diagonal" not in access and "trace" not in access
    }
    found = {access: ask(matrix) for access, ask in asked.items()}
    close(found["an entry"], found["a row"][4], matrix.dtype)
    close(found["pairs"], [matrix[:, 2][1], matrix[5][6], matrix[5, 4]], matrix.dtype)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not FUNCTIONS[name].directions])
def test_a_diagonal_without_a_structure_is_computed_in_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of directions for all columns, so few at once that they fit into memory."""
    n = 1200
    forget_programs(monkeypatch)
    monkeypatch.setattr(diagonals, "BLOCK_BYTES", n * 8 * 16)
    monkeypatch.setattr(memory_limit, "physical_memory", lambda: n * n)
    matrix, dense = lazy(name, n), None
    found = np.diag(matrix)
    monkeypatch.undo()
    dense = np.asarray(lazy(name, n))
    close(found, np.diag(dense), matrix.dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_directions_of_a_diagonal_are_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not grow with the argument; where there is no structure, each column has one of its own."""
    taken: list[int] = []
    program = Diagonal.program
    monkeypatch.setattr(Diagonal, "program", lambda self: taken.append(self.directions) or program(self))
    n = 1028
    forget_programs(monkeypatch)
    np.diag(lazy(name, n))
    most = FUNCTIONS[name].directions
    assert len(taken) == 1 and (taken[0] == n if most is None else taken[0] <= most)


# -- arguments of several axes, several arguments, traces --------------------------------------------------------------


def sheet(u: Any) -> Any:
    return np.sum((u[1:] - u[:-1]) ** 4) + np.sum((u[:, 1:] - u[:, :-1]) ** 4)


def moved(u: Any) -> Any:
    return np.roll(u, 1, 0) * u + np.roll(u, 1, 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(3, 4), (100, LARGE // 100)], ids=["small", "large"])
@pytest.mark.parametrize("kind", ["J", "H"])
def test_arguments_of_two_axes(kind: str, shape: Any, little_memory: None) -> None:
    u = np.linspace(0.0, 1.0, shape[0] * shape[1]).reshape(shape) ** 2
    matrix = primad.jacobian(moved)(u) if kind == "J" else primad.hessian(sheet)(u)
    flat = matrix.reshape(u.size, u.size)
    found = {
        "an entry": matrix[1, 2, 1, 3],
        "a row": matrix[1, 2],
        "by letters": np.einsum("ijij->ij", matrix),
        "a trace": np.einsum("ijij", matrix),
        "rows": matrix[[0, 2], [1, 3]],
        "flat": np.diag(flat),
        "a flat entry": flat[5, 6],
        "a flat product": flat @ np.ones(u.size),
        "transposed": flat.T[5],
    }
    row = np.tensordot(np.eye(1, u.size, shape[1] + 2).reshape(shape), matrix, 2)
    close(found["a row"], row, u.dtype)
    close(found["an entry"], row[1, 3], u.dtype)
    close(found["rows"].shape, (2, *shape), u.dtype)
    close(found["flat"], np.ravel(found["by letters"]), u.dtype)
    close(found["a trace"], np.sum(found["flat"]), u.dtype)
    close(found["flat"][shape[1] + 2], row[1, 2], u.dtype)
    close(found["a flat entry"], matrix[(*np.unravel_index(5, shape), *np.unravel_index(6, shape))], u.dtype)
    if u.size < 100:
        dense = np.array(matrix)
        close(found["by letters"], np.einsum("ijij->ij", dense), u.dtype)
        close(found["transposed"], dense.reshape(u.size, u.size).T[5], u.dtype)
        close(matrix.reshape(3, -1), dense.reshape(3, -1), u.dtype)
        close(matrix.reshape(-1), dense.reshape(-1), u.dtype)


def test_several_arguments_and_trees(little_memory: None) -> None:
    x, y = np.linspace(0.1, 1.0, LARGE), np.linspace(1.0, 2.0, LARGE)
    first, second = primad.jacobian(lambda a, b: a * np.roll(b, 1), (0, 1))(x, y)
    close(np.diag(first), np.roll(y, 1), x.dtype)
    close(np.diag(second, -1), x[1:], x.dtype)
    blocks = primad.hessian(lambda p: np.sum(p["a"] ** 2 * p["b"]))({"a": x, "b": y})
    close(np.diag(blocks["a"]["b"]), 2 * x, x.dtype)
    close(blocks["a"]["b"][3, [3, 4]], [2 * x[3], 0.0], x.dtype)
    close(np.trace(blocks["a"]["a"]), 2 * np.sum(y), x.dtype)


def test_indices_that_are_an_argument(little_memory: None) -> None:
    """Their values say where the zeros are; other values are other directions."""
    x = np.linspace(0.1, 1.0, LARGE)
    for shift in (1, 0, 7):
        index = np.roll(np.arange(LARGE), shift)
        found = np.diag(primad.jacobian(lambda x, i: x[i] ** 2 * x)(x, index))
        close(found, x[index] ** 2 + (2 * x**2 if shift == 0 else 0.0), x.dtype)


def test_second_derivatives_of_several_results(little_memory: None) -> None:
    n = 1200
    x = np.linspace(0.1, 1.0, n)
    matrix = primad.hessian(lambda x: np.stack([np.sum(x**3), np.sum(np.sin(x))]))(x)
    close(np.diagonal(matrix, 0, 1, 2), [6 * x, -np.sin(x)], x.dtype)
    close(np.trace(matrix, axis1=1, axis2=2), [np.sum(6 * x), -np.sum(np.sin(x))], x.dtype)
    close(matrix[1, 3, 3:5], [-np.sin(x[3]), 0.0], x.dtype)


def test_inside_a_trace(little_memory: None) -> None:
    x = np.linspace(0.1, 1.0, LARGE)
    f = FUNCTIONS["rolled"].of
    diagonal = np.cos(x) * np.roll(x, 1)
    jitted = primad.jit(
        lambda x, i: (primad.jacobian(f)(x)[i], np.diag(primad.jacobian(f)(x)), primad.jacobian(f)(x).T[i, i])
    )
    row, found, entry = jitted(x, 7)
    close(found, diagonal, x.dtype)
    close([row[7], entry], [diagonal[7]] * 2, x.dtype)
    slope = primad.grad(lambda x: np.trace(primad.jacobian(f)(x)))(x)
    close(slope, -np.sin(x) * np.roll(x, 1) + np.roll(np.cos(x), -1), x.dtype)
    assert primad.laplacian(FUNCTIONS["valley"].of)(x) == pytest.approx(np.trace(lazy("valley", LARGE)))

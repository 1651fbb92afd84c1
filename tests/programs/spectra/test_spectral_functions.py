"""Functions of Hermitian matrices by eigenvectors have the derivatives that they have without: also at equal values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import primad
from primad import ops
from primad.errors import MatrixError, ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.programs.spectra.spectral_forms import spectral_form
from primad.programs.spectra.spectral_ops import spectral_function
from primad.recording.tracing import program_of
from primad.scipy import linalg

EQUAL = np.array([1.0, 1.0, 1.0, 2.5, 2.5])
LOW = np.array([1.0, 1.0, 1.0, 0.0, 0.0])


def hermitian(rng, n, whole):
    e = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if whole else 0)
    return (e + e.conj().T) / 2


def with_values(w, whole, seed=0):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.eigh(hermitian(rng, len(w), whole))[1]
    a = (vectors * w) @ vectors.conj().T
    return (a + a.conj().T) / 2


def read(a):
    """The matrix of which eigh reads the lower triangle."""
    below = np.tril(a, -1)
    return below + np.conj(below).T + np.diag(np.real(np.diag(a)))


def along(function, a, directions):
    if not directions:
        return function(a)
    return along(lambda a: primad.jvp(function, (a,), (directions[0],))[1], a, directions[1:])


# -- against the same functions without eigenvalues

PAIRS = {
    "power": (lambda w: w**5, lambda a: a @ a @ a @ a @ a),
    "inverse": (lambda w: 1 / w, np.linalg.inv),
    "exponential": (np.exp, linalg.expm),
    "root": (np.sqrt, linalg.sqrtm),
    "resonance": (lambda w: 1 / (w**2 + 0.25), lambda a: np.linalg.inv(a @ a + 0.25 * np.eye(len(a)))),
    "turn": (lambda w: np.exp(-3j * w), lambda a: linalg.expm(-3j * a)),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_are_exact_in_clusters(name, whole):
    """To the third order, at values that are equal, nearly equal, close and apart."""
    f, direct = PAIRS[name]

    def by_vectors(a):
        w, v = np.linalg.eigh(a)
        return (v * f(w)) @ v.conj().T

    rng = np.random.default_rng(1)
    directions = [hermitian(rng, 4, whole) for _ in range(3)]
    for order in (1, 3):
        for gap in (0.0, 1e-14, 1e-9, 1e-3, 0.2):
            a = with_values(np.array([1.0, 1 + gap, 1 + 2 * gap, 2.5]), whole)
            expected = along(direct, a, directions[:order])
            found = along(by_vectors, a, directions[:order])
            assert np.abs(found - expected).max() <= 3e-12 * np.abs(expected).max()


# -- the forms that people write


def form(function):
    def by_vectors(a):
        w, v = np.linalg.eigh(a)
        return function(w, v)

    return by_vectors


def chosen(w, v):
    return v[:, np.flatnonzero(w < 2)]


X = np.array([1.0, 2.0, -1.0, 0.5, 3.0])
EXPONENTIALS = {
    "diag": lambda w, v: v @ np.diag(np.exp(w)) @ v.conj().T,
    "columns": lambda w, v: (v * np.exp(w)) @ v.conj().T,
    "rows": lambda w, v: v @ (np.exp(w)[:, None] * v.conj().T),
    "quotient": lambda w, v: (v / np.exp(-w)) @ np.conj(v.T),
    "inverse": lambda w, v: (v * np.exp(w)) @ np.linalg.inv(v),
    "a system": lambda w, v: np.linalg.solve(v.T, np.diag(np.exp(w)) @ v.T).T,
    "einsum": lambda w, v: np.einsum("ai,i,bi->ab", v, np.exp(w), v.conj()),
    "implicit einsum": lambda w, v: np.einsum("ij,j,kj", v, np.exp(w), v.conj()),
    "tensordot": lambda w, v: np.tensordot(v * np.exp(w), v.conj(), (1, 1)),
    "inner": lambda w, v: np.inner(v * np.exp(w), v.conj()),
    "multi_dot": lambda w, v: np.linalg.multi_dot([v, np.diag(np.exp(w)), v.conj().T]),
    "dot": lambda w, v: v.dot(np.diag(np.exp(w))).dot(v.conj().T),
    "functions": lambda w, v: np.matmul(np.multiply(v, np.exp(w)[None, :]), np.conjugate(np.transpose(v))),
    "halves": lambda w, v: (v * np.exp(w / 2)) @ (v * np.exp(w / 2)).conj().T,
    "descending": lambda w, v: v[:, ::-1] @ np.diag(np.exp(w[::-1])) @ v[:, ::-1].conj().T,
    "sorted": lambda w, v: (v[:, np.argsort(-w)] * np.exp(w[np.argsort(-w)])) @ v[:, np.argsort(-w)].conj().T,
    "to a vector": lambda w, v: v @ (np.exp(w) * (v.conj().T @ X)),
    "between vectors": lambda w, v: X @ v @ np.diag(np.exp(w)) @ v.conj().T @ X,
    "expectation": lambda w, v: np.sum(np.exp(w) * np.abs(v.conj().T @ X) ** 2),
    "weights": lambda w, v: (np.abs(X @ v.conj()) ** 2) @ np.exp(w),
    "trace": lambda w, v: np.sum(np.exp(w)),
    "scaled": lambda w, v: (v * (np.exp(w) / np.sum(np.exp(w)))) @ v.conj().T,
    "entropy": lambda w, v: np.log(np.sum(np.exp(w))) + np.mean(np.exp(w) ** 2) + np.dot(w, np.exp(w)),
}
DIRECT = {
    "to a vector": lambda e: e @ X,
    "between vectors": lambda e: X @ e @ X,
    "expectation": lambda e: np.real(X @ e @ X),
    "weights": lambda e: np.real(X @ e.T @ X),
    "trace": lambda e: np.real(np.trace(e)),
    "scaled": lambda e: e / np.real(np.trace(e)),
}


def losses(name):
    """Return two functions of a matrix that are one number and the same: by eigenvectors, and without."""

    def total(y):
        return np.sum(np.cos(np.real(y)) + np.sin(np.imag(y)) if np.iscomplexobj(y) else np.cos(y))

    def direct(a):
        e = linalg.expm(read(a))
        if name == "entropy":
            trace = np.real(np.trace(e))
            return total(np.log(trace) + np.real(np.trace(e @ e)) / 5 + np.real(np.trace(read(a) @ e)))
        return total(DIRECT.get(name, lambda e: e)(e))

    return (lambda a: total(form(EXPONENTIALS[name])(a))), direct


@pytest.mark.one_in(6)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_forms_are_found(name, whole):
    """Gradients and Hessian-vector products at equal eigenvalues, of every way to write a function of a matrix."""
    a, e = with_values(EQUAL / 4, whole), hermitian(np.random.default_rng(2), 5, whole)
    found, expected = losses(name)
    assert np.isclose(found(a), expected(a))
    assert np.allclose(primad.grad(found)(a), primad.grad(expected)(a), atol=1e-11)
    assert np.allclose(primad.hvp(found, a, e), primad.hvp(expected, a, e), atol=1e-10)


PROJECTORS = {
    "slice": lambda w, v: v[:, :3] @ v[:, :3].conj().T,
    "indices": lambda w, v: v[:, [0, 1, 2]] @ v[:, np.array([0, 1, 2])].conj().T,
    "chosen": lambda w, v: chosen(w, v) @ chosen(w, v).conj().T,
    "step": lambda w, v: (v * (w < 2)) @ v.conj().T,
    "weights": lambda w, v: (v * LOW) @ v.conj().T,
    "where": lambda w, v: v @ np.diag(np.where(w < 2, 1.0, 0.0)) @ v.conj().T,
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", PROJECTORS)
def test_projectors_of_whole_groups(name, whole):
    """P′ = P E S + S E P and S = (1 − P)/(1 − 2.5), the reduced resolvent (Kato, 1966, II.2.1)."""
    a, e = with_values(EQUAL, whole), hermitian(np.random.default_rng(3), 5, whole)
    p = (2.5 * np.eye(5) - a) / 1.5
    s = (np.eye(5) - p) / -1.5
    value, change = primad.jvp(form(PROJECTORS[name]), (a,), (e,))
    assert np.allclose(value, p) and np.allclose(change, p @ e @ s + s @ e @ p)


REFUSED = {
    "a part of a group": lambda w, v: v[:, :2] @ v[:, :2].conj().T,
    "weights that differ in a group": lambda w, v: (v * np.arange(5.0)) @ v.conj().T,
    "a vector": lambda w, v: v[:, 0],
    "values in order": lambda w, v: np.sum(w * np.arange(5.0)),
    "a part of the sum": lambda w, v: np.sum(w[:2]),
    "an edge in a group": lambda w, v: (v * (w < 1.0)) @ v.conj().T,
    "moving weights": lambda w, v: (v * np.cumsum(w)) @ v.conj().T,
    "the vectors' sum": lambda w, v: (v * np.exp(w)) @ np.ones(5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_basis_is_refused(name):
    function = form(REFUSED[name])
    a = with_values(EQUAL, False, seed=3)
    with pytest.raises(MatrixError, match="Fix: "):
        primad.grad(lambda a: np.sum(np.sin(function(a))))(a)


def test_transposes_without_conjugates_are_refused():
    """V f(w) Vᵀ of complex vectors depends on their phases."""
    a = with_values(EQUAL, True)
    with pytest.raises(MatrixError):
        primad.grad(lambda a: np.sum(np.abs(form(lambda w, v: (v * np.exp(w)) @ v.T)(a))))(a)


# -- parameters, stacks, transforms


def evolved(a, t, z=0.5):
    w, v = np.linalg.eigh(a)
    return np.sum(np.sin(np.real((v * (np.exp(-t * w) / (z - w))) @ v.conj().T)))


def evolved_directly(a, t, z=0.5):
    a = read(a)
    return np.sum(np.sin(np.real(linalg.expm(-t * a) @ np.linalg.inv(z * np.eye(len(a)) - a))))


def times(function):
    return lambda a: np.sum(primad.vmap(lambda t: function(a, t))(np.linspace(0.0, 1.0, 3)))


USES = {
    "gradients in both": lambda f, a: primad.grad(f, argnums=(0, 1))(a, 0.3),
    "Hessian": lambda f, a: primad.hessian(lambda a: f(a, 0.3))(a),
    "mixed": lambda f, a: primad.grad(lambda a: primad.grad(f, argnums=1)(a, 0.3))(a),
    "mixed the other way": lambda f, a: primad.grad(lambda t: np.sum(primad.grad(f)(a, t) ** 2))(0.3),
    "a complex parameter": lambda f, a: primad.grad(lambda z: f(a, 0.3, z))(0.5 + 0.25j),
    "times": lambda f, a: primad.grad(times(f))(a),
    "Hessian of times": lambda f, a: primad.hvp(times(f), a, np.ones_like(a)),
    "a stack": lambda f, a: primad.vmap(primad.grad(f), in_axes=(0, None))(np.stack([a, 2 * a]), 0.3),
    "a jitted one": lambda f, a: primad.jit(primad.grad(f))(a, 0.3),
    "by JAX": lambda f, a: primad.jit(primad.grad(f), backend="jax")(a, 0.3),
    "step by step": lambda f, a: primad.jit(primad.grad(f), backend="reference")(a, 0.3),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("use", USES)
def test_uses(use):
    a = with_values(np.array([1.0, 1.0, 2.0, 2.0]), False)
    found, expected = (USES[use](f, a) for f in (evolved, evolved_directly))
    for x, y in zip(*(z if isinstance(z, tuple) else (z,) for z in (found, expected)), strict=True):
        assert np.allclose(np.asarray(x), np.asarray(y), atol=1e-10)


def test_stacks_of_matrices():
    a = np.stack([with_values(EQUAL[:4] / 3, True, seed) for seed in range(2)])

    def by_vectors(a):
        w, v = np.linalg.eigh(a)
        whole = (v * np.exp(w)[..., None, :]) @ v.conj().swapaxes(-1, -2)
        return np.sum(np.abs(whole) ** 2 * np.arange(4.0)) + np.sum(np.sum(np.sqrt(w), axis=-1) ** 2)

    def directly(a):
        total = 0.0
        for one in (a[0], a[1]):
            total += np.sum(np.abs(linalg.expm(read(one))) ** 2 * np.arange(4.0))
            total += np.real(np.trace(linalg.sqrtm(read(one)))) ** 2
        return total

    assert np.allclose(primad.grad(by_vectors)(a), primad.grad(directly)(a), atol=1e-10)


def test_a_matrix_is_decomposed_once():
    """However many times, or directions of a Jacobian, a function is asked for."""

    def decompositions(function):
        program = primad.lower(primad.trace(function)(primad.ArrayType((4, 4), float)))
        return [str(node.type) for node in program.nodes if getattr(node.op, "name", "") == "eigh"]

    once = ["(float64[4], float64[4,4])"]
    assert decompositions(primad.grad(times(evolved))) == once
    assert decompositions(primad.jacobian(form(EXPONENTIALS["columns"]))) == once


@pytest.mark.parametrize("triangle", "LU")
def test_the_triangle_that_is_read_has_the_derivative(triangle):
    a = with_values(np.array([1.0, 1.0, 3.0]), True)

    def function(a):
        w, v = np.linalg.eigh(a, UPLO=triangle)
        return np.sum(np.abs((v * w**2) @ v.conj().T) ** 2)

    gradient = primad.grad(function)(a)
    other = np.triu(gradient, 1) if triangle == "L" else np.tril(gradient, -1)
    assert not other.any() and gradient.any()
    whole = read if triangle == "L" else (lambda a: read(a.conj().T))
    assert np.allclose(gradient, primad.grad(lambda a: np.sum(np.abs(whole(a) @ whole(a)) ** 2))(a))


WEIGHTED = {
    "values": lambda w, v, x: w @ x,
    "functions": lambda w, v, x: np.sum(np.exp(w * x)),
    "matrices": lambda w, v, x: np.sum(((v * np.sin(w * x)) @ v.T) * np.outer(x, x)),
    "an expectation": lambda w, v, x: np.sum((v.T @ x) ** 2 * np.tanh(x * w)),
    "beside a vector": lambda w, v, x: w @ x + v[2, 1] ** 2,
}


@pytest.mark.parametrize("inside", [False, True], ids=["weights alone", "weights and matrix"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_single_values_have_derivatives_too(name, inside):
    """They tell values apart, so that the ops are differentiated as what they stand for, where all values differ."""
    base = with_values(np.array([0.5, 1.0, 2.0, 3.5]), False)

    def f(x):
        a = base + 0.1 * np.outer(x, x) if inside else base
        return WEIGHTED[name](*np.linalg.eigh(a), x)

    x, e, h = np.array([0.3, -0.5, 0.7, 0.2]), np.array([0.2, 0.4, -0.3, 0.6]), 1e-3
    slope, curvature = primad.grad(f)(x), primad.hessian(f)(x) @ e
    near = [f(x + k * h * e) for k in (-2, -1, 0, 1, 2)]
    assert slope @ e == pytest.approx(np.dot([1, -8, 0, 8, -1], near) / (12 * h), rel=1e-7, abs=1e-8)
    assert curvature @ e == pytest.approx(np.dot([-1, 16, -30, 16, -1], near) / (12 * h * h), rel=1e-5, abs=1e-6)


# -- any form, where eigenvalues differ: what is found, and what only looks like it


def other(a):
    """Another matrix of the same size, with vectors and values of its own."""
    n = a.shape[-1]
    return a @ a + np.outer(np.arange(n), np.arange(n))


def square_of_parts(w, v):
    """Of different values."""
    return np.real((0.3 + 1j) * (X[:4] @ v)) ** 2 + np.imag((1 - 0.5j) * (X[1:] @ v)) ** 2


def last_row(w):
    return np.pad(np.exp(w), (12, 0)).reshape(4, 4)


def first_row(w):
    return np.pad(np.exp(w), (0, 12)).reshape(4, 4)


TENSOR = np.arange(1.0, 33.0).reshape(4, 4, 2) / 9
D = np.diag


def in_directions(a):
    """Derivatives in several directions, of a function with a number that depends on the matrix."""

    def exponential(b):
        w, v = np.linalg.eigh(b)
        return (v * np.exp(w * a[0, 1])) @ v.T

    directions = np.stack([np.ones((4, 4)), np.diag(X[:4])])
    return primad.vmap(lambda e: primad.jvp(exponential, (a,), (e,))[1])(directions)


def grids(a):
    w, v = np.linalg.eigh(a.reshape(2, 1, 3, 3))
    return (np.ones((3, 1, 1, 1, 1)) * v * np.exp(w)[..., None, :]) @ v.swapaxes(-1, -2)


def contract(x, y, labels):
    return ops.contract(x, y, labels=labels)


ANY_FORM = {
    "elements of a product": lambda w, v, a: contract(v, np.outer(D(a), np.exp(w)), "ai,ai->ai") @ v.T,
    "vectors times vectors in a trace": lambda w, v, a: np.einsum("ai,ia->", v * np.exp(w), v) ** 2,
    "other parts": lambda w, v, a: (v[:, :2] @ v[:, 1:3].T) ** 2,
    "vectors times vectors": lambda w, v, a: ((v * np.exp(w)) @ v) ** 2,
    "sizes of some": lambda w, v, a: np.sum(
        np.real(v[:, :2].astype(complex) * np.conj(v[:, :2].astype(complex))), axis=1
    ),
    "functions of vectors": lambda w, v, a: np.einsum("ti,bi->tb", (X[:4] @ v) * np.exp(v), v),
    "in directions": lambda w, v, a: in_directions(a),
    "diagonal": lambda w, v, a: np.sum(v * np.exp(w) * v, axis=1),
    "diagonal by einsum": lambda w, v, a: np.einsum("ai,i,ai->a", v, np.exp(w), v),
    "twice": lambda w, v, a: (2.0 * v * np.exp(w)) @ v.T,
    "twice the weights": lambda w, v, a: (2.0 * (X[:4] @ v) ** 2) @ np.exp(w),
    "twice the squares": lambda w, v, a: np.sum(2.0 * (v * v) * np.exp(w), axis=1),
    "halves of parts": lambda w, v, a: (v[:, :2] / 2.0) @ v[:, :2].T,
    "scaled rows": lambda w, v, a: (v * D(a)[:, None] * np.exp(w)) @ v.T,
    "scaled rows of a part": lambda w, v, a: (v[:, :2] * D(a)[:, None]) @ v[:, :2].T,
    "values as rows": lambda w, v, a: (v * np.exp(w)[:, None]) @ v.T,
    "values as rows and columns": lambda w, v, a: (v * np.outer(w, np.exp(w))) @ v.T,
    "cast": lambda w, v, a: np.sum(np.real(v.astype(complex) * np.exp(w) * np.conj(v.astype(complex))), axis=1),
    "cast and turned": lambda w, v, a: np.real((1j * v * np.exp(w)) @ np.conj(1j * v).T),
    "both conjugates": lambda w, v, a: np.real((np.conj(1j * v) * np.exp(w)) @ np.conj((2 + 1j) * v).T),
    "values in a last row": lambda w, v, a: v @ last_row(w) @ v.T,
    "values in a first row": lambda w, v, a: v @ first_row(w) @ v.T,
    "quotient of weights": lambda w, v, a: np.sum((X[:4] @ v) ** 2 / (1 + (X[1:] @ v) ** 2) * np.exp(w)),
    "quotient of squares": lambda w, v, a: np.sum((X[:4] @ v) ** 2 / ((X[1:] @ v) * (X[1:] @ v)) * np.exp(w)),
    "product of weights": lambda w, v, a: (X[:4] @ v) ** 2 @ ((X[1:] @ v) * (X[1:] @ v)),
    "parts of two": lambda w, v, a: np.exp(w) @ square_of_parts(w, v),
    "diag of the rows": lambda w, v, a: np.sum(v * (D(np.exp(w)) @ v), axis=0),
    "diag that is kept": lambda w, v, a: np.einsum("aij,bj->ab", np.einsum("ai,ij->aij", v, D(np.exp(w))), v),
    "diag and the rows": lambda w, v, a: np.einsum("ai,ia->a", v, D(np.exp(w))) ** 2,
    "sums of rows": lambda w, v, a: np.einsum("ai,ij->j", v, D(np.exp(w))) ** 2,
    "three operands": lambda w, v, a: np.einsum("abci,bc->ai", np.einsum("ai,bc->abci", v, a), a) ** 2,
    "rows that are kept": lambda w, v, a: np.einsum("ai,ab->abi", v, a) ** 2,
    "rows beside a sum": lambda w, v, a: np.einsum("ai,abc->bi", v, TENSOR * a[:, :, None]) ** 2,
    "rows are new": lambda w, v, a: np.einsum("ai,ai->i", v, np.outer(D(a), np.exp(w))) ** 2,
    "the same places turned": lambda w, v, a: (v[:, ::-1] * w) @ v[:, ::-1].T,
    "weights of turned places": lambda w, v, a: (v[:, ::-1] * D(a)) @ v[:, ::-1].T,
    "numbers of turned places": lambda w, v, a: (v[:, ::-1] * X[:4]) @ v[:, ::-1].T,
    "turned and not": lambda w, v, a: (v[:, ::-1] * w) @ v.T,
    "values of another": lambda w, v, a: (v * np.exp(np.linalg.eigvalsh(other(a)))) @ v.T,
    "other values": lambda w, v, a: (v * np.exp(np.linalg.eigh(other(a))[0])) @ v.T,
    "vectors of another": lambda w, v, a: (v * np.exp(w)) @ np.linalg.eigh(other(a))[1].T,
    "vectors as values": lambda w, v, a: (v * v[0]) @ v.T,
    "two numbers": lambda w, v, a: (v * (np.exp(a[0, 0] * w) + a[1, 1] * w**2)) @ v.T,
    "traces with two numbers": lambda w, v, a: np.sum(np.exp(a[0, 0] * w) + a[1, 1] * w**2),
    "a complex trace": lambda w, v, a: np.real(np.sum(np.exp(1j * w)) * (1 + 2j)),
    "times": lambda w, v, a: np.einsum("tuai,bi->tuab", np.einsum("ai,tui->tuai", v, np.exp(w * T2)), v),
    "summed times": lambda w, v, a: np.einsum("ai,ti->ai", v, np.exp(w * T2[0])) @ v.T,
}
T2 = np.array([[0.1], [0.4]]) * np.ones((3, 1, 1))
STACKED = {
    "sum of all": lambda w, v, a: np.einsum("si,si->", w, np.exp(w)),
    "sums over matrices": lambda w, v, a: np.einsum("si,si->i", w, np.exp(w)),
    "in one row": lambda w, v, a: np.sum(np.exp(w.reshape(-1))),
    "numbers of each": lambda w, v, a: (v * np.exp(w * a[:, 0, :1])[:, None, :]) @ v.swapaxes(1, 2),
    "complex numbers of each": lambda w, v, a: np.abs(np.sum(np.exp(w * (a[:, 0, :1] + 1j * a[:, 1, :1])), axis=-1)),
    "indices": lambda w, v, a: np.take(v, [1, 2], axis=2) @ np.take(v, [1, 2], axis=2).swapaxes(1, 2),
    "each with each": lambda w, v, a: np.einsum("sai,tbi->stab", v, v) ** 2,
    "each with each, turned": lambda w, v, a: (
        np.einsum("sai,tbi->stab", v * np.exp(w)[:, None, :], np.einsum("cb,tbi->tci", TENSOR[:3, :3, 0], v)) ** 2
    ),
    "mixed matrices": lambda w, v, a: np.einsum("sai,s->ai", v, a[:, 0, 0]) ** 2,
    "sums of squares": lambda w, v, a: np.sum(v * v, axis=0) * X[:3],
    "times": lambda w, v, a: np.einsum(
        "tsai,sbi->tsab", np.einsum("sai,tsi->tsai", v, np.exp(w * np.array([[[0.1]], [[0.4]], [[0.2]]]))), v
    ),
    "times and numbers": lambda w, v, a: np.einsum(
        "tsai,sbi->tsab", v * np.exp(w * np.array([[[0.1]], [[0.4]]]) * a[:, 0, :1])[:, :, None, :], v
    ),
    "numbers of each, at times": lambda w, v, a: np.einsum(
        "tsai,sbi->tsab", v * (np.exp(w * a[:, 0, :1]) * np.array([[[0.1]], [[0.4]], [[0.2]]]))[:, :, None, :], v
    ),
    "grids": lambda w, v, a: grids(a),
    "one matrix for all": lambda w, v, a: np.einsum("sai,ab->sbi", v * np.exp(w)[:, None, :], TENSOR[:3, :3, 0]) ** 2,
    "rows by one matrix": lambda w, v, a: np.einsum("sai,ab->sbi", v, TENSOR[:3, :3, 0]) ** 2,
    "times in front": lambda w, v, a: (np.ones((3, 1, 1, 1)) * v * np.exp(w)[:, None, :]) @ v.swapaxes(1, 2),
}


def slope_by_differences(f, a, e, h=2e-3):
    near = [np.asarray(f(a + k * h * e)) for k in (-3, -2, -1, 1, 2, 3)]
    return sum(c * y for c, y in zip((-1, 9, -45, 45, -9, 1), near, strict=True)) / (60 * h)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*ANY_FORM, *(f"stacked: {name}" for name in STACKED)])
def test_every_form_has_its_derivative_where_values_differ(name):
    one = with_values(np.array([0.2, 1.0, 2.1, 3.3]), False)
    stack = np.stack(
        [with_values(np.array([0.2, 1.0, 2.1]), False, 1), with_values(np.array([-0.5, 0.4, 1.9]), False, 2)]
    )
    function, a = (ANY_FORM[name], one) if name in ANY_FORM else (STACKED[name.removeprefix("stacked: ")], stack)
    e = np.random.default_rng(5).normal(size=a.shape) / 4
    e = e + np.swapaxes(e, -1, -2)

    def f(a):
        return function(*np.linalg.eigh(a), a)

    pushed = primad.jit(lambda a: primad.jvp(f, (a,), (e,)), backend="reference")
    value, change = pushed(a)
    assert np.allclose(value, f(a), atol=1e-12)
    assert np.allclose(change, slope_by_differences(f, a, e), rtol=1e-7, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stack", [(), (1,), (2,), (3,)], ids=str)
def test_values_have_further_axes(stack):
    """They are rows, columns or parts of larger arrays, beside numbers of the matrices that are repeated for them."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(*stack, 3, 3)) / 4 + np.diag([0.0, 1.0, 2.5])
    a = a + a.swapaxes(-1, -2)
    e = hermitian(rng, 3, False) * np.ones((*stack, 1, 1)) / 4

    for more in range(3):
        for places in combinations(range(len(stack) + 1 + more), more):

            def f(a, places=places):
                w = np.expand_dims(np.linalg.eigh(a)[0], places)
                once = np.expand_dims(a[..., :1, 0], places)
                total = np.broadcast_to(np.sum(a * a), w.shape)
                number, spread = np.broadcast_to(once, w.shape), np.broadcast_to(w, (2, *w.shape))
                return np.sum(np.exp(w * number) + np.sin(w + total) * number) + np.sum(w * np.cos(spread * total))

            def slope(a, f=f):
                return np.sum(primad.grad(f)(a) * e)

            assert np.allclose(slope(a), slope_by_differences(f, a, e), rtol=1e-7, atol=1e-8), places
            assert np.allclose(np.sum(primad.grad(slope)(a) * e), slope_by_differences(slope, a, e), rtol=1e-6), places


def test_a_number_that_is_used_twice_is_taken_once():
    def f(a, t):
        w, v = np.linalg.eigh(a)
        return (v * np.exp(-t * w) / (t * w + 1)) @ v.T

    program = spectral_form(primad.lower(primad.trace(f)(EQUAL * np.eye(5), 0.5)), [True, False])
    (found,) = [node for node in program.nodes if node.op is spectral_function]
    assert len(found.inputs) == 2


F8, F4 = np.dtype(float), np.dtype(np.float32)
MATRIX, VECTOR, NUMBER = ArrayType((3, 3), F8), ArrayType((3,), F8), ArrayType((), F8)
REFUSED_TYPES = {
    "of another size": (ArrayType((4, 4), F8), {}),
    "of another dtype": (ArrayType((3, 3), F4), {"dtype": "float32"}),
    "of a stack": (ArrayType((3, 3, 3), F8), {}),
    "said to be of another dtype": (MATRIX, {"dtype": "float32"}),
    "without another number": (MATRIX, {"numbers": 0}),
    "with another result": (MATRIX, {"result": lambda w, p: w[:2]}),
    "changes of another size": (MATRIX, {"order": 1, "change": ArrayType((3, 2), F8)}),
    "changes that are a stack": (MATRIX, {"order": 1, "change": ArrayType((2, 3, 3), F8)}),
    "a stack without changes": (MATRIX, {"stack": (2,)}),
}


@pytest.mark.parametrize("name", [*REFUSED_TYPES, ""])
def test_operands_fit_the_function(name):
    a, options = REFUSED_TYPES.get(name, (MATRIX, {}))
    options = {"numbers": 1, "result": lambda w, p: w * p, "order": 0, "stack": (), "dtype": "float64", **options}
    of = ClosedProgram(program_of([VECTOR, NUMBER], lambda w, p: [options["result"](w, p)]))
    types = [a, *[NUMBER] * options["numbers"], *[options.get("change")] * options["order"]]
    params = {"of": of, "lower": True, "repeated": 0, **{k: options[k] for k in ("order", "stack", "dtype")}}
    if not name:
        assert spectral_function.infer(*types, **params) == MATRIX
        return
    with pytest.raises(ShapeError):
        spectral_function.infer(*types, **params)

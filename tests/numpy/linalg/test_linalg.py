"""Systems of equations, inverses, determinants and factorizations: NumPy's values, and derivatives of every order."""

import itertools
import tracemalloc

import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad import ops
from primad.ops.linalg import factorization
from primad.ops.linalg.factorization import INVERTED
from primad.scipy import linalg as mirror
from primad.transforms import lower

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(20, 3, 3))
"""So many matrices that they are eliminated all at once."""
POSITIVE = WIDE @ np.swapaxes(WIDE, -1, -2) + np.eye(3)

FUNCTIONS = {
    "solve": lambda n, a: n.linalg.solve(a, np.ones((3, 2))),
    "solve of a vector": lambda n, a: n.linalg.solve(a, np.array([1.0, 2.0, 3.0])),
    "solve for one": lambda n, a: n.linalg.solve(np.diag([1.0, 2.0, 4.0]), a),
    "inv": lambda n, a: n.linalg.inv(a),
    "det": lambda n, a: n.linalg.det(a),
    "sign": lambda n, a: n.linalg.slogdet(a)[0],
    "slogdet": lambda n, a: n.linalg.slogdet(a).logabsdet,
    "cholesky": lambda n, a: n.linalg.cholesky(a),
    "upper": lambda n, a: n.linalg.cholesky(a, upper=True),
    "q": lambda n, a: n.linalg.qr(a).Q,
    "r": lambda n, a: n.linalg.qr(a)[1],
    "r alone": lambda n, a: n.linalg.qr(a, mode="r"),
}


def stack_of(name, count):
    stack = POSITIVE if name in ("cholesky", "upper") else WIDE
    return stack[0] if count == 0 else stack[:count]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("count", [0, 2, 20])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(name, count):
    a = stack_of(name, count)
    expected = FUNCTIONS[name](np, a)
    for found in (
        primad.jit(lambda a: FUNCTIONS[name](np, a))(a),
        primad.jit(lambda a: FUNCTIONS[name](pnp, a))(a),
        FUNCTIONS[name](pnp, a),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    single = primad.jit(lambda a: FUNCTIONS[name](np, a))(a.astype(np.float32))
    if "solve" not in name:  # whose other operand is of 64 bits
        assert np.asarray(single).dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_and_batches(name):
    def f(a):
        return np.sum(np.sin(FUNCTIONS[name](np, a)))

    a = stack_of(name, 0)
    if name in ("cholesky", "upper"):  # NumPy's reads one triangle: compare along symmetric changes
        primad.check_grads(lambda x: f(x @ x.T + np.eye(3)), (a,), order=2)
    else:
        primad.check_grads(f, (a,), order=2)
    stack = stack_of(name, 12)
    each = [primad.grad(f)(a) for a in stack]
    np.testing.assert_allclose(primad.vmap(primad.grad(f))(stack), each, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(primad.grad(f)(stack), each, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_a_stack_are_those_of_each_matrix(name):
    """Up to the third order, along a direction."""
    along = POSITIVE[:2] - 1.0
    terms = primad.jit(lambda a, b: primad.taylor(lambda a: FUNCTIONS[name](np, a), a, b, 3), backend="reference")
    found = terms(stack_of(name, 2), along)
    for i in range(2):
        for term, expected in zip(found, terms(stack_of(name, 2)[i], along[i]), strict=True):
            np.testing.assert_allclose(term[i], expected, rtol=1e-9, atol=1e-9)


def test_one_factorization_serves_value_tangent_and_cotangent():
    b = np.ones(3)

    def loss(a):
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a).logabsdet + np.linalg.inv(a)[0, 0]

    for function in (loss, primad.value_and_grad(loss), primad.hessian(loss)):
        program = primad.simplify(primad.trace(lambda a, f=function: f(a))(WIDE[0]))
        assert sum(node.op is ops.lu for node in program.nodes) == 1


@pytest.mark.parametrize("solve", [np.linalg.solve, mirror.solve_triangular])
def test_cotangents_of_matrix_and_right_hand_side_share_their_solution(solve):
    def loss(a, b):
        return np.sum(solve(a, b) ** 2)

    def solutions(function):
        program = primad.simplify(primad.trace(function)(WIDE[0], np.ones(3)))
        return sum(node.op is ops.solve_triangular for node in program.nodes)

    assert solutions(lambda a, b: primad.grad(loss, (0, 1))(a, b)) == 2 * solutions(lambda a, b: loss(a, b))


def test_a_gaussian_process():
    x = np.linspace(0.0, 1.0, 8)
    y = np.sin(6.0 * x)

    def evidence(parameters):
        width, noise = np.exp(parameters[0]), np.exp(parameters[1])
        k = np.exp(-((x[:, None] - x[None, :]) ** 2) / (2.0 * width**2)) + noise * np.eye(8)
        factor = np.linalg.cholesky(k)
        half = np.sum(np.log(np.diagonal(factor)))
        return 0.5 * y @ np.linalg.solve(k, y) + half

    start = np.array([-1.0, -2.0])
    primad.check_grads(evidence, (start,), order=2)
    direct = primad.grad(lambda p: evidence(p))(start)
    eps = 1e-6
    differences = [(evidence(start + eps * e) - evidence(start - eps * e)) / (2 * eps) for e in np.eye(2)]
    np.testing.assert_allclose(direct, differences, rtol=1e-6)


@pytest.mark.parametrize("count", [0, 12])
def test_singular_matrices(count):
    shape = (count, 2, 2) if count else (2, 2)
    singular = np.zeros(shape)
    for function in (np.linalg.inv, lambda a: np.linalg.solve(a, np.ones((2, 1)))):
        with pytest.raises(np.linalg.LinAlgError, match=r"np\.linalg\.solve \(or inv, .*singular"):
            primad.jit(function)(singular)
    np.testing.assert_array_equal(primad.jit(np.linalg.det)(singular), np.zeros(shape[:-2]))
    np.testing.assert_array_equal(primad.grad(lambda a: np.sum(np.linalg.det(a)))(singular), singular)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        primad.jit(np.linalg.cholesky)(singular - np.eye(2))
    sign, size = primad.jit(np.linalg.slogdet)(singular)
    np.testing.assert_array_equal(sign, np.zeros(shape[:-2]))
    assert np.all(np.isneginf(size))


TURN = np.linalg.qr(RNG.normal(size=(4, 4)))[0]


def leibniz(a):
    """The determinant as a polynomial."""
    total = 0.0
    for order in itertools.permutations(range(len(a))):
        sign = np.linalg.det(np.eye(len(a))[list(order)])
        total = total + sign * a[0, order[0]] * a[1, order[1]] * a[2, order[2]] * a[3, order[3]]
    return total


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "values", [(0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 0, 1), (0, 0, 0, 0), (1, 1, 1, 1), (1, 2, 3, 1e-9)]
)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_determinants_have_two_derivatives_everywhere(values, side):
    a = TURN @ np.diag(values).astype(float) @ TURN.T * side
    a[:, 0] *= side  # an odd and an even number of signs
    for derivative in (
        primad.grad,
        primad.hessian,
        primad.jacfwd,
        lambda f: primad.grad(lambda a: np.sum(np.sin(primad.grad(f)(a)))),
    ):
        found, expected = (np.asarray(derivative(f)(a)) for f in (np.linalg.det, leibniz))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
    stack = np.stack([a, np.eye(4)])
    found = primad.grad(lambda s: np.sum(np.linalg.det(s)))(stack)
    np.testing.assert_allclose(found, [primad.grad(leibniz)(a), np.eye(4)], rtol=1e-7, atol=1e-12)


def test_third_derivatives_of_determinants():
    primad.check_grads(lambda a: np.sin(np.linalg.det(a)), (POSITIVE[0] / 2,), order=3)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        primad.derivative(lambda x: np.linalg.det(x * np.diag([0.0, 1.0, 1.0])), 3)(1.0)


def test_elimination_at_once_is_that_of_lapack():
    factors, order, parity = ops.lu.numpy(WIDE)
    for i, a in enumerate(WIDE):
        one, rows, sign = ops.lu.numpy(a)
        np.testing.assert_allclose(factors[i], one, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(order[i], rows)
        assert parity[i] == sign


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: np.linalg.solve(a, np.ones(4)), "right-hand sides of shape"),
        (lambda a: np.linalg.inv(a[:2]), "square matrices"),
        (lambda a: np.linalg.det(a[0]), "square matrices"),
    ],
)
def test_shapes_that_do_not_fit(function, message):
    with pytest.raises(primad.ShapeError, match=message):
        primad.jit(function)(WIDE[0])


def test_empty_matrices():
    empty = np.zeros((0, 0))
    assert primad.jit(np.linalg.det)(empty) == 1.0
    assert primad.jit(np.linalg.inv)(empty).shape == (0, 0)
    assert lower(primad.trace(np.linalg.inv)(empty)).outputs[0].type.shape == (0, 0)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
@pytest.mark.parametrize("function", [mirror.expm, mirror.logm, mirror.sqrtm, lambda a: np.linalg.eig(a)[1]])
def test_functions_of_empty_matrices(function, shape):
    """And their derivatives: all are empty."""
    jitted, empty = primad.jit(function), np.zeros(shape)
    value, tangent = primad.jvp(jitted, (empty,), (empty,))
    (pulled,) = primad.vjp(jitted, empty)[1](value)
    assert jitted(empty).shape == value.shape == tangent.shape == pulled.shape == shape


def test_second_derivatives_of_determinants_in_the_direction_alone():
    rng = np.random.default_rng(4)
    a, b, t = rng.normal(size=(3, 2, 3, 3))
    along = primad.jit(lambda b: ops.cofactors_along(a, b))
    np.testing.assert_allclose(primad.jvp(along, (b,), (t,))[1], along(t), rtol=1e-12)


def test_factors_and_solutions_are_made_in_one_array():
    """A copy of a large matrix is memory that the system clears: LAPACK and BLAS work where results lie."""
    a = np.random.default_rng(0).normal(size=(300, 300)) + 30 * np.eye(300)
    ops.lu.numpy(a)
    tracemalloc.start()
    try:
        factors, order, _ = ops.lu.numpy(a)
        factoring = tracemalloc.get_traced_memory()[1]
        out = np.empty_like(a)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        ops.solve_triangular.numpy(factors, a, lower=True, transpose=False, unit=True, out=out)
        solving = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert factoring < 1.2 * a.nbytes and solving < 0.2 * a.nbytes
    unit_lower = np.tril(factors, -1) + np.eye(300)
    np.testing.assert_allclose(unit_lower @ np.triu(factors), a[order], atol=1e-12)
    np.testing.assert_allclose(unit_lower @ out, a, atol=1e-12)


@pytest.mark.parametrize("count", [3, 20], ids=["one by one", "together"])
@pytest.mark.parametrize(("n", "columns"), [(0, 0), (1, 1), (4, 4), (4, 1), (9, 1), (4, 0)])
def test_triangular_solutions_lie_anywhere(n, columns, count):
    """Matrices in either order of axes, and results in the memory of an operand."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(count, n, n)) + 4 * np.eye(n), rng.normal(size=(count, n, columns))
    for low, transpose, unit in itertools.product((False, True), repeat=3):
        params = {"lower": low, "transpose": transpose, "unit": unit}
        part = np.tril(a, -1) if low else np.triu(a, 1)
        part = part + (np.eye(n) if unit else a * np.eye(n))
        expected = np.linalg.solve(np.swapaxes(part, 1, 2) if transpose else part, b)
        turned = np.swapaxes(np.swapaxes(a, 1, 2).copy(), 1, 2)
        of_a, of_b = a.copy(), b.copy()
        cases = [(turned, b, None), (a, of_b, of_b), (turned, b, np.empty_like(b))]
        for matrices, right, out in [*cases, (of_a, b, of_a)][: 4 if n == columns else 3]:
            found = ops.solve_triangular.numpy(matrices, right, **params, out=out)
            assert out is None or found is out
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("more", [None, (0, 0), (3, 5), (5, 3), (-1, -1)], ids=str)
def test_large_identities_are_solved_as_others_are(more):
    """An identity, for which triangular matrices are inverted, and what differs from one in a single element."""
    rng, n = np.random.default_rng(0), INVERTED
    a = rng.normal(size=(2, n, n)) / n + 4 * np.eye(n)
    b = np.stack([np.eye(n)] * 2)
    if more is not None:
        b[(..., *more)] += 1
    for low, transpose, unit, turned in itertools.product((False, True), repeat=4):
        params = {"lower": low, "transpose": transpose, "unit": unit}
        part = (np.tril(a, -1) if low else np.triu(a, 1)) + (np.eye(n) if unit else a * np.eye(n))
        matrices = np.swapaxes(np.swapaxes(a, 1, 2).copy(), 1, 2) if turned else a
        found = ops.solve_triangular.numpy(matrices, b, **params)
        np.testing.assert_allclose((np.swapaxes(part, 1, 2) if transpose else part) @ found, b, atol=1e-12)


@pytest.mark.parametrize("dtypes", [(np.float16, np.float64), (np.float64, np.float16), (np.float16, np.float16)])
@pytest.mark.parametrize("name", ["lstsq", "polyfit", "solve"])
def test_half_precision_is_refused_where_numpy_refuses(name, dtypes):
    a, b = np.array([[1, 2], [3, 4], [5, 7]], dtypes[0]), np.ones(3, dtypes[1])
    call = {
        "lstsq": lambda a, b: np.linalg.lstsq(a, b)[0],
        "polyfit": lambda a, b: np.polyfit(a[:, 0], b, 1),
        "solve": lambda a, b: np.linalg.solve(a[:2], b[:2]),
    }[name]
    try:
        expected = call(a, b)
    except TypeError:
        with pytest.raises(primad.PrimadError, match="16"):
            primad.trace(call)(a, b)
    else:
        np.testing.assert_allclose(primad.trace(call)(a, b)(a, b), expected, atol=1e-3)


@pytest.mark.parametrize("count", [1, factorization.FEW, factorization.FEW + 1, 40])
def test_many_matrices_are_solved_at_once_and_a_few_by_blas(count, monkeypatch):
    """In the time of as many calls as there are matrices, or as they have rows."""
    asked = []
    for name in ("_substitute", "_solve_by_blas"):
        own = getattr(factorization, name)
        monkeypatch.setattr(factorization, name, lambda *args, own=own, name=name: (asked.append(name), own(*args))[1])
    a, b = np.tril(RNG.normal(size=(count, 3, 3))) + 3 * np.eye(3), RNG.normal(size=(count, 3, 2))
    found = factorization._solve_triangular(a, b, lower=True, transpose=False, unit=False)
    np.testing.assert_allclose(a @ found, b, rtol=1e-12, atol=1e-12)
    assert asked == ["_solve_by_blas" if count <= factorization.FEW else "_substitute"]

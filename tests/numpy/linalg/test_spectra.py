"""Eigenvalues, singular values and what is made of them: NumPy's values, derivatives, and equal values."""

from functools import partial

import numpy as np
import pytest

import primad
from primad import numpy as pnp
from primad import ops
from primad.errors import MatrixError
from primad.scipy import linalg as scipy_linalg

RNG = np.random.default_rng(1)
STACK = np.diag([1.0, -2.5, 4.5]) + RNG.uniform(0.3, 0.6, size=(12, 3, 3))
"""Far from equal values and from kinks, as tall and wide ones are: differences take large steps."""
SYMMETRIC = STACK + np.swapaxes(STACK, -1, -2)
TALL = np.eye(4, 3) * [1.0, -3.0, 6.0] + [0.0, 1.0, 2.0] + RNG.uniform(0.5, 0.9, size=(12, 4, 3))
WIDE = np.swapaxes(TALL, -1, -2).copy()
TURN = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
TENSOR = RNG.normal(size=(2, 3, 3, 2))

FUNCTIONS = {
    "eigenvalues": (lambda n, a: n.linalg.eigh(a)[0], SYMMETRIC),
    "projectors": (lambda n, a: n.linalg.eigh(a).eigenvectors[..., :2] ** 2, SYMMETRIC),
    "upper": (lambda n, a: n.linalg.eigh(a, "U").eigenvalues, SYMMETRIC),
    "vectors of the upper": (lambda n, a: n.linalg.eigh(a, "U").eigenvectors, SYMMETRIC),
    "eigvalsh": (lambda n, a: n.linalg.eigvalsh(a), SYMMETRIC),
    "s": (lambda n, a: n.linalg.svd(a, full_matrices=False).S, TALL),
    "s alone": (lambda n, a: n.linalg.svd(a, compute_uv=False), WIDE),
    "svdvals": (lambda n, a: n.linalg.svdvals(a), WIDE),
    "u of tall": (lambda n, a: n.linalg.svd(a, full_matrices=False).U ** 2, TALL),
    "v of wide": (lambda n, a: n.linalg.svd(a, full_matrices=False)[2] ** 2, WIDE),
    "u of square": (lambda n, a: n.linalg.svd(a)[0] ** 2, STACK),
    "pinv of tall": (lambda n, a: n.linalg.pinv(a), TALL),
    "pinv of wide": (lambda n, a: n.linalg.pinv(a, rtol=1e-9), WIDE),
    "pinv that drops values": (lambda n, a: n.linalg.pinv(a, 0.4), TALL),
    "pinv of wide that drops values": (lambda n, a: n.linalg.pinv(a, 0.4), WIDE),
    "cond": (lambda n, a: n.linalg.cond(a), TALL),
    "cond -2": (lambda n, a: n.linalg.cond(a, -2), TALL),
    "cond 1": (lambda n, a: n.linalg.cond(a, 1), STACK),
    "power": (lambda n, a: n.linalg.matrix_power(a / 4, 5), STACK),
    "power -2": (lambda n, a: n.linalg.matrix_power(a, -2), STACK),
    "power 0": (lambda n, a: n.linalg.matrix_power(a, 0), STACK),
    "trace": (lambda n, a: n.linalg.trace(a, offset=1), TALL),
    "diagonal": (lambda n, a: n.linalg.diagonal(a), TALL),
    "transpose": (lambda n, a: n.linalg.matrix_transpose(a), TALL),
    "matmul": (lambda n, a: n.linalg.matmul(a, np.ones((3, 2))), TALL),
    "vecdot": (lambda n, a: n.linalg.vecdot(a, a, axis=-2), TALL),
    "cross": (lambda n, a: n.linalg.cross(a, np.array([1.0, 2.0, 3.0])), TALL),
    "vector norm": (lambda n, a: n.linalg.vector_norm(a, axis=(-2, -1), ord=3), TALL),
    **{
        f"matrix norm {ord}": (lambda n, a, ord=ord: n.linalg.matrix_norm(a, ord=ord), TALL)
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    **{
        f"norm {ord}": (lambda n, a, ord=ord: n.linalg.norm(a, ord, axis=-1, keepdims=True), TALL)
        for ord in (None, 1, 2, 3, 2.5, -1, np.inf, -np.inf)
    },
    "norm of swapped axes": (lambda n, a: n.linalg.norm(a, 1, axis=(-1, -2), keepdims=True), TALL),
}
SINGLE = {
    "lstsq of tall": (lambda n, a: n.linalg.lstsq(a, np.ones((4, 2)))[0], TALL[0]),
    "lstsq of wide": (lambda n, a: n.linalg.lstsq(a, np.ones(3))[0], WIDE[0]),
    "lstsq that drops values": (lambda n, a: n.linalg.lstsq(a, np.ones(4), 0.4)[0], TALL[0]),
    "lstsq for b": (lambda n, a: n.linalg.lstsq(np.ones((4, 2)) + np.eye(4, 2), a)[0], TALL[0]),
    "residuals": (lambda n, a: n.linalg.lstsq(a, np.arange(4.0))[1], TALL[0]),
    "multi_dot": (lambda n, a: n.linalg.multi_dot([np.full(4, 0.01), a, a.T, a, np.ones(3)]), TALL[0]),
    "multi_dot of matrices": (lambda n, a: n.linalg.multi_dot([a, a.T, np.full((4, 1), 0.02)]), TALL[0]),
    "tensorsolve": (lambda n, a: n.linalg.tensorsolve(a, np.ones((2, 3))), TENSOR),
    "tensorsolve of axes": (lambda n, a: n.linalg.tensorsolve(a, np.ones((3, 2)), axes=(0, 1)), TENSOR),
    "tensorinv": (lambda n, a: n.linalg.tensorinv(a), TENSOR),
    "outer": (lambda n, a: n.linalg.outer(a[0], a[1]), TALL[0]),
    "tensordot": (lambda n, a: n.linalg.tensordot(a, a, axes=((0,), (0,))), TALL[0]),
}
CASES = {**{name: (f, stack[0]) for name, (f, stack) in FUNCTIONS.items()}, **SINGLE}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name):
    function, a = CASES[name]
    for argument in (a, FUNCTIONS[name][1][:2]) if name in FUNCTIONS else (a,):
        expected = function(np, argument)
        for found in (
            primad.jit(lambda a: function(np, a))(argument),
            primad.jit(lambda a: function(pnp, a))(argument),
            function(pnp, argument),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    single = primad.jit(lambda a: function(np, a))(a.astype(np.float32))
    np.testing.assert_allclose(single, function(np, a), rtol=2e-2, atol=2e-2)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_derivatives_and_batches(name):
    function, a = CASES[name]

    def f(a):
        return np.sum(np.sin(function(np, a)))

    if FUNCTIONS.get(name, (None, None))[1] is SYMMETRIC:
        primad.check_grads(lambda x: f(x + x.T), (STACK[0],), order=2)
    else:
        primad.check_grads(f, (a,), order=2)
    if name in FUNCTIONS:
        stack = FUNCTIONS[name][1]
        each = [primad.grad(f)(a) for a in stack]
        np.testing.assert_allclose(primad.vmap(primad.grad(f))(stack), each, rtol=1e-7, atol=1e-9)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_least_squares_of_every_shape(m: int, n: int) -> None:
    """Of no equations, no unknowns, and no right-hand sides too."""
    a = np.random.default_rng(m + 5 * n).normal(size=(m, n))
    for b in (np.ones(m), np.ones((m, 0)), np.ones((m, 1)), np.ones((m, 2)) * [1.0, 2.0]):
        expected = np.linalg.lstsq(a, b)
        for found in (primad.jit(np.linalg.lstsq)(a, b), primad.vjp(lambda a, b: np.linalg.lstsq(a, b)[0], a, b)[:1]):
            for x, y in zip(found, expected, strict=False):
                assert np.shape(x) == np.shape(y)
                np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
        primad.check_grads(lambda a, b: np.linalg.lstsq(a, b)[0], (a, b), order=1)


def test_ranks_are_numbers():
    deficient = TALL[0] @ np.diag([1.0, 1.0, 0.0])
    for a in (TALL, deficient, np.ones(3), np.zeros(2)):
        for function in (np.linalg.matrix_rank, lambda a: np.linalg.matrix_rank(a, tol=0.5)):
            found = primad.jit(function)(a)
            np.testing.assert_array_equal(found, function(a))
            assert np.asarray(found).dtype == np.int64
    x, residuals, rank, s = primad.jit(lambda a: np.linalg.lstsq(a, np.ones(4)))(deficient)
    wanted = np.linalg.lstsq(deficient, np.ones(4))
    np.testing.assert_allclose(x, wanted[0])
    assert rank == wanted[2] == 2
    np.testing.assert_allclose(s, wanted[3], atol=1e-12)
    np.testing.assert_allclose(residuals, [np.sum((deficient @ x - 1) ** 2)])


def test_one_decomposition_serves_value_and_derivatives():
    def loss(a):
        w, v = np.linalg.eigh(a)
        return np.sum(w**3) + np.sum(v[:, 0] ** 4)

    program = primad.simplify(primad.trace(primad.value_and_grad(loss))(SYMMETRIC[0]))
    assert sum(node.op is ops.eigh for node in program.nodes) == 1
    values = primad.simplify(primad.trace(lambda a: np.linalg.svd(a)[1])(STACK[0]))
    assert "_" in str(values)  # vectors that nobody asks for are not computed


# -- equal values ------------------------------------------------------------------------------------------------------


def symmetric(values):
    return TURN @ np.diag(values) @ TURN.T


DEGENERATE = {
    "the identity": np.eye(4),
    "a double value": np.diag([1.0, 2.0, 2.0, 5.0]),
    "turned": symmetric([1.0, 2.0, 2.0, 5.0]),
    "zero": np.zeros((4, 4)),
    "close to rounding": symmetric([1.0, 2.0, 2.0 + 1e-15, 5.0]),
}
SUMS = {
    "exp": (lambda w: np.sum(np.exp(w)), lambda a: spectral(np.exp, a)),
    "squares": (lambda w: np.sum(w**2), lambda a: 2 * a),
    "variance": (lambda w: np.var(w), lambda a: 2 * (a - np.trace(a) / 4 * np.eye(4)) / 4),
}


def spectral(function, a):
    w, v = np.linalg.eigh(a)
    return v @ np.diag(function(w)) @ v.T


@pytest.mark.parametrize("where", DEGENERATE)
@pytest.mark.parametrize("name", SUMS)
def test_sums_over_the_spectrum_have_gradients_everywhere(name, where):
    of_values, gradient = SUMS[name]
    a = DEGENERATE[where]

    def f(a):
        return of_values(np.linalg.eigvalsh(a))

    whole = gradient(a)
    expected = np.tril(whole) + np.tril(whole, -1)  # the lower triangle is read
    np.testing.assert_allclose(primad.grad(f)(a), expected, rtol=1e-9, atol=1e-12)
    along = np.random.default_rng(2).normal(size=(4, 4))
    np.testing.assert_allclose(primad.jvp(f, (a,), (along,))[1], np.sum(expected * along), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("where", DEGENERATE)
def test_single_equal_values_have_slopes_and_no_gradients(where):
    a, along = DEGENERATE[where], np.random.default_rng(3).normal(size=(4, 4))
    along = along + along.T
    found = primad.jvp(np.linalg.eigvalsh, (a,), (along,))[1]
    step = 1e-7
    np.testing.assert_allclose(found, (np.linalg.eigvalsh(a + step * along) - np.linalg.eigvalsh(a)) / step, atol=1e-5)
    with pytest.raises(MatrixError, match="is equal to another one"):
        primad.grad(lambda a: np.linalg.eigvalsh(a)[1])(a)


@pytest.mark.parametrize("where", DEGENERATE)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_vectors_of_equal_values_are_refused(where, mode):
    a = DEGENERATE[where]
    for function in (lambda a: np.linalg.eigh(a)[1], lambda a: np.linalg.svd(a)[0], lambda a: np.linalg.svd(a)[2]):
        with pytest.raises(MatrixError, match="any basis of a space"):
            if mode == "forward":
                primad.jvp(function, (a,), (np.ones((4, 4)),))
            else:
                primad.grad(lambda a, f=function: np.sum(np.sin(f(a))))(a)


def test_a_refusal_names_the_matrix_and_the_value():
    stack = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 4.0, 4.0])])
    with pytest.raises(MatrixError, match=r"the values 1 and 2 of a matrix are equal.*at \[1\] of the stack"):
        primad.grad(lambda a: np.sum(np.linalg.eigh(a)[1][..., 0, :]))(stack)
    with pytest.raises(MatrixError, match=r"the value 1 of a matrix is equal.*at \[1\] of the stack"):
        primad.grad(lambda a: np.sum(np.linalg.eigvalsh(a)[:, 1]))(stack)
    with pytest.raises(MatrixError, match=r"the eigenvalue w\[1\] of a matrix is.*at \[1\] of the stack"):
        primad.grad(lambda a: np.sum(np.abs(np.linalg.eigvals(a)[:, 1])))(stack)


def test_the_nuclear_norm_has_a_gradient_at_equal_values_and_none_at_zero():
    a = TURN[:, :3] * 2.0
    np.testing.assert_allclose(primad.grad(lambda a: np.linalg.norm(a, "nuc"))(a), TURN[:, :3], atol=1e-12)
    for singular in (np.zeros((3, 3)), np.diag([1.0, 2.0, 0.0])):
        np.testing.assert_allclose(primad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 2))(singular), 2 * singular)
        with pytest.raises(MatrixError, match="is 0, or equal to another one"):
            primad.grad(lambda a: np.linalg.norm(a, "nuc"))(singular)
        with pytest.raises(MatrixError, match="is 0, where it has a kink"):
            primad.jvp(lambda a: np.linalg.norm(a, "nuc"), (singular,), (np.ones((3, 3)),))
    with pytest.raises(MatrixError, match="equal to another one"):
        primad.grad(lambda a: np.linalg.norm(a, 2))(a)


def test_the_pseudo_inverse_needs_no_vectors():
    np.testing.assert_allclose(primad.jacobian(np.linalg.pinv)(np.eye(3)), primad.jacobian(np.linalg.inv)(np.eye(3)))

    def ring(x):
        return x * (2.0 * np.eye(4) - np.roll(np.eye(4), 1, 0) - np.roll(np.eye(4), 1, 1))

    for order in (1, 2, 3):
        f = lambda x: np.linalg.pinv(ring(x))[0, 0]  # noqa: E731
        for _ in range(order):
            f = primad.grad(f)
        expected = np.prod(-np.arange(1.0, order + 1)) * np.linalg.pinv(ring(1.0))[0, 0] / 2.0 ** (order + 1)
        np.testing.assert_allclose(f(2.0), expected, rtol=1e-10)


def test_dropped_values_may_be_equal_and_the_kept_ones_too():
    turned = TURN @ np.diag([3.0, 3.0, 1.0, 1.0]) @ np.roll(TURN, 1, 0)
    primad.check_grads(lambda x: np.linalg.pinv(x, 0.5)[0], (turned,), order=2)
    assert not np.any(primad.jacobian(lambda x: np.linalg.pinv(x, 0.5))(np.zeros((2, 2))))


def test_what_is_not_finite_gives_nan():
    stack = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    for function in (np.linalg.eigvalsh, np.linalg.svdvals):
        found = primad.jit(function)(stack)
        np.testing.assert_array_equal(found[0], [1.0, 1.0])
        assert np.isnan(found[1]).all()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: np.linalg.eigh(a[:2]), "square matrices"),
        (lambda a: np.linalg.svd(a[:2]), "full_matrices=False"),
        (lambda a: np.linalg.svd(a, hermitian=True), "eigh"),
        (lambda a: np.linalg.svdvals(a[0]), "takes matrices"),
        (lambda a: np.linalg.norm(a, 5), "no norm of order"),
        (lambda a: np.linalg.norm(a[0], "nuc"), "no norm of order"),
        (lambda a: np.linalg.tensorinv(a, 3), "square"),
        (lambda a: np.linalg.tensorsolve(a, np.ones(2)), "square system"),
        (lambda a: np.linalg.multi_dot([a]), "two arrays or more"),
        (lambda a: np.linalg.matrix_power(a[:2], 2), "square"),
    ],
)
def test_what_does_not_fit_is_refused(function, message):
    with pytest.raises(primad.PrimadError, match=message):
        primad.jit(function)(STACK[0])


@pytest.mark.parametrize("n", [0, 1])
def test_small_matrices(n):
    a = np.full((n, n), 3.0)
    for function in (np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.pinv, lambda a: np.linalg.svd(a)[0]):
        np.testing.assert_allclose(primad.jit(function)(a), function(a))
        assert primad.grad(lambda a, f=function: np.sum(f(a)))(a).shape == (n, n)


# -- matrices of which one triangle is read ----------------------------------------------------------------------------

WEIGHTS, SIDE = np.random.default_rng(5).normal(size=(4, 4)), np.random.default_rng(6).normal(size=4)
BY_TRIANGLE = {
    "eigvalsh": lambda a: np.linalg.eigvalsh(a) * SIDE,
    "eigvalsh, upper": lambda a: np.linalg.eigvalsh(a, "U") * SIDE,
    "eigh": lambda a: np.linalg.eigh(a)[1] ** 2 * WEIGHTS,
    "eigh, upper": lambda a: np.linalg.eigh(a, UPLO="U")[1] ** 2 * WEIGHTS,
    "cholesky": lambda a: np.linalg.cholesky(a) * WEIGHTS,
    "cholesky, upper": lambda a: np.linalg.cholesky(a, upper=True) * WEIGHTS,
    **{
        f"SciPy's {name}, lower={lower}": partial(function, lower=lower)
        for lower in (True, False)
        for name, function in {
            "cholesky": lambda a, lower: scipy_linalg.cholesky(a, lower=lower) * WEIGHTS,
            "cho_factor": lambda a, lower: scipy_linalg.cho_solve(scipy_linalg.cho_factor(a, lower=lower), SIDE),
            "eigh": lambda a, lower: scipy_linalg.eigh(a, lower=lower)[1] ** 2 * WEIGHTS,
            "eigvalsh": lambda a, lower: scipy_linalg.eigvalsh(a, lower=lower) * SIDE,
            "solve": lambda a, lower: scipy_linalg.solve(a, SIDE, assume_a="pos", lower=lower),
        }.items()
    },
}


def differences(f, a, step=1e-6):
    found = np.zeros((*np.shape(f(a)), *a.shape))
    for place in np.ndindex(a.shape):
        change = np.zeros(a.shape)
        change[place] = step
        found[(..., *place)] = (f(a + change) - f(a - change)) / (2 * step)
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BY_TRIANGLE)
@pytest.mark.parametrize("given", ["lower", "upper"])
def test_derivatives_are_in_the_triangle_that_is_read(name, given):
    """Of a matrix that is not symmetric: the gradient, and the second derivatives, are those of the value."""

    def f(a):
        return np.sum(BY_TRIANGLE[name](a))

    noise = np.random.default_rng(7).normal(size=(4, 4))
    whole = noise @ noise.T + 4 * np.eye(4)
    a = np.tril(whole) + np.triu(noise, 1) if given == "lower" else np.triu(whole) + np.tril(noise, -1)
    gradient, wanted = primad.grad(f), differences(f, a)
    np.testing.assert_allclose(gradient(a), wanted, atol=1e-6 * np.max(np.abs(wanted)))
    np.testing.assert_allclose(primad.jvp(f, (a,), (noise,))[1], np.sum(gradient(a) * noise), rtol=1e-9)
    second = differences(gradient, a)
    np.testing.assert_allclose(primad.hessian(f)(a), second, atol=1e-5 * np.max(np.abs(second)))

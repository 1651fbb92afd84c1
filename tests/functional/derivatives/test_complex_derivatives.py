"""Derivatives between real and complex numbers: conventions, what is refused, and every transform of them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import ArrayType, NotDifferentiableError, PrimadError, ops
from primad.ir.json_form import packed, unpacked

RNG = np.random.default_rng(2)
Z = RNG.standard_normal(4) + 1j * RNG.standard_normal(4)
A = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))
X = RNG.uniform(0.5, 1.5, 3)


def scanned(z: Any) -> Any:
    def step(carry: Any, _: Any) -> tuple[Any, Any]:
        carry = A @ (carry * np.exp(0.1j * np.abs(carry) ** 2)) * 0.3
        return carry, np.abs(carry[0])

    carry, sizes = primad.scan(step, z, None, length=5)
    return np.sum(np.abs(carry) ** 2) + np.sum(sizes)


def looped(z: Any) -> Any:
    end = primad.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * s[0] * 0.3 + A[0], s[1] + 1), (z, 0))
    return np.sum(np.abs(end[0]))


def unrolled(z: Any) -> Any:
    c = z
    for _ in range(20):
        c = A @ c * 0.3 + z
    return np.sum(np.abs(c) ** 2)


def written(z: Any) -> Any:
    y = pnp.zeros(6, complex)
    y[1:5] = z * 2
    y[0] = 1j
    return np.sum(np.abs(y) ** 2 * np.arange(6))


@primad.custom_jvp
def cubed(z: Any) -> Any:
    return z**3


cubed.defjvp(lambda primals, tangents: (cubed(*primals), 3 * primals[0] ** 2 * tangents[0]))

LOSSES = {
    "products": lambda z: np.sum(np.abs(A @ z) ** 2),
    "phases": lambda z: np.sum(np.angle(z) * np.arange(4) + np.log(z).imag ** 2),
    "mixed": lambda z: np.sum((np.conj(z) * np.exp(1j * z.real) / z).imag),
    "where": lambda z: np.sum(np.abs(np.where(z.real > 0, z**2, np.conj(z))) ** 2),
    "powers": lambda z: np.sum(np.abs(z**2.5 + z**-2 + 2**z)),
    "einsum": lambda z: np.einsum("i,ij,j->", np.conj(z), A, z).real,
    "gather": lambda z: np.sum(np.abs(z[np.array([0, 2, 2])] * np.arange(3)) ** 2),
    "norms": lambda z: np.linalg.norm(z) + np.var(z) + np.std(z) + np.linalg.norm(z, 1),
    "scan": scanned,
    "while": looped,
    "cond": lambda z: primad.cond(np.abs(z[0]) > 9, lambda z: np.sum(z.real), lambda z: np.sum(np.abs(z * z)), z),
    "checkpoint": lambda z: np.sum(np.abs(primad.checkpoint(lambda z: np.sin(z) * np.exp(z))(z))),
    "vmap": lambda z: np.sum(np.abs(primad.vmap(lambda a: a * np.conj(a) * np.sin(a))(z)) ** 2),
    "Python's loop": unrolled,
    "writes": written,
    "a rule of one's own": lambda z: np.sum(np.abs(cubed(z)) ** 2),
    "a function of parts": lambda z: np.sum(np.hypot(z.real, z.imag) * z.real),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_real_losses(name: str) -> None:
    """∂f/∂x − i ∂f/∂y and products with the second derivatives, by differences; the same under jit."""
    loss = LOSSES[name]
    primad.check_grads(loss, (Z,), order=1 if name == "a rule of one's own" else 2, rtol=1e-5, atol=1e-7)
    gradient = primad.grad(loss)(Z)
    assert gradient.dtype == np.complex128
    h = 1e-5
    for j in range(2):
        e = np.eye(4)[j]
        by_x, by_y = ((loss(Z + h * t * e) - loss(Z - h * t * e)) / (2 * h) for t in (1, 1j))
        np.testing.assert_allclose(gradient[j], by_x - 1j * by_y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(primad.jit(loss)(Z), loss(Z), rtol=1e-12)
    np.testing.assert_allclose(primad.jit(primad.grad(loss))(Z), gradient, rtol=1e-10)
    np.testing.assert_allclose(primad.jit(primad.grad(loss), backend="reference")(Z), gradient, rtol=1e-10)


@pytest.mark.parametrize("name", ["mixed", "norms", "where"])
def test_single_precision_stays(name: str) -> None:
    value, gradient = primad.value_and_grad(LOSSES[name])(Z.astype(np.complex64))
    np.testing.assert_allclose(gradient, primad.grad(LOSSES[name])(Z), rtol=1e-3, atol=1e-3)
    assert gradient.dtype == np.complex64 and value.dtype == np.float32


def test_cotangents_of_real_arguments_are_real() -> None:
    f = primad.grad(lambda x: np.sum(np.abs(np.exp(1j * x) + 1) ** 2))
    assert f(X).dtype == np.float64
    np.testing.assert_allclose(f(X), -2 * np.sin(X), rtol=1e-12)
    _, pull = primad.vjp(lambda x: x * 1j, X)
    np.testing.assert_allclose(pull(np.full(3, 1.0 - 2.0j))[0], np.full(3, 2.0))
    loss = primad.grad(lambda t: np.sum(np.abs(np.exp(1j * t * A))))
    assert isinstance(loss(0.5), np.float64)
    assert np.isclose(primad.laplacian(lambda x: np.exp(1j * np.sum(x**2)))(X), complex(*_laplacian(X)))


def _laplacian(x: Any) -> tuple[float, float]:
    s = np.sum(x**2)
    found = (2j * x.size - 4 * s) * np.exp(1j * s)
    return found.real, found.imag


def test_holomorphic_functions() -> None:
    np.testing.assert_allclose(primad.grad(lambda z: np.sum(np.sin(z) ** 2), holomorphic=True)(Z), np.sin(2 * Z))
    for mode in (primad.jacobian, primad.jacfwd, primad.jacrev):
        found = np.asarray(mode(lambda z: A @ z**2, holomorphic=True)(Z))
        np.testing.assert_allclose(found, 2 * A * Z, rtol=1e-12)
    np.testing.assert_allclose(primad.derivative(np.exp, 3, holomorphic=True)(Z), np.exp(Z))


def test_jacobians_between_real_and_complex() -> None:
    found = np.asarray(primad.jacobian(lambda x: np.exp(1j * x))(X))
    np.testing.assert_allclose(found, np.diag(1j * np.exp(1j * X)), rtol=1e-12)
    for shared in (lambda z: np.real(z * np.conj(z[:1]) ** 2), lambda z: np.imag(z * np.conj(z[:1] * z[1:2]))):
        slopes = [primad.grad(lambda z, i=i, shared=shared: shared(z)[i])(Z) for i in range(len(Z))]
        np.testing.assert_allclose(np.asarray(primad.jacobian(shared)(Z)), slopes, rtol=1e-12, atol=1e-14)
    J = primad.jacrev(lambda z: np.conj(np.conj(z) * np.conj(z[:1]) ** 2), holomorphic=True)(Z)
    np.testing.assert_allclose(J, primad.jacfwd(lambda z: z * z[:1] ** 2, holomorphic=True)(Z), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(primad.jacobian(np.abs)(Z)), np.diag(np.conj(Z) / np.abs(Z)), rtol=1e-12)
    J = primad.jacobian(np.abs)(Z)
    np.testing.assert_allclose(J[np.arange(4).repeat(4), np.tile(np.arange(4), 4)].reshape(4, 4), np.asarray(J))
    np.testing.assert_allclose(J.sparse().toarray(), np.asarray(J), rtol=1e-12)
    J = primad.jacobian(lambda x: x * 1j)(X)
    np.testing.assert_array_equal(J.pattern().toarray(), np.eye(len(X), dtype=bool))
    np.testing.assert_array_equal(J.sparse().toarray(), 1j * np.eye(len(X)))
    J = primad.jacobian(lambda z: z * z + A[0], holomorphic=True)(Z)
    np.testing.assert_allclose(J.sparse().toarray(), np.diag(2 * Z))
    J = primad.jacobian(lambda x: A[:, :3] @ x)(X)
    assert J.dtype == np.complex128
    np.testing.assert_allclose(J @ X, A[:, :3] @ X, rtol=1e-12)
    np.testing.assert_allclose(J[1], A[1, :3])
    inside = primad.jit(lambda x: primad.jacobian(lambda x: x * 1j)(x) @ (x * (1 + 1j)))(X)
    np.testing.assert_allclose(inside, X * (1j - 1), rtol=1e-12)


def test_wirtinger_derivatives() -> None:
    by_z, by_conjugate = primad.wirtinger(lambda z: z**2 * np.conj(z))(Z)
    np.testing.assert_allclose(by_z, np.diag(2 * Z * np.conj(Z)), atol=1e-12)
    np.testing.assert_allclose(by_conjugate, np.diag(Z**2), atol=1e-12)
    by_z, by_conjugate = primad.wirtinger(lambda a, z: np.sum(np.abs(a * z)), argnums=1)(2.0, Z)
    np.testing.assert_allclose(by_conjugate, np.conj(by_z))
    np.testing.assert_allclose(2 * by_z, primad.grad(lambda z: np.sum(np.abs(2.0 * z)))(Z))
    with pytest.raises(NotDifferentiableError, match="float64"):
        primad.wirtinger(np.sin)(1.0)


REFUSED = {
    "grad of a complex result": (lambda: primad.grad(lambda z: np.sum(z))(Z), "holomorphic=True"),
    "grad of a complex result of reals": (lambda: primad.grad(lambda x: np.sum(x * 1j))(X), "primad.jacobian"),
    "holomorphic with a real result": (lambda: primad.grad(LOSSES["mixed"], holomorphic=True)(Z), "not complex"),
    "jacobian": (lambda: primad.jacobian(np.conj)(Z), "holomorphic=True"),
    "jacfwd to real": (lambda: primad.jacfwd(np.abs)(Z), "jacrev"),
    "jacrev to complex": (lambda: primad.jacrev(lambda x: x * 1j)(X), "jacfwd"),
    "hessian": (lambda: primad.hessian(LOSSES["products"])(Z), "primad.hvp"),
    "laplacian": (lambda: primad.laplacian(LOSSES["products"])(Z), "primad.hvp"),
    "derivative": (lambda: primad.derivative(np.exp)(Z), "holomorphic=True"),
    "a complex tangent of a real argument": (lambda: primad.jvp(np.sin, (1.0,), (1j,)), "float64"),
    "a real tangent of a complex argument": (lambda: primad.jvp(np.sin, (Z,), (np.ones(4),)), "complex128"),
    "a comparison": (lambda: primad.jit(lambda z: z < 1)(Z), "x.real"),
    "a quantile": (lambda: primad.jit(lambda z: np.quantile(z, 0.5))(Z), "x.real"),
    "a cast": (lambda: primad.jit(lambda z: z.astype(float))(Z), "imaginary parts"),
    "a value lost": (lambda: primad.grad(lambda z: np.abs(complex(z[0])))(Z), "complex"),
    "entries of second derivatives": (
        lambda: primad.hessian(lambda x: np.sum(x**3 * 1j))(X).sparse(),
        "np.asarray",
    ),
    "a loss": (lambda: primad.optimize.minimize(lambda x: np.sum(x * 1j), X), "complex"),
    "an equation in time": (lambda: primad.integrate.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), X), "complex"),
    "a real primitive": (lambda: primad.grad(lambda z: np.abs(halved(z)))(1j), "analytic"),
}
halved = primad.elementwise("halved", lambda x: x / 2, partials=[lambda out, x: x * 0 + 0.5])


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_single_answer_is_refused(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(PrimadError, match=words):
        call()


def test_primitives_of_ones_own_say_that_they_are_analytic() -> None:
    square = primad.elementwise("own square", lambda z: z * z, [lambda out, z: 2.0 * z], complex="analytic")
    np.testing.assert_allclose(primad.grad(lambda z: np.sum(square(z)), holomorphic=True)(Z), 2 * Z)
    assert primad.verify(square).ok


def test_programs_keep_their_bits() -> None:
    """Texts, JSON and pickles tell complex numbers apart by the signs of zeros in their parts."""
    numbers = [complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0), 1j, complex(1, -0.0), complex(np.inf, np.nan)]
    program = primad.trace(lambda z: [z + n for n in numbers] + [np.sum(z) * Z[:2]])(ArrayType((2,), complex))
    again = primad.parse(str(program))
    assert again.key == program.key and str(again) == str(program)
    said = json.loads(json.dumps(packed(program, ops.BY_NAME)))
    assert unpacked(said, ops.BY_NAME).key == program.key
    for copy in (again, pickle.loads(pickle.dumps(program))):
        for found, expected in zip(copy(Z[:2]), program(Z[:2]), strict=True):
            np.testing.assert_array_equal(found, expected)
    values = {value for node in program.nodes if node.op.name == "literal" for value in [str(node.params)]}
    assert len(values) >= 4  # adding 0 is no addition


def test_explain_names_what_runs_with_numpy() -> None:
    said = str(primad.explain(lambda z: np.sum(np.abs(np.arcsin(z)) ** 2), np.tile(Z, 20)))
    assert "arcsin runs with NumPy" in said and "complex numbers" in said


GRID = [
    complex(a, b) for a in (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan) for b in (0.0, -0.0, 2.0, -np.inf, np.nan)
]


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "function",
    [
        np.abs, np.angle, np.sign, np.conj, np.real, np.imag, np.isnan, np.isinf, np.isfinite, np.exp, np.log, np.sqrt,
        np.sin, np.tanh, np.arcsin, np.square, np.negative, lambda z: z + 1.0, lambda z: z * 2.0,
        lambda z: z * 1.0, lambda z: 1j * z, lambda z: z - (1 + 0j), lambda z: z / 2.0, lambda z: z**2,
        lambda z: z == 0,
    ],
)  # fmt: skip
def test_values_at_special_points_are_numpys(function: Any) -> None:
    z = np.array(GRID)
    with np.errstate(all="ignore"):
        expected = function(z)
        for found in (primad.jit(function)(z), primad.trace(function)(z)(z)):
            assert found.dtype == expected.dtype
            for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
                np.testing.assert_allclose(a, b, rtol=1e-15)
                if found.dtype.kind in "fc":
                    np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("dtype", ["complex64", "float32", "int64"])
def test_check_grads_says_how_to_convert(dtype: str) -> None:
    with pytest.raises(NotDifferentiableError, match=r"got " + dtype + r"[\s\S]*astype\(complex\)"):
        primad.check_grads(np.square, (np.ones(2, dtype),))


@pytest.mark.parametrize(
    "function",
    [
        np.conj,
        lambda z: z * np.abs(z),
        lambda z: z.real + 0j,
        lambda z: {"a": z**2, "b": np.sum(z * np.conj(z))},
        lambda z: np.fft.fft(z) + np.fft.rfft(z.imag, 6),
    ],
)
def test_functions_that_are_no_holomorphic_ones_are_found(function: Any) -> None:
    primad.check_grads(function, (Z,))
    with pytest.raises(AssertionError, match="is not holomorphic"):
        primad.check_grads(function, (Z,), holomorphic=True)


def test_holomorphic_functions_pass_their_check() -> None:
    primad.check_grads(lambda z: np.fft.ifft(np.exp(A @ z / 4)) / z, (Z,), order=3, holomorphic=True)
    for function, x in ((np.abs, Z), (np.sin, X)):
        with pytest.raises(NotDifferentiableError, match="holomorphic=True"):
            primad.check_grads(function, (x,), holomorphic=True)

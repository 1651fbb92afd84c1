"""Operators of fields are those of SymPy, in all coordinates, and satisfy the identities of vector calculus."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import primad
from primad import pde

RNG = np.random.default_rng(1)
X = sympy.symbols("x y z", real=True)
T = sympy.Symbol("t", real=True)
SCALAR = sympy.sin(X[0] * X[1]) * X[2] ** 2 + sympy.exp(X[0] / 2) * X[1] ** 4 + T * X[0] ** 3
VECTOR = [X[1] ** 2 * X[2] + T * X[0], sympy.sin(X[0]) * X[2], X[0] * X[1] * sympy.cos(X[2])]


def compiled(expressions, symbols):
    return sympy.lambdify(symbols, expressions, "numpy")


def field(expression, symbols, components=None):
    """A field of an expression, at a single point, as a user writes it."""
    if isinstance(expression, (list, tuple)):
        parts = [primad.from_sympy(each, symbols) for each in expression]
        return pde.Field(lambda *q: np.stack([part(*q) for part in parts]), [*map(str, symbols)], components)
    return pde.Field(primad.from_sympy(expression, symbols), [*map(str, symbols)])


def values(expression, symbols, points):
    flat = sympy.flatten(expression) if isinstance(expression, (list, tuple, sympy.MatrixBase)) else [expression]
    columns = np.moveaxis(points, -1, 0)
    found = [np.broadcast_to(compiled(each, symbols)(*columns), points.shape[:-1]) for each in flat]
    shape = np.shape(expression) if isinstance(expression, (list, tuple, sympy.MatrixBase)) else ()
    return np.reshape(np.stack(found, axis=-1), (*points.shape[:-1], *shape))


def slope(u, q):
    return sympy.diff(u, q)


def lap(u, symbols=X):
    return sum(sympy.diff(u, q, 2) for q in symbols)


def rotation(v):
    return [slope(v[(i + 2) % 3], X[(i + 1) % 3]) - slope(v[(i + 1) % 3], X[(i + 2) % 3]) for i in range(3)]


OF_SCALARS = {
    "gradient": (pde.gradient, [slope(SCALAR, q) for q in X]),
    "hessian": (pde.hessian, sympy.hessian(SCALAR, X)),
    "laplacian": (pde.laplacian, lap(SCALAR)),
    "laplacian of two": (lambda u: pde.laplacian(u, "x z"), lap(SCALAR, (X[0], X[2]))),
    "biharmonic": (pde.biharmonic, lap(lap(SCALAR))),
    "directional": (
        lambda u: pde.directional_derivative(u, (1.0, -2.0, 0.5)),
        slope(SCALAR, X[0]) - 2 * slope(SCALAR, X[1]) + slope(SCALAR, X[2]) / 2,
    ),
    "normal": (
        lambda u: pde.normal_derivative(u, np.array([0.0, 0.6, 0.8])),
        0.6 * slope(SCALAR, X[1]) + 0.8 * slope(SCALAR, X[2]),
    ),
    "material": (
        lambda u: pde.material_derivative(u, (1.0, 0.0, 2.0)),
        slope(SCALAR, T) + slope(SCALAR, X[0]) + 2 * slope(SCALAR, X[2]),
    ),
    "diffusion by a number": (lambda u: pde.diffusion(u, 3.0), 3 * lap(SCALAR)),
    "diffusion by a matrix of NumPy": (
        lambda u: pde.diffusion(u, np.array([[1.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 1.0]])),
        lap(SCALAR) + 4 * slope(SCALAR, X[1]).diff(X[1]) + 4 * slope(SCALAR, X[0]).diff(X[1]),
    ),
    "diffusion by a matrix": (
        lambda u: pde.diffusion(u, [[1.0, 2.0, 0.0], [2.0, 5.0, 0.0], [0.0, 0.0, 1.0]]),
        lap(SCALAR) + 4 * slope(SCALAR, X[1]).diff(X[1]) + 4 * slope(SCALAR, X[0]).diff(X[1]),
    ),
}
OF_VECTORS = {
    "gradient": (pde.gradient, sympy.Matrix(VECTOR).jacobian(X)),
    "divergence": (pde.divergence, sum(slope(v, q) for v, q in zip(VECTOR, X, strict=True))),
    "curl": (pde.curl, rotation(VECTOR)),
    "laplacian": (pde.laplacian, [lap(v) for v in VECTOR]),
    "strain": (pde.strain, (sympy.Matrix(VECTOR).jacobian(X) + sympy.Matrix(VECTOR).jacobian(X).T) / 2),
    "advection": (
        lambda v: pde.advection(v, v),
        [sum(a * slope(b, q) for a, q in zip(VECTOR, X, strict=True)) for b in VECTOR],
    ),
    "material": (
        lambda v: pde.material_derivative(v, v),
        [slope(b, T) + sum(a * slope(b, q) for a, q in zip(VECTOR, X, strict=True)) for b in VECTOR],
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize("name", OF_SCALARS)
def test_operators_of_scalars(name, shape):
    operator, expected = OF_SCALARS[name]
    points = RNG.normal(size=(*shape, 4))
    found = operator(field(SCALAR, (*X, T)).on(points))
    assert_allclose(found, values(expected, (*X, T), points), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize("name", OF_VECTORS)
def test_operators_of_vectors(name, shape):
    operator, expected = OF_VECTORS[name]
    points = RNG.normal(size=(*shape, 4))
    found = operator(field(VECTOR, (*X, T), "u v w").on(points))
    assert_allclose(found, values(expected, (*X, T), points), rtol=1e-11, atol=1e-12)


def test_weights_that_are_fields():
    k = X[0] ** 2 + sympy.cos(X[1])
    points = RNG.normal(size=(5, 4))
    u, weight = field(SCALAR, (*X, T)).on(points), field(k, (*X, T)).on(points)
    expected = sum(slope(k * slope(SCALAR, q), q) for q in X)
    assert_allclose(pde.diffusion(u, weight), values(expected, (*X, T), points), rtol=1e-11)
    tensor = [[weight, 0.0, 0.0], [weight, 1.0, 0.0], [0.0, 0.0, 2.0]]
    expected = slope(k * slope(SCALAR, X[0]), X[0]) + slope(k * slope(SCALAR, X[0]), X[1])
    expected += SCALAR.diff(X[1], 2) + 2 * SCALAR.diff(X[2], 2)
    assert_allclose(pde.diffusion(u, tensor), values(expected, (*X, T), points), rtol=1e-11)


@pytest.mark.parametrize("names", [(1,), (0, 2), (3,)])
def test_weights_that_depend_on_fewer_coordinates(names):
    """Their other slopes are zero."""
    own = [(*X, T)[i] for i in names]
    k, points = 2 + sympy.sin(sum(own)), RNG.normal(size=(5, 4))
    u, weight = field(SCALAR, (*X, T)).on(points), field(k, own).on(points[:, names])
    expected = sum(slope(k * slope(SCALAR, q), q) for q in X)
    assert_allclose(pde.diffusion(u, weight), values(expected, (*X, T), points), rtol=1e-11)
    assert_allclose(pde.diffusion(u, [[weight, 0, 0], [0, weight, 0], [0, 0, weight]]),
                    values(expected, (*X, T), points), rtol=1e-11)  # fmt: skip


def test_values_at_points_are_no_weights():
    """Their derivatives would be left out."""
    points = RNG.normal(size=(5, 4))
    u, weight = field(SCALAR, (*X, T)).on(points), 1 + points[:, 0]
    matrix = [[weight if i == j else 0.0 for j in range(3)] for i in range(3)]
    for one in (weight, matrix, np.full((5, 3, 3), 2.0), np.ones((3, 5))):
        with pytest.raises(primad.PrimadError, match=r"values at points do not tell their derivatives"):
            pde.diffusion(u, one)


def network(points):
    weights = np.random.default_rng(5)
    first, second, last = (weights.normal(size=shape) for shape in ((3, 8), (8, 8), (8, 4)))
    return np.tanh(np.tanh(points @ first) @ second) @ last


def test_identities_of_vector_calculus():
    """Of a network, through fields that are made of fields."""
    points = RNG.normal(size=(6, 3))

    def made(body):
        return pde.Field(body, "(x y z)").on(points)

    def u(p):
        return network(p)[3]

    def v(p):
        return network(p)[:3]

    def at(body, p):
        return pde.Field(body, "(x y z)").on(p)

    assert_allclose(pde.curl(made(lambda p: pde.gradient(at(u, p)))), 0.0, atol=1e-12)
    assert_allclose(pde.divergence(made(lambda p: pde.curl(at(v, p)))), 0.0, atol=1e-12)
    assert_allclose(pde.divergence(made(lambda p: pde.gradient(at(u, p)))), pde.laplacian(made(u)), rtol=1e-11)
    assert_allclose(pde.laplacian(made(lambda p: pde.laplacian(at(u, p)))), pde.biharmonic(made(u)), rtol=1e-10)
    twice = pde.curl(made(lambda p: pde.curl(at(v, p))))
    grad_div = pde.gradient(made(lambda p: pde.divergence(at(v, p))))
    assert_allclose(twice, grad_div - pde.laplacian(made(v)), rtol=1e-10, atol=1e-11)
    product = pde.divergence(made(lambda p: u(p) * v(p)))
    assert_allclose(product, made(u) * pde.divergence(made(v)) + pde.advection(made(v), made(u)), rtol=1e-11)
    assert_allclose(np.trace(pde.strain(made(v)), axis1=-2, axis2=-1), pde.divergence(made(v)), rtol=1e-12)


# -- other coordinates -------------------------------------------------------------------------------------------------

SKEW = pde.CoordinateSystem("a b", lambda a, b: (a + b / 2, b + a**2 / 8))
PARABOLIC = pde.CoordinateSystem("s q", lambda s, q: (s * q, (q**2 - s**2) / 2))
LEFT = pde.CoordinateSystem("r z theta", lambda r, z, theta: (r * sympy.cos(theta), r * sympy.sin(theta), z))
SYSTEMS = {
    "polar": (pde.polar, 2),
    "cylindrical": (pde.cylindrical, 3),
    "spherical": (pde.spherical, 3),
    "parabolic": (PARABOLIC, 2),
    "skew": (SKEW, 2),
    "left-handed": (LEFT, 3),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SYSTEMS)
def test_operators_in_other_coordinates_are_the_cartesian_ones(name):
    """A Cartesian scalar and vector, written in other coordinates, have the Cartesian operators' values there."""
    system, n = SYSTEMS[name]
    q = RNG.uniform(0.4, 1.2, size=(5, n))
    axes = X[:n]
    scalar = sympy.sin(axes[0]) * axes[1] ** 2 + (axes[-1] * axes[0] if n == 3 else axes[0] ** 3)
    vector = VECTOR[:n]
    vector = [each.subs({T: 0, X[2]: X[2] if n == 3 else 1}) for each in vector]
    to = dict(zip(axes, system.cartesian, strict=True))
    u = field(scalar.subs(to, simultaneous=True), system.symbols).on(q)
    inside = sympy.Matrix([each.subs(to, simultaneous=True) for each in vector])
    v = field(list(system.frame.T * inside), system.symbols).on(q)
    cartesian = np.stack([np.broadcast_to(compiled(each, system.symbols)(*q.T), 5) for each in system.cartesian], -1)
    frame = values(system.frame, system.symbols, q)

    def there(expression):
        return values(expression, axes, cartesian)

    def turn(matrices):
        return np.einsum("nia,nij,njb->nab", frame, matrices, frame)

    gradient = np.einsum("nij,ni->nj", frame, there([slope(scalar, x) for x in axes]))
    assert_allclose(pde.gradient(u, system=system), gradient, rtol=1e-10, atol=1e-11)
    assert_allclose(pde.laplacian(u, system=system), there(lap(scalar, axes)), rtol=1e-10, atol=1e-11)
    divergence = sum(slope(each, x) for each, x in zip(vector, axes, strict=True))
    assert_allclose(pde.divergence(v, system=system), there(divergence), rtol=1e-10, atol=1e-11)
    slopes = there(sympy.Matrix(vector).jacobian(axes))
    assert_allclose(pde.gradient(v, system=system), turn(slopes), rtol=1e-10, atol=1e-11)
    symmetric = (slopes + np.swapaxes(slopes, -1, -2)) / 2
    assert_allclose(pde.strain(v, system=system), turn(symmetric), rtol=1e-10, atol=1e-11)
    turned = pde.curl(v, system=system)
    if n == 3:
        assert_allclose(turned, np.einsum("nij,ni->nj", frame, there(rotation(vector))), rtol=1e-10, atol=1e-11)
    else:
        across = slope(vector[1], axes[0]) - slope(vector[0], axes[1])
        assert_allclose(turned, there(across), rtol=1e-10, atol=1e-11)


MISTAKES = [
    (lambda u, v: pde.divergence(u), "a number at each point"),
    (lambda u, v: pde.curl(pde.Field(lambda x: np.stack([x]), "x")(1.0)), "1 dimension has none"),
    (lambda u, v: pde.divergence(v, "x"), "2 components for the coordinates x"),
    (lambda u, v: pde.laplacian(u, "q"), "'q' is no coordinate"),
    (lambda u, v: pde.laplacian(u, "xy"), "'xy' is no coordinate"),
    (lambda u, v: pde.advection((1.0, 2.0, 3.0), u), "has 3 components"),
    (lambda u, v: pde.laplacian(u, system=pde.polar), "has no coordinate r"),
    (lambda u, v: pde.diffusion(u, [[1.0]]), "a matrix for 2 coordinates"),
    (lambda u, v: pde.CoordinateSystem("a b", lambda a, b: (a,)), "2 coordinates and 1"),
    (lambda u, v: pde.CoordinateSystem("a", [sympy.Symbol("c")]), "contains c"),
]


@pytest.mark.parametrize(("wrong", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_named(wrong, message):
    u = pde.Field(lambda x, y: x * y, "x y")(1.0, 2.0)
    v = pde.Field(lambda x, y: np.stack([x, y]), "x y")(1.0, 2.0)
    with pytest.raises(primad.PrimadError, match=message):
        wrong(u, v)


@pytest.mark.parametrize("batched", [False, True])
def test_a_laplacian_in_many_dimensions_is_one_stack(batched):
    rng = np.random.default_rng(0)
    first, last = rng.normal(size=(200, 6)) / 14, rng.normal(size=(6, 2))

    def body(x, t):
        return np.tanh(x @ first) @ last * (t[..., None] if batched else t)

    u = pde.Field(body, "x[200] t", "u v", batched=batched)
    x, t = rng.normal(size=(3, 5, 200)), rng.normal(size=(3, 5))
    found = pde.laplacian(u(x, t))
    slope = np.tanh(x @ first)
    expected = (-2 * slope * (1 - slope**2) * np.sum(first**2, axis=0)) @ last * t[..., None]
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(pde.laplacian(u(x, t).v), expected[..., 1], rtol=1e-10, atol=1e-12)
    program = primad.simplify(primad.trace(lambda x, t: pde.laplacian(u(x, t)))(x, t))
    assert len(program.nodes) < 200


def test_normals_with_a_part_along_time_give_derivatives_in_space():
    """As arrays, as the arguments of a condition are stacked to; vectors of another length stay an error."""
    u = pde.Field(lambda x, t: x**2 * t, "x t")(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    normals = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert np.allclose(pde.normal_derivative(u, normals), [6.0, -20.0])
    assert np.allclose(primad.jit(lambda n: pde.normal_derivative(u, n).sum())(normals), -14.0)
    for wrong in (lambda: pde.advection(normals, u), lambda: pde.normal_derivative(u, np.ones((2, 3)))):
        with pytest.raises(primad.errors.ShapeError, match="for 1 coordinate of space"):
            wrong()

"""Functions for PyTensor: Ops with derivatives to any order, types found when the graph is built, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import primad
from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.integrate import solve_ivp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.documents import ROOT, blocks

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed: pip install 'primad[pytensor]'")
pt = pytest.importorskip("pytensor.tensor")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Numba will use object mode"),
    pytest.mark.filterwarnings("ignore:Rop is deprecated"),  # the name of both generations of PyTensor
]
RNG = np.random.default_rng(4)
TIMES = np.linspace(0.0, 2.0, 5)


def energy(x, y):
    return np.sum(np.sin(x) * y**2) + np.prod(x)


def predators(rates):
    found = solve_ivp(
        lambda t, y: [rates[0] * y[0] - y[0] * y[1], y[0] * y[1] - rates[1] * y[1]],
        (0.0, 2.0), [1.0, 0.5], t_eval=TIMES, rtol=1e-8, atol=1e-8,
    )  # fmt: skip
    return found.y


def misfit(rates, data):
    return np.sum((predators(rates) - data) ** 2)


def evaluated(outputs, given):
    return pytensor.function(list(given), outputs, on_unused_input="ignore")(*given.values())


@pytest.mark.parametrize("mode", ["py", None], ids=["perform", "default"])
def test_derivatives_to_third_order_are_primads(mode):
    x, y = pt.vector("x"), pt.vector("y", shape=(3,))
    value = primad.to_pytensor(energy)(x, y)
    gradients = pytensor.grad(value, [x, y])
    second = pytensor.grad(pt.sum(gradients[0] * y), [x, y])
    third = pytensor.grad(pt.sum(second[1] ** 2), x)
    mixed = pytensor.gradient.Rop(gradients[0], y, y)
    arrays = RNG.uniform(0.5, 1.5, size=(2, 3))
    mode = pytensor.compile.mode.Mode(linker=mode) if mode else None
    found = pytensor.function([x, y], [value, *gradients, *second, third, mixed], mode=mode)(*arrays)

    def first(x, y):
        return primad.grad(energy, (0, 1))(x, y)

    def again(x, y):
        return primad.grad(lambda x, y: np.sum(first(x, y)[0] * y), (0, 1))(x, y)

    wanted = [energy(*arrays), *first(*arrays), *again(*arrays)]
    wanted.append(primad.grad(lambda x, y: np.sum(again(x, y)[1] ** 2))(*arrays))
    wanted.append(primad.jvp(lambda y: first(arrays[0], y)[0], (arrays[1],), (arrays[1],))[1])
    for ours, theirs in zip(wanted, found, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_have_their_values_and_types(seed):
    program = draw_program(Seeded(seed))
    rng = np.random.default_rng(seed)
    arrays = [np.asarray(rng.uniform(0.3, 0.9, size=type.shape), type.dtype) for type in program.in_types]
    variables = [pt.tensor(dtype=str(array.dtype), shape=array.shape) for array in arrays]
    wanted = primad.recording.tree.flatten(program(*arrays))[0]
    outputs = primad.recording.tree.flatten(primad.to_pytensor(program)(*variables))[0]
    found = pytensor.function(variables, outputs, on_unused_input="ignore")(*arrays)
    for output, ours, theirs in zip(outputs, wanted, found, strict=True):
        assert (output.type.dtype, output.type.shape) == (str(np.asarray(ours).dtype), np.shape(ours))
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, equal_nan=True)


def test_a_model_with_a_differential_equation_has_its_exact_gradient_and_curvature():
    data = predators(np.array([1.1, 0.9]))
    rates = pt.vector("rates", shape=(2,))
    loss = primad.to_pytensor(misfit)(rates, data)
    outputs = [loss, pytensor.grad(loss, rates), pytensor.gradient.hessian(loss, rates)]
    at = np.array([1.0, 1.2])
    found = evaluated(outputs, {rates: at})
    np.testing.assert_allclose(found[0], misfit(at, data), rtol=1e-12)
    np.testing.assert_allclose(found[1], primad.grad(misfit)(at, data), rtol=1e-12)
    np.testing.assert_allclose(found[2], primad.hessian(misfit)(at, data)[:, :], rtol=1e-10)


def test_trees_numbers_and_integers():
    f = primad.to_pytensor(lambda p, i, a: {"taken": p["x"][i] * a, "places": i + 1})
    x, i = pt.fvector("x"), pt.lvector("i")
    found = f({"x": x}, i, 0.5)
    assert (found["taken"].type.dtype, found["places"].type.dtype) == ("float32", "int64")
    total = pt.sum(found["taken"])
    given = {x: np.array([1, 2, 3], np.float32), i: np.array([2, 0])}
    values = evaluated([*found.values(), pytensor.grad(total, x)], given)
    assert [value.dtype for value in values] == [np.dtype(v.type.dtype) for v in (*found.values(), x)]
    assert sorted(map(tuple, map(np.ravel, values))) == [(0.5, 0.0, 0.5), (1.5, 0.5), (3, 1)]
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(total, i)
    assert evaluated(f({"x": x}, i, 0.25)["taken"], given).tolist() == [0.75, 0.25]
    nodes = [f({"x": x}, i, number)["taken"].owner for number in (1, 1.0, True, 1)]
    assert [node.op == nodes[0].op for node in nodes] == [True, False, False, True]


def test_what_goes_in_and_what_comes_out_share_no_memory_and_any_order_of_axes_is_right():
    x = pt.matrix("x")
    outputs = [primad.to_pytensor(f)(x) for f in (lambda x: x, lambda x: x.T, lambda x: x[::-1, 1:])]
    array = np.arange(6.0).reshape(2, 3)
    for given in (array, array[:, ::-1], np.asfortranarray(array)):
        found = evaluated(outputs, {x: given})
        assert [one.tolist() for one in found] == [y.tolist() for y in (given, given.T, given[::-1, 1:])]
        assert not any(np.shares_memory(one, given) for one in found)


def test_shapes_are_known_when_the_graph_is_built():
    f = primad.to_pytensor(lambda x: np.outer(x, x[1:]))
    x, y = pt.vector("x", shape=(4,)), pt.vector("y")
    assert (f(x).type.shape, f(y).type.shape) == ((4, 3), (None, None))
    gradient = pytensor.grad(pt.sum(f(y)), y)
    sizes = pytensor.function([x], f(x).shape, on_unused_input="ignore"), pytensor.function([y], gradient.shape)
    for size in sizes:  # from types, and from the shapes of arguments: nothing is computed
        assert not any("primad" in str(node.op) for node in size.maker.fgraph.toposort())
        assert size(np.ones(4))[0] == 4
    assert evaluated(f(y).shape, {y: np.ones(5)}).tolist() == [5, 4]


def test_lengths_that_must_be_known_are_asked_for():
    weights, x = RNG.normal(size=(2, 21)), pt.vector("x")
    f = primad.to_pytensor(lambda x: weights @ x)
    with pytest.raises(ShapeError, match=r"specify_shape\(x, \(5,\)\)"):
        f(x)
    at = RNG.normal(size=21)
    np.testing.assert_allclose(evaluated(f(pt.specify_shape(x, (21,))), {x: at}), weights @ at)
    g = primad.to_pytensor(lambda x: x if x.shape[0] < 10 else np.sum(x))
    with pytest.raises(ShapeError, match="does other things for other lengths"):
        g(x).eval({x: np.ones(12)})


def test_what_pytensor_has_no_meaning_for_is_an_error():
    z = pt.zvector("z")
    size = primad.to_pytensor(lambda z: np.sum(np.abs(z) ** 2))(z)
    assert size.eval({z: np.array([3 + 4j])}) == 25
    with pytest.raises(NotDifferentiableError, match="no derivatives by complex numbers"):
        pytensor.grad(size, z)
    with pytest.raises(TracingError, match="str is no dense array"):
        primad.to_pytensor(np.sin)("x")
    with pytest.raises(TracingError, match="expected a function"):
        primad.to_pytensor(3)


def test_an_unused_argument_and_a_result_that_nobody_uses():
    f = primad.to_pytensor(lambda x, y: (np.sin(x), x**2, np.argmax(x)))
    x, y = pt.vector("x"), pt.vector("y")
    sine, _, place = f(x, y)
    gradients = pytensor.grad(pt.sum(sine) + place, [x, y])
    found = evaluated([*gradients, place], {x: np.array([0.0, 1.0]), y: np.ones(3)})
    np.testing.assert_allclose(found[0], np.cos([0.0, 1.0]))
    np.testing.assert_array_equal(found[1], np.zeros(3))
    assert found[2] == 1


def test_graphs_go_through_pickles():
    """As samplers send them to their processes: what was merged before is one Op after."""
    x = pt.vector("x", shape=(2,))
    value = primad.to_pytensor(misfit)(x, predators(np.array([1.1, 0.9])))
    gradient = pytensor.grad(value, x)
    x2, value2, gradient2 = pickle.loads(pickle.dumps((x, value, gradient)))
    assert value2.owner.op.function.pullback is gradient2.owner.op.function
    at = np.array([1.0, 1.2])
    for ours, theirs in zip(
        evaluated([value, gradient], {x: at}), evaluated([value2, gradient2], {x2: at}), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    second = pytensor.grad(pt.sum(gradient2), x2)
    np.testing.assert_allclose(second.eval({x2: at}), pytensor.grad(pt.sum(gradient), x).eval({x: at}))


def test_the_code_of_the_page_on_scaling_runs():
    (code,) = [
        text
        for language, text, _ in blocks(ROOT / "docs" / "scaling.md")
        if language == "py" and "import pytensor" in text
    ]
    names = {"primad": primad, "np": np}
    exec(code, names)
    assert names["slope"].shape == (2,) and np.all(np.isfinite(names["slope"]))

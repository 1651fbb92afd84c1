"""Native kernels: accurate, true to NumPy's special values, and the same bits wherever an element stands."""

import itertools
import sys
import warnings
from unittest.mock import patch

import mpmath
import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import ops
from primad.native.emit.pointwise import POINTWISE
from primad.native.llvm import compiler as native
from primad.native.llvm import symbols
from primad.numpy import special
from primad.ops.record.fields import MemoryUse, always
from primad.recording import tree
from primad.runtime.plan import fusion
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tile_choice
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles
from primad.runtime.tiling.tiled_plan import make_plan
from primad.system.machine import CALL_ELEMENTS

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

FLOATS = [np.float64, np.float32]
EXACT = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "sech2": lambda x: mpmath.sech(x) ** 2,
    "arctan": mpmath.atan,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "sqrt": mpmath.sqrt,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "leg": lambda x: mpmath.sqrt((1 - x) * (1 + x)),
}
EXACT_OF_TWO = {
    "hypot": mpmath.hypot,
    "arctan2": mpmath.atan2,
    "direction": lambda x, y: x / mpmath.hypot(x, y),
    "power": mpmath.power,
}
CONVERSIONS = {"cast", "truncate"}
DIVISIONS = {"floor_divide", "remainder", "fmod"}
ROUNDING = {"neg", "add", "sub", "mul", "div", "abs", "floor", "sign", "maximum", "minimum", "sqrt", *DIVISIONS}
TWO_OPERANDS = {
    "add", "sub", "mul", "div", "maximum", "minimum", "less", "less_equal", "equal", *DIVISIONS, *EXACT_OF_TWO,
    "beta", "betaln", "binom", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "owens_t", "poch",
}  # fmt: skip
THREE_OPERANDS = {"betainc", "betaincc", "betainccinv", "betaincinv"}
PARAMS = {
    **{name: {"n": 0} for name in ("bessel_i", "bessel_j", "bessel_k", "bessel_y", "dawsn", "exprel", "polygamma")},
    **{name: {"n": 0} for name in ("gammainc", "scaled_erfc")},
    "betainc": {"n": (0, 0)},
    "member": {"of": "ive", "p": (0,)},
    "expn": {"n": 2},
}
"""The ops that need params, with what native code has."""
OF_FLOATS = sorted(
    op.name
    for op, how in POINTWISE.items()
    if ("f" in how.kinds and op.name not in CONVERSIONS) or op.name.startswith("logical")
)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-40, -1e-40, 3e38, -3e38, 88.0, -88.0, 2.5]


def points(name, dtype):
    rng = np.random.default_rng(7)
    tiny = float(np.finfo(dtype).tiny)
    ends = {np.float64: 709.0, np.float32: 88.0}[dtype]
    sizes = np.concatenate([10 ** rng.uniform(-12, 0, 60), rng.uniform(0, 2, 150), rng.uniform(0, 20, 100)])
    near = np.concatenate([[0.625, np.nextafter(0.625, 0), np.nextafter(0.625, 1)], rng.uniform(0.6, 0.65, 40)])
    sizes = np.concatenate([sizes, near, rng.uniform(0, ends, 60), [tiny, 3 * tiny, tiny / 8]])
    x = np.concatenate([sizes, -sizes])
    if name in ("sin", "cos", "tan"):
        x = np.concatenate([x, np.pi / 2 * np.arange(-40, 40), rng.uniform(-1e5, 1e5, 60), [1e9, -3e12]])
    if name in ("log", "log2", "log10", "sqrt"):
        x = np.concatenate([np.abs(x), 1 + rng.uniform(-1e-3, 1e-3, 60), [1e30, 1e-30]])
    if name in ("arcsin", "arccos", "arctanh"):
        x = x[np.abs(x) < 1]
        x = np.concatenate([x, 1 - 10 ** rng.uniform(-15, -1, 60), 10 ** rng.uniform(-15, -1, 60) - 1])
        x = x[np.abs(x.astype(dtype)) < 1]
    if name == "arccosh":
        x = np.concatenate([1 + 10 ** rng.uniform(-7, 0, 60), x[x > 1], 10 ** rng.uniform(0, 30, 60)])
    if name in ("arcsinh", "cbrt"):
        x = np.concatenate([x, 10 ** rng.uniform(0, 30, 60), -(10 ** rng.uniform(0, 30, 60))])
    if name == "leg":
        x = np.concatenate([x[np.abs(x) <= 1], 1 - 10 ** rng.uniform(-15, -1, 60)])
    if name == "log1p":
        x = np.concatenate([x[x > -1], rng.uniform(-1, -0.9, 40), [1e30]])
    return x.astype(dtype)


def ulps(value, exact, dtype):
    """How many units in the last place of the exact value (of the smallest normal number, below it) it is off."""
    info = np.finfo(dtype)
    if abs(exact) > mpmath.mpf(float(info.max)):
        return 0.0 if np.isinf(value) else np.inf
    if not np.isfinite(value):
        return np.inf
    unit = np.spacing(dtype(max(float(abs(exact)), float(info.tiny))))
    return float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(unit)))


def run_native(f, *arrays):
    """Run f as kernels, however small its arrays, and check that there are some."""
    with patch.object(fusion, "_is_worthwhile", lambda members: True):
        plan = Plan(primad.trace(f)(*arrays), 1e-9)
    assert plan._calls, "no step of the plan became a kernel"
    return plan.run(arrays)


def run_numpy(f, *arrays):
    return Plan(primad.trace(f)(*arrays)).run(arrays)


@pytest.mark.one_in(12)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_special_values_are_numpys(name, dtype):
    op = ops.BY_NAME[name]
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL, dtype)
    if name.startswith("betainc"):  # with two such parameters SciPy's before 1.16 do not end
        values = values[~((np.abs(values) > 1e30) & np.isfinite(values))]
    a, b = (m.ravel() for m in np.meshgrid(values, values))
    if name in ("select", "mask", "defined_where"):
        f = (lambda x, y: op(x < y, x, y)) if name == "select" else (lambda x, y: op(x < y, y))
    elif name.startswith("logical"):
        f = (lambda x, y: op(x < y)) if name == "logical_not" else (lambda x, y: op(x < y, y <= x))
    else:
        params = PARAMS.get(name, {})
        of_two = (lambda x, y: op(x, y, **params)) if name in TWO_OPERANDS else lambda x, y: op(x, **params)
        f = (lambda x, y: op(x, x, y, **params)) if name in THREE_OPERANDS else of_two
    (got,), (want,) = run_native(f, a, b), run_numpy(f, a, b)
    assert got.dtype == want.dtype
    if name in ROUNDING or want.dtype == bool:
        np.testing.assert_array_equal(got, want)
    else:
        if name in ("bessel_j", "bessel_y"):  # SciPy's are 12 ulp and more off there
            exact = dtype((mpmath.besselj if name == "bessel_j" else mpmath.bessely)(0, 88))
            want = np.where((np.abs(a) == 88.0) & np.isfinite(want), exact, want)
        np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).tiny)
    if want.dtype != bool:
        known = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", range(1, 18))
def test_every_length_gives_the_same_bits(length, dtype):
    def f(x):
        y = pnp.tanh(x) * pnp.sin(x)
        return y, pnp.where(x > 0.5, y, pnp.exp(x)), x > y

    x = np.random.default_rng(1).normal(size=40).astype(dtype)
    whole = run_native(f, x)
    for start in (0, 3):
        for part, full in zip(run_native(f, x[start : start + length]), whole, strict=True):
            assert part.dtype == full.dtype
            np.testing.assert_array_equal(part, full[start : start + length])


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 16), (7, 13), (3, 4, 9), (16, 3)])
def test_broadcast_operands(shape, dtype):
    rng = np.random.default_rng(2)
    x = rng.normal(size=shape).astype(dtype)
    row, column = rng.normal(size=shape[-1]).astype(dtype), rng.normal(size=(*shape[:-1], 1)).astype(dtype)
    scalar = dtype(1.25)

    def f(x, row, column, scalar):
        y = (x + row) * column
        return y * scalar - row, pnp.tanh(y) / scalar, pnp.maximum(x, column)

    for got, want in zip(run_native(f, x, row, column, scalar), run_numpy(f, x, row, column, scalar), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14 if dtype is np.float64 else 1e-5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(9, 21, 32), (9, 21, 13), (1, 130, 40), (300, 1, 17), (5, 6, 7, 24)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, (0, 1), 2, -1], ids=str)
def test_sums_and_operands_that_lack_any_axis(shape, axis, dtype):
    rng = np.random.default_rng(9)
    x = rng.normal(size=shape).astype(dtype)
    lacking = [rng.normal(size=[1 if i == k else n for i, n in enumerate(shape)]).astype(dtype) for k in range(x.ndim)]

    def f(x, *lacking):
        y = pnp.exp(-x)
        for z in lacking:
            y = y * z + x
        return pnp.sum(y, axis=axis), y, pnp.sum(y * y, axis=0), pnp.sum(x, axis=axis)

    for got, want in zip(run_native(f, x, *lacking), run_numpy(f, x, *lacking), strict=True):
        np.testing.assert_allclose(
            got,
            want,
            rtol=1e-12 if dtype is np.float64 else 1e-3,
            atol=np.abs(want).max() * (1e-14 if dtype is np.float64 else 1e-6),
        )


def test_a_sum_over_points_is_part_of_the_kernel():
    """Nothing of the size of the summed array is written."""
    program = primad.simplify(primad.trace(lambda x, y: pnp.sum(pnp.tanh(x * y), axis=1))(np.ones((40, 50, 64)), 2.0))
    plan = Plan(program, 1)
    assert plan.buffers == [] and len(plan._steps) == 1


def test_operands_of_any_memory_layout():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 20)), rng.normal(size=(40, 60))
    arguments = (x.T, y[::2, ::2][:, :30], np.broadcast_to(rng.normal(size=30), (20, 30)))

    def f(a, b, c):
        return a * b + pnp.exp(c), (a - c).T

    for got, want in zip(run_native(f, *arguments), run_numpy(f, *arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_a_result_does_not_overwrite_rows_that_are_read_again():
    """The row is a view of an array that ends with the step, and would be the place for the result."""
    x = np.random.default_rng(4).normal(size=(64, 64))

    def f(x):
        y = pnp.exp(x @ x * 0.01)
        return (x * y[0] + 1.0) @ x

    np.testing.assert_allclose(run_native(f, x)[0], run_numpy(f, x)[0], rtol=1e-12)


def network(parameters, x):
    for w, b in parameters[:-1]:
        x = pnp.tanh(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def test_a_tiled_gradient_agrees_for_any_number_of_threads():
    rng = np.random.default_rng(5)
    sizes = [2, 50, 50, 1]
    parameters = [(rng.normal(size=(a, b)) * 0.3, rng.normal(size=b)) for a, b in itertools.pairwise(sizes)]
    x = rng.normal(size=(7001, 2))

    def loss(parameters, x):
        def u(x):
            return network(parameters, x)[:, 0]

        value, slope = primad.jvp(u, (x,), (np.ones_like(x),))
        return pnp.mean((value * slope - pnp.sin(value)) ** 2)

    before = primad.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            primad.set_num_threads(count)
            found.append(primad.jit(primad.value_and_grad(loss))(parameters, x))
    finally:
        primad.set_num_threads(before)
    leaves = [tree.flatten(result)[0] for result in found]
    for other in leaves[1:]:
        for a, b in zip(leaves[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_short_last_tiles_use_the_same_kernels(monkeypatch):
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", ())
    x = np.random.default_rng(6).normal(size=100_003)

    def f(x):
        y = pnp.sin(pnp.tanh(x) * x) * pnp.exp(pnp.cos(x))
        return y, pnp.sum(y * x)

    plan = make_plan(primad.trace(f)(x))
    assert isinstance(plan.tiles, InterpretedTiles) and plan.tiles.last is not plan.tiles.plan
    assert plan.tiles.plan._calls and plan.tiles.last._calls
    np.testing.assert_array_equal(plan.run([x])[0], run_native(f, x)[0])


def test_a_pointwise_program_is_one_kernel_whose_lanes_compute_the_same_bits():
    x = np.random.default_rng(6).normal(size=(3, 300_007))
    f = lambda x: pnp.sin(pnp.tanh(x) * x) * pnp.exp(pnp.cos(x[:, :1]))  # noqa: E731
    plan = make_plan(primad.trace(f)(x))
    assert isinstance(plan, Plan) and len(plan._calls) == 1 and len(plan._calls[0]._pieces) > 1
    (expected,) = plan.run([x])
    plan._calls[0]._pieces = []
    np.testing.assert_array_equal(plan.run([x])[0], expected)
    flat = make_plan(primad.trace(f)(x[:1]))
    assert len(flat._calls[0]._pieces) > 1
    np.testing.assert_array_equal(flat.run([x[:1]])[0], expected[:1])


def test_a_kernel_that_sums_beside_what_it_writes_is_not_cut():
    x = np.random.default_rng(6).normal(size=(3, 100_007))
    f = lambda x: (pnp.tanh(x) * x, pnp.sum(pnp.tanh(x), axis=0))  # noqa: E731
    plan = Plan(primad.lower(primad.trace(f)(x)), CALL_ELEMENTS)
    assert len(plan._calls) == 1 and len(plan._calls[0]._sums) == 1 and not plan._calls[0]._pieces
    for found, expected in zip(plan.run([x]), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_small_plans_stay_with_numpy():
    x = np.linspace(0, 1, 1000)
    assert not make_plan(primad.trace(lambda x: pnp.sin(x) * pnp.cos(x))(x))._calls


def test_kernels_are_shared_by_structure_and_the_cache_is_bounded(monkeypatch):
    x, y = np.linspace(0, 1, 400), np.linspace(0, 1, 800)
    f = lambda x: pnp.sin(x) * pnp.cos(x) + 0.125  # noqa: E731
    first = Plan(primad.trace(f)(x), 1e-9)
    second = Plan(primad.trace(f)(y), 1e-9)
    assert first._calls[0]._kernel is second._calls[0]._kernel
    monkeypatch.setattr(native, "CACHED_KERNELS", 1)
    Plan(primad.trace(lambda x: pnp.sin(x) - pnp.cos(x))(x), 1e-9)
    assert len(native.compiler()._cache) == 1
    np.testing.assert_allclose(first.run([x])[0], np.sin(x) * np.cos(x) + 0.125, rtol=1e-14)


def test_without_llvmlite_numpy_computes_the_same(monkeypatch):
    x = np.linspace(0.1, 2, 20_000)
    f = lambda x: pnp.sin(x) * pnp.cos(x) + pnp.log(x)  # noqa: E731
    (with_kernels,) = run_native(f, x)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    native.compiler.cache_clear()
    try:
        assert native.compiler() is None
        plan = Plan(primad.trace(f)(x), CALL_ELEMENTS)
        assert not plan._calls
        np.testing.assert_allclose(plan.run([x])[0], with_kernels, rtol=1e-13, atol=1e-15)
    finally:
        native.compiler.cache_clear()


def test_groups_do_not_wait_for_each_other():
    """exp(x) and its product with a sum of itself: the sum lies between them, so they are two groups."""
    x = np.random.default_rng(8).normal(size=(50, 40))

    def f(x):
        y = pnp.exp(x)
        z = y / pnp.sum(y, axis=1, keepdims=True)
        return pnp.sum(z * pnp.log(z), axis=0) @ (y * z).T + pnp.tanh(z @ pnp.cos(x).T)

    np.testing.assert_allclose(run_native(f, x)[0], run_numpy(f, x)[0], rtol=1e-12)


def test_conditions_made_in_another_group():
    """The second condition is combined with the first after a sum: a group may hold truth values only."""
    x = np.random.default_rng(9).normal(size=(50, 40))

    def f(x):
        positive, small = x > 0, x < 1
        large = pnp.sum(pnp.exp(x), axis=0) > 80.0
        both = positive & pnp.broadcast_to(large, x.shape) | ~small
        return both, both & small

    for got, want in zip(run_native(f, x), run_numpy(f, x), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "exprel", "digamma", "gammainc", "betainc"])
def test_a_derivative_without_code_is_not_taken_for_its_function(name):
    """Both are members of one op, and are computed in one plan."""
    few = np.array([0.3, 0.6, 0.9])
    shapes = [few + 1.0] * {"gammainc": 1, "betainc": 2}.get(name, 0)
    slope = primad.derivative(getattr(special, name), 1)
    found = slope(*[np.tile(x, CALL_ELEMENTS) for x in (*shapes, few)])
    np.testing.assert_allclose(found[-3:], slope(*shapes, few), rtol=1e-14)


def test_a_function_without_a_name_has_no_address():
    with pytest.raises(RuntimeError, match=r"special\.cython_special exports no "):
        symbols.named(["declare double @primad.scipy.special.cython_special.(double)"])


def test_a_users_function_may_return_what_it_likes():
    """NumPy repeats a result that is smaller than announced; a kernel must not read beyond its end."""
    mean = primad.elementwise(
        "mean_of", lambda x, out=None: np.mean(x), partials=[lambda out, x: x], memory=MemoryUse(out=always)
    )
    x = np.random.default_rng(10).normal(size=(60, 40))
    f = lambda x: pnp.exp(mean(x)) * x + 1.0  # noqa: E731
    np.testing.assert_allclose(run_native(f, x)[0], np.exp(np.mean(x)) * x + 1.0, rtol=1e-14)


RANDOM = [
    lambda a, b: a @ pnp.tanh(b) / 24.0,
    lambda a, b: pnp.tanh(a) - pnp.sum(b, axis=0) / 24.0,
    lambda a, b: pnp.where(a > b, a, b * 0.5),
    lambda a, b: pnp.sin(a).T,
    lambda a, b: a * pnp.tanh(b)[3],
    lambda a, b: pnp.tanh(a) + pnp.exp(-b * b),
    lambda a, b: -a,
    lambda a, b: a * pnp.cos(b),
    lambda a, b: a * 0.5 - b * 0.25,
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_agree_with_numpy(seed):
    """Chains, products with matrices and sums in random order: groups end, values are repeated, buffers are reused."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 24, 24))
    choices = rng.integers(0, 9, size=60)
    picks = rng.integers(0, 1000, size=(60, 2))

    def f(x, y):
        values = [x, y]
        for choice, (i, j) in zip(choices, picks, strict=True):
            a, b = values[-1 - i % min(4, len(values))], values[-1 - j % min(9, len(values))]
            values.append(RANDOM[choice % len(RANDOM)](a, b))
        return values[-1], values[-2], values[-9]

    for got, want in zip(run_native(f, x, y), run_numpy(f, x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


def test_cheap_values_are_computed_again_instead_of_stored():
    x = np.random.default_rng(11).normal(size=(30, 30))

    def f(x):
        t = pnp.tanh(x)
        slope = 2.0 * (t * x)
        return (t @ x + x @ t) * slope * t - x, t

    with patch.object(fusion, "_is_worthwhile", lambda members: True):
        plan = Plan(primad.trace(f)(x), 1e-9)
    assert [len(call._fresh) + len(call._placed) for call in plan._calls] == [1, 1]
    np.testing.assert_allclose(plan.run([x])[0], run_numpy(f, x)[0], rtol=1e-12)


def squared_until_large(x):
    return primad.while_loop(lambda x: x < 40.1234, lambda x: x * x + 0.51234, x, max_steps=30)


REFUSED = {
    "native kernels": (lambda x: np.tanh(x) * np.sin(x) * np.exp(x) * np.cos(x) + 0.1234, (400_000,)),
    "a program": (lambda x: np.tanh(x) * np.sin(x) + 0.12345, (3,)),
    "a program of steps and parts": (
        lambda x: np.sort(np.tanh(x) * np.sin(x) * np.exp(x) * np.cos(x) + 0.123456),
        (400,),
    ),
    "tiles": (lambda x: np.tanh(x) @ (np.sin(x.T) @ np.cos(x)) + 0.1234567, (200_000, 3)),
    "a loop": (lambda x: primad.scan(lambda c, r: (np.sin(c * r) + 0.12345678, c), x[0], x)[0], (5000, 2)),
    "a loop of a stack": (primad.vmap(squared_until_large), (50,)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_llvm_refuses_numpy_computes(name, monkeypatch):
    def refuse(self, texts):
        raise RuntimeError("no such instruction")

    function, shape = REFUSED[name]
    x = np.random.default_rng(0).uniform(0.6, 0.9, shape)
    monkeypatch.setattr(type(native.compiler()), "kernels", refuse)
    what = name.partition(" of ")[0]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = primad.jit(function)(x)
        expected = primad.jit(function, backend="reference")(x)
    assert f"{what} could not be compiled, NumPy runs instead: no such instruction" in {str(w.message) for w in seen}
    np.testing.assert_allclose(found, expected, rtol=1e-9)

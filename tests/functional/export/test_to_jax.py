"""Programs for JAX: as functions of its arrays, compiled by XLA, sharded, exported; on whatever devices JAX sees."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
import primad.scipy.linalg
from primad.errors import IndexShapeError, MatrixError, TracingError
from primad.runtime.executors.dispatch import EXECUTORS, NATIVE, prepare
from primad.transforms import vjp
from primad.verify.cases.case_table import cases
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import Trial
from primad.verify.random_programs import draw_program
from primad.xla.jax_callbacks import call_back
from tests.sweeps import thinned

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def network(params, x):
    w, v = params
    return np.tanh(x @ w) @ v


def residual(params, x):
    """A Laplacian and a third power of a small network."""
    return primad.laplacian(lambda y: network(params, y))(x) + network(params, x) ** 3


def loss(params, xs):
    return np.mean(primad.vmap(residual, in_axes=(None, 0))(params, xs) ** 2)


ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(5)
PARAMS = [RNG.normal(size=(3, 8)), RNG.normal(size=8)]
POINTS = RNG.normal(size=(16, 3))


def same(found, wanted, tolerance=1e-12):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.one_in(4)
@thinned(2, seed=range(12))
def test_random_programs_and_their_gradients(seed):
    program = draw_program(Seeded(seed))
    for derived in (program, vjp(program)):
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in derived.in_types]
        found, wanted = (prepare(derived, executor=which).run(arguments) for which in (EXECUTORS["jax"], NATIVE))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"{derived}")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", [float, complex, np.int64, np.float32, np.complex64, bool])
def test_calls_of_python_are_exact_where_jax_is_not_in_its_mode_of_64_bits(dtype):
    x = (np.arange(3) + 1 / 3 + (2j / 7 if dtype in (complex, np.complex64) else 0)).astype(dtype)
    with jax.enable_x64(True):
        called = jax.jit(lambda a: call_back(lambda x: x + x, a.shape, x.dtype, a))
        compiled, operand = called.lower(jax.ShapeDtypeStruct(x.shape, x.dtype)).compile(), jax.numpy.asarray(x)
        mapped = jax.vmap(called)(operand[:, None])
    found = np.asarray(compiled(operand))  # called outside of that mode, as on a thread of XLA's
    assert found.dtype == dtype and np.array_equal(found, x + x) and np.array_equal(mapped[:, 0], x + x)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "name", ["eigh", "svd", "gaps", "slopes", "spread", "cofactors", "cofactors_along", "pinv", "lstsq"]
)
def test_spectra_are_those_of_the_native_executor(name):
    for seed in range(3):
        trial = Trial(cases()[name], cases()[name].op, Seeded(seed))
        found, wanted = (
            prepare(primad.lower(trial.program), executor=EXECUTORS[which]).run(trial.values)
            for which in ("jax", "native")
        )
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_spectra_of_complex_matrices():
    a = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))

    def loss(a):
        (w, v), (u, s, vh) = np.linalg.eigh(a[:, :3], "U"), np.linalg.svd(a, full_matrices=False)
        total = np.sum(v.imag * w + u.real) + np.sum(np.abs(vh.real) ** 2 @ np.arange(4.0) * s)
        (w, v), real = np.linalg.eig(a[:, :3]), np.linalg.eigvals(a[:, 1:].real)
        return total + np.sum(np.abs(w) ** 2) + np.sum(np.abs(v.real @ w)) + np.sum(np.abs(real))

    same(primad.jit(primad.value_and_grad(loss), backend="jax")(a), primad.value_and_grad(loss)(a))
    with pytest.raises(MatrixError, match="equal"):
        primad.jit(primad.grad(lambda a: np.abs(np.linalg.eigvals(a)[0])), backend="jax")(np.eye(3))


def test_equal_values_for_jax():
    a, along = np.diag([1.0, 2.0, 2.0, 2.0]), RNG.normal(size=(4, 4))

    def slopes(a):
        return primad.jvp(np.linalg.eigvalsh, (a,), (along + along.T,))[1]

    same(primad.jit(slopes, backend="jax")(a), slopes(a))
    for function in (lambda a: np.linalg.eigvalsh(a)[1], lambda a: np.linalg.eigh(a)[1][0, 2]):
        with pytest.raises(MatrixError):
            primad.jit(primad.grad(function), backend="jax")(a)


def test_derivatives_run_by_xla_and_are_those_of_the_native_executor():
    step = primad.value_and_grad(loss)
    found = primad.jit(step, backend="jax")(PARAMS, POINTS)
    same(found, primad.jit(step)(PARAMS, POINTS))
    assert isinstance(found[1][0], np.ndarray) and found[1][0].flags.writeable and found[1][0].flags.owndata


def test_sixty_four_bits_whatever_jax_is_set_to():
    with jax.enable_x64(False):
        assert primad.jit(np.sin, backend="jax")(1.0) == pytest.approx(np.sin(1.0), rel=1e-15)
        assert not jax.config.jax_enable_x64


def test_a_function_for_jax_composes_with_all_that_jax_has():
    f = primad.to_jax(loss)
    wanted = primad.grad(loss)(PARAMS, POINTS)
    same(jax.jit(primad.to_jax(primad.grad(loss)))(PARAMS, POINTS), wanted)
    same(jax.grad(f)(PARAMS, POINTS), wanted, 1e-10)
    point = primad.to_jax(residual)
    same(jax.vmap(point, (None, 0))(PARAMS, POINTS), primad.vmap(residual, in_axes=(None, 0))(PARAMS, POINTS))
    assert primad.trace(f) is not None
    assert primad.to_jax(primad.trace(loss)(PARAMS, POINTS))(PARAMS, POINTS) == pytest.approx(loss(PARAMS, POINTS))


def test_numbers_of_python_adopt_dtypes_as_everywhere():
    f = primad.to_jax(lambda x, a: np.exp(x) * a)
    x = np.ones(2, np.float32)
    assert f(x, 2.0).dtype == np.float32
    assert f(x, np.float64(2.0)).dtype == np.float64
    assert jax.jit(f)(x, 2.0).dtype == np.float32


def test_thirty_two_bits_are_refused_where_they_would_round():
    f = primad.to_jax(lambda x: np.sin(x) * 2.0)
    with jax.enable_x64(False):
        assert f(jnp.ones(2)).dtype == np.float32
        assert f(1.0).dtype == np.float32
        with pytest.raises(TracingError, match=r"(?s)an argument is float64\[2\].*32 bits.*jax_enable_x64"):
            f(np.ones(2))
        with pytest.raises(TracingError, match=r"(?s)random numbers need 64-bit.*jax_enable_x64"):
            primad.to_jax(lambda key: primad.nn.random.uniform(key, (2,), dtype="float32"))(3)


def stacked(x):
    """A loop with rows of 64 bits beside a carried value of 32."""
    return np.sum(primad.scan(lambda c, _: (c * 2, c.astype(float)), x, length=2)[1])


SINGLE = np.ones(2, np.float32)
AT_32_BITS = {
    "complex": (lambda z: z * np.exp(z), (np.ones(2, complex),), "complex128"),
    "made complex": (lambda x: (x * np.complex64(1j)).astype(complex).real.astype("float32"), (SINGLE,), "complex128"),
    "one of several arguments": (lambda x, y: x + y.astype("float32"), (SINGLE, np.ones(2)), "float64"),
    "one of several results": (stacked, (SINGLE,), "op scan.*float64"),
    "an integer": (lambda n: n + 1, (np.array([1, 2**33 + 5]),), "8589934597"),
    "a negative integer": (lambda n: n + 1, (np.array([1, -(2**31) - 1]),), "-2147483649"),
    "an integer without a sign": (lambda n: n + np.uint64(1), (np.array([1, 2**32], np.uint64),), "4294967296"),
    "an integer of the function": (lambda n: n + np.array([2**40, 0]), (np.arange(2),), "1099511627776"),
    "the most and the least": (lambda n: n // 2, (np.array([2**31 - 1, -(2**31)]),), None),
    "the most without a sign": (lambda n: n // np.uint64(2), (np.array([2**32 - 1, 0], np.uint64),), None),
    "short integers": (lambda n: n // np.int8(2), (np.array([127, -128], np.int8),), None),
    "complex of 64 bits": (lambda z: z * z, (np.ones(2, np.complex64),), None),
}


@pytest.mark.parametrize("name", AT_32_BITS)
def test_what_does_not_fit_into_thirty_two_bits_is_refused(name):
    function, given, named = AT_32_BITS[name]
    with jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # JAX says that it takes int64 as int32
        if named is None:
            np.testing.assert_array_equal(primad.to_jax(function)(*given), function(*given))
        else:
            with pytest.raises(TracingError, match=f"(?s){named}.*32 bits.*jax_enable_x64"):
                primad.to_jax(function)(*given)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64"])
def test_draws_are_the_same_bits(dtype):
    draw = primad.trace(lambda key: primad.ops.draw(key, shape=(3, 5), dtype=dtype))(np.array([0, 7, -3]))
    found = primad.to_jax(draw)(np.array([0, 7, -3]))
    np.testing.assert_array_equal(found, draw(np.array([0, 7, -3])))
    assert found.dtype == dtype


def test_what_has_no_value_raises_where_it_can_and_is_not_a_number_elsewhere():
    def pick(x, i):
        return x[i] * 2.0

    with pytest.raises(IndexShapeError, match=r"(?s)index 5 is out of range .* at \[1\] of the indices.*test_to_jax"):
        primad.jit(pick, backend="jax")(np.arange(3.0), np.array([-3, 5]))
    np.testing.assert_array_equal(primad.to_jax(pick)(np.arange(3.0), np.array([-3, 5])), [0.0, np.nan])
    with pytest.raises(MatrixError, match="not positive definite"):
        primad.jit(primad.numpy.linalg.cholesky, backend="jax")(-np.eye(2))


ROOTS = {
    "positive definite": [[2.0, 1.0], [1.0, 3.0]], "unsymmetric": [[2.0, 1.0], [0.0, 3.0]], "zero": np.zeros((2, 2)),
    "of rank one": np.ones((2, 2)), "turned": [[0.0, -1.0], [1.0, 0.0]], "negative": -np.eye(2),
    "one negative": np.diag([1.0, -1.0]), "one negative, unsymmetric": [[1.0, 1.0], [0.0, -2.0]],
    "negative, not diagonalizable": [[-1.0, 1.0], [0.0, -1.0]], "nilpotent": [[0.0, 1.0], [0.0, 0.0]],
    "not finite": [[np.nan, 1.0], [0.0, 1.0]],
}  # fmt: skip


def outcome(function, argument):
    try:
        return function(argument)
    except MatrixError:
        return "refused"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(ROOTS)), st.integers(-60, 60)), min_size=3, max_size=3))
def test_a_root_of_a_stack_is_that_of_each_matrix(drawn):
    stack = np.array([2.0**k * np.array(ROOTS[name]) for name, k in drawn])
    single = [outcome(ROOT, a) for a in stack]
    refused = any(isinstance(x, str) for x in single)
    with jax.enable_x64(True):
        found = outcome(ROOT_BY_JAX, stack)
        assert isinstance(found, str) == refused, drawn
        for got, want in zip(ROOT_FOR_JAX(stack) if refused else found, single, strict=True):
            want = np.full((2, 2), np.nan) if isinstance(want, str) else want
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * np.max(np.abs(want)), err_msg=str(drawn))


ROOT, ROOT_BY_JAX = (primad.jit(primad.scipy.linalg.sqrtm, backend=name) for name in ("native", "jax"))
ROOT_FOR_JAX = jax.jit(primad.to_jax(primad.scipy.linalg.sqrtm))


@pytest.mark.parametrize("large", [1.0, 1e-8, 1e8])
def test_one_solution_of_a_stack_is_that_of_each_matrix(large):
    a, q = np.array([[2.0, 1.0], [0.0, 3.0]]), np.eye(2)
    solve = primad.jit(primad.scipy.linalg.solve_sylvester, backend="jax")
    many = large * np.stack([a, a, a]), large * np.stack([a, a.T, a + 1.0]), np.stack([q, q, q])
    np.testing.assert_allclose(solve(*many), primad.jit(primad.scipy.linalg.solve_sylvester)(*many), rtol=1e-12)
    many[1][1] = -a / large
    many[0][1] = a / large
    with pytest.raises(MatrixError, match=r"no single solution.*at \[1\]"):
        solve(*many)


def test_what_is_called_back_is_refused_by_name():
    op = primad.elementwise("mine", np.sin, partials=[lambda out, x: np.cos(x)])
    for run in (primad.jit(lambda x: op(x) + 1.0, backend="jax"), primad.to_jax(lambda x: op(x) + 1.0)):
        with pytest.raises(TracingError, match=r"(?s)mine: JAX has no function.*composite.*test_to_jax"):
            run(np.ones(2))


def test_without_jax_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for run in (primad.jit(lambda x: np.sin(x) * 0.123, backend="jax"), primad.to_jax(np.sin)):
        with pytest.raises(TracingError, match=r"(?s)not installed.*primad\[jax\]"):
            run(np.ones(3))


def test_calls_are_compiled_once():
    @primad.jit
    def step(x):
        for _ in range(20):
            x = np.sin(x) + x * 0.5
        return x

    def run(x):
        for _ in range(40):
            x = step(x)
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 4)
    same(primad.jit(primad.grad(run), backend="jax")(x), primad.grad(run)(x))
    text = jax.jit(primad.to_jax(run)).lower(x).as_text()
    assert text.count("call @") > 20
    assert text.count("func.func") <= 3


EXPORTED = """
import sys
sys.modules["primad"] = None
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
f = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
print(repr(float(f.call(np.array([0.5, 1.0]))[1])))
"""


def test_a_derivative_runs_in_a_process_without_primad(tmp_path):
    f = primad.to_jax(primad.grad(lambda x: np.sum(np.sin(x) ** 3)))
    file = tmp_path / "gradient.stablehlo"
    file.write_bytes(jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((2,), "float64")).serialize())
    found = subprocess.run(
        [sys.executable, "-c", EXPORTED, str(file)], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(found.stdout) == pytest.approx(3 * np.sin(1.0) ** 2 * np.cos(1.0), rel=1e-14)


SUM_OVER_POINTS = """
def loss(w, xs):
    return np.sum(primad.vmap(lambda x: primad.laplacian(lambda y: np.tanh(y @ w).sum())(x))(xs) ** 2)
gradient = primad.to_jax(primad.grad(loss))
mesh = Mesh(np.array(jax.devices()), ("points",))
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("points")), out_specs=P())
def together(w, xs):
    return jax.lax.psum(gradient(w, xs), "points")
rng = np.random.default_rng(1)
w, xs = rng.normal(size=(3, 4)), rng.normal(size=(64, 3))
"""
IMPORTS = """
import sys
import jax, numpy as np, primad
from functools import partial
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
"""
SHARDED = f"""{IMPORTS}
assert len(jax.devices()) == 8
{SUM_OVER_POINTS}
np.testing.assert_allclose(together(w, xs), primad.grad(loss)(w, xs), rtol=1e-10)
print("same")
"""


def test_points_shared_by_eight_devices():
    found = subprocess.run(
        [sys.executable, "-c", SHARDED],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={
            **os.environ,
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8",
            "JAX_PLATFORMS": "cpu",
        },
    )
    assert found.stdout.strip() == "same", found.stderr[-2000:]


TWO = f"""{IMPORTS}
number = int(sys.argv[2])
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, number)
assert len(jax.devices()) == 2 and len(jax.local_devices()) == 1
{SUM_OVER_POINTS}
own = xs[32 * number :][:32]
shared = jax.make_array_from_process_local_data(NamedSharding(mesh, P("points")), own, xs.shape)
np.testing.assert_allclose(np.asarray(together(w, shared)), primad.grad(loss)(w, xs), rtol=1e-10)
print("same")
"""


@pytest.mark.exhaustive
def test_points_shared_by_two_processes():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", TWO, str(port), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in (0, 1)
    ]
    try:
        for process in both:
            told, failed = process.communicate(timeout=240)
            assert told.strip().endswith("same"), failed[-2000:]
    finally:
        for process in both:
            process.kill()

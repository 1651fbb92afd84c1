"""Complex numbers in native code: values beside NumPy's, also special ones; what is written, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.native.complex_numbers.part_rules import NOT_WRITTEN, RULES, SOME
from primad.native.complex_numbers.realify import in_parts, is_complex, reason_in_parts
from primad.native.complex_numbers.transforms import are_short
from primad.native.llvm.compiler import compiler
from primad.runtime.executors import native_executor
from primad.runtime.executors.dispatch import NATIVE
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.plan.compiled_program import CompiledProgram, compiled_program
from primad.runtime.tiling import complex_plans, tile_choice, tiled_plan
from primad.simplify import simplify
from primad.transforms.lowering import lower

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no native code")
DTYPES = ("complex128", "complex64")


def program_of(function: Callable[..., Any], *arrays: Any) -> Any:
    return simplify(lower(primad.trace(function)(*[primad.ArrayType(x.shape, x.dtype) for x in arrays])))


def native(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """Return the results of the one native function that a function becomes, or of native tiles."""
    program = program_of(function, *arrays)
    plan = compiled_program(program, None) or NATIVE.prepare(program, PLAIN)
    assert isinstance(plan, CompiledProgram) or plan.is_tiled
    return plan.run(arrays)


def reference(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """Return what NumPy's definitions give, one after the other."""
    with np.errstate(all="ignore"):
        found = primad.jit(function, backend="reference")(*arrays)
    return list(found) if isinstance(found, tuple) else [found]


def close(found: Any, expected: Any, units: float) -> Any:
    """Return where two arrays agree to units of the last place of the numbers' size, or have the same special parts."""
    epsilon = np.finfo(expected.dtype).eps
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= units * epsilon * np.abs(expected)
    parts = [(found.real, expected.real), (found.imag, expected.imag)]
    alike = [
        (np.isnan(x) & np.isnan(y))
        | ((np.abs(x - y) <= units * epsilon * np.abs(y)) | (x == y)) & (np.signbit(x) == np.signbit(y))
        for x, y in parts
    ]
    signs = [(x != 0) | (y != 0) | (np.signbit(x) == np.signbit(y)) for x, y in parts]
    return np.where(np.isfinite(expected), near & signs[0] & signs[1], alike[0] & alike[1])


def grid(dtype: str) -> Any:
    """Return numbers whose parts are special: zeros of both signs, infinities, NaN, tiny and huge ones."""
    info = np.finfo(dtype)
    huge, tiny = float(info.max), float(info.tiny)
    top = float(np.log(info.max))
    parts = [
        0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.7, -30.0, np.inf, -np.inf, np.nan, huge, -huge / 2, tiny, -tiny / 8,
        float(info.eps), top + 0.3, -top - 0.3, 1.4 * top,
    ]  # fmt: skip
    found = np.empty((len(parts), len(parts)), dtype)
    found.real, found.imag = np.meshgrid(parts, parts)
    return found.ravel()


ANGLE_OPEN = {"sinh": "imag", "cosh": "imag", "sin": "real", "cos": "real"}
"""Functions of which C99 leaves signs open where this part, an angle, is not finite."""
UNITS = 16
"""Of the last place of a number's size, that native functions of parts may be away from the C library's together."""


@pytest.mark.one_in(3)
@needs_compiler
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    [
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "conj", "negative", "angle", "abs", "real", "imag",
    ],
)  # fmt: skip
def test_functions_at_special_values(name: str, dtype: str) -> None:
    z = grid(dtype)
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = function(z)
    (found,) = native(function, z)
    assert found.dtype == expected.dtype
    good = close(found, expected, UNITS)
    if name in ANGLE_OPEN:
        parts = [(found.real, expected.real), (found.imag, expected.imag)]
        same = [(np.abs(x) == np.abs(y)) | (np.isnan(x) & np.isnan(y)) for x, y in parts]
        good |= ~np.isfinite(getattr(z, ANGLE_OPEN[name])) & same[0] & same[1]
    wrong = np.flatnonzero(~good)
    assert not wrong.size, [(z[i], found[i], expected[i]) for i in wrong[:5]]


@needs_compiler
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_at_special_values(dtype: str) -> None:
    """Division is Smith's, as NumPy's; sums, products and comparisons are those of the parts."""
    special = grid(dtype)
    ordinary = [
        (x == 0) | ~np.isfinite(x) | (np.abs(np.abs(np.log(np.abs(x)))) < 17) for x in (special.real, special.imag)
    ]
    moderate = special[ordinary[0] & ordinary[1]]  # else a product overflows or vanishes, and NumPy rounds it once
    x, y = (a.ravel() for a in np.meshgrid(moderate, moderate))
    found = native(lambda x, y: (x + y, x - y, x * y, x / y, x == y, np.where(x == y, x, y)), x, y)
    with np.errstate(all="ignore"):
        expected = [x + y, x - y, x * y, x / y, x == y, np.where(x == y, x, y)]
    for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if theirs.dtype == bool:
            np.testing.assert_array_equal(ours, theirs)
            continue
        wrong = np.flatnonzero(~close(ours, theirs, 4))
        assert not wrong.size, (k, [(x[i], y[i], ours[i], theirs[i]) for i in wrong[:5]])


@needs_compiler
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exponent", [4, 5, -2, -7, 16])
def test_whole_powers(exponent: int) -> None:
    z = grid("complex128")
    z = z[(np.abs(z) < 1e15) & (np.abs(z) > 1e-15) | (z == 0)]
    with np.errstate(all="ignore"):
        expected = z**exponent
    (found,) = native(lambda z: z**exponent, z)
    assert close(found, expected, 8).all()


# -- what is written ---------------------------------------------------------------------------------------------------


def test_every_op_that_takes_complex_numbers_is_written_or_listed() -> None:
    """By its kind, a rule of its own or a reason; and no op in two of them."""
    assert not RULES.keys() & NOT_WRITTEN.keys() and not SOME.keys() & (RULES.keys() | NOT_WRITTEN.keys())
    takes = {op for op in ops.ALL if op.complex in ("analytic", "real-linear")}
    by_kind = {op for op in takes if op.complex == "analytic" and op.kind == "linear"}
    assert takes == (RULES.keys() | NOT_WRITTEN.keys() | SOME.keys() | by_kind | {ops.stop_gradient})
    assert RULES.keys() & by_kind == {ops.cast, ops.defined_where}


@pytest.mark.exhaustive
@pytest.mark.one_in(2)
@needs_compiler
@pytest.mark.parametrize("function", [np.arcsin, np.arctan, lambda z: z**0.3, lambda z: np.fft.fft(z, 7)])
def test_what_is_left_out_is_named(function: Callable[..., Any]) -> None:
    z = np.ones(8) + 1j
    program = program_of(lambda z: np.exp(function(z)), z)
    reasons = [reason_in_parts(node) for node in program.nodes if node.inputs]
    (why,) = filter(None, reasons)
    assert in_parts(program) is None
    said = str(primad.explain(lambda z: np.exp(function(z)), z))
    assert f"runs with NumPy: {why}" in said and "exp runs" not in said


def test_real_programs_are_left_as_they_are() -> None:
    """Not one node of a program without complex numbers is written anew."""
    x = np.linspace(0.1, 1.0, 7)
    for function in (np.exp, lambda x: np.sum(x[::2] ** 2), lambda x: np.where(x > 0.5, np.sin(x), x) @ x):
        for f in (function, lambda x, f=function: primad.grad(lambda x: np.sum(f(x)))(x)):
            program = program_of(f, x)
            assert in_parts(program) is program


# -- programs ----------------------------------------------------------------------------------------------------------

STEPS: list[Callable[..., Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - 0.5 * y,
    lambda x, y: x * y,
    lambda x, y: x / (2.0 + np.abs(y)),
    lambda x, y: x / (y + 3j),
    lambda x, y: np.exp(0.1 * x),
    lambda x, y: np.sin(x) + np.cos(0.3 * y),
    lambda x, y: np.tanh(x),
    lambda x, y: np.sqrt(x),
    lambda x, y: np.log(x + 2.0),
    lambda x, y: np.conj(x) * 1j,
    lambda x, y: x.real - 1j * y.imag,
    lambda x, y: np.where(x.real > y.imag, x, y),
    lambda x, y: np.angle(x) + y,
    lambda x, y: x[..., ::-1] + y[0],
    lambda x, y: np.sum(x, axis=0) + y,
    lambda x, y: x - np.mean(x, axis=1, keepdims=True),
    lambda x, y: x @ (y.T @ y / 9),
    lambda x, y: np.concatenate([x[1:], y[:1]]),
    lambda x, y: x[[2, 0, 1]] * y,
    lambda x, y: np.cumsum(x, axis=1) / 4,
    lambda x, y: np.reshape(x.T, x.shape) + y,
    lambda x, y: np.exp(1j * x.real) + 1 / (1 + np.abs(y) ** 2),
    lambda x, y: x**3 / 8 + y ** (-2.0) / 9,
    lambda x, y: np.roll(x, 1, axis=1) - y,
]


def drawn(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a random program of two complex arrays."""
    chosen = [STEPS[i] for i in rng.integers(len(STEPS), size=6)]
    order = rng.integers(2, size=6)

    def function(x: Any, y: Any) -> Any:
        for step, first in zip(chosen, order, strict=True):
            x, y = (step(x, y), x) if first else (step(y, x), x)
        return x, np.sum(np.abs(x) ** 2)

    return function


@pytest.mark.one_in(3)
@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_and_their_gradients(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    function = drawn(rng)
    x, y = ((rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))).astype(dtype) for _ in range(2))

    def derived(x: Any, y: Any) -> Any:
        value, slope = primad.value_and_grad(lambda x: function(x, y)[1])(x)
        return *function(x, y), value, slope

    tolerance = 1e-10 if dtype == "complex128" else 2e-2
    for found, expected in zip(native(derived, x, y), reference(derived, x, y), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.one_in(2)
@needs_compiler
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("shape", "axes"), [((2,), (0,)), ((3, 8), (1,)), ((64, 3), (0,)), ((4, 3, 32), (2, 0))])
def test_short_transforms(shape: tuple[int, ...], axes: tuple[int, ...], norm: Any) -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    function = lambda z: (np.fft.fftn(z, axes=axes, norm=norm), np.fft.ifftn(z, axes=axes, norm=norm))  # noqa: E731
    for found, expected in zip(native(function, z), function(z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * np.prod(shape) * np.abs(expected).max())


@needs_compiler
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((3, 16), 1), ((64, 3), 0)])
def test_short_transforms_of_real_numbers(shape: tuple[int, ...], axis: int, norm: Any) -> None:
    """Imaginary parts at the ends are not read, whatever they are."""
    rng = np.random.default_rng(8)
    x, n = rng.normal(size=shape), shape[axis]
    z = np.fft.rfft(x, axis=axis)
    np.moveaxis(z, axis, 0)[[0, -1]] += np.nan * 1j
    function = lambda x, z: (np.fft.rfft(x, axis=axis, norm=norm), np.fft.irfft(z, n, axis, norm))  # noqa: E731
    for found, expected in zip(native(function, x, z), function(x, z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


def rotations(hs: Any, state: Any) -> Any:
    """Return what pulses make of a two-level system, and how full its first level is after each."""

    def step(u: Any, h: Any) -> Any:
        u = u + -0.05j * (h @ u)
        return u, np.abs(u[0]) ** 2

    return primad.scan(step, state, hs)


@needs_compiler
def test_loops_carry_complex_numbers_in_registers() -> None:
    rng = np.random.default_rng(3)
    hs = rng.normal(size=(40, 2, 2)) + 1j * rng.normal(size=(40, 2, 2))
    state = np.array([1.0, 0.0], complex)
    final, filled = native(rotations, hs, state)
    expected = state
    for k, h in enumerate(hs):
        expected = expected + -0.05j * (h @ expected)
        np.testing.assert_allclose(filled[k], abs(expected[0]) ** 2, rtol=1e-12)
    np.testing.assert_allclose(final, expected, rtol=1e-12)
    slope = lambda hs: primad.grad(lambda hs: np.sum(rotations(hs, state)[1]))(hs)  # noqa: E731
    np.testing.assert_allclose(native(slope, hs)[0], reference(slope, hs)[0], rtol=1e-10)


def waves(u: Any) -> Any:
    """Return what a spectral method for a wave makes of it: real numbers, between which there are complex ones."""
    k = 1j * np.fft.rfftfreq(16, 1 / 16)

    def step(u: Any, _: Any) -> Any:
        modes = np.fft.rfft(u)
        return np.fft.irfft(modes * np.exp(-0.01 * k**3), 16) - 0.01 * u * np.fft.irfft(k * modes, 16), None

    return primad.scan(step, u, None, length=20)[0]


@needs_compiler
def test_loops_of_real_numbers_with_complex_steps() -> None:
    u = np.cos(2 * np.pi * np.arange(16) / 16)
    slope = lambda u: primad.grad(lambda u: np.sum(waves(u) ** 3))(u)  # noqa: E731
    for function in (waves, slope, lambda u: np.sin(slope(waves(u)))):
        np.testing.assert_allclose(native(function, u)[0], reference(function, u)[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(primad.jit(function)(u), reference(function, u)[0], rtol=1e-9, atol=1e-12)
    said = str(primad.explain(lambda u: np.fft.rfft(slope(u), 15), u))  # what is left to SciPy stands beside a part
    assert "1 native function" in said


@needs_compiler
def test_zeros_keep_their_signs_in_loops() -> None:
    """Of real numbers x + 0 is x; on a branch cut it is the side that a complex number is on."""
    z = np.array([complex(-3.0, -0.0), complex(-3.0, 0.0)])

    def function(z: Any) -> Any:
        return primad.scan(lambda c, _: (np.sqrt(c + 1.0) * 1j - 3.0, None), z, None, length=3)[0]

    for run in (primad.jit(function), lambda z: native(function, z)[0]):
        np.testing.assert_allclose(run(z), reference(function, z)[0], rtol=1e-12)


LOOPED: dict[str, Callable[..., Any]] = {
    "quotient": lambda z: (z + 1.0) / (z - 2.5j),
    "real quotient": lambda z: 2.5 / (1.0 + np.abs(z)) + z * 0.5,
    "root": np.sqrt,
    "logarithm": lambda z: np.log(z + 3.0),
    "exponential": lambda z: np.exp(0.1 * z),
    "hyperbolic": lambda z: np.tanh(z) + 0.3j,
    "cosine": lambda z: np.cos(0.3 * z),
    "power": lambda z: (0.5 * z) ** 3 + 0.1,
    "size": lambda z: np.abs(z) * 0.3j + np.angle(z),
    "sign": lambda z: np.sign(z) + 0.5 * z,
    "choice": lambda z: np.where(z.real > 0.3, 0.5 * z, z + 0.7j),
}


@pytest.mark.one_in(2)
@needs_compiler
@pytest.mark.parametrize("name", LOOPED)
def test_every_kind_of_step_is_part_of_a_loop(name: str) -> None:
    """Rules of parts bring numbers along that no operand is."""
    z = np.array([0.3 + 0.2j, -1.0 + 0.5j])

    def loop(z: Any) -> Any:
        step = lambda state: (LOOPED[name](state[0]), state[1] + 1)  # noqa: E731
        return primad.while_loop(lambda state: state[1] < 3, step, (z, np.int64(0)))[0]

    expected = z
    for _ in range(3):
        expected = LOOPED[name](expected)
    for run in (
        primad.jit(loop),
        primad.jit(lambda z: primad.scan(lambda c, _: (LOOPED[name](c), None), z, None, length=3)[0]),
    ):
        np.testing.assert_allclose(run(z), expected, rtol=1e-12)


@needs_compiler
def test_failures_name_the_line() -> None:
    z, i = np.arange(4) + 1j, np.array([0, 7])

    def function(z: Any, i: Any) -> Any:
        return np.exp(z[i]) * 2.0

    with pytest.raises(primad.PrimadError, match=r"7(.|\n)*test_complex_parts"):
        primad.jit(function)(z, i)


@needs_compiler
def test_scalars_and_numbers() -> None:
    """Arguments and results without axes are NumPy's scalars."""
    function = primad.jit(lambda z, w: (z * w, [np.exp(z)], np.abs(w), w - z))
    for dtype in DTYPES:
        z, w = np.dtype(dtype).type(1 - 2j), np.dtype(dtype).type(0.25 + 1j)
        for _ in range(2):
            product, (power,), size, rest = function(z, w)
            assert (product, rest) == (z * w, w - z) and power.dtype == product.dtype == dtype
            np.testing.assert_allclose([power, size], [np.exp(z), np.abs(w)], rtol=1e-6)
    assert function(1 + 1j, 2.0)[0] == 2 + 2j


# -- large programs ----------------------------------------------------------------------------------------------------


@needs_compiler
def test_large_programs_run_in_tiles() -> None:
    rng = np.random.default_rng(5)
    z, w = rng.normal(size=(2, 100_003)) + 1j * rng.normal(size=(2, 100_003))
    function = lambda z, w: (np.sum(np.abs(z * w + 1.0) ** 2), np.exp(z) / w, np.sum(np.tanh(z)))  # noqa: E731
    plan = NATIVE.prepare(program_of(function, z, w), PLAIN)
    assert plan.is_tiled
    for found, expected in zip(plan.run([z, w[::1].copy()]), function(z, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    apart = np.stack([z, w], 1)
    np.testing.assert_allclose(plan.run([apart[:, 0], apart[:, 1]])[1], np.exp(z) / w, rtol=1e-12)


def turning(x: Any) -> Any:
    """A loop with complex numbers inside alone."""
    return primad.scan(lambda c, _: (np.abs(np.exp(c.astype(complex))), None), x, length=2)[0]


def growing(x: Any) -> Any:
    """A loop of real numbers."""
    return primad.scan(lambda c, _: (np.sin(c), None), x, length=2)[0]


COMPLEX: dict[str, tuple[Callable[..., Any], bool]] = {
    "real": (np.sin, False),
    "between": (lambda x: np.abs(x * 1j), True),
    "in a loop": (turning, True),
    "in no loop": (lambda x: growing(x) + growing(2 * x), False),
    "in the first loop": (lambda x: growing(turning(x)), True),
    "in the last loop": (lambda x: turning(growing(x)), True),
    "in a loop of a loop": (lambda x: primad.scan(lambda c, _: (turning(c), None), x, length=2)[0], True),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_which_programs_are_of_complex_numbers(name: str) -> None:
    function, is_it = COMPLEX[name]
    assert is_complex(program_of(function, np.ones(3))) == is_it


SHORT = {
    "a power of two": ((8,), 8, True),
    "powers of two": ((8, 4), 64, True),
    "one that is none": ((8, 6), 48, False),
    "of one": ((1,), 3, False),
    "of two": ((2,), 2, True),
    "of nothing": ((8,), 0, False),
}


@pytest.mark.parametrize("name", SHORT)
def test_which_transforms_are_written(name: str) -> None:
    lengths, size, are_they = SHORT[name]
    assert are_short(lengths, size) == are_they


@needs_compiler
def test_what_has_no_native_code_lies_between_stages() -> None:
    rng = np.random.default_rng(6)
    for shape, axes in (((255, 511), (1,)), ((256, 512), (0, 1)), ((2048, 64), (1,))):
        z = rng.normal(size=shape) + 1j * rng.normal(size=shape)

        def function(z: Any, axes: Any = axes) -> Any:
            return np.fft.ifftn(np.exp(-np.abs(z) + 0.3j * z.real) * np.fft.fftn(z, axes=axes), axes=axes).T * 1j

        plan = complex_plans.complex_plan(program_of(function, z), PLAIN)
        assert any(part.is_tiled for part, _ in plan.parts)
        np.testing.assert_allclose(plan.run([z])[0], function(z), rtol=1e-10, atol=1e-12)


@needs_compiler
def test_what_stages_of_complex_numbers_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither an axis nor memory is asked for; not around numbers of several results, nor of real ones alone."""
    for name, value in {"WORTHWHILE_BYTES": 1, "LARGE_BYTES": 0}.items():
        monkeypatch.setattr(tiled_plan, name, value)
    monkeypatch.setattr(native_executor, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)
    monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4, 8))
    monkeypatch.setattr(complex_plans, "WORTHWHILE_BYTES", 1)
    z = np.random.default_rng(7).normal(size=(40, 7)) * (1 + 0.5j)

    def f(z: Any) -> Any:
        size = np.linalg.eigvalsh(np.abs(z).T @ np.abs(z))
        waves = np.fft.fft(np.exp(z) * z, axis=1)
        real = np.tanh(np.cos(np.abs(waves)) * np.sin(np.abs(waves)))
        return np.cumsum(waves * np.exp(-z)) * np.sum(size), np.sin(real) * np.exp(-real)

    program = program_of(f, z)
    plan = complex_plans.complex_plan(program, PLAIN)
    assert plan is not None
    for found, wanted in zip(plan.run([z]), f(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for options in (Options(memory=10**6), Options(along=(0, 0))):
        assert complex_plans.complex_plan(program, options) is None
    for part, _ in plan.parts:
        types = [node.type for node in part.program.nodes if isinstance(node.type, ArrayType)]
        assert not isinstance(part, complex_plans.PlanInParts) or any(type.is_complex for type in types)
    monkeypatch.setattr(complex_plans, "compiler", lambda: None)
    assert complex_plans.complex_plan(program, PLAIN) is None


@needs_compiler
def test_products_of_large_matrices_stay_complex(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of parts each would be four; what is smaller, or is asked to be in tiles, is computed in parts."""
    a = np.exp(1j * np.arange(256 * 256.0)).reshape(256, 256)
    function = primad.grad(lambda a, b: np.sum(np.abs(a @ b @ a) ** 2), argnums=(0, 1))
    program = program_of(function, a, a)
    monkeypatch.setattr(complex_plans, "blas_is_as_wide", lambda: True)
    for flops, largest, whole in ((1e6, 1000, False), (1e10, 1000, True), (1e6, 2**20, True)):
        monkeypatch.setattr(complex_plans, "SHARED_FLOPS", flops)
        monkeypatch.setattr(complex_plans, "LARGEST_MATRIX", largest)
        plan = complex_plans.complex_plan(program, PLAIN)
        assert isinstance(plan, complex_plans.PlanInParts) is whole
        if plan is not None:
            for found, expected in zip(plan.run([a, a]), reference(function, a, a), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-10)
    monkeypatch.setattr(complex_plans, "SHARED_FLOPS", 1e6)
    monkeypatch.setattr(complex_plans, "LARGEST_MATRIX", 1000)
    asked = complex_plans.complex_plan(program, Options(memory=10**9))
    assert asked is None or isinstance(asked, complex_plans.PlanInParts)

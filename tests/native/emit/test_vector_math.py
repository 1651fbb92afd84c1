"""Elementary functions of our own: accurate, true to special values, and text that compiles for other processors."""

from __future__ import annotations

import ctypes
import math
from functools import partial, reduce
from typing import Any

import mpmath
import numpy as np
import pytest

import primad
from primad import ops
from primad.native.emit import vector_functions
from primad.native.emit.elementwise_loop import pointwise
from primad.native.emit.op_table import reason
from primad.native.emit.vector_math import OWN
from primad.native.llvm import compiler as native
from primad.native.llvm import vectors
from primad.native.llvm.builder import module
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import Code, View
from primad.native.module.program_text import kernel_of
from primad.native.special.polygammas import polygamma, start_of
from primad.simplify import simplify
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.guarded import written
from tests.native.emit.test_kernels import EXACT, points, ulps

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
NUMPY_NAMES = {"atan": "arctan", "atan2": "arctan2"}
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 5e-324, -5e-324, 1e308, -1e308, 3.0]


def computed(name: str, *operands: Any) -> Any:
    """Apply one of the functions to arrays."""
    return applied(lambda v, values: vector_functions.own_function(v, name, *values), *operands)


def applied(write: Any, *operands: Any) -> Any:
    """Apply what is written to arrays, in a loop of their length."""
    dtype = operands[0].dtype
    arrays = [*map(np.ascontiguousarray, operands), np.empty_like(operands[0])]
    views = [View(i, 0, x.shape, (1,), dtype) for i, x in enumerate(arrays)]
    code = Code()
    pointwise(code, views[:-1], views[-1:], dtype, lambda v, values: [write(v, values)])
    code.do("ret void")
    parameters = ", ".join(f"ptr {place}" for place in code.places.values())
    text = module([code.function(f"void @KERNEL({parameters})")], code.declared.values())
    (kernel,) = native.compiler().kernels([text])
    order = [buffer for buffer, *_ in code.places]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(kernel.address)(*[arrays[i].ctypes.data for i in order])
    return arrays[-1]


WIDTHS = sorted({16, 32, vectors.WIDTH_BYTES})


def dense(name: str, dtype: Any) -> Any:
    """Return what all functions are tested on, and numbers of all sizes, near integers, near multiples of π/4."""
    rng = np.random.default_rng(11)
    largest = {np.float64: 300.0, np.float32: 36.0}[dtype]
    sizes = 10 ** rng.uniform(-largest, largest, 300)
    near = np.concatenate([np.arange(1, 60) * math.pi / 4, np.arange(1, 60)])
    near = np.concatenate([near, near * (1 + rng.uniform(-1e-9, 1e-9, near.size)), np.nextafter(near, 0)])
    ends = rng.uniform(600, 720, 100) if dtype is np.float64 else rng.uniform(80, 90, 100)
    x = np.concatenate([sizes, near, ends, rng.uniform(0, 4, 400), 1 + rng.uniform(-1e-3, 1e-3, 100)])
    x = np.concatenate([points(NUMPY_NAMES.get(name, name), dtype), x, -x]).astype(dtype)
    if name.startswith("log"):
        x = x[x > (-1 if name == "log1p" else 0)]
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 1e25]
    return x[np.isfinite(x)]


DECAYING = {"tanh": mpmath.tanh, "sech2": lambda x: mpmath.sech(x) ** 2, "logistic": lambda x: 1 / (1 + mpmath.exp(-x))}
"""Functions that are made of the exponential of numbers below zero, beside exact ones."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(DECAYING))
def test_functions_of_decay_are_within_three_ulp(name: str, monkeypatch: Any) -> None:
    """And they have the same bits for all widths of vectors, at their limits too."""
    write = getattr(vector_functions, name)
    x = np.append(dense("exp", np.float64), SPECIAL)
    y = applied(lambda v, values: write(v, *values), x)
    for width in WIDTHS:
        monkeypatch.setattr(vectors, "WIDTH_BYTES", width)
        np.testing.assert_array_equal(applied(lambda v, values: write(v, *values), x), y)
    with mpmath.workprec(2500):
        worst = max([
            (ulps(b, DECAYING[name](mpmath.mpf(float(a))), np.float64), float(a))
            for a, b in zip(x, y, strict=True) if np.isfinite(a)
        ])  # fmt: skip
    assert worst[0] <= 3, worst
    ends = {"tanh": (1.0, -1.0), "sech2": (0.0, 0.0), "logistic": (1.0, 0.0)}[name]
    np.testing.assert_array_equal(y[len(x) - len(SPECIAL) :][:3], [math.nan, *ends])
    if name == "tanh":
        np.testing.assert_array_equal(np.signbit(y), np.signbit(np.where(np.isnan(x), y, x)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(OWN.keys() - {"atan2"}))
def test_functions_are_within_three_ulp(name: str, dtype: Any, monkeypatch: Any) -> None:
    """And they have the same bits for all widths of vectors."""
    x = dense(name, dtype)
    y = computed(name, x)
    for width in WIDTHS:
        monkeypatch.setattr(vectors, "WIDTH_BYTES", width)
        np.testing.assert_array_equal(computed(name, x), y)
    exact = EXACT[NUMPY_NAMES.get(name, name)]
    with mpmath.workprec(250):
        worst = max((ulps(b, exact(mpmath.mpf(float(a))), dtype), float(a)) for a, b in zip(x, y, strict=True))
    assert worst[0] <= 3, worst


@pytest.mark.one_in(6)
@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", [n for n in range(-5, 10) if n])
def test_powers_with_whole_exponents_are_within_four_ulp(exponent: int, dtype: Any) -> None:
    """Also where they vanish or overflow, and for exponents that are too large for a product."""
    rng = np.random.default_rng(13)
    decades = {np.float64: 308.0, np.float32: 38.0}[dtype]
    x = 10 ** np.concatenate([rng.uniform(-decades, decades, 300) / abs(exponent) ** 0.95, rng.uniform(-1, 1, 300)])
    x = np.concatenate([x, -x]).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        special = special, special ** dtype(exponent)
    found = applied(
        lambda v, values: vector_functions.power(v, *values, v.constant(exponent)), np.append(x, special[0])
    )
    with mpmath.workprec(500):
        exact = [mpmath.mpf(float(a)) ** exponent for a in x]
    assert max(ulps(value, want, dtype) for value, want in zip(found, exact, strict=False)) <= 4
    np.testing.assert_array_equal(found[len(x) :], special[1])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(1 / found[len(x) :], 1 / special[1])  # which shows the signs of zeros


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_angles_of_points_are_within_three_ulp(dtype: Any) -> None:
    rng = np.random.default_rng(12)
    largest = {np.float64: 140.0, np.float32: 15.0}[dtype]
    x, y = (
        np.concatenate([10 ** rng.uniform(-largest, largest, 300), rng.uniform(-3, 3, 600)]).astype(dtype)
        for _ in range(2)
    )
    x[::3] *= -1
    y[::2] *= -1
    found = computed("atan2", y, x)
    with mpmath.workprec(1200):
        exact = [mpmath.atan2(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(y, x, strict=True)]
    assert max(ulps(value, want, dtype) for value, want in zip(found, exact, strict=True)) <= 3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_derivatives_of_digamma_are_accurate(n: int, monkeypatch: Any) -> None:
    """Beside and between poles, about where the series takes over, and as NumPy's at poles and at the ends."""
    rng = np.random.default_rng(14)
    start = start_of(n)
    sizes = np.concatenate([10 ** rng.uniform(-20, 6, 20), rng.uniform(0, 2 * start, 20), [0.5, 1.5, 1e-13]])
    near = np.arange(1, 20) * (1 + rng.uniform(-1e-9, 1e-9, 19))
    ends = [start, np.nextafter(start, 0), start - 1e-9, 1e-300, 5e-324, -5e-324, -1e-300]
    x = np.concatenate([sizes, -sizes[sizes < 1e3], near, -near, ends])
    at_ends = np.array([0.0, -0.0, -1.0, -3.0, -1e17, math.inf, -math.inf, math.nan])
    with np.errstate(all="ignore"):
        plain, slopes = (ops.polygamma.numpy(np.append(x, at_ends), n=order) for order in (n, n + 1))
    found = applied(lambda v, values: polygamma.emit(v, *values, n=n), np.append(x, at_ends))
    for width in WIDTHS:
        monkeypatch.setattr(vectors, "WIDTH_BYTES", width)
        again = applied(lambda v, values: polygamma.emit(v, *values, n=n), np.append(x, at_ends))
        np.testing.assert_allclose(again, found, rtol=1e-14)
    np.testing.assert_array_equal(found[x.size :], plain[x.size :])
    with mpmath.workdps(40):
        for a, value, other, slope in zip(map(mpmath.mpf, x.tolist()), found, plain, slopes, strict=False):
            tiny = abs(a) < 1e-30
            exact = (-1) ** (n + 1) * mpmath.factorial(n) / a ** (n + 1) if tiny else mpmath.psi(n, a)
            condition = n + 2 if tiny else 1 + abs(float(a * slope / exact))
            assert ulps(value, exact, np.float64) <= 6 * condition, float(a)
            assert ulps(other, exact, np.float64) <= 20 * condition, float(a)


def test_derivatives_of_digamma_of_high_orders_are_scipys() -> None:
    """Also where a factorial of the order is no double number; SciPy's values end there."""
    x, orders = np.array([20.0, 100.0]), (20, 152, 153, 160)
    with np.errstate(all="ignore"):
        plain = [ops.polygamma.numpy(x, n=n) for n in orders]
    for n, wanted in zip(orders, plain, strict=True):
        found = primad.jit(partial(primad.numpy.special.polygamma, n), backend="native")(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_orders_whose_powers_overflow_are_left_to_numpy() -> None:
    assert [bool(reason(primad.trace(partial(ops.polygamma, n=n))(1.5).nodes[-1])) for n in (0, 1, 8, 9)] == [
        False, False, False, True,
    ]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(OWN))
def test_special_values_are_numpys(name: str, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x, y = (m.ravel() for m in np.meshgrid(np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)))
        operands = (x, y) if name == "atan2" else (x,)
        want = getattr(np, NUMPY_NAMES.get(name, name))(*operands)
    got = computed(name, *operands)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps, atol=0)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


@pytest.mark.one_in(6)
@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("name", sorted(OWN.keys() - {"atan2"}))
def test_an_element_has_the_same_bits_wherever_it_stands(name: str) -> None:
    x = np.abs(dense(name, np.float64))[:40]
    x[7] = 1e22 if name in ("sin", "cos", "tan") else x[7]
    whole = computed(name, x)
    for start, stop in ((1, 40), (5, 9), (6, 7), (8, 21)):
        np.testing.assert_array_equal(computed(name, x[start:stop]), whole[start:stop])


def test_without_vector_functions_of_the_c_library_our_own_are_used(monkeypatch: Any) -> None:
    monkeypatch.setattr(vector_functions, "libmvec", dict)
    x = np.linspace(0.1, 0.9, 23)

    def f(x: Any) -> Any:
        return [ops.BY_NAME[name](x) for name in ("exp", "log", "sin", "tanh", "erf", "arcsin", "cbrt")], np.hypot(x, x)

    program = simplify(primad.trace(f)(x))
    text = kernel_of(written(program))
    assert "_ZGV" not in text and "@erf(" in text and "@exp(" not in text
    plan = native.compiler().kernels([text])
    assert plan


# -- other processors --------------------------------------------------------------------------------------------------

PROCESSORS = [
    ("x86_64-unknown-linux-gnu", "x86-64-v2", 16), ("x86_64-unknown-linux-gnu", "x86-64-v3", 32),
    ("x86_64-unknown-linux-gnu", "x86-64-v4", 64), ("x86_64-pc-windows-msvc", "x86-64-v3", 32),
    ("x86_64-apple-darwin", "x86-64-v3", 32), ("aarch64-unknown-linux-gnu", "generic", 16),
    ("arm64-apple-darwin", "apple-m1", 16),
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("triple", "cpu", "width"), PROCESSORS, ids=str)
def test_text_compiles_for_other_processors(triple: str, cpu: str, width: int, monkeypatch: Any) -> None:
    """Random programs, and each function: what cannot be run here is at least what LLVM takes."""
    import llvmlite.binding as llvm

    monkeypatch.setattr(vectors, "WIDTH_BYTES", width)
    monkeypatch.setattr(vectors, "VECTOR_BYTES", width)
    monkeypatch.setattr(vector_functions, "libmvec", dict)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this LLVM has no {triple}")
    machine = target.create_target_machine(cpu=cpu, opt=BUDGET.level)
    x = np.linspace(0.1, 0.9, 23)
    names = [NUMPY_NAMES.get(name, name) for name in OWN if name != "atan2"]
    programs = [primad.trace(lambda x: [ops.BY_NAME[name](x) for name in names])(x.astype(t)) for t in ("f8", "f4")]
    programs += [primad.trace(lambda x: np.arctan2(x, 1 - x))(x)]
    programs += [primad.trace(lambda x: reduce(lambda v, i: v * x + i, range(20), x))(np.arange(99.0))]
    programs += [draw_program(Seeded(seed)) for seed in range(300, 330)]
    found = 0
    for program in map(simplify, programs):
        whole = written(program)
        if whole is None:
            continue
        text = kernel_of(whole).replace("@KERNEL", "@kernel")
        with llvm.parse_assembly(text) as parsed:
            parsed.triple = triple
            assert machine.emit_object(parsed)
        found += 1
    assert found > 20

"""Programs as SymPy expressions: every op, random programs, derivatives, LaTeX, and what has no formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import primad
from primad import nn, ops
from primad.errors import PrimadError, ShapeError, TracingError
from primad.recording import tree
from primad.symbolic.from_expressions import Compiled
from primad.symbolic.op_formulas import AS_NUMPY, INDEXING, POINTWISE, REFUSED, WHOLE
from primad.verify.cases.drawn_cases import Seeded, sample
from primad.verify.checks.trial import one_op, run_floats
from primad.verify.random_programs import draw_program
from tests.cases import CASES
from tests.sweeps import thinned

x, y = sympy.symbols("x y", real=True)
v = sympy.Array(sympy.symbols("v:3", real=True))

NO_FORMULA = {
    "argsort",
    "expm",
    "expm_frechet",
    "lstsq",
    "pinv",
    "solve_sylvester",
    "sort",
    "sqrtm",
    "window_argmax",
    "qr",
    "slopes",
    "spread",
    "svd",
    "eig",
    "eigh",
    "left_vectors",
    "logm",
    "logm_frechet",
    "beta_density",
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "gamma_density",
    "hurwitz",
    "jacobi_amplitude",
    "lambertw",
    "member",
    "owens_t",
    "power_integral",
    "carlson_second",
    "log_gamma_tail",
    "gamma_hazard",
    "log_beta_tail",
    "beta_hazard",
    "legendre_integral",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gaps",
    "lu",
    "max_pool",
    "adaptive_max_pool",
    "spectral_function",
    "spectral_sum",
}
"""Cases whose result is decided by comparing symbols in ways that are no formula."""


def test_every_primitive_has_a_formula_or_a_reason() -> None:
    tables: list[Any] = [POINTWISE, WHOLE, REFUSED, AS_NUMPY]
    for op in ops.ALL:
        found = sum(op in table for table in tables)
        assert found == 1 or (not found and op.meaning is not None), op.name
    assert all(REFUSED.values()) and set(INDEXING) <= AS_NUMPY


def symbols_and_values(choose: Seeded, operands: Any) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    """Return arguments of symbols, the same of floats, and the value of each symbol."""
    given, values, at, taken = [], [], {}, set()
    for name, operand in zip("abcdefgh", operands, strict=False):
        if operand.array is not None:
            given.append(operand.array)
            values.append(operand.array)
            continue
        points = sample(choose, operand, taken)
        names = [sympy.Symbol(f"{name}{i}", real=not operand.type.is_complex) for i in range(operand.type.size)]
        exact = [sympy.Rational(p.numerator, p.denominator) for p in points]
        turn = 1 + sympy.I / 2 if operand.type.is_complex else 1
        at.update({symbol: p * turn for symbol, p in zip(names, exact, strict=True)})
        array = np.empty(len(names), object)
        array[:] = names
        given.append(array.reshape(operand.type.shape) if operand.type.shape else names[0])
        whole = np.array([float(p) for p in points]) * (complex(turn) if operand.type.is_complex else 1)
        values.append(whole.astype(operand.type.dtype))
        values[-1] = values[-1].reshape(operand.type.shape)
    return given, values, at


def number(expression: Any, at: dict[Any, Any]) -> complex:
    expression = expression.xreplace(at)
    return float(bool(expression)) if expression in (sympy.true, sympy.false) else complex(expression.evalf(17))


def compare(formulas: Any, values: Any, at: dict[Any, Any], single: bool = False) -> None:
    for formula, value in zip(tree.leaves(formulas), values, strict=True):
        assert getattr(formula, "shape", ()) == np.shape(value)
        elements = list(sympy.flatten(formula)) if np.ndim(value) else [formula]
        got = [number(element, at) for element in elements]
        tolerance = 1e-5 if single or np.asarray(value).dtype == np.float32 else 1e-11
        np.testing.assert_allclose(got, np.ravel(value).astype(complex), rtol=tolerance, atol=tolerance)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if not case.op.derivative.only_transposed))
def test_every_op_is_what_numpy_computes(name: str) -> None:
    case = CASES[name]
    refused = 0
    for seed in range(3):
        choose = Seeded(f"{name} {seed}")
        example = case.draw(choose)
        program = one_op(case.op, example, case.through)
        given, values, at = symbols_and_values(choose, example.inputs)
        try:
            formulas = primad.to_sympy(program, *given)
        except TracingError as error:
            assert name in NO_FORMULA and "has no formula in SymPy" in str(error)
            refused += 1
            continue
        expected = run_floats(program, values)
        compare(formulas, expected, at)
        if any(type.is_complex for type in (*program.in_types, *program.out_types)):
            continue  # formulas are read as real ones
        # And back: as NumPy computes them.
        back = Compiled(formulas, list(at), [], "from_sympy")([float(value) for value in at.values()], [])
        for found, value in zip(tree.leaves(back), expected, strict=True):
            tolerance = 1e-5 if np.asarray(value).dtype == np.float32 else 1e-11
            np.testing.assert_allclose(found, value, rtol=tolerance, atol=tolerance)
    assert bool(refused) is (name in NO_FORMULA)


@pytest.mark.one_in(2)
@thinned(2, seed=range(60))
def test_random_programs(seed: int) -> None:
    choose = Seeded(f"formulas {seed}")
    program = draw_program(choose, 3)
    if any(node.op.name == "draw" for node in primad.lower(program).nodes):
        return  # integers of 63 bits, which formulas do not round to floats
    at = {}
    values = []
    for name, type in zip(program.names, program.in_types, strict=True):
        array = np.array([choose.integer(-96, 96) | 1 for _ in range(type.size)]).reshape(type.shape) / 64
        for index in np.ndindex(type.shape):
            at["_".join([name, "".join(map(str, index))]) if index else name] = sympy.Rational(array[index])
        values.append(array)
    try:
        formulas = primad.to_sympy(program)
    except TracingError as error:
        names = {node.op.name for node in (*program.nodes, *primad.lower(program).nodes)}
        assert "has no formula" in str(error) and names & {op.name for op in (*REFUSED, *INDEXING)}
        return
    at = {sympy.Symbol(name, real=True): value for name, value in at.items()}
    rounded = any("float32" in str(node.type) for node in primad.lower(program).nodes)
    compare(list(formulas), run_floats(program, values), at, single=rounded)


def scalar(x: Any, y: Any) -> Any:
    return np.sin(x) * y**3 + np.exp(-x) / (1 + y**2)


def test_derivatives_are_those_of_sympy() -> None:
    formula = primad.to_sympy(scalar, x, y)
    for transformed, expected in (
        (primad.grad(scalar), formula.diff(x)),
        (primad.grad(primad.grad(scalar), 1), formula.diff(x, y)),
        (lambda x, y: primad.jvp(scalar, (x, y), (2.0, x))[1], 2 * formula.diff(x) + x * formula.diff(y)),
        (lambda x, y: primad.taylor(lambda y: scalar(x, y), y, 1.0, 3)[3], formula.diff(y, 3) / 6),
    ):
        assert sympy.simplify(primad.to_sympy(transformed, x, y) - expected) == 0


def test_matrices_of_derivatives_and_mapped_functions() -> None:
    def f(v: Any) -> Any:
        return v[0] ** 2 * v[1] + np.sin(v[2] * v[0])

    formula = primad.to_sympy(f, v)
    hessian = primad.to_sympy(primad.hessian(f), v)
    assert hessian.tomatrix() == sympy.hessian(formula, list(v))
    assert primad.to_sympy(primad.laplacian(f), v).equals(hessian.tomatrix().trace())
    assert primad.to_sympy(lambda v: primad.hessian(f)(v) @ v, v).shape == (3,)
    assert list(primad.to_sympy(primad.vmap(lambda x: x**2), v)) == [s**2 for s in v]
    assert primad.to_sympy(primad.jit(primad.grad(f)), v) == primad.to_sympy(primad.grad(f), v)


def test_numbers_are_those_that_were_meant() -> None:
    assert primad.to_sympy(lambda x: 0.1 * x + np.pi / 3, x) == x / 10 + sympy.pi / 3
    assert primad.to_sympy(lambda x: (0.01 / np.pi) * x, x) == x / (100 * sympy.pi)
    rough = 0.123456789012345
    assert primad.to_sympy(lambda x: rough * x, x).coeff(x) == sympy.Float(rough)
    assert primad.to_sympy(lambda x: x + np.inf, x) == x + sympy.oo


def test_arguments_are_trees_and_keep_what_is_no_expression() -> None:
    def f(parts: Any, how: str, n: int) -> Any:
        return {how: parts["a"] ** n, "sum": [np.sum(parts["b"])]}

    found = primad.to_sympy(f, {"a": x, "b": sympy.Matrix([[x, y]])}, "power", 3)
    assert found == {"power": x**3, "sum": [x + y]}
    named = primad.to_sympy(lambda weights, k: weights[0] * k, primad.ArrayType((2,), float), primad.ArrayType((), int))
    assert str(named) == "k*weights_0"
    assert {s.is_integer for s in named.free_symbols} == {True, None}
    program = primad.trace(scalar)(1.0, 1.0)
    assert primad.to_sympy(program) == primad.to_sympy(program, x, y) == primad.to_sympy(scalar, x, y)
    assert primad.to_sympy(program, x, 2.0) == primad.to_sympy(scalar, x, y).subs(y, 2)
    assert primad.to_sympy(lambda b: np.where(b, 1.0, 2.0), primad.ArrayType((), bool)).has(sympy.Piecewise)
    with pytest.raises(ShapeError, match="has 2 inputs, got 1"):
        primad.to_sympy(program, x)
    with pytest.raises(ShapeError, match=r"the input y has the type float64\[\], got the shape \(3,\)"):
        primad.to_sympy(program, x, v)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (np.sort, "sort"),
        (lambda v: v[np.argsort(v)], "argsort"),
        (lambda v: np.take(v, np.floor(v).astype(int)), "gather"),
        (lambda v: nn.uniform(np.floor(v[0]).astype(int), (2,)), "draw"),
        (primad.opaque(np.cumsum, result=primad.ArrayType((3,), float), name="table"), "table"),
    ],
)
def test_what_has_no_formula_is_an_error_that_names_the_op(function: Any, name: str) -> None:
    with pytest.raises(TracingError, match=f"to_sympy: {name} has no formula in SymPy"):
        primad.to_sympy(function, v)


@pytest.mark.parametrize("function", [np.sin, np.add, lambda x, y: x, np.linalg.solve], ids=range(4))
def test_every_argument_is_named(function: Any) -> None:
    for given in ((), (x, x, x)):
        with pytest.raises(ShapeError, match=r"(?s)to_sympy\(.*\) was given \d arguments .*primad\.ArrayType"):
            primad.to_sympy(function, *given)


def test_text_is_no_expression() -> None:
    with pytest.raises(TracingError, match="got the text"):
        primad.to_sympy(lambda v: v, np.array([x, "__import__('os')"], object))


def test_comparisons_hold_for_all_values() -> None:
    formula = primad.to_sympy(lambda x, y: np.where(x < y, np.maximum(x, 0), np.abs(y)), x, y)
    assert formula == sympy.Piecewise((sympy.Max(0, x), x < y), (sympy.Abs(y), True))
    assert primad.to_sympy(lambda x, y: (x < y) & ~(x == y), x, y) == sympy.And(x < y, sympy.Ne(x, y))
    assert primad.to_sympy(np.max, v) == sympy.Max(*v)
    assert primad.to_sympy(nn.softmax, v)[0] == sympy.exp(v[0]) / sum(map(sympy.exp, v))


def test_latex_of_a_program() -> None:
    program = primad.trace(lambda x: (np.sin(x), x**2))(1.0)
    assert program.latex() == r"\begin{gathered} \sin{\left(x \right)} \\ x^{2} \end{gathered}"
    with pytest.raises(PrimadError, match="sort has no formula"):
        primad.trace(np.sort)(np.ones(2)).latex()

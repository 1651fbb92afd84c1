"""Small programs as one native function: equal to the reference, for every size."""

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.node import LITERAL
from primad.ir.signature import Signature
from primad.native.llvm import compiler as native
from primad.native.schedule import layout
from primad.native.schedule.storage import Joined
from primad.recording import tree
from primad.recording.tracing import record, type_of
from primad.runtime.plan import compiled_program as compiled_programs
from primad.runtime.plan.compiled_program import CompiledProgram, compiled_program
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import WIDTHS, thinned

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")

SIZES = [1, 2, 3, 4, 5, 8, 13, 17, 20, 33]


def plan_of(function, *args):
    leaves, in_tree = tree.flatten(args)
    types = [type_of(leaf) for leaf in leaves]
    program = record(function, types, in_tree)
    lowered = simplify(program.hoisted(scalars=False))
    constants = len(lowered.inputs) - len(leaves)
    signature = Signature(in_tree, tuple((type, False) for type in types), constants, program.out_tree)
    return compiled_program(lowered, signature), program


def values_of(program):
    """Constants of a recorded program, as its plan wants them."""
    return [dict(node.params)["array"].array for node in program.sources if node.op is not LITERAL]


def check(function, *args, tolerance=None):
    plan, program = plan_of(function, *args)
    assert isinstance(plan, CompiledProgram), "the program has no native function"
    given = [*map(np.asarray, tree.leaves(args)), *values_of(program)]
    wanted = Plan(plan.program).run(given)
    for got, want in zip(plan.run(given), wanted, strict=True):
        want = np.asarray(want)
        got = np.asarray(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        if want.dtype.kind == "f":
            scale = max(1.0, float(np.nanmax(np.abs(want[np.isfinite(want)]), initial=0)))
            error = tolerance or 200 * np.finfo(want.dtype).eps * scale
            np.testing.assert_allclose(got, want, rtol=200 * np.finfo(want.dtype).eps, atol=error)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.one_in(6)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
def test_pointwise_views_and_joins(n, dtype):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=(7, n)).astype(dtype)

    def f(x, y):
        z = np.tanh(x * y.T + x[:, :1]) * np.sin(y[::-1].T)
        joined = np.concatenate([z, x[:, 2:5], z * z], axis=1)
        spread = ops.pad(z[:, ::2], low=(1, 0), high=(0, 2), interior=(0, 1))
        inside = ops.pad(z + x, low=(2, 1), high=(1, 3), interior=(0, 0))
        flat = np.reshape(y.T * 2.0, (-1,)) + np.reshape(x, (-1,))
        chosen = np.where(z > 0.1, x, np.reshape(flat, x.shape))
        return joined, spread, inside, flat, chosen, z > x, np.sum(joined, axis=0), np.sum(z), z.T

    check(f, x, y)


@pytest.mark.one_in(12)
@pytest.mark.usefixtures("width")
@thinned(
    5,
    labels=["ab,bc->ac", "ab,cb->ac", "ba,bc->ac", "ba,cb->ca", "ab,ab->a", "ab,ab->b", "ab,b->a", "ab,a->b", "ab,ab->",
     "a,b->ab", "abc,acd->abd", "abc,abd->cd", "abc,dbc->ad", "abc,c->ab", "abc,ac->b"],
    n=SIZES,
    dtype=[np.float64, np.float32],
)  # fmt: skip
def test_contractions(labels, n, dtype):
    rng = np.random.default_rng(n)
    for sizes in (
        {"a": n, "b": 6, "c": 11, "d": 4},
        {"a": 5, "b": n, "c": 3, "d": 9},
        {"a": 3, "b": 2, "c": n, "d": n},
    ):
        x, y = (rng.normal(size=[sizes[c] for c in part]).astype(dtype) for part in labels.split("->")[0].split(","))
        check(lambda x, y: ops.contract(x * 1.5, y, labels=labels), x, y)


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 40, 2), (16, 1, 33), (2, 3, 0)])
def test_sums(shape, axes):
    x = np.random.default_rng(0).normal(size=shape)
    check(lambda x: (ops.sum(x * 2.0, axes=axes), ops.sum(ops.permute(x, order=(2, 0, 1)), axes=axes)), x)


@pytest.mark.usefixtures("width")
@thinned(4, width=WIDTHS, start=range(0, 200, 50))
def test_random_programs_and_their_gradients(start):
    found = 0
    for seed in range(start, start + 50):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        for transformed in (program, vjp(program)):
            extra = [np.ones(type.shape, type.dtype) for type in transformed.in_types[len(arguments) :]]
            lowered = simplify(transformed)
            types = tuple((type, False) for type in lowered.in_types)
            trees = [tree.flatten((0,) * n)[1] for n in (len(types), len(lowered.outputs))]
            signature = Signature(trees[0], types, 0, trees[1])
            plan = compiled_program(lowered, signature)
            if plan is None:
                continue
            found += 1
            wanted = Plan(lowered).run([*arguments, *extra])
            for got, want in zip(plan.run([*arguments, *extra]), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}\n{lowered}")
    assert found > 12


def test_special_values_are_kept():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 5e-324])
    with np.errstate(all="ignore"):
        expected = np.exp(x) / x, np.maximum(x, 0.5), np.sqrt(x)
    found = primad.jit(lambda x: (np.exp(x) / x, np.maximum(x, 0.5), np.sqrt(x)))(x)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(np.float64).eps, atol=0)
        np.testing.assert_array_equal(np.signbit(got[1:]), np.signbit(want[1:]))


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("n", SIZES)
def test_sums_of_infinite_products(n):
    x = np.linspace(1.0, 2.0, n)
    assert primad.jit(lambda x, y: np.einsum("a,->", x, y))(x, np.array(np.inf)) == np.inf
    assert primad.jit(lambda x, y: np.einsum("a,b->", x, y))(x, np.array([np.inf])) == np.inf
    assert primad.jit(np.dot)(x[:1], np.array([-np.inf])) == -np.inf


# -- calls -------------------------------------------------------------------------------------------------------------


def test_what_has_no_loop_runs_with_numpy():
    plan, _ = plan_of(lambda x: x * 2, np.ones(5, np.float16))
    assert plan is None
    plan, _ = plan_of(lambda x: np.sum(np.exp(x)), np.ones(10_000_000))
    assert plan is None
    assert primad.jit(lambda x: x * 2)(np.ones(3, np.float16))[2] == 2.0


def beside(choose, x):
    """Return an array of x's shape that is joined of parts of x or other arrays, or of x and zeros."""
    axis, n = choose.integer(0, x.ndim - 1), choose.integer(0, 3)

    def part(start, stop):
        return x[tuple([slice(None)] * axis + [slice(start, stop)])]

    length = x.shape[axis]
    kind = choose.integer(0, 3)
    if kind == 0:
        return np.roll(x, n, axis)
    if kind == 1:
        return np.pad(part(n, length), [(0, n) if i == axis else (0, 0) for i in range(x.ndim)])
    if kind == 2:
        return np.concatenate([part(0, 2), part(0, 0), part(1, length - 1)], axis)
    return np.concatenate([np.flip(part(0, n), axis), 2.0 * part(0, length - n)], axis)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(24))
def test_joined_arrays_are_read_in_parts(seed, monkeypatch):
    """Whatever they are joined of, and whatever reads them; the first seeds must have some that are read so."""
    monkeypatch.setattr(layout, "LOOP_ELEMENTS", 1)
    choose = Seeded(seed)
    shape = [(7,), (5, 6), (3, 4, 5)][seed % 3]

    def f(x, y):
        made = [x, y, x * y]
        for _ in range(6):
            a, b = (made[choose.integer(0, len(made) - 1)] for _ in range(2))
            made.append(beside(choose, a) * (a + b) if choose.integer(0, 2) else beside(choose, a))
        return made[3:]

    program = simplify(primad.trace(f)(np.ones(shape), np.ones(shape)))
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, *shape))
    found = compiled_program(program, None)
    assert found is not None
    for value, expected in zip(found.run([x, y]), Plan(program).run([x, y]), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    places = layout.layout_of(program)
    assert places is not None
    assert seed > 0 or any(isinstance(place, Joined) for place in places.places.values())


def test_a_loop_of_many_short_steps_keeps_what_is_beside_it_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of its steps are large together, but lie in a first-level cache one after the other."""
    rows = np.random.default_rng(0).normal(size=(50, 33))

    def f(x: Any) -> Any:
        last, _ = primad.scan(lambda c, row: (np.sin(c) * row + x, None), x, rows)
        return np.sum(np.cos(last)) + np.sum(np.stack([np.sum(x[i : i + 3 + i % 7]) for i in range(20)]))

    for function, most in ((f, 1 << 14), (primad.grad(f), 1 << 16)):
        monkeypatch.setattr(compiled_programs, "WORTHWHILE_BYTES", most)
        check(function, rows[0])
        monkeypatch.setattr(compiled_programs, "WORTHWHILE_BYTES", 1 << 10)
        assert plan_of(function, rows[0])[0] is None
        monkeypatch.undo()

"""Ops with several results: one application, one joint JVP, one joint transpose, whatever of them is used."""

import numpy as np
import pytest

import primad
from primad import ops
from primad.errors import ProgramError
from primad.ir.array_types import TupleType, Zero
from primad.ir.axes import stacks
from primad.ir.law_families import LOCAL, without
from primad.ops.record.fields import MemoryUse
from primad.ops.record.kinds import custom
from primad.transforms import jvp, vjp

A = np.random.default_rng(1).normal(size=(4, 3))
W = np.random.default_rng(2).normal(size=(4, 3))


def both(a):
    q, r = np.linalg.qr(a)
    return np.sum(W * q) + np.sum(np.sin(r))


def count(program, name):
    return sum(node.op.name == name for node in program.nodes)


def split_record(memory=MemoryUse()):
    """x -> (sin x, its square, its floor), with a log of how often the definition and the rules are used."""
    log = []

    def rule(t, out, x):
        log.append("jvp")
        return ops.cos(x) * t, 2.0 * out[0] * ops.cos(x) * t, Zero(out[2].type)

    def numpy(x, wanted=(True, True, True)):
        log.append(("numpy", wanted))
        return np.sin(x), np.sin(x) ** 2, np.floor(x)

    record = custom(
        "split",
        numpy,
        lambda x: TupleType((x, x, x)),
        [rule],
        axes=lambda x: stacks(x.ndim, [0], [0, 0, 0]),
        memory=memory,
    )
    return record, log


def test_the_application_is_computed_once_in_value_and_derivative():
    program = primad.simplify(primad.trace(primad.value_and_grad(both))(A))
    assert count(program, "qr") == 1
    assert count(primad.simplify(primad.trace(primad.hessian(both))(A)), "qr") == 1


def test_one_joint_jvp_and_one_joint_transpose():
    split, log = split_record()
    program = primad.trace(lambda x: sum(np.sum(part) for part in split(x)))(np.ones(3))
    jvp(program)
    assert log.count("jvp") == 1
    transposed = []
    linear = primad.linear(
        "pair",
        lambda x, y: (x + y, x - y),
        lambda x, y: TupleType((x, x)),
        lambda ct, x, y: transposed.append(ct) or [ct[0], ct[0]],
        operands=None,
        axes=None,
        adapt=None,
    )
    found = vjp(primad.trace(lambda x, y: np.sum(linear(x, y)[0] ** 2))(np.ones(3), np.ones(3)))
    assert len(transposed) == 1  # for both operands
    assert isinstance(transposed[0][1], Zero)  # nothing depends on the second result
    np.testing.assert_array_equal(found(np.ones(3), np.ones(3), 1.0)[2], np.full(3, 4.0))


def test_results_that_nothing_uses_are_not_computed():
    split, log = split_record(MemoryUse(wanted=True))
    primad.jit(lambda x: split(x)[1])(np.ones(3))
    assert log == [("numpy", (False, True, False))]
    log.clear()
    primad.jit(lambda x: split(x))(np.ones(3))
    assert log == [("numpy", (True, True, True))]
    text = str(primad.trace(lambda a: np.linalg.qr(a).R)(A))
    assert "_: float64[4,3], b: float64[3,3] = qr a" in text


@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1), (1, 0), (1, 1)])
def test_text_reads_back_with_the_same_key(chosen):
    program = primad.trace(lambda a: [np.linalg.qr(a)[i] * 2.0 for i in chosen])(A)
    again = primad.parse(str(program))
    assert again.key == program.key
    assert str(again) == str(program)


def test_text_that_does_not_fit_is_refused():
    text = str(primad.trace(lambda a: np.linalg.qr(a).R)(A))
    for wrong in (
        text.replace("_: float64[4,3], b", "b"),
        text.replace("_: float64[4,3]", "_: float64[3,3]"),
        text.replace("_: float64[4,3]", "b: float64[4,3]"),
        text.replace("return b", "return _"),
    ):
        with pytest.raises(ProgramError):
            primad.parse(wrong)


def test_an_application_is_no_output():
    program = primad.trace(lambda a: np.linalg.qr(a).R)(A)
    program.outputs = (program.outputs[0].inputs[0],)
    with pytest.raises(ProgramError, match="not an array"):
        program.check()


def test_derivatives_agree_with_differences_in_every_mode():
    primad.check_grads(both, (A,), order=2)
    gradient = primad.grad(both)(A)
    step = 1e-6
    for index in np.ndindex(A.shape):
        e = np.zeros_like(A)
        e[index] = step
        assert gradient[index] == pytest.approx((both(A + e) - both(A - e)) / (2 * step), rel=1e-6)
    np.testing.assert_allclose(primad.jit(primad.grad(both))(A), gradient, rtol=1e-12)
    third = primad.jvp(lambda a: primad.grad(lambda b: primad.jvp(both, (b,), (W,))[1])(a), (A,), (W,))[1]
    other = primad.grad(lambda b: primad.jvp(lambda c: primad.jvp(both, (c,), (W,))[1], (b,), (W,))[1])(A)
    np.testing.assert_allclose(third, other, rtol=1e-9, atol=1e-9)


def test_batches_are_those_of_a_loop():
    stack = np.random.default_rng(3).normal(size=(5, 4, 3))
    np.testing.assert_allclose(primad.vmap(primad.grad(both))(stack), [primad.grad(both)(a) for a in stack], rtol=1e-10)
    ours = primad.vmap(lambda a: np.linalg.qr(a))(stack)
    for found, expected in zip(ours, np.linalg.qr(stack), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_local_laws_nothing_changes():
    with without(LOCAL):
        plain = vjp(primad.trace(both)(A))
    np.testing.assert_allclose(plain(A, 1.0)[1], primad.grad(both)(A), rtol=1e-10)


def test_a_composite_may_have_several_results():
    halves = primad.composite(
        "halves",
        numpy=lambda x: (x[:2], x[2:]),
        lower=lambda x: (x[:2], x[2:]),
        infer=lambda x: TupleType((primad.ArrayType((2,), x.dtype), primad.ArrayType((x.shape[0] - 2,), x.dtype))),
    )
    x = np.arange(5.0)

    def f(x):
        first, second = halves(x)
        return np.sum(first**2) + 3.0 * second[0]

    np.testing.assert_array_equal(primad.grad(f)(x), [0.0, 2.0, 3.0, 0.0, 0.0])
    assert count(primad.lower(primad.trace(f)(x)), "halves") == 0
    np.testing.assert_array_equal(primad.vmap(primad.grad(f))(np.stack([x, x]))[1], [0.0, 2.0, 3.0, 0.0, 0.0])


def test_errors_of_qr_name_the_way_out():
    with pytest.raises(primad.ShapeError, match="mode='reduced'"):
        primad.grad(lambda a: np.linalg.qr(a, "complete")[0][0, 0])(A)
    with pytest.raises(primad.ShapeError, match="first columns"):
        primad.grad(lambda a: np.linalg.qr(a)[1][0, 0])(A.T)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        primad.grad(lambda a: np.linalg.qr(a)[0][0, 0])(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))

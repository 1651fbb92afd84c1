"""Programs of large products run whole, on threads that share each product, where tiles would repeat more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.errors import PrimadError
from primad.explanation.causes import causes
from primad.native.llvm.compiler import compiler
from primad.ops.blocked import blocked_products
from primad.parallel.threads import on_threads
from primad.runtime.cost_model import Machine
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import complex_plans, tile_choice, tiled_plan, whole_products
from primad.runtime.tiling.tiled_plan import make_plan
from primad.simplify import simplify
from primad.system.machine import blas
from primad.transforms.lowering import lower

ROWS = 96
MACHINE = Machine(*[1.0] * 8)


@pytest.fixture(autouse=True)
def products_are_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let products of 96 rows be what those of 512 are, and leave them to BLAS on every machine."""
    for module in (native_executor, tiled_plan):
        monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 8)
    monkeypatch.setattr(tile_choice, "LARGEST_MATRIX", 1000)
    for module in (tile_choice, complex_plans):
        monkeypatch.setattr(module, "blas_is_as_wide", lambda: True)
    for module in (blocked_products, whole_products, complex_plans):
        monkeypatch.setattr(module, "SHARED_FLOPS", 1e6)
    caches = (blocked_products._form, blocked_products._is_worthwhile)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def matrices(dtype: Any, lead: tuple[int, ...] = (), rows: int = ROWS) -> list[Any]:
    rng = np.random.default_rng(0)
    found = rng.normal(size=(2, *lead, rows, rows)) / rows
    return list(
        (found + 1j * rng.normal(size=found.shape) / rows if np.dtype(dtype).kind == "c" else found).astype(dtype)
    )


def program_of(function: Callable[..., Any], *arrays: Any) -> Any:
    types = [primad.ArrayType(x.shape, x.dtype) for x in arrays]
    return simplify(lower(primad.trace(function)(*types)))


def loss(a: Any, b: Any) -> Any:
    return np.sum(np.abs(a @ b @ a) ** 2)


def layers(a: Any, b: Any) -> Any:
    return np.sum(np.sin(np.sin(a @ b) @ a))


def chain(a: Any, b: Any) -> Any:
    return np.sum(np.abs((a @ b) * 2.0 @ a @ b) ** 2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize(("function", "lead"), [(loss, ()), (layers, ()), (chain, ()), (loss, (2,))])
def test_derivatives_of_large_products_run_whole(function: Any, lead: tuple[int, ...], dtype: str) -> None:
    """Whatever their numbers are, in stacks too, on any number of threads, bit for bit."""
    if function is layers and np.dtype(dtype).kind == "c":
        function = loss  # functions of complex numbers are in tiles of their parts
    arrays = matrices(dtype, lead)
    program = program_of(primad.grad(function, argnums=(0, 1)), *arrays)
    plan = make_plan(program)
    assert isinstance(plan, Plan) and plan.summary == "step by step, untiled"
    assert f"{9 if function is chain else 6} matrix products" in plan.details[0]
    found = on_threads(1, lambda: plan.run(arrays))
    for one, two, wanted in zip(found, on_threads(3, lambda: plan.run(arrays)), Plan(program).run(arrays), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, wanted, rtol=1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11, atol=1e-6)


def is_whole(function: Any, *arrays: Any) -> bool:
    plan = make_plan(program_of(function, *arrays))
    return isinstance(plan, Plan)


def test_what_is_no_large_product_keeps_its_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products, other large ops, values that are many times as large as what is given, few tiles."""
    a, b = matrices(float)
    gradient = primad.grad(loss, argnums=(0, 1))
    assert is_whole(gradient, a, b)
    x = np.random.default_rng(1).normal(size=(40 * ROWS, ROWS))

    def network(a: Any, b: Any, x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(np.tanh(x[:, None, 0] * a[0]) @ a) @ b) @ a)

    assert not is_whole(primad.grad(network, argnums=(0, 1)), a, b, x)
    assert not is_whole(primad.grad(lambda a, b: loss(a, b) + np.sum(np.cumsum(a @ b, 0)), argnums=(0, 1)), a, b)
    with monkeypatch.context() as less:
        less.setattr(whole_products, "SHARED_FLOPS", 1e8)
        assert not is_whole(gradient, a, b)
    with monkeypatch.context() as less:
        less.setattr(whole_products, "pieces_along", lambda length: 12)  # as many as there are tiles
        assert not is_whole(lambda a, b: a @ b, a, b)
    assert is_whole(lambda a, b: a @ b, a, b)


def test_threads_share_products_of_matrices_of_floats() -> None:
    """Not those of integers, with a vector, or too small ones."""

    def is_shared(function: Any, *arrays: Any) -> bool:
        (node,) = [x for x in program_of(function, *arrays).nodes if x.op is ops.contract]
        return whole_products.is_shared(node)

    a, b = matrices(float)
    tall = np.ones((6000, ROWS))
    assert is_shared(np.matmul, a, b) and is_shared(np.matmul, a + 0j, b + 0j) and is_shared(np.matmul, tall, b)
    assert not is_shared(np.matmul, a.astype(int), b.astype(int))
    assert not is_shared(np.matmul, tall, a[0]) and not is_shared(np.matmul, a[:20], b)


def test_an_axis_that_is_asked_for_is_cut() -> None:
    a, b = matrices(float)
    program = program_of(lambda a, b: np.sum(np.tanh(a @ b)), a, b)
    assert make_plan(program, along=(0, 0)).is_tiled


def test_tiles_with_products_of_their_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where BLAS has shorter vectors; these rearrange nothing."""
    a, b = matrices(float)
    monkeypatch.setattr(tile_choice, "blas_is_as_wide", lambda: False)
    plan = make_plan(program_of(primad.grad(loss, argnums=(0, 1)), a, b))
    assert plan.is_tiled == (compiler() is not None)


def test_blas_has_its_threads_back_after_an_error() -> None:
    """An index that does not exist stops a program while products are made one thread each."""
    a, b = matrices(float)

    def function(a: Any, b: Any, v: Any, i: Any) -> Any:
        return np.sum((a @ b @ a) ** 2) * v[i]

    v = np.arange(3.0)
    program = program_of(primad.value_and_grad(function, argnums=(0, 1)), a, b, v, np.array(1))
    plan = make_plan(program)
    assert isinstance(plan, Plan)
    before = [library.num_threads for library in blas().lib_controllers]
    with pytest.raises(PrimadError):
        plan.run([a, b, v, np.array(3)])
    assert [library.num_threads for library in blas().lib_controllers] == before
    assert np.isfinite(plan.run([a, b, v, np.array(1)])[0])


def test_explain_says_why_nothing_is_cut() -> None:
    """Of products that are not large, it says that there is no axis."""
    found = []
    for rows in (256, 64):
        a, b = matrices(float, rows=rows)
        plan = Plan(program_of(primad.grad(loss, argnums=(0, 1)), a, b))
        found.append([line for line in causes(plan, MACHINE) if "tiles" in line])
    assert "threads share each of its large products" in found[0][0]
    assert not found[1]

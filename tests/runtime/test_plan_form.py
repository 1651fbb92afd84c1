"""Plans that are written and read again: the same bits, memory, words and errors; what does not fit is an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primad
from primad.errors import PrimadError
from primad.functional.parsing import known_ops
from primad.ir.json_form import NotSerializableError
from primad.native.llvm.compiler import compiler
from primad.runtime import program_cache
from primad.runtime.cost_model import Machine
from primad.runtime.executors import native_executor
from primad.runtime.executors.dispatch import NATIVE
from primad.runtime.executors.executor import PLAIN, Executable, Options
from primad.runtime.plan.compiled_program import CompiledProgram
from primad.runtime.plan.fusion import FusedStep
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart
from primad.runtime.plan.planned_program import PlannedProgram
from primad.runtime.plan_form import packed_plan, unpacked_plan
from primad.runtime.tiling import tile_choice, tiled_plan
from primad.runtime.tiling.interpreted_tiles import InterpretedTiles

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no native code here")
rng = np.random.default_rng(0)
X, W, ROWS, LONG = (rng.normal(size=shape) for shape in ((3, 4), (4, 16), (40, 4), (30_000, 4)))
SPEEDS = Machine(1e10, 1e10, 1e10, 1e-10, 1e-9, 1e-6, 5e-11, 1e-9)
PLACES = rng.integers(0, 16, 40)


class Case(NamedTuple):
    """A plan to write and read.

    Attributes:
        of: the function.
        arguments: what it is given.
        kinds: what the plan is made of.
        options: how it is to run.
    """

    of: Callable[..., Any]
    arguments: tuple[Any, ...]
    kinds: tuple[type, ...]
    options: Options = PLAIN


def energy(x: Any, w: Any) -> Any:
    return np.mean(np.tanh(x @ w) ** 2)


def steps(x: Any, w: Any) -> Any:
    return np.sum(primad.scan(lambda c, _: (c * 0.9 + np.sin(w[0, :3]), c), x, length=20)[0] ** 2)


def normalized(x: Any, w: Any) -> Any:
    y = x @ w
    return np.mean(np.tanh((y - np.mean(y, 0)) / np.sqrt(np.var(y, 0) + 1e-5)) ** 2)


def meeting(x: Any) -> Any:
    d = x[:, None] - x
    return np.sum(np.exp(-np.sum(d * d, axis=-1)), axis=1) @ x


def moved(x: Any, g: Any) -> Any:
    return x - 0.1 * g * np.sum(np.sin(x) ** 2)


def chosen(x: Any, w: Any, places: Any) -> Any:
    return np.sum(np.sin(w.T[places] * x))


def over(length: int) -> Any:
    return rng.normal(size=(length, 4))


CASES = {
    "function": Case(primad.grad(energy, 1), (X, W), (CompiledProgram,)),
    "hessian": Case(lambda x: primad.hessian(lambda x: energy(x, W))(x)[:], (X,), (CompiledProgram,)),
    "jacobian": Case(lambda x: primad.jacobian(lambda x: np.tanh(x @ W))(x)[:], (X,), (CompiledProgram,)),
    "loop": Case(primad.grad(steps), (X[:, 0], W), (CompiledProgram,)),
    "vmap": Case(primad.vmap(primad.grad(lambda x: np.sum(np.sin(x) ** 3))), (over(500),), (CompiledProgram,)),
    "failing": Case(primad.grad(chosen), (X, W, PLACES[:3]), (CompiledProgram,)),
    "parts": Case(
        lambda x: np.sort(np.sin(x) * np.cos(x) + np.exp(-x) - x**2)[:5] * np.tanh(x[:5]), (over(500)[:, 0],),
        (Plan, NativePart),
    ),
    "kernels": Case(lambda x: np.sin(x) * np.exp(-(x**2)) + np.tanh(x), (LONG,), (Plan, FusedStep)),
    "tiles": Case(primad.value_and_grad(energy, 1), (ROWS, W), (PlannedProgram,)),
    "sliced": Case(primad.grad(energy), (ROWS, W), (PlannedProgram,)),
    "failing tiles": Case(primad.grad(chosen), (ROWS, W, PLACES), (PlannedProgram,)),
    "stages": Case(primad.grad(normalized, 1), (ROWS, W), (PlannedProgram,)),
    "meeting": Case(meeting, (ROWS,), (PlannedProgram,)),
    "donated": Case(moved, (ROWS, ROWS + 1.0), (PlannedProgram,), Options(donated=((0, 0),))),
    "limited": Case(primad.grad(steps), (X[:, 0], W), (Plan,), Options(memory=10**8)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Cut small programs too, where tiles are wanted."""
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else "tiles"
    if name not in CASES or PlannedProgram in CASES[name].kinds:
        monkeypatch.setattr(tile_choice, "NATIVE_LENGTHS", (4, 8))
        for module in (native_executor, tiled_plan):
            monkeypatch.setattr(module, "WORTHWHILE_BYTES", 1)
        monkeypatch.setattr(tiled_plan, "LARGE_BYTES", 0)
        monkeypatch.setattr(tiled_plan, "tile_length", lambda dimension: 4)


def planned(case: Case) -> Executable:
    program = primad.simplify(primad.lower(primad.trace(case.of)(*case.arguments)))
    found = None if PlannedProgram in case.kinds else NATIVE.as_function(program, None, case.options)
    return NATIVE.prepare(program, case.options) if found is None else found


def through(plan: Executable) -> tuple[Executable, Any]:
    said = json.loads(json.dumps(packed_plan(plan, known_ops())))
    return unpacked_plan(said, known_ops(), None), said


def copied(case: Case) -> list[Any]:
    return [np.array(x) for x in case.arguments]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_the_same_when_it_is_read(name: str) -> None:
    case = CASES[name]
    plan = planned(case)
    kind, *within = case.kinds
    assert type(plan) is kind
    assert not within or any(isinstance(unit, within[0]) for unit in plan.units)
    again, said = through(plan)
    assert type(again) is kind and through(again)[1] == said
    for x, y in zip(plan.run(copied(case)), again.run(copied(case)), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    assert again.program.text(lines=True) == plan.program.text(lines=True)
    assert (again.summary, again.details, again.peak_bytes, again.flops, again.is_tiled) == (
        plan.summary, plan.details, plan.peak_bytes, plan.flops, plan.is_tiled,
    )  # fmt: skip
    assert again.predicted(SPEEDS) == plan.predicted(SPEEDS)


@pytest.mark.parametrize("name", ["failing", "failing tiles"])
def test_a_plan_that_is_read_fails_alike(name: str) -> None:
    case = CASES[name]
    x, w, places = copied(case)
    places[-1] = 99
    plan = planned(case)
    said = []
    for each in (plan, through(plan)[0]):
        with pytest.raises(PrimadError) as raised:
            each.run([x, w, places])
        said.append(str(raised.value))
    assert said[0] == said[1] and "99" in said[0]


def test_what_cannot_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op of the user's own, tiles that Python runs, a kernel that is cached no more."""
    own = primad.opaque(np.sin, result=X)
    with pytest.raises(NotSerializableError):
        packed_plan(planned(Case(lambda x: np.sum(own(x)), (X,), ())), known_ops())
    case = CASES["tiles"]
    plan = planned(case)
    packed_plan(plan, known_ops())
    host = compiler()
    assert host is not None
    with monkeypatch.context() as patch:
        patch.setattr(host, "_cache", type(host._cache)())
        with pytest.raises(NotSerializableError):
            packed_plan(plan, known_ops())
    monkeypatch.setattr(tiled_plan, "native_tiles", lambda partition, even_large: None)
    plan = planned(case)
    assert type(plan.tiles) is InterpretedTiles
    with pytest.raises(NotSerializableError):
        packed_plan(plan, known_ops())


MISFITS = (
    PrimadError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def places_in(said: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all things in a list of lists."""
    items = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    return [path, *[place for key, item in items for place in places_in(item, (*path, key))]]


def changed(said: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(said) if isinstance(said, dict) else list(said)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("name", ["failing", "parts", "kernels", "stages"])
def test_what_is_no_plan_is_an_error(name: str) -> None:
    """Anything else in a place of a plan is refused by an error that is expected, or does no harm when it is read."""
    _, said = through(planned(CASES[name]))
    ways = [path for path in places_in(said) if not (len(path) > 2 and path[0] == 0)]
    some = np.random.default_rng(0).permutation(len(ways))[:30]
    refused = 0
    for which in some:
        for value in (-1, None, "a", [], 10**6, {}):
            try:
                unpacked_plan(changed(said, ways[which], value), known_ops(), None)
            except program_cache._MISFITS:
                refused += 1
    assert refused > 4 * len(some)

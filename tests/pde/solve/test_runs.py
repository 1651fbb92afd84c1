"""Runs: they stop for a reason, leave a good state, go on where they were, and say what went wrong."""

from __future__ import annotations

import dataclasses
import errno
import io
import itertools
import json
import re
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from primad import nn, optimize, pde
from primad.errors import NotFiniteError, ProblemError, ShapeError
from primad.pde.solve import run_checkpoints, solution_files, solving
from primad.recording import tree
from primad.system import live_display
from tests.sweeps import thinned

ROD = pde.Interval(-1, 1) * pde.Time(0, 1)


def heat(u, k):
    return u.t - k * u.xx


@lru_cache
def problem(width: int = 4) -> pde.Problem:
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: np.sin(np.pi * x), hard=False), pde.Free("u")]
    return pde.Problem(heat, ROD, conditions, coefficients={"k": 0.1}, network=pde.MLP(width, 1))


@pytest.fixture(scope="module", autouse=True)
def _compiled_anew(code: None) -> None:
    """Leave out what the problem has compiled with the executor that the module was run by before."""
    problem.cache_clear()


RULES = {
    "levenberg": {},
    "broyden": {"optimizer": optimize.SelfScaledBroyden()},
    "conjugate gradients": {"optimizer": optimize.GaussNewtonCG()},
    "adam": {"optimizer": optimize.Descent(nn.Adam(1e-2))},
    "refined": {"resample": 3, "refine": 0.4},
    "balanced": {"weights": "gradient"},
    "causal": {"causal": 5.0},
}


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True))


@pytest.mark.one_in(4)
@thinned(2, rule=list(RULES), stop=["steps", "interrupt"])
def test_a_resumed_run_follows_the_same_path_bit_for_bit(rule: str, stop: str, tmp_path: Path) -> None:
    settings = {"points": 40, "boundary_points": 10, "progress": False, "steps": 8, **RULES[rule]}
    whole = problem().solve(**settings)
    counted = itertools.count(1)

    def interrupt(_) -> None:
        if stop == "interrupt" and next(counted) == 4:
            raise KeyboardInterrupt

    first = problem().solve(
        **{**settings, "steps": 8 if stop == "interrupt" else 4}, checkpoint=tmp_path, callback=interrupt
    )
    assert first.reason == ("interrupted" if stop == "interrupt" else "steps")
    assert len(first.history) == 4
    if rule == "levenberg":  # as in another process
        problem.cache_clear()
    second = problem().solve(**settings, checkpoint=tmp_path)
    assert same(second.params, whole.params)
    assert same(second.state, whole.state)
    assert second.history.values == whole.history.values
    assert second.history.losses == whole.history.losses
    assert second.history.coefficients == whole.history.coefficients


def test_the_log_has_a_line_for_each_step_also_of_a_run_that_was_resumed(tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    settings = {"points": 20, "progress": False, "log": log, "checkpoint": state}
    problem().solve(**settings, steps=3)
    with log.open("a") as file:  # steps that the state does not know, and a line that was cut
        file.write('{"step": 4, "loss": 1.0}\n{"step": 5, "lo')
    problem().solve(**settings, steps=5)
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    assert [line["step"] for line in lines if "step" in line] == [1, 2, 3, 4, 5]
    assert [line.get("event") for line in lines if "event" in line] == ["start", "end"]
    assert set(lines[1]["losses"]) == {"equation", "u at the start"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"target": 1e3}, "target"),
        ({"seconds": 1e-9}, "seconds"),
        ({"callback": lambda solution: len(solution.history) == 2}, "callback"),
        ({"optimizer": optimize.Descent(nn.SGD(0.5)), "patience": 3, "steps": 500}, "patience"),
        ({"steps": 2}, "steps"),
    ],
)
def test_a_run_ends_for_a_reason(settings, reason: str) -> None:
    assert problem().solve(points=20, progress=False, **settings).reason == reason


@pytest.mark.parametrize(
    ("changing", "reason"),
    [({}, "stalled"), ({"weights": "gradient"}, "steps"), ({"resample": 2}, "steps"), ({"causal": 1.0}, "steps")],
)
def test_a_minimum_of_a_loss_that_changes_is_not_the_end(changing, reason: str, monkeypatch) -> None:
    """A step that finds no lower loss ends the run only where the next one has the same loss."""
    monkeypatch.setattr(optimize.Descent, "update", stalled(optimize.Descent.update))
    rule = optimize.Descent(nn.SGD(1e-3))
    assert problem().solve(points=20, progress=False, steps=3, optimizer=rule, **changing).reason == reason


def stalled(update):
    """Return a step that says that it found no lower loss."""

    def said(*args):
        params, state = update(*args)
        return params, dataclasses.replace(state, stalled=True)

    return said


def decay(u, k):
    return u.t - 0.1 * u.xx + k * u


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_a_plateau_ends_a_run_where_noisy_data_are_as_close_as_expected(off: float) -> None:
    """Not where they are farther off, though the loss may hardly go down any more: as a wrong equation has it."""
    random = np.random.default_rng(0)
    x, t = random.uniform(-1, 1, (2, 40))
    t = abs(t)
    values = np.exp(-0.3 * t) * np.cos(x) + 0.05 * random.normal(size=40) + off * np.sign(np.sin(40 * x))
    conditions = [pde.Free("u"), pde.Data(x=x, t=t, u=values, noise=0.05)]
    noisy = pde.Problem(decay, ROD, conditions, coefficients={"k": 1.0}, network=pde.MLP(4, 1))
    found = noisy.solve(points=100, steps=60, plateau=5, progress=False)
    misfit, values = found.history.of("data"), found.history.values
    limit = 1 + 2 * np.sqrt(2 / 40)
    flat = [i for i in range(5, len(found.history)) if values[i - 5] - values[i] < solving.FLAT * values[i]]
    if off:
        assert found.reason in ("steps", "stalled") and flat and misfit.min() > limit
    else:
        assert found.reason == "plateau" and misfit[-1] <= limit and flat[-1] == len(found.history) - 1
        assert all(misfit[i] > limit for i in flat[:-1]), "it ends at the first such step"


def test_a_plateau_needs_data_whose_noise_is_known() -> None:
    with pytest.raises(ProblemError, match=r"(?s)plateau is for data whose noise is known.*Data\(noise="):
        problem().solve(points=20, progress=False, plateau=5)


def test_a_checkpoint_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    settings = {"points": 20, "progress": False, "steps": 2, "checkpoint": tmp_path}
    problem().solve(**settings)
    before = (tmp_path / run_checkpoints.STATE).read_bytes()
    others = (
        ("seed", lambda: problem().solve(**settings, seed=1)),
        ("optimizer", lambda: problem().solve(**settings, optimizer=optimize.LBFGS())),
        ("problem", lambda: problem(5).solve(**settings)),
        ("domain", lambda: pde.Problem(heat, pde.Interval(-1, 2) * pde.Time(0, 1), [pde.Free("u")],
                                       coefficients={"k": 0.1}).solve(**settings)),
    )  # fmt: skip
    for _, other in others:
        with pytest.raises(ProblemError, match="does not belong to this run: its"):
            other()
    assert (tmp_path / run_checkpoints.STATE).read_bytes() == before


def made(**changed) -> pde.Problem:
    """A problem each piece of which is a number or an array that its functions close over."""
    value = {"array": 1.0, "target": 0.0, "start": 1.0, "data": 0.0, "weight": 1.0, "noise": 0.1, **changed}
    held, x = np.full(3, value["array"]), np.array([0.2, 0.3])
    conditions = [
        pde.Dirichlet(u=value["target"], hard=False, weight=value["weight"]),
        pde.Initial(u=lambda x: value["start"] * x, hard=False),
        pde.Data(x=x, t=x, u=x + value["data"], noise=value["noise"]),
    ]
    return pde.Problem(lambda u: u.t - u.xx * np.sum(held), ROD, conditions, network=pde.MLP(4, 1))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("piece", ["array", "target", "start", "data", "weight", "noise", "params"])
def test_a_checkpoint_knows_the_data_and_what_functions_close_over(piece: str, tmp_path: Path) -> None:
    settings = {"points": 20, "progress": False, "checkpoint": tmp_path}
    made().solve(**settings, steps=2)
    assert len(made().solve(**settings, steps=3).history) == 3
    before = (tmp_path / run_checkpoints.STATE).read_bytes()
    with pytest.raises(ProblemError, match="does not belong to this run: its problem is another one"):
        if piece == "params":
            made().solve(**settings, steps=4, params=made().init(9))
        made(**{piece: 2.5}).solve(**settings, steps=4)
    assert (tmp_path / run_checkpoints.STATE).read_bytes() == before


def test_a_run_goes_on_though_a_function_of_its_optimiser_lies_elsewhere(tmp_path: Path) -> None:
    for steps in (1, 2):
        rule = optimize.Descent(nn.Adam(), schedule=lambda step: 1e-3)
        found = made().solve(optimizer=rule, points=20, steps=steps, progress=False, checkpoint=tmp_path)
    assert len(found.history) == 2


@pytest.mark.parametrize("file", [run_checkpoints.STATE, run_checkpoints.ABOUT])
@pytest.mark.parametrize("content", [b"", b"half", None])
def test_a_damaged_checkpoint_is_refused_and_kept(file: str, content: bytes | None, tmp_path: Path) -> None:
    settings = {"points": 20, "progress": False, "steps": 2, "checkpoint": tmp_path}
    problem().solve(**settings)
    whole = (tmp_path / file).read_bytes()
    damaged = whole[: len(whole) // 2] if content is None else content
    (tmp_path / file).write_bytes(damaged)
    with pytest.raises(ProblemError, match="does not belong to this run"):
        problem().solve(**settings)
    assert (tmp_path / file).read_bytes() == damaged


def test_a_checkpoint_with_other_arrays_is_refused(tmp_path: Path) -> None:
    settings = {"points": 20, "progress": False, "steps": 2, "checkpoint": tmp_path}
    problem().solve(**settings)
    nn.save(tmp_path / run_checkpoints.STATE, {"params": np.ones(3)})
    with pytest.raises(ProblemError, match="does not fit"):
        problem().solve(**settings)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch) -> None:
    settings = {"points": 20, "progress": False, "checkpoint": tmp_path / "state", "checkpoint_every": 0.0}
    problem().solve(**settings, steps=2)
    before = (tmp_path / "state" / run_checkpoints.STATE).read_bytes()

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_checkpoints, "save", full)
        with pytest.warns(UserWarning, match="No space left"):
            solution = problem().solve(**settings, steps=4)
    assert len(solution.history) == 4
    assert "could not be written" in solution.message
    assert (tmp_path / "state" / run_checkpoints.STATE).read_bytes() == before
    assert problem().solve(**settings, steps=4).history.values == solution.history.values
    with pytest.warns(UserWarning, match="the run goes on without"):
        assert problem().solve(points=20, steps=2, progress=False, log=tmp_path / "missing" / "log").reason == "steps"


def test_divergence_leaves_the_last_good_state_and_names_the_term_and_the_op() -> None:
    def fragile(u):
        return u.xx + np.sqrt(10.0 - u) / 100

    conditions = [pde.Dirichlet(u=0), pde.Initial(u=0)]
    one = pde.Problem(fragile, ROD, conditions, network=pde.MLP(4, 1))
    rule = optimize.Descent(nn.SGD(1e7))
    with np.errstate(all="ignore"):
        solution = one.solve(optimizer=rule, points=20, steps=50, progress=False)
    assert solution.reason == "diverged"
    assert "'equation'" in solution.message and "sqrt" in solution.message and "test_runs.py" in solution.message
    assert all(np.all(np.isfinite(leaf)) for leaf in tree.leaves(solution.params))
    assert len(solution.history) == int(solution.state.step)

    def never(u):
        return u.xx + np.log(u - 10.0)

    bad = pde.Problem(never, ROD, conditions, network=pde.MLP(4, 1))
    with pytest.raises(NotFiniteError, match=r"'equation' is \[nan\] at x = .*: log of"):
        bad.solve(points=20, progress=False)


def test_an_interrupt_at_any_place_leaves_what_was_done(monkeypatch) -> None:
    """Whatever call of a step an interrupt comes in, parameters, state and history belong to the same step."""
    for place in ("update", "_tell", "_ending"):
        counted = itertools.count(1)

        def interrupted(*args, of, counted=counted):
            found = of(*args)
            if next(counted) == 3:
                raise KeyboardInterrupt
            return found

        owner = optimize.LevenbergMarquardt if place == "update" else solving.Run
        real = getattr(owner, place)
        with monkeypatch.context() as patch:
            patch.setattr(owner, place, lambda *args, real=real, call=interrupted: call(*args, of=real))
            solution = problem().solve(points=20, steps=9, progress=False)
        assert solution.reason == "interrupted"
        assert len(solution.history) == int(solution.state.step) == (3 if place == "_ending" else 2)
        assert solution.history.values[-1] == solution.state.value


def test_a_callback_that_fails_loses_nothing(tmp_path: Path) -> None:
    def fail(solution: pde.Solution) -> None:
        if len(solution.history) == 3:
            raise RuntimeError("mine")

    settings = {"points": 20, "steps": 5, "progress": False}
    with pytest.raises(RuntimeError, match="mine"):
        problem().solve(**settings, checkpoint=tmp_path, callback=fail)
    steps: list[int] = []
    found = problem().solve(**settings, checkpoint=tmp_path, callback=lambda one: steps.append(len(one.history)))
    assert steps == [4, 5]
    assert found.history.values == problem().solve(**settings).history.values


def test_parameters_to_begin_with_must_fit() -> None:
    one = problem()
    found = one.solve(points=20, steps=2, progress=False, params=one.init(5))
    assert not same(found.params, one.solve(points=20, steps=2, progress=False).params)
    with pytest.raises(ShapeError, match="solve: params"):
        one.solve(points=20, params={"u": 1.0})


def test_what_is_shown_before_and_while_a_run(capsys) -> None:
    problem().solve(points=30, steps=3)
    shown = capsys.readouterr().err
    for word in ("MLP(width=4, depth=1)", "by construction", "parameters", "1 of them coefficients", "streams", "3/3"):
        assert word in shown


def test_what_is_done_before_the_first_step_is_shown(monkeypatch) -> None:
    from rich.console import Console

    written = io.StringIO()
    monkeypatch.setattr(live_display, "console", lambda: Console(file=written, force_terminal=True, width=200))

    def slow(u, k):
        time.sleep(0.05)  # all recordings take longer than the display waits
        return heat(u, k)

    conditions = [pde.Dirichlet(u=0), pde.Free("u")]
    pde.Problem(slow, ROD, conditions, coefficients={"k": 0.1}, network=pde.MLP(3, 1)).solve(points=40, steps=2)
    before, _, after = written.getvalue().partition("2/2")
    assert "0/2 recording and compiling" in before.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert "loss " in after and "recording" not in after


def test_a_solution_is_saved_and_loaded(tmp_path: Path) -> None:
    solution = problem().solve(points=20, steps=2, progress=False)
    solution.save(tmp_path / "u.safetensors")
    loaded = problem().load(tmp_path / "u.safetensors")
    assert same(loaded.params, solution.params)
    assert loaded.u(0.3, 0.4) == solution.u(0.3, 0.4)
    with pytest.raises(ShapeError, match="expected"):
        problem(5).load(tmp_path / "u.safetensors")


def text_of(what: str) -> pde.Problem:
    """A problem each word of which is said, all with the same parameters."""
    said = {"source": 1.0, "domain": (0, 1), "value": 0.0, "activation": "tanh", "constant": 2.0, "name": "u"}
    said[what] = {"source": 2.0, "domain": (0, 2), "value": 1.0, "activation": "sine", "constant": 3.0}.get(what, "w")
    held = np.full(3, 2.0 if what == "array" else 1.0)
    equation = {"u": lambda u, x, c: u.xx + c * x - said["source"] * np.sum(held)}
    equation["w"] = lambda w, x, c: w.xx + c * x - said["source"] * np.sum(held)
    kind = pde.Neumann if what == "kind" else pde.Dirichlet
    return pde.Problem(
        equation[said["name"]],
        pde.Interval(*said["domain"]),
        [
            pde.Dirichlet("x-", **{said["name"]: said["value"]}),
            kind("x+", hard=False, **{said["name"]: lambda x: 0 * x + said["value"]}),
        ],
        unknowns=said["name"],
        network=pde.MLP(3, 1, said["activation"]),
        constants={"c": said["constant"]},
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("what", ["source", "domain", "value", "activation", "constant", "array", "kind"])
def test_parameters_of_another_problem_are_not_loaded(what: str, tmp_path: Path) -> None:
    """Though they are arrays of the same shapes: whatever differs, it is found."""
    first, other = text_of(""), text_of(what)
    file = tmp_path / "u.safetensors"
    first.solve(points=9, steps=1, progress=False).save(file)
    assert same(text_of("").load(file).params, first.load(file).params)
    with pytest.raises(ProblemError, match=r"parameters of another problem\n  Its (?s:.*)Fix: .*solve\(params="):
        other.load(file)
    assert other.solve(points=9, steps=1, progress=False, params=nn.load(file, other.init())).reason == "steps"


def test_files_that_say_nothing_or_come_from_another_release_are_taken(tmp_path: Path) -> None:
    file, one = tmp_path / "u.safetensors", text_of("")
    nn.save(file, one.init(3))
    assert same(one.load(file).params, one.init(3))
    said = {**solution_files.described(one), "primad": "0.0.1", "program": "other"}
    nn.save(file, one.init(3), about=said)
    assert same(one.load(file).params, one.init(3))
    nn.save(file, one.init(3), about={**said, "equations": "other"})
    with pytest.raises(ProblemError, match=r"Its equations: other. Those of this problem"):
        one.load(file)


@pytest.mark.parametrize("write", ["save", "report"])
def test_a_file_that_cannot_be_written_is_named(write: str, tmp_path: Path) -> None:
    solution = text_of("").solve(points=9, steps=1, progress=False)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing; make it first.*missing/run'"):
        getattr(solution, write)(tmp_path / "missing" / "run")
    with pytest.raises(OSError, match=f"{re.escape(str(tmp_path))}'$"):
        getattr(solution, write)(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_compiled_is_kept_for_a_rule_and_for_how_points_are_shared() -> None:
    one, rule = problem(), optimize.LBFGS()
    assert one.compiled(rule) is one.compiled(rule)
    assert one.compiled(rule) is not one.compiled(rule, 2)
    assert one.compiled(rule, 2) is one.compiled(rule, 3)
    assert one.compiled(rule) is not one.compiled(optimize.LBFGS(memory=3))

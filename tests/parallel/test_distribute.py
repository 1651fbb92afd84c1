"""Processes that MPI starts: sums over points with the same bits for any number of them, and what may go wrong."""

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primad
from primad.errors import ShapeError, TracingError
from primad.parallel.job import Ranks
from primad.parallel.shares import Chunks
from tests.interpreted import interpreted

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(
    find_spec("mpi4py") is None or MPIEXEC is None, reason="mpi4py or mpiexec is missing: pip install 'primad[mpi]'"
)
ROOT = Path(__file__).parents[2]
PYTHON = [sys.executable, "-c"]


def run(count, script, *arguments, check=True, native="0"):
    """Run a script on so many processes; without native code, which takes long to compile, unless it is asked for."""
    found = subprocess.run(
        [MPIEXEC, "-n", str(count), *PYTHON, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        env={**os.environ, "PRIMAD_NATIVE": native},
    )
    assert found.returncode == 0 or not check, found.stderr
    return found


def alone(script, *arguments):
    """Run a script in this process, which has loaded what one of its own loads for a second; return what it tells."""
    told = []
    with interpreted(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["-c", *map(str, arguments)])
        patch.setattr(os, "write", lambda _, text: told.append(json.loads(text)))
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    return told


def lines(found):
    """Return what processes printed as JSON, by rank."""
    told = [json.loads(line) for line in found.stdout.replace("}{", "}\n{").splitlines() if line.startswith("{")]
    return sorted(told, key=lambda one: one["rank"])


BEGIN = """
import hashlib, json, os, signal, sys
import numpy as np
import primad
from primad import Share, nn, optimize

team, told = primad.ranks(), {}

def bits(*trees):
    leaves = [np.asarray(leaf) for tree in trees for leaf in primad.recording.tree.leaves(tree)]
    return hashlib.sha1(b"".join(x.tobytes() for x in leaves)).hexdigest()

def tell(**more):
    os.write(1, (json.dumps({"rank": team.rank, **told, **more}) + "\\n").encode())

def u(p, x):
    return np.tanh(np.tanh(x @ p["w"] + p["b"]) @ p["v"]) @ p["o"]

def residual(p, x):
    return primad.laplacian(lambda y: u(p, y))(x) - np.sin(x[0])

def residuals(p, xs, edge, scale):
    inner = primad.vmap(residual, in_axes=(None, 0))(p, xs)
    return {"in": scale * inner, "edge": primad.vmap(u, in_axes=(None, 0))(p, edge), "small": 1e-3 * p["w"]}

def loss(p, xs, edge):
    found = residuals(p, xs, edge, 1.0)
    return np.mean(found["in"] ** 2) + 3.0 * np.mean(found["edge"] ** 2)

rng = np.random.default_rng(0)
params = {"w": rng.normal(size=(2, 8)), "b": np.zeros(8), "v": rng.normal(size=(8, 8)), "o": rng.normal(size=8)}
points, ends = rng.normal(size=(1001, 2)), rng.normal(size=(30, 2))
"""

MANY = (
    BEGIN
    + """
xs, edge = Share.of(points), Share.of(ends)
value, slope = primad.distribute(primad.value_and_grad(loss))(params, xs, edge)
told["gradient"] = bits(value, slope)
if team.size == 1:
    want, wanted = primad.value_and_grad(loss)(params, points, ends)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    for name in params:
        np.testing.assert_allclose(slope[name], wanted[name], rtol=1e-9, atol=1e-10 * np.max(abs(wanted[name])))

# values at points stay where the points are
at, mean = primad.distribute(lambda p, xs: (primad.vmap(residual, in_axes=(None, 0))(p, xs), np.mean(xs)))(params, xs)
assert at.start == xs.start and at.part.shape == xs.part.shape[:1]
every = primad.distribute(lambda r, w: np.sum(r * w))(at, np.arange(1001.0))  # and the weights are whole
told["again"] = bits(every, mean)

def normal(p, xs):  # sums of sums, and points along the other axis
    z = p @ xs
    z = (z - np.mean(z)) / np.std(z)
    return np.sum(np.tanh(z) ** 3)

columns, p32 = Share.of(points.T.astype(np.float32), axis=1), np.float32([1.0, -0.5])
told["stages"] = bits(primad.distribute(primad.value_and_grad(normal))(p32, columns))
if team.size == 1:
    found, wanted = primad.distribute(normal)(p32, columns), normal(p32, columns.part)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-2)  # of 1001 terms up to 10

drawn = Share.drawn(lambda key, count: nn.uniform(key, (count, 2)), 1000, key=7)
told["drawn"] = bits(primad.distribute(lambda x: np.sum(x**2, axis=0))(drawn))

for name, rule, function, data in [
    ("marquardt", optimize.LevenbergMarquardt(), residuals, (xs, edge, 0.1)),
    ("cg", optimize.GaussNewtonCG(), residuals, (xs, edge, 0.1)),
    ("adam", optimize.Descent(nn.Adam(1e-2)), loss, (xs, edge)),
]:
    found = optimize.solve(rule, primad.distribute(function), params, data, steps=3)
    told[name] = bits(found.params, found.values)
    if team.size == 1:
        whole = tuple(points if x is xs else ends if x is edge else x for x in data)
        wanted = optimize.solve(rule, function, params, whole, steps=1)
        np.testing.assert_allclose(found.values[0], wanted.values[0], rtol=1e-3)
tell()
"""
)

FEW = (
    BEGIN
    + """
told["gradient"] = bits(*primad.distribute(primad.value_and_grad(loss))(params, Share.of(points), Share.of(ends)))
tell()
"""
)


@pytest.mark.parametrize(
    ("script", "counts", "native"),
    [
        (MANY, (1, 2), "0"),
        pytest.param(MANY, (1, 3, 4), "0", marks=pytest.mark.exhaustive),
        pytest.param(FEW, (1, 2, 8), "1", marks=pytest.mark.exhaustive),
    ],
)
def test_results_have_the_same_bits_for_any_number_of_processes(script, counts, native):
    known = []
    for count in counts:
        told = alone(script) if count == 1 and native == "0" else lines(run(count, script, native=native))
        assert [one.pop("rank") for one in told] == list(range(count))
        known += told
    assert all(one == known[0] for one in known)


STOPPED = (
    BEGIN
    + """
file, until, dies = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rule = optimize.Descent(nn.Adam(1e-2))
f = rule.compile(primad.distribute(loss))
state = rule.init(params)
if os.path.exists(file):
    params, state = nn.load(file, (params, state))
while state.step < until:
    if state.step == dies and team.rank == team.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    key = int(state.step)
    xs = Share.drawn(lambda key, count: np.random.default_rng(key).normal(size=(count, 2)), 200, key)
    params, state = rule.update(params, state, f, xs, Share.of(ends))
    if team.rank == 0:
        nn.save(file, (params, state))
tell(params=bits(params), step=int(state.step))
"""
)


def test_a_checkpoint_of_processes_that_died_restarts_on_another_number(tmp_path):
    start = time.monotonic()
    died = run(2, STOPPED, tmp_path / "state", 9, 4, check=False)
    assert died.returncode != 0 and not died.stdout.startswith("{")
    assert time.monotonic() - start < 60
    state = primad.nn.load(tmp_path / "state")
    assert state["1/step"] in (3, 4)  # whole, whether the first process came to write the last before it was ended
    again, whole = (alone(STOPPED, tmp_path / file, 6, -1) for file in ("state", "other"))
    assert again == whole


WRONG = (
    BEGIN
    + """
what, last = sys.argv[1], team.rank == team.size - 1
f = primad.distribute(primad.grad(loss))
xs, edge = Share.of(points), Share.of(ends)
f(params, xs, edge)
if what == "raises" and last:
    raise ValueError("no luck")
if what == "differs":
    twice = primad.distribute(lambda p, xs, edge: primad.grad(loss)(p, xs, edge)["w"])
    for name, g, arguments in [
        ("programs", twice if last else f, (params, xs, edge)),
        ("arguments", f, ({**params, "b": params["b"] + last}, xs, edge)),
        ("points", f, (params, Share.of(points[: 5 if last else 1001]), edge)),
    ]:
        try:
            g(*arguments)
        except primad.errors.TracingError as error:
            told[name] = str(error)
    f(params, xs, edge)
    tell()
    sys.exit()
if what == "inside":
    matrices = np.broadcast_to(np.eye(2), (100, 2, 2)).copy()
    matrices[90] = -1.0
    share = Share.of(matrices)
    try:
        primad.distribute(lambda m: np.sum(primad.numpy.linalg.cholesky(m)))(share)
    except primad.MatrixError as error:
        told["said"], told["notes"] = str(error), error.__notes__

    @primad.opaque(result=lambda p: p)
    def own(p):
        if last:
            raise FileNotFoundError("no such file on this machine")
        return p

    try:
        primad.distribute(lambda p, x: np.sum(own(p) * x))(1.0, xs)
    except FileNotFoundError as error:
        tell(before=str(error), why=error.__notes__[-1])
    sys.exit()
f(params, xs, edge)
"""
)


def test_a_process_that_raises_ends_the_job_and_is_named():
    found = run(2, WRONG, "raises", check=False)
    assert found.returncode != 0
    assert "process 1 of 2 ended by ValueError: no luck" in found.stderr


def test_processes_that_do_not_compute_the_same_are_told_which_and_in_what():
    told = lines(run(3, WRONG, "differs"))
    assert len(told) == 3
    for one in told:
        for name, other in [
            ("programs", "other programs and other shapes of sums than"),
            ("arguments", "other arguments that are no Shares than"),
            ("points", "other programs and other chunks of points than"),
        ]:
            assert f"do not compute the same: process 2 has {other} process 0" in one[name]


def test_what_one_process_meets_is_raised_in_all():
    told = lines(run(2, WRONG, "inside"))
    assert len(told) == 2
    for one in told:
        assert "not positive definite" in one["said"] and "[90]" in one["said"]
        assert one["notes"] == ["  raised in process 1 of 2"]
        assert one["before"] == "no such file on this machine" and one["why"] == "  raised in process 1 of 2"
    assert told[0]["said"] == told[1]["said"]


UNLIKE = (
    BEGIN
    + """
found = optimize.solve(optimize.LevenbergMarquardt(), primad.distribute(residuals), params,
                       (Share.of(points), Share.of(ends), 0.1), steps=1)
tell(value=found.value, gradient=bits(primad.distribute(primad.grad(loss))(params, Share.of(points), Share.of(ends))))
"""
)


@pytest.mark.exhaustive
def test_machines_that_are_not_alike_take_what_is_the_same_from_the_first():
    part = [*PYTHON, UNLIKE]
    found = subprocess.run(
        [MPIEXEC, "-n", "1", *part, ":", "-n", "1", "env", "PRIMAD_NATIVE=0", *part],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
        cwd=ROOT,
    )
    first, second = lines(found)
    assert first["value"] == second["value"] and first["gradient"] == second["gradient"]
    assert "process 1 computes other last bits than process 0, since its native code" in found.stderr


SOLVED = (
    BEGIN
    + """
from primad import pde

folder, steps = sys.argv[1], int(sys.argv[2])
rod = pde.Interval(0, 1) * pde.Time(0, 1)
known = [
    pde.Initial(u=lambda x: np.sin(np.pi * x)),
    pde.Dirichlet(u=0),
    pde.Integral(lambda u: u.value, 0.3, order=4),
    pde.Data(x=np.linspace(0.1, 0.9, 20), t=np.full(20, 0.3), u=np.linspace(0.0, 0.1, 20)),
]

def problem(heat):
    return pde.Problem(heat, rod, known, network=pde.MLP(5, 1), coefficients={"k": 0.7})

warm = problem(lambda u, k: u.t - k * u.xx)
for name, rule, more in [
    ("marquardt", None, {"weights": "gradient", "refine": 0.3, "causal": 0.1}),
    ("broyden", optimize.SelfScaledBroyden(), {}),
]:
    asked = []

    def ask(run):
        asked.append(team.rank)
        return len(run.history) == 5

    found = warm.solve(
        optimizer=rule, steps=steps, points=50, resample=2, chunks=8, progress=steps == 3 and name == "broyden",
        checkpoint=f"{folder}/{name}", log=f"{folder}/{name}.jsonl", callback=ask, **more
    )
    told[name] = bits(found.params, found.state, found.points, np.asarray(found.history.losses))
    assert found.reason == ("steps" if steps < 5 else "callback") and set(asked) <= {0}
    found.save(f"{folder}/saved {team.rank}")
    assert os.path.exists(f"{folder}/saved {team.rank}") == (team.rank == 0)
if steps == 3:
    try:
        problem(lambda u, x, k: u.t - np.where(x > 0.9, np.inf, k * u.xx)).solve(points=50, chunks=8, progress=False)
    except primad.errors.NotFiniteError as error:
        told["said"] = str(error)
tell()
"""
)


@pytest.mark.exhaustive
def test_a_problem_is_solved_with_the_same_bits_on_any_number_of_processes_and_goes_on_on_another(tmp_path):
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    begun = run(2, SOLVED, tmp_path / "many", 3)
    assert begun.stderr.count("predicted time") == 1, "one process shows what is solved"
    first, second = lines(begun)
    assert first["said"] == second["said"] and "'equation' is [-inf] at x = 0.9" in first["said"]
    ((again,), (whole,)) = [alone(SOLVED, tmp_path / folder, 6) for folder in ("many", "one")]
    assert again == whole
    for name in ("marquardt", "broyden"):
        assert first[name] == second[name]
        logs = [(tmp_path / folder / f"{name}.jsonl").read_text().splitlines() for folder in ("one", "many")]
        steps = [[one["losses"] for one in map(json.loads, rows) if "step" in one] for rows in logs]
        assert len(steps[0]) == 5 and steps[0] == steps[1], "one process writes the log, and goes on with it"


@pytest.mark.exhaustive  # the gallery's test runs it on one, and what is above what it is made of on several
def test_the_example_runs_on_two_processes(tmp_path):
    script = ROOT / "scientific_examples" / "burgers_mpi.py"
    found = subprocess.run(
        [MPIEXEC, "-n", "2", sys.executable, str(script), "--toy"],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "PRIMAD_NATIVE": "0"},  # the gallery's test runs it natively
    )
    assert found.stdout.count("loss_ratio") == 1 and "missed" not in found.stdout
    assert json.loads((tmp_path / "examples_out" / "burgers_mpi.json").read_text())["figures"]["loss_ratio"] < 0.2


# -- one process -------------------------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 1000))
def test_each_row_has_one_owner_and_chunks_follow_each_other(count, size, rows):
    chunks, owned = Chunks(rows, count), []
    if size > count:
        return
    for rank in range(size):
        team = object.__new__(Ranks)
        team.rank, team.size = rank, size
        own = team.own(count)
        assert all(team.owner(chunk, count) == rank for chunk in own)
        start, stop = chunks.spans(own)
        assert [i for chunk in own for i in range(*chunks.span(chunk))] == list(range(start, stop))
        owned += range(start, stop)
    assert owned == list(range(rows))


def near(x):
    return np.sum(np.diff(x[:, 0]) ** 2)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: np.sum(np.sort(x[:, 0])), "argsort"),
        (lambda x: np.max(x), "reduce_max"),
        (near, "slice"),
        (lambda x: np.sum(np.cumsum(x, axis=0) ** 2), "cumsum"),
        (lambda x: np.sum(np.tanh(x @ x.T)), "contract"),
    ],
)
def test_a_function_that_does_not_separate_is_refused_with_op_and_line(function, op):
    with pytest.raises(ShapeError, match=rf"(?s)distribute: {op} .*Fix: .*test_distribute\.py"):
        primad.distribute(function)(primad.Share.of(np.ones((50, 2))))


def test_points_of_two_shares_may_not_meet():
    x, y = primad.Share.of(np.ones(50)), primad.Share.of(np.ones(40))
    with pytest.raises(ShapeError, match="the points of one Share meet those of another"):
        primad.distribute(lambda x, y: np.sum(np.exp(x[:, None] - y)))(x, y)
    found = primad.distribute(lambda x, y: np.sum(x) * np.sum(y))(x, y)
    assert found == 2000.0
    with pytest.raises(ShapeError, match="cut into 8 and 16 chunks"):
        primad.distribute(lambda x, y: np.sum(x) * np.sum(y))(x, primad.Share.of(np.ones(40), chunks=8))


def test_a_share_is_no_array():
    x = primad.Share.of(np.ones(50))
    for use in (np.sin, primad.jit(np.sum), primad.grad(lambda x: np.sum(x**2))):
        with pytest.raises(TracingError, match=r"(?s)a Share of float64\[50\] is no array.*primad\.distribute"):
            use(x)


def test_distribute_comes_last():
    f = primad.distribute(lambda w, x: np.sum(np.sin(w * x)))
    with pytest.raises(TracingError, match="apply distribute last"):
        primad.grad(lambda w: f(w, primad.Share.of(np.ones(50))))(2.0)
    with pytest.raises(TracingError, match="no argument is a Share"):
        f(2.0, np.ones(50))


def test_shares_that_are_none():
    with pytest.raises(ShapeError, match="rows 0 to 50 of 50, and was given 20"):
        primad.Share(np.ones(20), 50)
    with pytest.raises(ShapeError, match="positive number of points"):
        primad.Share.of(np.ones(0))
    with pytest.raises(ShapeError, match="along axis 1"):
        primad.Share.of(np.ones(3), axis=1)


def test_residuals_that_are_coupled_are_refused():
    rule = primad.optimize.LevenbergMarquardt()
    x = primad.Share.of(np.linspace(0.0, 1.0, 40))
    for couple in (lambda p, x: p * x - np.mean(x), lambda p, x: p * x / len(x)):
        with pytest.raises(ShapeError, match="cannot be computed apart"):
            primad.optimize.solve(rule, primad.distribute(couple), np.ones(1), (x,))


def test_without_mpi4py_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr("primad.parallel.job._KNOWN", [])
    with pytest.raises(TracingError, match=r"(?s)mpi4py.*primad\[mpi\]"):
        primad.Share.of(np.ones(3))


LOOPS = {
    "what is carried": lambda w, x: primad.scan(lambda c, _: (c + np.tanh(c * w), None), x, None, length=4)[0],
    "rows": lambda w, x: primad.scan(lambda c, row: (np.sin(c) * w + row, c * row), x[:, 0], x.T)[1],
    "sums of steps": lambda w, x: primad.scan(lambda c, row: (c * w + row, np.sum(c * row)), x[:, 0], x.T)[1],
    "a loop for each point": lambda w, x: primad.vmap(
        lambda p: primad.scan(lambda c, _: (c - w * c, c), p, None, length=3)[1]
    )(x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_steps_of_loops_run_in_chunks(name):
    def loss(w, x):
        return np.sum(LOOPS[name](w, x) ** 2)

    x = np.random.default_rng(0).normal(size=(20, 3))
    with interpreted():
        found = primad.distribute(primad.value_and_grad(loss))(0.7, primad.Share.of(x))
        np.testing.assert_allclose(found, primad.value_and_grad(loss)(0.7, x), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: primad.scan(lambda c, _: (c * 0.5, None), x, None, length=5001)[0], "scan(?s:.*)5000(?s:.*)fewer"),
        (lambda x: primad.while_loop(lambda c: np.sum(c) < 9.0, lambda c: c + 1.0, x, max_steps=5), "while_loop does"),
        (lambda x: primad.scan(lambda c, _: (np.cumsum(c), None), x, None, length=3)[0], "cumsum does not keep"),
        (lambda x: primad.scan(lambda c, row: (c + row, None), 0.0, x)[0], "does not keep the points"),
    ],
)
def test_what_loops_do_not_run_in_chunks(function, message):
    with pytest.raises(ShapeError, match=message):
        primad.distribute(function)(primad.Share.of(np.ones(20)))

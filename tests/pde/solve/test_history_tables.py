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


def test_columns_with_the_same_name_all_remain(tmp_path: Path) -> None:
    names = ("loss", "step", "seconds", "residual loss", "k", "k[0]")
    history = History(names)
    for step in range(3):
        numbers = [10.0 * step + place for place in range(len(names))]
        coefficients = {"loss": 100.0 + step, "k": np.array([200.0, 300.0]) + step, "c": 400.0}
        history.add(numbers, 1000.0 + step, 0.5 * step, {"coefficients": coefficients})
    table = history.table()
    assert list(table) == [
        *("step", "seconds", "loss", "residual loss", "residual step", "residual seconds", "residual residual loss"),
        *("k", "k[0]", "coefficient loss", "coefficient k[0]", "k[1]", "c"),
    ]
    np.testing.assert_array_equal(table["step"], [1, 2, 3])
    np.testing.assert_array_equal(table["loss"], history.values)
    np.testing.assert_array_equal(table["seconds"], history.seconds)
    for label, name in zip(list(table)[3:9], names, strict=True):
        np.testing.assert_array_equal(table[label], history.of(name))
    np.testing.assert_array_equal(table["coefficient loss"], [100.0, 101.0, 102.0])
    np.testing.assert_array_equal(table["coefficient k[0]"], [200.0, 201.0, 202.0])
    history.save_csv(tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()[0] == ",".join(table)


def test_an_equation_called_loss_does_not_replace_the_loss() -> None:
    problem = pde.Problem({"loss": lambda u: u.xx + 2}, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
    history = problem.solve(steps=2, points=20, progress=False).history
    table = history.table()
    np.testing.assert_array_equal(table["loss"], history.values)
    np.testing.assert_array_equal(table["residual loss"], history.of("loss"))

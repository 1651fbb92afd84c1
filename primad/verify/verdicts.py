"""The result of a verification: one row for each thing checked."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Literal

from msgspec import Struct, field

How = Literal["proved", "numeric", "on a box", "tested", "exempt", "failed"]
ORDER: tuple[How, ...] = ("proved", "numeric", "on a box", "tested", "exempt", "failed")
MEANING = {
    "proved": "equal as formulas of SymPy symbols",
    "numeric": "equal to 50 digits at random points",
    "on a box": "proven on all of a box by interval arithmetic, to the part of its size that the note says",
    "tested": "equal to NumPy's result, or to differences of it, on examples",
    "exempt": "not a theorem, for the reason given",
    "failed": "wrong: see the counterexample",
}


class Row(Struct, frozen=True):
    """One check of one op or law.

    Attributes:
        name: the op, or the op that the law belongs to.
        what: what was checked.
        how: with what certainty it holds.
        note: examples used, the reason of an exemption, or the counterexample.
    """

    name: str
    what: str
    how: How
    note: str = ""


class Report(Struct):
    """What `primad.verify` returns.

    Attributes:
        rows: one for each check.
        seconds: how long it took.
    """

    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing failed (and something was checked)."""
        return bool(self.rows) and not self.failures

    @property
    def failures(self) -> list[Row]:
        """The rows that failed."""
        return [row for row in self.rows if row.how == "failed"]

    @property
    def counts(self) -> dict[How, int]:
        """How many rows have each certainty."""
        found = Counter(row.how for row in self.rows)
        return {how: found[how] for how in ORDER}

    def summary(self) -> str:
        """Return one line of counts."""
        names = {row.name for row in self.rows}
        parts = [f"{count} {how}" for how, count in self.counts.items() if count or how in ("proved", "failed")]
        return f"{len(names)} verified, {len(self.rows)} checks: {', '.join(parts)} ({self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("name", "what", "how", "note"))
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.summary())}</p>"

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<Report: {self.summary()}>"

    def __str__(self) -> str:
        header = Row("name", "what", "how", "note")  # type: ignore[arg-type]
        rows = [header, *self.rows]
        name, what, how = (max(len(getattr(row, field)) for row in rows) for field in ("name", "what", "how"))
        lines = []
        for row in rows:
            note = row.note.replace("\n", "\n" + " " * (name + what + how + 6))
            lines.append(f"{row.name:<{name}}  {row.what:<{what}}  {row.how:<{how}}  {note}".rstrip())
        return "\n".join([*lines, self.summary()])


def _cells(row: Row) -> str:
    how = f"<b>{row.how}</b>" if row.how == "failed" else row.how
    note = escape(row.note).replace("\n", "<br>")
    return f"<td>{escape(row.name)}</td><td>{escape(row.what)}</td><td>{how}</td><td>{note}</td>"

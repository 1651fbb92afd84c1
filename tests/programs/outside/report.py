"""The table that the command prints, and the page that has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .runs import Outcome
from .table import Program

BEGIN, END = "<!-- begin -->", "<!-- end -->"
"""Marks on the page between which the table stands."""


def heading() -> str:
    """Return the first lines of the table."""
    return "| package | what runs | the same | seconds before | with primad | first calls |\n|---|---|---|---|---|---|"


def row(program: Program, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a program."""
    good = [each for each in outcomes if not each.why or each.why.startswith("passes")]
    seconds = [sum(each.seconds[way] for each in good if each.seconds) for way in (0, 1)]
    firsts = [each.first for each in good if each.first]
    first = f"{sum(a for a, _ in firsts):.2f} → {sum(b for _, b in firsts):.2f}" if firsts else ""
    package = program.packages[0].replace("==", " ")
    same = f"{len(good)} of {len(outcomes)}"
    return f"| {package} | {program.what} | {same} | {seconds[0]:.2f} | {seconds[1]:.2f} | {first} |"


def write_page(page: Path, found: Sequence[tuple[Program, Sequence[Outcome]]]) -> None:
    """Put the table, and what is known to fail, between two marks of a page."""
    lines = [heading(), *[row(program, outcomes) for program, outcomes in found]]
    whys: dict[str, list[str]] = {}
    for program, _ in found:
        for name, reason in program.known.items():
            whys.setdefault(f"{program.name}: {reason}", []).append(name.rpartition(".")[2].removeprefix("test_"))
    known = [f"- {reason} ({', '.join(names)})." for reason, names in whys.items()]
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    body = "\n".join(["", "", *lines, "", "What does not run, always with an error:", "", *known, "", ""])
    page.write_text(before + BEGIN + body + END + after, encoding="utf-8")

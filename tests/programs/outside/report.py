"""The table that the command prints, and the page that has it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from .runs import Outcome
from .table import PROGRAMS, Program

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
    """Put the lines of programs among those of a page, between two marks, with what is known to fail of all."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    earlier, after = rest.split(END)
    rows = {line.split(" | ")[0]: line for line in earlier.splitlines() if line.startswith("| ")}
    rows |= {line.split(" | ")[0]: line for line in (row(program, outcomes) for program, outcomes in found)}
    packages = [f"| {program.packages[0].replace('==', ' ')}" for program in PROGRAMS]
    lines = [heading(), *[rows[package] for package in packages if package in rows]]
    whys: dict[str, list[str]] = {}
    for program in PROGRAMS:
        for name, reason in program.known.items():
            whys.setdefault(f"{program.name}: {reason}", []).append(name.rpartition(".")[2].removeprefix("test_"))
    known = textwrap.wrap("; ".join(f"{reason} ({len(names)})" for reason, names in whys.items()), 118)
    failing = ["What does not run, why, and in how many cases (no number is wrong):", "", *known]
    page.write_text("\n".join([before + BEGIN, "", *lines, "", *failing, "", END + after]), encoding="utf-8")

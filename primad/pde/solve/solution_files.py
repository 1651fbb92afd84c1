"""Parameters in files, with what they are parameters of: those of another problem are not taken."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from primad.errors import ProblemError
from primad.nn.saving import load, save, told
from primad.pde.report.pages import condition_rows
from primad.pde.report.summary import brief
from primad.pde.solve.run_checkpoints import identity
from primad.recording.tracing import trace

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Tree = Any
SHOWN = 80
"""Characters of a text that a message shows."""


def save_parameters(path: str | os.PathLike[str], params: Tree, problem: Problem, **more: str) -> None:
    """Write parameters, and what they belong to.

    Args:
        path: the file.
        params: the parameters.
        problem: what they are parameters of.
        **more: further texts.
    """
    save(path, params, about={**described(problem), **more})


def load_parameters(path: str | os.PathLike[str], like: Tree, problem: Problem) -> Tree:
    """Return the parameters in a file.

    Args:
        path: the file.
        like: a tree of their structure.
        problem: what they must be parameters of.

    Raises:
        ShapeError: if the file holds something else, or other arrays.
        ProblemError: if they are parameters of another problem, or of a march.
    """
    known = told(path)
    if "windows" in known:
        raise ProblemError(
            f"{os.fspath(path)} holds a march, whose windows have parameters of their own",
            fix="load it by what made it: pde.Marched.load(path, window, start), with the function and the start of "
            "`march`.",
        )
    found = load(path, like)
    check_described(path, known, problem)
    return found


def check_described(path: str | os.PathLike[str], known: Mapping[str, str], problem: Problem) -> None:
    """Raise if what a file says of its problem is not so of this one. A file that says nothing is taken."""
    here = described(problem)
    of_other_release = known.get("primad") != here["primad"]  # which may write the same program otherwise
    for name, text in here.items():
        if name == "primad" or (name == "program" and of_other_release) or known.get(name, text) == text:
            continue
        why = f"Its {name}: {_short(known[name])}. Those of this problem: {_short(text)}."
        if name == "program":
            why = "Its equations, conditions or constants have other numbers, functions or arrays."
        raise ProblemError(
            f"{os.fspath(path)} holds parameters of another problem",
            why=why,
            fix="load it by the problem that it was saved from; or begin a search with the parameters: "
            "problem.solve(params=primad.nn.load(path, problem.init())).",
        )


def described(problem: Problem) -> dict[str, str]:
    """Return what tells a problem from others: in words, and by its program, without data."""
    some = {name: row for name, row in problem.points(3, 3).items() if problem.terms[name].kind != "data"}
    networks = [f"{' '.join(group.names)}: {brief(group.network)}" for group in problem.groups]
    words = {
        "domain": repr(problem.domain),
        "unknowns": " ".join(problem.unknowns),
        "networks": re.sub(r" at 0x[0-9a-f]+", "", "; ".join(networks)),
        "coefficients": " ".join(problem.coefficients),
        "equations": json.dumps(problem.latex()),
        "conditions": "; ".join([" ".join(filter(None, row[:2])) for row in condition_rows(problem)]),
        "program": identity(trace(problem.residuals)(problem.init(), some), (some,)),
    }
    return {"primad": version("primad"), **words}


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"

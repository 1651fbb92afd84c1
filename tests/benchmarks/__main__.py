"""Time primad and its peers side by side: `python -m tests.benchmarks NAME… --peer-python PATH [--json FILE]`.

Each system runs in processes of its own, one for every form of a workload; primad's start with an empty cache on disk.
After a warm-up, rounds are interleaved (one turn of each), so that a change of the machine's speed meets all alike.
Values and gradients must agree. First calls, after imports, stand beside the shortest of JAX's forms.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

from .machine import Limits
from .measure import DisagreementError, Effort, Row, measure
from .report import medians, merged, page, table, write, write_json
from .start import measure_start
from .systems import start_systems
from .workloads import GROUPS, Workload, chosen

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def main() -> int:
    """Run the workloads named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"workloads or groups of them (all if none): {', '.join(GROUPS)}")
    parser.add_argument("--peer-python", help="an interpreter with JAX, folx, PyTorch, HIPS autograd or CasADi")
    parser.add_argument("--dtype", choices=["float64", "float32"], help="instead of those of each workload")
    parser.add_argument("--rounds", type=int, default=Effort.rounds)
    parser.add_argument("--seconds", type=float, default=Effort.seconds, help="for all rounds of a workload")
    parser.add_argument("--patience", type=float, default=Effort.patience, help="seconds for one call of a peer")
    parser.add_argument(
        "--first-calls", type=int, default=Effort.first_calls, help="of each, the shortest of which counts"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file, after each workload")
    parser.add_argument("--earlier", type=Path, nargs="+", default=[], help="files of rows to report with the new ones")
    parser.add_argument("--gradbench", type=Path, help="a file that gradbench.compare wrote, to report with the rows")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[1])}")
    options = parser.parse_args()
    effort = Effort(options.rounds, options.seconds, options.patience, options.first_calls)
    earlier: list[Row] = [row for path in options.earlier for row in json.loads(path.read_text())]
    asked = chosen(options.names, parser) if options.names or not earlier else []
    rows, failed = _run(asked, options, effort)
    print("\n".join(["", table(merged(earlier, rows)), *medians(rows)]))
    if options.report:
        evaluations = json.loads(options.gradbench.read_text()) if options.gradbench else []
        write(PAGE, page(merged(earlier, rows), datetime.date.today().isoformat(), evaluations))
    return int(failed)


def _run(asked: list[Workload], options: argparse.Namespace, effort: Effort) -> tuple[list[Row], bool]:
    """Measure the workloads; return the rows, and whether systems disagreed."""
    rows: list[Row] = []
    failed = False
    limits = Limits()
    systems = start_systems(options.peer_python) if any(w.group != "start" for w in asked) else []
    try:
        for workload in asked:
            for dtype in (options.dtype,) if options.dtype else workload.dtypes:
                try:
                    if workload.group == "start":
                        rows.append(measure_start(workload, dtype, options.peer_python, effort))
                    else:
                        rows.append(measure(workload, dtype, systems, limits, effort))
                except DisagreementError as error:
                    print(error, file=sys.stderr, flush=True)
                    failed = True
                    continue
                print(table(rows[-1:]), flush=True)
                if options.json:
                    write_json(options.json, rows)
    finally:
        for system in systems:
            system.close()
    return rows, failed


sys.exit(main())

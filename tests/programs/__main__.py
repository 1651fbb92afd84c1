"""Run other people's programs, never written for primad, on it: `python -m tests.programs [NAME…] [--folder FOLDER]`.

Each is installed by pip, in the version that the table names, into a virtual environment in the folder (a temporary
one if none is given; one that is there is used again). A program that was written for HIPS autograd runs twice: with
autograd itself and with `primad.compat.autograd.install()`; one in plain NumPy once with primad's derivatives and once
with differences. What both give must agree. Packages' own tests run from their source archive; those that pass with
autograd must pass with primad. The status is 1 if anything fails that the table does not list with a reason, or passes
that it lists.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .outside.environment import Environment, InstallError
from .outside.report import heading, row, write_page
from .outside.runs import Outcome, compare_script, compare_suite
from .outside.table import PROGRAMS, Program

PAGE = Path(__file__).parents[2] / "docs" / "coming_from_autograd.md"


def main() -> int:
    """Run the programs named on the command line, print the table, and say whether it is as expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"programs (all if none): {', '.join(each.name for each in PROGRAMS)}")
    parser.add_argument("--folder", type=Path, help="where the environment and the source archives are kept")
    parser.add_argument("--report", action="store_true", help=f"write the table to {PAGE.name}")
    options = parser.parse_args()
    unknown = set(options.names) - {each.name for each in PROGRAMS}
    if unknown:
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    asked = [each for each in PROGRAMS if not options.names or each.name in options.names]
    with tempfile.TemporaryDirectory() as temporary:
        environment = Environment(options.folder or Path(temporary))
        found = []
        print(heading())
        for program in asked:
            outcomes = run(program, environment)
            found.append((program, outcomes))
            print(row(program, outcomes), flush=True)
            for outcome in outcomes:
                if outcome.why:
                    print(f"    {outcome.name}: {outcome.why}")
    if options.report:
        write_page(PAGE, found)
    return int(any(outcome.unexpected for _, outcomes in found for outcome in outcomes))


def run(program: Program, environment: Environment) -> list[Outcome]:
    """Install a program and run it, with what it was written for and with primad."""
    try:
        environment.install(program.packages)
        if program.suite:
            return compare_suite(program, environment)
        return compare_script(program, environment)
    except InstallError as error:
        return [Outcome("installing", None, f"pip: {error}", unexpected=True)]


if __name__ == "__main__":
    sys.exit(main())

"""Make references of special functions and say how right these are: `python -m tests.accuracy --function gammainc`.

Without `--points` the stored tables are read. With it, tables of that many points a function are made anew, by mpmath,
which takes minutes to hours for many points: `--part 1/4` takes each fourth function. `--store` keeps them, and writes
the page.
"""

from __future__ import annotations

import argparse
import sys

from tests.accuracy import page, stored, yardsticks
from tests.accuracy.functions import FUNCTIONS, name_of


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy", description=__doc__)
    parser.add_argument("--function", nargs="+", default=[], metavar="NAME", help="SciPy's names; else all")
    parser.add_argument("--points", type=int, help="make references at that many points a function")
    parser.add_argument("--seconds", type=float, default=10.0, help="for the reference of a point; it is missing, else")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="each Nth function from the Ith on")
    parser.add_argument("--store", action="store_true", help="keep the tables that are made, and write the page")
    parser.add_argument("--yardstick", choices=sorted(yardsticks.YARDSTICKS), help="a published comparison instead")
    parser.add_argument("--sample", type=int, default=500, help="how many points of a yardstick have references")
    options = parser.parse_args()
    if options.yardstick:
        print(yardsticks.table(options.yardstick, options.sample))
        return 0
    part, of = map(int, options.part.split("/"))
    wanted = [name for name in FUNCTIONS if not options.function or {name, name_of(name)} & set(options.function)]
    kept = {} if options.points else stored.read()
    for name in wanted[part - 1 :: of]:
        table = stored.made(name, options.points, options.seconds) if options.points else kept[name]
        if options.points and options.store:
            stored.write({name: table})
        print(page.line(name, table), flush=True)
    if options.store:
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())

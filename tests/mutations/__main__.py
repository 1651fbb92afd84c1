"""Plant slips in a copy of the tree and say which test catches each: `python -m tests.mutations --seed 1 --count 100`.

Each slip is tried by the tests that run its line, which a map made with coverage.py knows (`--map` makes it, once for
each file of tests; the extra `mutations` has coverage.py). `--fixed` tries the slips of `fixed_slips.toml` instead of
drawn ones, `--verify` asks `primad verify` alone. Survivors are shown with what changed. `--unwitnessed FOLDER` plants
nothing: it lists the places that no test of a run with the plugin `witnesses` could miss.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutations.choosing import batches, drawn, engine_files
from tests.mutations.covered_lines import KEPT, ROOT, Covered, place_of
from tests.mutations.listed_slips import changed_lines, equivalents, fixed_slips
from tests.mutations.planting import Field, Outcome
from tests.mutations.slips import Slip
from tests.mutations.witnesses import Witnesses

NEVER_ASKED = ("tests/benchmarks/", "tests/compat/", "tests/cli/", "tests/project/", "tests/functional/export/test_to_")
"""Tests of what lies above the engine, and of PyTorch's and JAX's side, which take long to import."""


def main() -> int:
    """Try slips and report; 1 where fewer are caught than should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="which slips are drawn")
    parser.add_argument("--count", type=int, default=100, help="how many")
    parser.add_argument("--minutes", type=float, default=60.0, help="of a clock, for all of them")
    parser.add_argument("--each", type=float, help="seconds of a processor for one slip: 20, or 240 of `primad verify`")
    parser.add_argument("--within", nargs="+", default=[], metavar="PATH", help="files or folders to draw slips in")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every Nth slip from the Ith on, for N processes")
    parser.add_argument("--fixed", action="store_true", help="the slips of the list, of which 95 of 100 are caught")
    parser.add_argument("--verify", action="store_true", help="ask `primad verify` alone, about its part of the list")
    parser.add_argument("--show", action="store_true", help="show the slips and try none")
    parser.add_argument("--map", action="store_true", help="find out which tests run which lines, and end")
    parser.add_argument("--unwitnessed", type=Path, metavar="FOLDER", help="list what no test of a run could miss")
    options = parser.parse_args()
    if options.unwitnessed:
        return _list_unwitnessed(options.unwitnessed)
    if options.map:
        return _make_map(options.minutes)
    with Field(options.each or (240.0 if options.verify else 20.0)) as field:
        found = list(_chosen(options, field.root))
        part, of = map(int, options.part.split("/"))
        found = found[part - 1 :: of]
        if options.show:
            print("\n".join(f"{x}\n{_difference(x, field.root)}" for x in found if isinstance(x, Slip)))
            return 0
        outcomes = _tried(found, options, field)
    return _report(outcomes, len(found), 0.95 if options.fixed else 0.8 if options.verify else 0.85)


def test_files() -> list[str]:
    """Return the files of tests that are asked, from the root."""
    found = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    return [path for path in found if not path.startswith(NEVER_ASKED)]


def _chosen(options: argparse.Namespace, root: Path) -> Iterator[Slip | Outcome]:
    """Yield the slips to try, and what is known already: places that are gone, changes without an effect."""
    if options.fixed or options.verify:
        for number, entry in enumerate(fixed_slips()):
            if entry.verify or not options.verify:
                gone = Slip(entry.path, "named", 0, 0, entry.old, entry.new, 0, 0, (0, 0), ())
                yield entry.slip(root) or Outcome(gone, "stale", f"entry {number} of the list stands nowhere, or twice")
        return
    known = equivalents()
    for slip in drawn(options.seed, options.count, engine_files(root, options.within), root):
        why = known.get((slip.path, *changed_lines(slip, root)))
        yield slip if why is None else Outcome(slip, "equivalent", why)


def _tried(found: Sequence[Slip | Outcome], options: argparse.Namespace, field: Field) -> list[Outcome]:
    """Try slips until the time is over, and say at once what became of each."""
    until = time.monotonic() + 60 * options.minutes
    covered = Covered() if options.verify else Covered.read(test_files(), field.root)
    if covered.missing and not options.verify:
        print(f"no map of {len(covered.missing)} files of tests, which are not asked: --map makes it", flush=True)
    field.usual = covered.seconds
    outcomes = []
    for each in found:
        if time.monotonic() > until:
            break
        if isinstance(each, Outcome):
            outcome = each
        elif options.verify:
            outcome = field.verified(each)
        else:
            outcome = field.tried(each, batches(each, covered, field.root))
        outcomes.append(outcome)
        print(f"{outcome.how:<10} {outcome.slip}: {outcome.by} ({outcome.seconds:.0f} s)", flush=True)
        if outcome.how in ("survived", "uncovered"):
            print(_difference(outcome.slip, field.root), flush=True)
    return outcomes


def _difference(slip: Slip, root: Path) -> str:
    pairs = zip("-+", changed_lines(slip, root), strict=True)
    return "\n".join(f"    {sign} {line}" for sign, lines in pairs for line in lines.split("\n"))


def _report(outcomes: Sequence[Outcome], asked: int, share: float) -> int:
    """Say how many were caught, by which kind; return 1 where that is less than it should be."""
    counts = Counter(outcome.how for outcome in outcomes)
    tried = len(outcomes) - counts["equivalent"]
    for kind in sorted({outcome.slip.kind for outcome in outcomes}):
        of_kind = [outcome.how for outcome in outcomes if outcome.slip.kind == kind and outcome.how != "equivalent"]
        print(f"{kind:<20} {of_kind.count('caught'):>3} of {len(of_kind)}")
    left = f", {asked - len(outcomes)} not tried for want of time" if asked > len(outcomes) else ""
    print(f"caught {counts['caught']} of {tried}, {counts['equivalent']} without an effect{left}")
    return int(counts["caught"] < share * tried)


def _list_unwitnessed(folder: Path) -> int:
    """Show the places without a witness, by file, and how many each package has; 1 if there are."""
    witnesses, known = Witnesses(), equivalents()
    witnesses.read(folder)
    counts, path = Counter[str](), ""
    for slip, ran in witnesses.unwitnessed():
        if (slip.path, *changed_lines(slip, ROOT)) in known:
            continue
        if slip.path != path:
            path = slip.path
            print(f"\n{path}")
        never = "" if ran else " (no test runs it)"
        print(f"  {slip.line} {slip.kind}{never}: {' '.join(slip.before.split())} -> {' '.join(slip.after.split())}")
        counts["/".join(path.split("/")[:2])] += 1
    print()
    for package, count in sorted(counts.items()):
        print(f"{package:<20} {count:>4}")
    print(f"{counts.total()} of {len(witnesses.slips)} without a witness")
    return int(bool(counts))


def _make_map(minutes: float) -> int:
    """Run the files of tests of which there is no map, each in a process of its own."""
    until = time.monotonic() + 60 * minutes
    (ROOT / KEPT).mkdir(exist_ok=True)
    wanted = {place_of(file) for file in test_files()}
    for old in (ROOT / KEPT).glob("*.json.gz"):
        if old not in wanted:
            old.unlink()
    for file in test_files():
        if time.monotonic() > until or place_of(file).exists():
            continue
        begun = time.monotonic()
        command = [sys.executable, "-m", "tests.mutations.covered_lines", file, str(place_of(file))]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        print(f"{file}: {'mapped' if done.returncode == 0 else done.stderr[-300:]} ({time.monotonic() - begun:.0f} s)")
    return int(not all(place.exists() for place in wanted))


if __name__ == "__main__":
    sys.exit(main())

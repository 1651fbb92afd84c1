"""The commands `primad verify` and `primad fuzz`: progress while they run, a table or failures, one line of counts."""

from __future__ import annotations

import random
from collections.abc import Sequence

from primad.errors import PrimadError

_COLOURS = {
    "proved": "green",
    "numeric": "yellow",
    "on a box": "blue",
    "tested": "cyan",
    "exempt": "magenta",
    "failed": "bold red",
}


def verify_command(names: Sequence[str] = (), jobs: int = 1) -> int:
    """Verify built-in ops by name, or all of them and all laws, in some processes.

    Returns:
        the exit code: 0 if everything holds, 1 if something fails, 2 for an unknown name.
    """
    from rich.console import Console  # a terminal library, loaded by commands only
    from rich.table import Table

    from primad.verify.checker import run
    from primad.verify.verdicts import MEANING

    console = Console()
    try:
        report = run(names, None, None, None, None, None, jobs)
    except PrimadError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 2
    table = Table("name", "what", "how", "note", box=None, pad_edge=False)
    for row in report.rows:
        table.add_row(row.name, row.what, f"[{_COLOURS[row.how]}]{row.how}[/]", _plain(row.note))
    console.print(table)
    used = [how for how, count in report.counts.items() if count]
    console.print("\n".join(f"{how}: {MEANING[how]}" for how in used), style="dim", highlight=False)
    console.print(report.summary(), style="" if report.ok else "bold red", highlight=False, soft_wrap=True)
    return 0 if report.ok else 1


def _plain(text: str) -> str:
    """Return text in which square brackets are no markup."""
    from rich.markup import escape

    return escape(text)


def fuzz_command(n: int = 500, seed: int | None = None) -> int:
    """Check `n` random programs, from the one of `seed` on (by default a new one).

    Returns:
        the exit code: 1 if something fails. A failure is printed with its seed: `primad fuzz -n 1 --seed SEED` replays.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from primad.verify.fuzz import fuzz_one

    console = Console()
    seed = random.randrange(2**31) if seed is None else seed
    failed = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    done = 0
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("random programs", total=n)
            for i in range(n):
                failure = fuzz_one(seed + i)
                if failure is not None:
                    failed += 1
                    console.print(str(failure), markup=False, highlight=False)
                done += 1
                progress.update(task, advance=1, description=f"random programs, {failed} failed")
    except KeyboardInterrupt:
        console.print("stopped")
    console.print(f"{done} random programs, {done - failed} right, {failed} wrong (seeds {seed} to {seed + done - 1})")
    return 1 if failed else 0

"""How far a verification has come, shown on the error stream where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from primad.system.live_display import LiveDisplay, counting_bar, is_notebook
from primad.verify.verdicts import Row


@contextmanager
def shown(total: int) -> Iterator[tuple[Callable[[Row], None] | None, Callable[[], None] | None]]:
    """Show a bar while a verification runs.

    Args:
        total: how many ops and laws are verified.

    Yields:
        what to call with each row, and after each op or law; None where nobody looks on.
    """
    if not sys.stderr.isatty() and not is_notebook():
        yield None, None
        return
    progress = counting_bar(40)
    task = progress.add_task("verifying", total=total)
    with LiveDisplay(progress, transient=True) as live:

        def on_row(row: Row) -> None:
            progress.update(task, description=f"{row.name}: {row.what}")
            live.changed()

        def on_subject() -> None:
            progress.advance(task)
            live.changed()

        yield on_row, on_subject

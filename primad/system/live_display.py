"""What changes in one place while something runs: on a terminal, or in the output of a notebook's cell.

A notebook gets one output, which is replaced: rich writes the codes of a terminal there, a piece of output each time,
or wants a package of widgets.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

SECONDS = 0.25
"""Seconds between two states that a notebook is sent. Chosen: an eye sees it move, and the notebook is not flooded."""
COLUMNS = 100
"""Characters of a line of a notebook's output. Chosen: pages show as many without a line break."""


def console() -> Any:
    """Return what is written to: standard error, in notebooks too."""
    from rich.console import Console  # loads when there is something to show

    return Console(stderr=True, force_jupyter=False)


def is_notebook() -> bool:
    """Say whether a kernel runs this code, and shows what it is sent in place of what it was sent before."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def counting_bar(width: int, unit: str = "") -> Any:
    """Return rich's progress that tells what is done now, how many are done of how many, and since when.

    Args:
        width: characters of the bar.
        unit: what is counted, in words.
    """
    from rich.progress import (  # a terminal library, loaded only where somebody looks on
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    counted = [TextColumn(unit)] if unit else []
    now = TextColumn("{task.description}", markup=False)
    return Progress(now, BarColumn(width), MofNCompleteColumn(), *counted, TimeElapsedColumn())


class LiveDisplay:
    """Something of rich's that is shown, and shown again when it has changed; it can be entered.

    Args:
        shown: what is shown, such as a `rich.progress.Progress`.
        transient: whether it goes when it stops.
    """

    def __init__(self, shown: Any, transient: bool = False) -> None:
        self._shown, self._transient = shown, transient
        self._terminal: Any = None
        self._output: Any = None
        self._sent = 0.0

    def __enter__(self) -> LiveDisplay:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Show it."""
        if is_notebook():
            shown = import_module("IPython.display")  # of the kernel that runs this
            self._output = shown.display(self._as_data(), raw=True, display_id=True)
            self._sent = time.monotonic()
            return
        from rich.live import Live

        self._terminal = Live(self._shown, console=console(), transient=self._transient, refresh_per_second=10)
        self._terminal.start()

    def changed(self) -> None:
        """Show what it is now, if it is time to; a terminal shows it by itself."""
        if self._output is not None and time.monotonic() - self._sent >= SECONDS:
            self._send(self._as_data())

    def stop(self) -> None:
        """Leave it as it is, or take it away."""
        if self._terminal is not None:
            self._terminal.stop()
        if self._output is not None:
            self._send({"text/plain": ""} if self._transient else self._as_data())

    def _send(self, data: dict[str, str]) -> None:
        self._output.update(data, raw=True)
        self._sent = time.monotonic()

    def _as_data(self) -> dict[str, str]:
        from rich.console import Console

        text = Console(width=COLUMNS, force_jupyter=False, color_system=None)
        with text.capture() as captured:
            text.print(self._shown)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return {"text/plain": "\n".join(line for line in lines if line)}

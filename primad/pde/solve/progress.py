"""What a run tells while it runs: a bar with its losses, and a log of JSON lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from primad.errors import warn
from primad.pde.problem.settings import Settings
from primad.pde.solve.history import History
from primad.system.live_display import LiveDisplay

SHOWN = 4
"""Losses of terms that a bar shows, the largest first."""

FIRST = "recording and compiling, once"
"""What a run does before its first step is there."""


class Bar:
    """A bar on standard error: the loss and the largest of its terms, steps a second, time left.

    Args:
        settings: of the run.
        done: steps that were made before.
    """

    def __init__(self, settings: Settings, done: int) -> None:
        from rich.console import Group  # loads when there is something to show
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.text import Text

        self._settings, self._began = settings, done
        self._bar = Progress(
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._task = self._bar.add_task("", total=settings.steps, completed=done, loss=FIRST, rate="", left="")
        self._terms = Text(style="dim", no_wrap=True, overflow="ellipsis")
        self._live = LiveDisplay(Group(self._bar, self._terms))

    def start(self) -> None:
        """Show it."""
        self._live.start()

    def stop(self) -> None:
        """Leave it as it is."""
        self._live.stop()

    def show(self, history: History, began: float) -> None:
        """Show the last step.

        Args:
            history: of the run.
            began: seconds that the run had taken when this part of it began.
        """
        done, spent = len(history), history.seconds[-1]
        rate = (done - self._began) / max(spent - began, 1e-9)
        left = (self._settings.steps - done) / rate
        if self._settings.seconds is not None:
            left = min(left, max(0.0, self._settings.seconds - spent))
        largest = sorted(zip(history.losses[-1], history.names, strict=True), reverse=True)[:SHOWN]
        if len(history.names) > 1:
            self._terms.plain = " · ".join(f"{name} {loss:.1e}" for loss, name in largest)
        self._bar.update(
            self._task,
            completed=done,
            loss=f"loss {history.values[-1]:.3e}",
            rate=f"{rate:.3g}/s",
            left=f"{_clock(left)} left",
        )
        self._live.changed()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Log:
    """A file of JSON lines: one where a run begins, one for each step.

    A run that goes on takes back the lines of steps that its state does not know. If the disk is full, a warning says
    so, and the run goes on without.

    Args:
        path: the file; lines are added to what is there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._broken = Path(path), False

    def begin(self, about: dict[str, Any], done: int) -> None:
        """Write the line of the beginning, or take back lines of steps after the last one that is known."""
        if not done:
            self._write({"event": "start", **about})
            return
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if _step(line) <= done]
            draft = self._path.with_name(f"{self._path.name}.draft")
            draft.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
            os.replace(draft, self._path)
        except FileNotFoundError:
            self._write({"event": "start", **about})
        except OSError as error:
            self._give_up(error)

    def step(self, history: History) -> None:
        """Write the line of the last step."""
        found = {
            "step": len(history),
            "seconds": round(history.seconds[-1], 3),
            "loss": history.values[-1],
            "losses": dict(zip(history.names, history.losses[-1], strict=True)),
        }
        if history.coefficients:
            found["coefficients"] = {name: trace[-1].tolist() for name, trace in history.coefficients.items()}
        self._write(found)

    def end(self, reason: str, message: str) -> None:
        """Write why the run ended."""
        self._write({"event": "end", "reason": reason, "message": message})

    def _write(self, line: dict[str, Any]) -> None:
        if self._broken:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._broken = True
        warn(f"the log {self._path} cannot be written, the run goes on without: {error}")


def _step(line: str) -> int:
    """Return the step that a line is about; 0 for the beginning, and for what is no line of a log."""
    try:
        found = json.loads(line)
        return 2**62 if found.get("event") == "end" else int(found.get("step", 0))
    except (ValueError, AttributeError, TypeError):
        return 0

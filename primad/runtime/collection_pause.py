"""Planning without collections of garbage in between.

A plan of thousands of nodes makes so many objects that Python looks through all that there are, several times, for a
sixth of the time of a first call; hardly any of them is garbage before the plan is made.
"""

from __future__ import annotations

import gc

from primad.system.process import Held


def _put_back(was_on: bool) -> None:
    if was_on:
        gc.enable()


collector_paused = Held(gc.isenabled, gc.disable, _put_back)
"""Runs work with Python's collector off."""

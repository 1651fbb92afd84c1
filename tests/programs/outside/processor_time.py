"""A plugin of pytest: the durations of tests are seconds of processor time, which other processes do not change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest


class Clock:
    """The processor time at which the last phase of a test ended."""

    ended = 0.0


def pytest_runtest_logstart() -> None:
    """Note when a test begins."""
    Clock.ended = time.process_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Report the seconds since the last phase."""
    report = yield
    now = time.process_time()
    report.duration, Clock.ended = now - Clock.ended, now
    return report

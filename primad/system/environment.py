"""The environment variables that primad reads: what they may say, and a warning for what they may not.

`PRIMAD_CACHE` and `PRIMAD_TRACEBACK` may be any text. Where a folder cannot be used, `primad cache` says why.
"""

from __future__ import annotations

import os
from functools import lru_cache

from primad.errors import warn

LEAST_CACHE_BYTES = 2**12
"""Bytes of a second-level cache, at least. Chosen: a page of memory, less than any processor's."""


def whole_number(name: str, least: int = 1, most: int = 2**40) -> int | None:
    """Return the number that a variable says; None, with a warning, for one that is none or out of bounds."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if text.isdecimal() and text.isascii() and len(text) < 20 and least <= int(text) <= most:
        return int(text)
    _leave_out(name, text, f"a whole number from {least} to {most}")
    return None


def is_off(name: str) -> bool:
    """Say whether a variable is 0, which turns something off; anything but 0 and 1 is warned of."""
    text = os.environ.get(name, "").strip()
    if text not in ("", "0", "1"):
        _leave_out(name, text, "0 or 1")
    return text == "0"


@lru_cache(maxsize=16)
def _leave_out(name: str, text: str, what: str) -> None:
    """Warn of a variable, once for each text."""
    warn(f"the environment variable {name} is {what}; {text[:60]!r} is left out", RuntimeWarning)

"""Slips that are written down: the fixed list, and drawn ones that change nothing that anybody could see."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.slips import Slip, anchored

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A slip of the fixed list, found by what stands in its place.

    Attributes:
        path: the file, below `primad`.
        old: what stands there, once in the file.
        new: what is written instead.
        verify: whether `primad verify` alone is to catch it.
    """

    path: str
    old: str
    new: str
    verify: bool = False

    def slip(self, root: Path) -> Slip | None:
        """Return the slip; None if its place is not there."""
        path = root / self.path
        return anchored(self.path, path.read_text(encoding="utf-8"), self.old, self.new) if path.exists() else None


def fixed_slips(path: Path = HERE / "fixed_slips.toml") -> list[Entry]:
    """Return the slips of the list, in its order."""
    return [
        Entry(f"primad/{entry['path']}", entry["old"], entry["new"], entry.get("verify", False))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["slip"]
    ]


def equivalents(path: Path = HERE / "equivalent_slips.toml") -> dict[tuple[str, str, str], str]:
    """Return why drawn slips change nothing that a test could see, by file and the lines before and after."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))["slip"]
    return {(f"primad/{entry['path']}", entry["old"], entry["new"]): entry["why"] for entry in found}


def changed_lines(slip: Slip, root: Path) -> tuple[str, str]:
    """Return the lines that a slip changes, before and after, without the spaces around them."""
    text = (root / slip.path).read_text(encoding="utf-8")
    first = text.rfind("\n", 0, slip.start) + 1
    last = text.find("\n", slip.stop)
    last = len(text) if last < 0 else last
    after = text[first : slip.start] + slip.after + text[slip.stop : last]
    return tuple("\n".join(row.strip() for row in rows.split("\n")) for rows in (text[first:last], after))  # type: ignore[return-value]

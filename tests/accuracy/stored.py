"""Stored tables: made, written and read."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from tests.accuracy.errors import Table
from tests.accuracy.functions import FUNCTIONS
from tests.accuracy.grids import points
from tests.accuracy.reference import ORDERS, reference

FILE = Path(__file__).with_name("references.npz")


def made(name: str, count: int, seconds: float) -> Table:
    """Return a table of references at `count` points, for each of which there are `seconds`."""
    entry = FUNCTIONS[name]
    arguments = len(entry.grids)
    rows, plain = [], []
    for k, at in enumerate(points(entry.grids, count, zlib.crc32(name.encode()))):
        number = k % len(entry.plain)

        def meaning(m: object, *xs: object, number: int = number) -> object:
            fixed = [m.mpf(p) if isinstance(p, float) else p for p in entry.plain[number]]  # type: ignore[attr-defined]
            return entry.meaning(m, *fixed, *xs)

        row = reference(meaning, at, seconds) if np.isfinite(at).all() else None
        if row is not None:
            rows.append([*at, *row])
            plain.append(number)
    found = np.array(rows).reshape(len(rows), arguments + 2 * (1 + ORDERS * arguments))
    return _table(np.array(plain, np.int64), found, arguments, count - len(rows))


def _table(plain: np.ndarray, found: np.ndarray, arguments: int, missing: int) -> Table:
    width = 1 + ORDERS * arguments
    at, exact, conditions = np.split(found, [arguments, arguments + width], axis=1)
    return Table(plain, at, exact, conditions, missing)


def write(tables: dict[str, Table], file: Path = FILE) -> None:
    """Write tables, and keep those of other functions."""
    kept = dict(np.load(file)) if file.exists() else {}
    for name, table in tables.items():
        head = np.full(len(table.plain), float(table.missing))
        kept[name] = np.column_stack([head, table.plain, table.at, table.exact, table.conditions])
    np.savez_compressed(file, **{name: kept[name] for name in sorted(kept) if name in FUNCTIONS})


def read(file: Path = FILE) -> dict[str, Table]:
    """Return all stored tables."""
    result = {}
    with np.load(file) as arrays:
        for name in arrays.files:
            rows, arguments = arrays[name], len(FUNCTIONS[name].grids)
            missing = int(rows[0, 0]) if len(rows) else 0
            result[name] = _table(rows[:, 1].astype(np.int64), rows[:, 2:], arguments, missing)
    return result

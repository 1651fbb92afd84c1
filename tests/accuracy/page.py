"""The page that says how right the special functions are, and where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.special

from tests.accuracy import stored
from tests.accuracy.errors import EPS, MEDIAN, ULPS, WORST, Table, columns, errors, found, measured
from tests.accuracy.functions import FUNCTIONS, LEFT_OUT

PAGE = Path(__file__).parents[2] / "docs" / "special_functions_accuracy.md"
KNOWN = Path(__file__).with_name("beyond.json")
"""By function and derivative, the points of a table that are beyond their bound."""
INTRODUCTION = f"""# How right the special functions are

Made by `python -m tests.accuracy --store` from stored tables of references: each function of
[`primad.scipy.special`](numpy_functions.md#scipyspecial) at points over its whole domain (tiny, subnormal, huge, beside
poles and transitions, of both signs), with its first to third derivatives in each argument. References are differences
of mpmath's functions, or of series and continued fractions, of 120 digits, and of 900 where these do not tell a
derivative from noise. `python -m tests.accuracy --function gammainc --points 10000` measures at as many points as asked
for.

Errors are relative, and divided by 1 + Σ |xᵢ ∂ᵢg/g|, the condition: by what the last bits of the arguments change. A
value is to be within {ULPS:g} units in the last place, or within SciPy's own error; a derivative within {MEDIAN:g} at
the median and {WORST:g} at the worst. `—` says that nothing is differentiated.
"""


def line(name: str, table: Table) -> str:
    """Return a row: points, values of primad and of SciPy in ulps, derivatives at the median and at the worst."""
    own, _ = measured(name, table, 0, 0)
    theirs = errors(found(name, table, scipy.special), table.exact[:, 0], table.conditions[:, 0])
    parts = [_text(np.nanmax(e) / EPS) if _known(e) else "—" for e in (own, theirs)]
    for order in (1, 2, 3):
        several = [measured(name, table, i, n)[0] for _, i, n in columns(table.at.shape[1]) if n == order]
        known = [e for e in several if _known(e)]
        medians = [np.nanmedian(e) for e in known]
        parts += [_text(max(medians)), _text(max(map(np.nanmax, known)))] if known else ["—", "—"]
    return f"| `{name}` | {len(table.at)} | {' | '.join(parts)} |"


def beyond(name: str, table: Table) -> dict[str, list[int]]:
    """Return the points at which a value or derivative is beyond its bound, and −1 where its median is."""
    result = {}
    for _, i, order in [(0, 0, 0), *columns(table.at.shape[1])]:
        sizes, off = measured(name, table, i, order)
        above = order and _known(sizes) and np.nanmedian(sizes) > MEDIAN
        points = [-1] * bool(above) + np.flatnonzero(off).tolist()
        if points:
            result[f"{i} {order}"] = points
    return result


def exceptions(name: str, table: Table) -> list[str]:
    """Return what is beyond its bound, and where."""
    result = []
    for _, i, order in [(0, 0, 0), *columns(table.at.shape[1])]:
        sizes, off = measured(name, table, i, order)
        what = f"derivative {order} in argument {i + 1}" if order else "value"
        if off.any():
            unit = (sizes / EPS, " ulps") if not order else (sizes, "")
            result.append(f"{what}: {_region(table, off)}, up to {_text(np.max(unit[0][off]))}{unit[1]}")
        if order and _known(sizes) and np.nanmedian(sizes) > MEDIAN:
            result.append(f"{what}: {_text(np.nanmedian(sizes))} at the median")
    return result


def _region(table: Table, off: np.ndarray) -> str:
    spans = []
    for x in table.at[off].T:
        low, high = float(x.min()), float(x.max())
        spans.append(f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}")
    return f"{off.sum()} of {len(off)} points, ({'; '.join(spans)})"


def _known(sizes: np.ndarray) -> bool:
    return bool((~np.isnan(sizes)).any())


def _text(x: float) -> str:
    return "∞" if np.isinf(x) else f"{x:.1e}" if x < 0.1 or x >= 1000 else f"{x:.1f}"


def text() -> str:
    """Return the page."""
    tables = {name: table for name, table in stored.read().items() if len(table.at)}
    orders = " | ".join(f"{order}, median | worst" for order in ("1st", "2nd", "3rd"))
    head = f"| function | points | value, ulps | SciPy's | {orders} |"
    rows = [line(name, tables[name]) for name in FUNCTIONS if name in tables]
    listed = {name: exceptions(name, tables[name]) for name in FUNCTIONS if name in tables}
    places = [f"- `{name}`: {'; '.join(found)}." for name, found in listed.items() if found]
    missing = [f"`{name}` ({table.missing})" for name, table in tables.items() if table.missing]
    left_out = [f"- `{name}`: {why}." for name, why in sorted(LEFT_OUT.items())]
    sections = [
        INTRODUCTION,
        "## Errors\n",
        head,
        "|---|" + "---:|" * 9,
        *rows,
        "\n## Beyond the bounds\n",
        "Intervals hold all points that are off, of each argument; ∞ is a result that is no number, or of no size.\n",
        *places,
        "\n## Without a table\n",
        *left_out,
        "\nPoints at which no reference was found in the time given (how many of a grid): " + ", ".join(missing) + ".",
    ]
    return "\n".join(sections) + "\n"


def write() -> None:
    """Write the page, and the points that are beyond their bounds, to which no others may be added."""
    PAGE.write_text(text(), encoding="utf-8")
    listed = {name: found for name, table in stored.read().items() if (found := beyond(name, table))}
    KNOWN.write_text(json.dumps(listed).replace("}, ", "},\n") + "\n", encoding="utf-8")

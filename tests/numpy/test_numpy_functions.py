"""primad.numpy has all of NumPy's names, and docs/numpy_functions.md says of each function what traced arrays can do.

`python tests/numpy/test_numpy_functions.py` writes the page.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.stats._multivariate import multi_rv_generic

import primad
import primad.numpy as pnp
import primad.scipy.special
import primad.scipy.stats
from primad.numpy.names import NOTHING_TO_RECORD, WRITING
from primad.recording.protocols import FUNCTIONS, UFUNCS
from primad.scipy.other_names import UNRECORDED, why_not

PAGE = Path(__file__).parents[2] / "docs" / "numpy_functions.md"
of_the_page = pytest.mark.skipif(not np.__version__.startswith("2.4"), reason="the page is made with NumPy 2.4")
NAMES = sorted(
    name for name in np.__all__ if callable(getattr(np, name)) and not isinstance(getattr(np, name), (type, ModuleType))
)
OWN, WRITERS = (
    {name: reason for reason, names in table.items() for name in names.split() if name in NAMES}
    for table in (NOTHING_TO_RECORD, WRITING)
)
PATHS = (
    "scipy.linalg", "scipy.interpolate", "scipy.integrate", "scipy.optimize", "scipy.signal", "scipy.ndimage",
    "scipy.fft", "scipy.sparse.linalg",
)  # fmt: skip
"""Modules of SciPy's that are mirrored, and of whose functions all others are refused with a reason."""
SAY_NOTHING = {"out", "order", "subok", "like", "device", "copy", "casting", "signature", "args", "kwargs", "kind"}
"""Options of NumPy's that are about memory, or that say how and not what."""
HEAD = """# NumPy's functions

What NumPy's functions do with traced arrays, made by `tests/numpy/test_numpy_functions.py` from what is registered. On
plain arrays every function of `primad.numpy` is NumPy's own; constants, dtypes and classes are NumPy's too. An option
that a function does not take is refused with an error, never dropped; `out=` is refused everywhere.

"""
TABLE = "| function | traced arrays | |\n|---|---|---|\n"


def recorded(name: str) -> Any:
    """Return what a traced call of a NumPy function runs."""
    function = getattr(np, name)
    return FUNCTIONS.get(function) or UFUNCS.get(function) or vars(pnp).get(name)


def parameters(function: Any) -> set[str]:
    return {p.name for p in inspect.signature(function).parameters.values() if p.default is not p.empty}


def missing(name: str) -> list[str]:
    """Return the options of a NumPy function that the recording one does not take."""
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        return []
    return sorted(parameters(function) - parameters(inspect.unwrap(recorded(name))) - SAY_NOTHING)


def row(name: str) -> str:
    for status, reasons in (("NumPy's own", OWN), ("works, with limits", WRITERS)):
        if name in reasons:
            return f"| `{name}` | {status} | {reasons[name]} |"
    lacking = missing(name)
    said = " ".join((recorded(name).__doc__ or "").split("\n\n")[0].split())
    said = re.sub(r"^(np\.\w+)?[.:;, ]*", "", said).replace("|", "\\|")
    said += f" Not: {', '.join(f'`{option}`' for option in lacking)}." if lacking else ""
    said = said.strip()
    return f"| `{name}` | works{', with limits' if lacking else ''} | {said[:1].upper() + said[1:]} |"


def page() -> str:
    rows = [row(name) for name in NAMES]
    limited = sum("| works, with limits |" in line for line in rows)
    of_options = limited - len(WRITERS)
    records = len(rows) - len(OWN)
    count = (
        f"Of {len(rows)} functions, {records} record ({of_options} of them without some option, {len(WRITERS)} into "
        f"arrays that\nprimad.numpy made), {len(OWN)} are "
        "NumPy's own, since they take nothing that could have a derivative.\n\n"
    )
    text = HEAD + count + TABLE + "\n".join(rows) + "\n"
    sections = (
        ("Objects", objects()),
        ("numpy.polynomial", series()),
        ("scipy.special", of_scipy()),
        ("scipy.stats", distributions()),
        *[(path, of_path(path)) for path in PATHS],
    )
    for title, others in sections:
        text += f"\n## {title}\n\n{TABLE}" + "\n".join(others) + "\n"
    return text


def objects() -> list[str]:
    """Return the rows of what is called or indexed like a function."""
    lines = []
    for name in sorted(n for n in np.__all__ if n in vars(pnp.objects) and n in pnp.objects.__all__):
        said = (getattr(pnp, name).__doc__ or "").split("\n\n")[0].replace("|", "\\|")
        said = re.sub(r"^np.[a-z_]+: ", "", " ".join(said.split()))
        lines.append(f"| `{name}` | works | {said[:1].upper() + said[1:]} |")
    return lines


def series() -> list[str]:
    """Return the rows of the modules of numpy.polynomial: what evaluates a series records, the rest is NumPy's."""
    lines = []
    for module in sorted(n for n in pnp.polynomial.__all__ if isinstance(getattr(pnp.polynomial, n), ModuleType)):
        ours, plain = getattr(pnp.polynomial, module), getattr(np.polynomial, module)
        own = sorted(n for n in plain.__all__ if getattr(ours, n) is getattr(plain, n) and callable(getattr(plain, n)))
        for name in sorted({n for n in plain.__all__ if callable(getattr(plain, n))} - set(own)):
            kind = isinstance(getattr(ours, name), type)
            said = (
                "Called with traced values; its coefficients are plain."
                if kind
                else "Of traced values, coefficients or both."
            )
            lines.append(f"| `{module}.{name}` | works{', with limits' if kind else ''} | {said} |")
        lines.append(
            f"| `{module}`: {', '.join(f'`{n}`' for n in own)} | NumPy's own | They take plain coefficients. |"
        )
    return lines


def names_of(path: str) -> list[str]:
    """Return the functions and classes of one of SciPy's modules."""
    module = importlib.import_module(path)
    return sorted(name for name in module.__all__ if callable(getattr(module, name)))


def of_path(path: str) -> list[str]:
    """Return the rows of one of SciPy's modules: of what is recorded, of what is SciPy's own, and of each reason."""
    mirror, lines = importlib.import_module(f"primad.{path}"), []
    own = getattr(mirror, "PLAIN", ())
    for name in (name for name in names_of(path) if name in mirror.__all__ and name not in own):
        said = " ".join((getattr(mirror, name).__doc__ or "").split("\n\n")[0].split()).replace("|", "\\|")
        said = re.sub(rf"^{path}\.\w+: ", "", said)
        limited = ", with limits" if re.search(r"\bplain\b", said) else ""
        lines.append(f"| `{name}` | works{limited} | {said[:1].upper() + said[1:]} |")
    if own:
        lines.append(f"| {', '.join(f'`{name}`' for name in own)} | SciPy's own | They take plain numbers. |")
    return [*lines, *_refused(path, [name for name in names_of(path) if name not in mirror.__all__])]


def _refused(path: str, names: list[str]) -> list[str]:
    """Return the rows of what one of SciPy's modules has beside what is recorded: one for each reason."""
    refused, lines = {name: why_not(name, path) for name in names}, []
    assert "" not in refused.values(), [name for name, reason in refused.items() if not reason]
    for reason in UNRECORDED[path]:
        found = [name for name in refused if refused[name] == reason]
        assert found, reason
        lines.append(f"| {', '.join(f'`{name}`' for name in found)} | refused | {reason} |")
    return lines


def special_names() -> list[str]:
    """Return the functions of scipy.special."""
    found = {name for name in scipy.special.__all__ if callable(getattr(scipy.special, name))} | {"psi"}
    return sorted(name for name in found if not isinstance(getattr(scipy.special, name), type))


def of_scipy() -> list[str]:
    """Return the rows of scipy.special: one for each function that is recorded, and one for each reason of others."""
    recorded = [name for name in special_names() if name in primad.scipy.special.__all__]
    lines = []
    for name in recorded:
        said = " ".join((getattr(primad.scipy.special, name).__doc__ or "").split("\n\n")[0].split())
        said = re.sub(r"^(np|scipy\.special)\.\w+[.:;, ]*", "", said).replace("|", "\\|")
        lines.append(
            f"| `{name}` | works{', with limits' if 'one plain' in said else ''} | {said[:1].upper() + said[1:]} |"
        )
    for reason in UNRECORDED["scipy.special"]:
        names = [name for name in special_names() if name not in recorded and why_not(name) == reason]
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | refused | {reason} |")
    return lines


def distributions() -> list[str]:
    """Return the rows of the distributions of scipy.stats, each with its parameters and what is recorded of it."""
    families = (scipy.stats.rv_continuous, scipy.stats.rv_discrete, multi_rv_generic)
    names = sorted(name for name in scipy.stats.__all__ if isinstance(getattr(scipy.stats, name), families))
    recorded = [name for name in names if name in primad.scipy.stats.__all__]
    lines = []
    for name in recorded:
        found = getattr(primad.scipy.stats, name)
        points = inspect.signature(getattr(found, found.recorded[0])).parameters
        shapes = getattr(found, "shapes", [name for name in points if name not in ("x", "allow_singular")])
        shapes = f"Of {', '.join(shapes)}: " if shapes else ""
        lines.append(f"| `{name}` | works | {shapes}{', '.join(found.recorded)}. |")
    rest = ", ".join(f"`{name}`" for name in names if name not in recorded)
    lines.append(f"| {rest} | refused | Write the density with the functions that are recorded. |")
    return [*lines, *_refused("scipy.stats", [name for name in names_of("scipy.stats") if name not in names])]


def test_functions_of_scipy_that_are_refused_say_so() -> None:
    """Each is on the page once; by SciPy's path of primad's, the error names a way out."""
    for name in set(special_names()) - set(primad.scipy.special.__all__):
        with pytest.raises(AttributeError, match=r"Fix: "):
            getattr(primad.scipy.special, name)
        assert why_not(name), name


@pytest.mark.parametrize("path", UNRECORDED)
def test_no_reason_holds_for_all_names(path: str) -> None:
    """A name that nobody has heard of has none: each is said of functions that somebody has looked at."""
    assert why_not("never_heard_of", path) == ""


@pytest.mark.parametrize("path", [*PATHS, "scipy.stats"])
def test_functions_under_scipys_paths_that_are_refused_say_why(path: str) -> None:
    mirror = importlib.import_module(f"primad.{path}")
    for name in set(names_of(path)) - set(mirror.__all__):
        with pytest.raises(AttributeError, match=re.escape(why_not(name, path) or "called as it is")):
            getattr(mirror, name)


def test_every_function_works_or_is_refused_with_a_reason() -> None:
    tables = (set(pnp.TRACEABLE), set(OWN), set(WRITERS))
    assert [name for name in NAMES if sum(name in table for table in tables) != 1] == []


@of_the_page
def test_the_page_says_what_holds() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/numpy/test_numpy_functions.py"


@of_the_page
def test_the_page_has_every_name() -> None:
    """Every function, object and series that primad.numpy defines is on it."""
    text = PAGE.read_text(encoding="utf-8")
    names = {*pnp.TRACEABLE, *pnp.objects.__all__} & set(np.__all__)
    for module in pnp.polynomial.__all__:
        found = getattr(pnp.polynomial, module)
        names |= {n for n in getattr(found, "__all__", [module]) if callable(getattr(found, n, found))}
    assert [name for name in sorted(names) if not re.search(rf"`([a-z_]+\.)?{name}`", text)] == []


def test_every_name_of_numpy_is_here() -> None:
    lacking = [name for name in np.__all__ if not hasattr(pnp, name)]
    assert not lacking
    assert {"pi", "float64", "newaxis", "inf", "finfo", "errstate", "ndarray", "bool", "r_"} <= set(dir(pnp))
    with pytest.raises(AttributeError, match="no attribute 'sine'"):
        getattr(pnp, "sine")  # noqa: B009


def operands(function: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield calls of a function with one to four traced operands."""
    for count in (1, 2, 3, 4):
        yield lambda x, n=count: function(*[x] * n)


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_refused_says_so(name: str) -> None:
    said = []
    for call in operands(getattr(pnp, name)):
        try:
            found = primad.trace(call)(np.ones(3))
        except primad.PrimadError as error:
            said.append(str(error))
        except TypeError:
            continue  # another number of arguments
        else:
            raise AssertionError(f"np.{name} gives {found}")
    assert said and "Fix: " in said[0]


DEFAULTS = {"dtype", "device", "copy", "norm", "correction", "stable"}
"""Parameters whose defaults NumPy writes otherwise, and means the same."""


def unlike(ours: Any, theirs: Any) -> list[str]:
    """Return the parameters of a function of the Array-API standard that ours does not take as they are given."""
    mine, its = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    kinds = {p.kind for p in mine.values()}
    placed = [p for p in mine.values() if p.kind is not p.KEYWORD_ONLY]
    wrong = []
    for number, p in enumerate(its.values()):
        if p.kind is p.KEYWORD_ONLY:
            fits = p.name in mine or inspect.Parameter.VAR_KEYWORD in kinds
            same = p.name not in mine or p.name in DEFAULTS or mine[p.name].default == p.default
            fits = fits and same
        else:
            fits = number < len(placed) or inspect.Parameter.VAR_POSITIONAL in kinds
            fits = fits and (p.kind is not p.POSITIONAL_OR_KEYWORD or p.name in mine)
        wrong += [] if fits else [p.name]
    return wrong


OF_STRICT = ("ArrayAPIStrictFlags", "Device", "flags")
"""What array_api_strict has for itself."""


def test_the_array_api_is_here_with_its_parameters() -> None:
    """Constants, dtypes and functions; linear algebra; attributes of arrays."""
    names = [name for name in strict.__all__ if not name.endswith(OF_STRICT)]
    assert [name for name in names if not hasattr(pnp, name)] == []
    wrong = {}
    for ours, theirs, listed in ((pnp, strict, names), (pnp.linalg, strict.linalg, strict.linalg.__all__)):
        for name in listed:
            function = getattr(theirs, name)
            if inspect.isfunction(function) and not name.startswith("_"):
                wrong[name] = unlike(getattr(ours, name), function)
    assert not {name: found for name, found in wrong.items() if found}
    attributes = [name for name in dir(strict.asarray([1.0])) if not name.startswith("_")]
    seen = primad.grad(lambda x: sum(hasattr(x, name) for name in attributes) * x.sum())(np.ones((2, 2)))
    assert np.all(seen == len(attributes))


@pytest.mark.parametrize("axis", [0, -1])
def test_what_falls_is_as_in_the_array_api(axis: int) -> None:
    """`descending` is the one parameter of the standard that NumPy lacks."""
    x = np.array([[3.0, 1.0, 3.0, 2.0], [1.0, 1.0, 5.0, 0.0], [3.0, 2.0, 3.0, 2.0]])
    for name in ("sort", "argsort"):
        expected = np.asarray(getattr(strict, name)(strict.asarray(x), axis=axis, descending=True))
        call = partial(getattr(pnp, name), axis=axis, descending=True)
        np.testing.assert_array_equal(call(x), expected)
        np.testing.assert_array_equal(primad.jit(call)(x), expected)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

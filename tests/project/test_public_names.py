"""What users find by completion: public names and no others, documented; and the types that editors see."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import primad
from tests.typed_uses import uses

ROOT = Path(__file__).parents[2]
MODULES = {
    "primad": primad,
    "primad.numpy": primad.numpy,
    "primad.nn": primad.nn,
    "primad.numpy.special": primad.numpy.special,
    "primad.enclosures": primad.enclosures,
    "primad.implicit": primad.implicit,
    "primad.integrate": primad.integrate,
    "primad.optimize": primad.optimize,
    "primad.pde": primad.pde,
}

OTHERS = (
    "primad.ops", "primad.transforms", "primad.numpy.fft", "primad.numpy.linalg", "primad.numpy.polynomial",
    "primad.nn.initializers",
)  # fmt: skip
"""Public modules that are for few users."""


@pytest.mark.parametrize("name", MODULES)
def test_a_module_completes_to_its_public_names(name: str) -> None:
    module = MODULES[name]
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for each in dir(module):
        found = getattr(module, each)
        assert not each.startswith("_") or each == "__version__"
        if isinstance(found, ModuleType):
            assert f"{name}.{each}" in (*MODULES, *OTHERS)
        elif callable(found):
            assert found.__doc__, f"{name}.{each} has no docstring"
    namespace: dict[str, object] = {}
    exec(f"from {name} import *", namespace)
    assert set(module.__all__) <= set(namespace)


def documented() -> list[str]:
    """Return the names that the API pages document, as often as they do."""
    names = []
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for module, block in re.findall(r"^```\{names\} (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            given = re.sub(r"^:\w+:$", "", block, flags=re.MULTILINE).split()
            names += [f"{module}.{name}" for name in given or importlib.import_module(module).__all__]
        names += re.findall(r"^\.\. (?:autofunction|autoclass|autoexception|py:data):: (\S+)", text, re.MULTILINE)
        for module in re.findall(r"^\.\. automodule:: (\S+)\n +:members:", text, re.MULTILINE):
            classes = vars(importlib.import_module(module)).items()
            names += [f"{module}.{name}" for name, value in classes if getattr(value, "__module__", "") == module]
    return names


def test_every_public_name_is_in_the_reference_once() -> None:
    """Second names of an object are one with the first; what `primad.numpy` passes on is NumPy's to describe."""
    written = documented()
    assert len(set(written)) == len(written), "a name is documented twice"
    modules = {name: importlib.import_module(name) for name in (*MODULES, *OTHERS)}
    there: dict[int, list[str]] = {}
    for name in written:
        module, _, last = name.rpartition(".")
        there.setdefault(id(getattr(importlib.import_module(module), last)), []).append(name)
    twice = [names for names in there.values() if len(names) > 1]
    assert twice == [], "an object is documented under two names"
    for name, module in modules.items():
        for each in getattr(module, "__all__", ()):
            value = getattr(module, each)
            if isinstance(value, ModuleType):
                continue
            origin = getattr(value, "__module__", None) or type(value).__module__
            if origin.split(".")[0] == "primad" or f"{name}.{each}" == "primad.__version__":
                assert id(value) in there, f"{name}.{each} is on no page in docs/api"
    pages = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "api").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in pages


def test_the_overview_groups_every_top_level_name_once() -> None:
    page = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*$", page.partition("## What `primad` itself exports")[2], re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert sorted(named) == sorted(primad.__all__)


def test_no_property_has_its_first_words_taken_for_a_type() -> None:
    """The pages take what stands before a colon in the first line of a property for its type."""
    for path in sorted((ROOT / "primad").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any("property" in ast.unparse(d) for d in node.decorator_list):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                assert ": " not in first, f"{path}:{node.lineno}: {first}"


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'primad' has no attribute 'gard'"):
        primad.gard  # type: ignore[attr-defined]  # noqa: B018


def test_results_have_the_types_that_editors_see() -> None:
    """mypy checks the same file, so that what it says is true."""
    for found, cls in uses():
        assert isinstance(found, cls)

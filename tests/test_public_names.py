"""What users find by completion: public names and no others, documented; and the types that editors see."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from typed_uses import uses

import primad

ROOT = Path(__file__).parent.parent
MODULES = {
    "primad": primad,
    "primad.numpy": primad.numpy,
    "primad.nn": primad.nn,
    "primad.numpy.special": primad.numpy.special,
    "primad.integrate": primad.integrate,
    "primad.optimize": primad.optimize,
    "primad.pde": primad.pde,
}

OTHERS = ("primad.ops", "primad.transforms", "primad.numpy.linalg", "primad.nn.initializers")
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


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"primad\.(\w+)", text))
    errors = {name for name in primad.__all__ if name.endswith("Error")}
    assert "primad.errors" in text
    assert set(primad.__all__) - documented - errors - {"__version__", "ops", "transforms"} == set()


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'primad' has no attribute 'gard'"):
        primad.gard  # type: ignore[attr-defined]  # noqa: B018


def test_results_have_the_types_that_editors_see() -> None:
    """mypy checks the same file, so that what it says is true."""
    for found, cls in uses():
        assert isinstance(found, cls)

"""Every function with the name of one of SciPy's has its defaults: a call that leaves them out means the same."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.mirrored import other_defaults

PACKAGES = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "sparse.linalg", "special",
    "stats",
)  # fmt: skip
PATHS = {f"primad.scipy.{name}": f"scipy.{name}" for name in PACKAGES}
PATHS |= {"primad.optimize": "scipy.optimize", "primad.integrate": "scipy.integrate"}


@pytest.mark.parametrize("path", PATHS)
def test_defaults_are_scipys(path: str) -> None:
    ours, theirs = import_module(path), import_module(PATHS[path])
    names = [name for name in ours.__all__ if hasattr(theirs, name) and callable(getattr(ours, name))]
    wrong = {name: other_defaults(getattr(ours, name), getattr(theirs, name)) for name in names}
    assert names and not {name: found for name, found in wrong.items() if found}

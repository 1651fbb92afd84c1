"""Problems are solved by NumPy's steps in most files: machine code for them takes half of the time of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.interpreted import interpreted
from tests.sweeps import is_swept

IN_NATIVE_CODE = ("test_problem",)
"""Files of which all tests run in machine code; those of the others do so under `-m exhaustive`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    here = metafunc.module.__name__.rpartition(".")[2] in IN_NATIVE_CODE
    values = ["native"] if here else ["NumPy"]
    if not here and is_swept(metafunc.config):
        values.append(pytest.param("native", marks=pytest.mark.exhaustive))
    metafunc.parametrize("code", values, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whether there is a compiler; plans of files that have one are none of those that have none."""
    with interpreted() if request.param == "NumPy" else nullcontext():
        yield

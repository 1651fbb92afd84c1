"""The same programs here and in MXNet 1.9.1, whose results are in `golden/mxnet.json`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad.compat.mxnet as mx

sys.path.insert(0, str(Path(__file__).parent))

import mxnet_api_programs  # noqa: F401
from mxnet_programs import PROGRAMS, run

GOLDEN = json.loads((Path(__file__).parent / "golden" / "mxnet.json").read_text())["results"]


def test_every_program_has_a_golden_result() -> None:
    assert sorted(GOLDEN) == sorted(PROGRAMS)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_same_as_mxnet(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Cannot decide", UserWarning)
        compare(run(PROGRAMS[name], mx), GOLDEN[name], name)


def compare(got: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict) and "dtype" in expected:
        assert got["dtype"] == expected["dtype"], where
        assert got["shape"] == expected["shape"], where
        tolerance = 2e-3 if expected["dtype"] == "float16" else 2e-5
        np.testing.assert_allclose(got["values"], expected["values"], tolerance, tolerance, err_msg=where)
    elif isinstance(expected, dict) and "dict" in expected:
        assert [key for key, _ in got["dict"]] == [key for key, _ in expected["dict"]], where
        for (key, mine), (_, theirs) in zip(got["dict"], expected["dict"], strict=True):
            compare(mine, theirs, f"{where}, {key}")
    elif isinstance(expected, list):
        assert isinstance(got, list), (where, got)
        assert len(got) == len(expected), where
        for i, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
            compare(mine, theirs, f"{where}, {i}")
    else:
        assert got == expected, where

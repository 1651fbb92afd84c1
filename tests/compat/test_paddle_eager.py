"""The eager programs of tests/compat/programs give what Paddle itself gave (tests/compat/golden/make_paddle.py)."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import primad.compat.paddle as paddle

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "golden"))
from encoding import differences, outcome, programs  # noqa: E402

_spec = importlib.util.spec_from_file_location("paddle_eager", HERE / "programs" / "paddle_eager.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
PROGRAMS = programs(_module)
GOLDEN = json.loads((HERE / "golden" / "paddle_eager.json").read_text())["programs"]

DIFFERENT = {
    "in_place_needed_result": "what the derivative of exp reads is kept when its result is overwritten",
    "in_place_needed_output": "the derivative of tanh reads its operand here, which is still there: no error is needed",
}
"""Programs whose result is another one on purpose, and why."""


def test_every_program_has_a_golden_result():
    assert PROGRAMS.keys() == GOLDEN.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_paddle(name):
    expected = GOLDEN[name]
    if name in DIFFERENT:
        assert outcome(PROGRAMS[name], paddle) != expected
        return
    found = outcome(PROGRAMS[name], paddle)
    assert found.keys() == expected.keys(), f"{found} instead of {expected}"
    if "error" in expected:
        assert found["error"] == expected["error"]
    else:
        assert not list(differences(found["value"], expected["value"], 2e-5))

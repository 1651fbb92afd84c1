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


@pytest.mark.one_in(3)
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


@pytest.mark.parametrize("hooks", [0, 1, 2, 3])
def test_a_gradient_is_retained_after_the_hooks_that_were_there(hooks):
    x, called = paddle.to_tensor([1.0, 2.0], stop_gradient=False), []
    inner = x * 3.0
    for count in range(3):  # nobody keeps what takes them away again
        if count == hooks:
            inner.retain_grads()
        inner.register_hook(lambda g: called.append(g) or g * 2.0)
    inner.retain_grads()
    inner.sum().backward()
    assert inner.grad.tolist() == [2.0**hooks] * 2 and x.grad.tolist() == [24.0] * 2 and len(called) == 3


def test_hooks_of_a_layer_are_called_though_nobody_keeps_their_handles():
    layer, called = paddle.nn.Linear(1, 1), []
    for number in range(3):
        layer.register_forward_pre_hook(lambda *_, number=number: called.append(number))
    layer(paddle.ones([1, 1]))
    assert called == [0, 1, 2]

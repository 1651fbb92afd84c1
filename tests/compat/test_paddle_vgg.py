"""VGG11 in the eager layer: the documented example, Paddle's gradients, and a loss that falls in little memory."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import primad.compat.paddle as paddle

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "golden"), str(HERE.parent)]
from encoding import differences, outcome  # noqa: E402

from tests.documents import ROOT, blocks  # noqa: E402

_spec = importlib.util.spec_from_file_location("paddle_vgg", HERE / "programs" / "paddle_vgg.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def test_the_documented_example_runs():
    (code,) = [text for language, text, _ in blocks(ROOT / "docs" / "paddle_eager.md") if language == "py"]
    names = {}
    exec(code, names)
    assert names["predicts"].shape == [1, 1000]
    assert all(parameter.grad is not None for parameter in names["model"].parameters())


def test_gradients_are_paddles():
    golden = json.loads((HERE / "golden" / "paddle_vgg.json").read_text())["programs"]["gradients"]
    found = outcome(program.gradients, paddle)
    assert not list(differences(found["value"], golden["value"], 1e-4))


def test_loss_falls_on_a_fixed_batch():
    paddle.seed(1)
    model = paddle.vision.models.vgg11(num_classes=10)
    x, label = paddle.rand([1, 3, 32, 32]), paddle.to_tensor([3])
    optimizer = paddle.optimizer.Adam(1e-5, parameters=model.parameters())
    weight = model.classifier[0].weight
    place = weight._entry.array.ctypes.data
    losses = []
    for step in range(3):
        before = weight[:100].numpy()
        loss = paddle.nn.functional.cross_entropy(model(x), label)
        loss.backward()
        gradient = weight.grad[:100].numpy()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
        if step == 0:  # Adam's first step is the learning rate, in the gradient's direction
            expected = before - 1e-5 * gradient / (np.abs(gradient) + 1e-8)
            np.testing.assert_allclose(weight[:100].numpy(), expected, atol=2e-8)
    assert weight._entry.array.ctypes.data == place, "the update writes into the parameters' memory"
    assert losses[-1] < 0.5 * losses[0]


def test_pretrained_weights_are_a_clear_error():
    with pytest.raises(NotImplementedError, match="set_state_dict"):
        paddle.vision.models.vgg11(pretrained=True)

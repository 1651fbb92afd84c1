"""VGG11 in the eager layer: the documented example, Paddle's gradients, and a loss that falls in little memory."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import primad.compat.paddle as paddle
from primad.compat.paddle.vision import models

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "golden"), str(HERE.parent)]
from encoding import differences, outcome  # noqa: E402

from tests.documents import ROOT, blocks  # noqa: E402

_spec = importlib.util.spec_from_file_location("paddle_vgg", HERE / "programs" / "paddle_vgg.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


@pytest.mark.exhaustive  # for the gigabytes of the linear layers and of their gradients
def test_the_documented_example_runs():
    (code,) = [text for language, text, _ in blocks(ROOT / "docs" / "paddle_eager.md") if language == "py"]
    names = {}
    exec(code, names)
    assert names["predicts"].shape == [1, 1000]
    assert all(parameter.grad is not None for parameter in names["model"].parameters())


@pytest.mark.exhaustive
def test_gradients_are_paddles():
    golden = json.loads((HERE / "golden" / "paddle_vgg.json").read_text())["programs"]["gradients"]
    found = outcome(program.gradients, paddle)
    assert not list(differences(found["value"], golden["value"], 1e-4))


@pytest.mark.parametrize("batch_norm", [False, True])
def test_layers_are_as_published(batch_norm, monkeypatch):
    """Of the linear layers, which have a gigabyte of weights, each 512th row and column is there."""
    made = []

    class Few(paddle.nn.Linear):
        def __init__(self, rows, columns):
            made.append((rows, columns))
            super().__init__(rows // 512, columns // 512)

        def forward(self, x):
            return super().forward(x[:, : self.weight.shape[0]])

    monkeypatch.setattr(models, "Linear", Few)
    model = models.vgg11(num_classes=1024, batch_norm=batch_norm)
    assert made == [(25088, 4096), (4096, 4096), (4096, 1024)]
    golden = json.loads((HERE / "golden" / "paddle_vgg.json").read_text())["programs"]["gradients"]
    names = [name for name, _ in model.named_parameters()]
    assert batch_norm or names == [row[0] for row in golden["value"][1]]
    assert len(names) == 22 + 16 * batch_norm
    assert model(paddle.rand([2, 3, 32, 32])).shape == [2, 2]


def test_loss_falls_on_a_fixed_batch():
    paddle.seed(1)
    features = paddle.vision.models.vgg11(num_classes=0, with_pool=False)
    model = paddle.nn.Sequential(features, paddle.nn.Flatten(), paddle.nn.Linear(512, 10))
    x, label = paddle.rand([1, 3, 32, 32]), paddle.to_tensor([3])
    optimizer = paddle.optimizer.Adam(1e-5, parameters=model.parameters())
    weight = model[2].weight
    place = weight._entry.array.ctypes.data
    losses = []
    for step in range(5):
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

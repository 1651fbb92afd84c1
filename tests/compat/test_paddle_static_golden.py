"""Static programs against Paddle's own results (see golden/paddle_static.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad.compat.paddle as paddle
from tests.compat.golden import paddle_static_cases as cases

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "paddle_static.json").read_text())["cases"]


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    paddle.enable_static()
    with paddle.static.scope_guard(paddle.static.Scope()):
        yield
    paddle.disable_static()


def close(found: Any, expected: Any, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)


def test_the_golden_file_has_every_case() -> None:
    assert list(GOLDEN) == [name for name, _ in cases.cases()]
    assert not [name for name, found in GOLDEN.items() if "error" in found]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("text", cases.EXPRESSIONS)
def test_expressions(text: str) -> None:
    expected = GOLDEN[f"expression {text}"]
    found = cases.expression(paddle, text)
    for what in ("shape", "dtype"):
        assert found[what] == expected[what], what
    close(found["value"], expected["value"])
    assert found["gradients"].keys() == expected["gradients"].keys()
    for name, gradient in expected["gradients"].items():
        close(found["gradients"][name], gradient, 1e-4, 1e-6)


OTHERWISE = {
    "paddle.divide(x, y)": "Paddle's name is elementwise_div_0, without .tmp_0",
    "x ** 2": "a number as exponent is an attribute here: the operator is pow",
    "x[:, 1]": "indexing is one operator here, not slice and others",
    "x[1]": "indexing is one operator here, not slice and others",
    "F.cross_entropy(x, labels)": "one operator here, with its reduction",
    "F.hardswish(x - y)": "Paddle calls the operator hard_swish",
    "F.smooth_l1_loss(x, y)": "one operator here, with its reduction",
    "F.layer_norm(x, [3])": "Paddle's operator has two more outputs, tmp_0 and tmp_1",
}
"""Expressions whose operators or names differ from Paddle's, and how."""

NAMED = [text for text in cases.EXPRESSIONS if "types" in GOLDEN[f"expression {text}"] and text not in OTHERWISE]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", NAMED)
def test_names_of_operators_and_variables(text: str) -> None:
    expected = GOLDEN[f"expression {text}"]
    found = cases.expression(paddle, text)
    assert found["types"] == expected["types"]
    assert found["name"] == expected["name"]


def test_the_first_call_of_append_backward_is_as_in_paddle() -> None:
    expected, found = GOLDEN["seed_program"], json.loads(json.dumps(cases.seed_program(paddle)))
    for what in ("forward", "backward", "variables", "calls"):
        assert found[what] == expected[what], what
    assert found["pairs"][0] == expected["pairs"][0]


def test_the_six_calls_of_append_backward_have_their_documented_names() -> None:
    """Paddle 3 repeats the gradient operators in each call, and names the results grad/grad/embedding_0.w_0@GRAD, ….

    Its documentation says embedding_0.w_0@GRAD for all, which is what comes out where equal operators are one.
    """
    expected, found = GOLDEN["seed_program"], cases.seed_program(paddle)
    plain = [[[p, g.replace("grad/", "")] for p, g in pairs] for pairs in expected["pairs"]]
    assert found["pairs"] == plain
    table, weight, bias = ([name, f"{name}@GRAD"] for name in ("embedding_0.w_0", "my_fc.w_0", "my_fc.b_0"))
    assert plain == [
        [table, weight, bias], [table, weight], [table, weight], [weight, bias], [table, weight], []
    ]  # fmt: skip
    assert found["types"] == expected["types"][: len(found["types"])]
    assert len(found["types"]) == len(found["backward"])


def test_accumulated_gradients_are_named_and_summed_as_in_paddle() -> None:
    expected, found = GOLDEN["accumulation"], cases.accumulation(paddle)
    assert found["ops"] == expected["ops"]
    assert found["sum"] == expected["sum"]
    close(found["value"], expected["value"], 1e-4)


@pytest.mark.parametrize("name", ["several_targets", "split_unused", "second_order"])
def test_gradients(name: str) -> None:
    expected, found = GOLDEN[name], getattr(cases, name)(paddle)
    assert {key: value for key, value in found.items() if key != "value"} == {
        key: value for key, value in expected.items() if key != "value"
    }
    for one, two in zip(found["value"], expected["value"], strict=True):
        close(one, two, 1e-4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", cases.OPTIMIZERS)
def test_training(name: str) -> None:
    expected, found = GOLDEN[f"training {name}"], cases.training(paddle, name)
    assert found["pairs"] == expected["pairs"]
    assert found["test ops"] == expected["test ops"]
    for what in ("losses", "tested"):
        close(found[what], expected[what], 1e-4)
    for one, two in zip(found["after"], expected["after"], strict=True):
        close(one, two, 1e-4)


MORE_OUTPUTS = ("nn.batch_norm(image)", "nn.layer_norm(x)")
"""Paddle's operators save statistics in further outputs, so that the name of the result is tmp_2 or tmp_3."""


@pytest.mark.parametrize("text", cases.LAYERS)
def test_layers(text: str) -> None:
    expected, found = GOLDEN["layers"][text], cases.layers(paddle)[text]
    if text in MORE_OUTPUTS:
        del expected["name"], found["name"]
    assert found == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", cases.UNKNOWN)
def test_unknown_lengths(text: str) -> None:
    assert cases.unknown_lengths(paddle)[text] == GOLDEN["unknown_lengths"][text]


BETTER = {
    "paddle.static.Executor().run(3, feed={'x': a}, fetch_list=[loss])": "TypeError",  # an AttributeError in Paddle
    "paddle.static.append_backward(3)": "AssertionError",  # as documented; and a TypeError, which Paddle 3 raises
}


@pytest.mark.parametrize("text", cases.ERRORS)
def test_errors(text: str) -> None:
    expected = BETTER.get(text, GOLDEN["errors"][text])
    assert expected is not None
    assert cases.errors(paddle)[text] == expected

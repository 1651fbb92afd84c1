"""Update rules against the values of other systems, as trees, compiled, and resumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primad
from primad import nn

START = np.array([0.5, -1.25, 2.0])
GRADIENTS = np.array([[0.3, -0.2, 1.0], [0.1, 0.4, -2.0], [-0.7, 0.05, 0.25], [1e-9, 0.6, -0.1]])
SCHEDULE = (0.1, 0.05, 0.2, 0.1)

# After four steps with these gradients, in float64: PyTorch 2.13.0; Paddle 3.3.1 agrees to the digits of its float32
# hyperparameters; the last four are MXNet 1.9.1's, to those of its own, the last two with SCHEDULE.
GOLDEN = {
    "sgd": (nn.SGD(0.1, 0.02), [0.526091584148, -1.3249798801800001, 2.068897536832]),
    "momentum": (nn.Momentum(0.1, 0.8, weight_decay=0.02), [0.505291926548, -1.33717006418, 2.125366298432]),
    "nesterov": (nn.Momentum(0.1, 0.8, nesterov=True), [0.54043199982, -1.4210479999999999, 2.21124]),
    "adam": (nn.Adam(0.05, 0.8, 0.95, 1e-3), [0.4420764209209037, -1.2753205333245745, 1.9924287923617685]),
    "adam, L2": (nn.Adam(0.05, weight_decay=0.1), [0.42196718604179756, -1.211236950917113, 1.9665959319567294]),
    "adamw": (
        nn.AdamW(0.05, weight_decay=0.1, epsilon=1e-3),
        [0.42568138591871874, -1.2435217171676283, 1.949540501557466],
    ),
    "adam, raw epsilon": (
        nn.Adam(0.05, 0.8, 0.95, 1e-3, raw_epsilon=True),
        [0.4429400029390034, -1.2757812568647502, 1.9925461028486198],
    ),
    "nag": (
        nn.Momentum(0.1, 0.8, nesterov=True, scaled_velocity=True),
        [0.540431999704367, -1.4210480040084126, 2.2112400054389236],
    ),
    "momentum, scheduled": (
        nn.Momentum(0.1, 0.8, weight_decay=0.02, scaled_velocity=True),
        [0.6428792570822661, -1.2960733837862548, 1.8348768791071803],
    ),
    "nag, scheduled": (
        nn.Momentum(0.1, 0.8, nesterov=True, scaled_velocity=True),
        [0.7259920049084485, -1.3742080023877619, 1.8550399939680098],
    ),
}


def descend(rule: Any, params: Any, gradients: Any, rates: Any = (None,) * 4) -> Any:
    state = rule.init(params)
    for gradient, rate in zip(gradients, rates, strict=True):
        params, state = rule.update(params, gradient, state, rate)
    return params


@pytest.mark.parametrize("name", GOLDEN)
def test_rules_agree_with_other_systems(name: str) -> None:
    rule, expected = GOLDEN[name]
    rates = SCHEDULE if "scheduled" in name else (None,) * 4
    precise = name in ("sgd", "momentum", "nesterov", "adam", "adam, L2", "adamw")
    np.testing.assert_allclose(descend(rule, START, GRADIENTS, rates), expected, rtol=1e-14 if precise else 1e-7)


def test_momentum_follows_a_schedule_like_pytorch() -> None:
    heavy = descend(nn.Momentum(0.1, 0.8, weight_decay=0.02), START, GRADIENTS, SCHEDULE)
    np.testing.assert_allclose(heavy, [0.563487254948, -1.34557738318, 2.130556884032], rtol=1e-14)
    ahead = descend(nn.Momentum(0.1, 0.8, True, 0.02), START, GRADIENTS, SCHEDULE)
    np.testing.assert_allclose(ahead, [0.6514673579850048, -1.385356698425568, 2.047287099268403], rtol=1e-14)


RULES = [nn.SGD(0.1, 0.02), nn.Momentum(0.1, 0.8, True), nn.Adam(0.05), nn.AdamW(0.05), nn.Adam(raw_epsilon=True)]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_parameters_step_along_the_conjugate(rule: Any, dtype: str) -> None:
    """Each rule makes a real function of them smaller; turning the numbers turns the path."""
    start = np.array([1.0 + 2.0j, -0.5j, 0.3], dtype)
    goal = np.array([0.5 - 1.0j, 1.0, -2.0j], dtype)
    slope = primad.jit(primad.grad(lambda z, goal: np.sum(np.abs(z - goal) ** 2)))

    def path(turn: complex) -> Any:
        turned = np.asarray(turn, dtype)
        z, state = start * turned, rule.init(start)
        for _ in range(30):
            z, state = primad.jit(rule.update)(z, slope(z, goal * turned), state)
        return z

    found = path(1.0)
    assert found.dtype == dtype and np.all(np.abs(found - goal) < np.abs(start - goal))
    np.testing.assert_allclose(path(1j), 1j * found, rtol=1e-10 if dtype == "complex128" else 1e-4)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_trees_of_single_precision_stay_so_plain_and_compiled(rule: Any) -> None:
    params = {"w": np.ones((2, 3), np.float32), "b": [np.float32(0.5), np.zeros(3, np.float64)]}
    gradients = {"w": np.full((2, 3), 0.5, np.float32), "b": [np.float32(2.0), np.ones(3)]}
    compiled = primad.jit(rule.update)
    plain, fast = (params, rule.init(params)), (params, rule.init(params))
    for rate in (None, 0.2, 0.1):
        plain = rule.update(plain[0], gradients, plain[1], rate)
        fast = compiled(fast[0], gradients, fast[1]) if rate is None else compiled(fast[0], gradients, fast[1], rate)
        for a, b, p in zip(*map(primad.recording.tree.leaves, (plain[0], fast[0], params)), strict=True):
            assert a.dtype == b.dtype == p.dtype and np.shape(a) == np.shape(b) == np.shape(p)
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert not np.any(params["w"] != 1)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_step_can_be_differentiated(rule: Any) -> None:
    def trained(gradient: Any) -> Any:
        params, state = START, rule.init(START)
        for _ in range(2):
            params, state = rule.update(params, gradient * params, state)
        return np.sum(params**2)

    primad.check_grads(trained, (np.array([0.3, -0.2, 1.0]),), order=2)


def test_trees_must_agree() -> None:
    rule = nn.Adam()
    state = rule.init({"w": START})
    with pytest.raises(primad.ShapeError, match="gradients of an update"):
        rule.update({"w": START}, {"v": START}, state)
    with pytest.raises(primad.ShapeError, match="shape"):
        rule.update({"w": START}, {"w": np.ones(2)}, state)
    with pytest.raises(primad.ShapeError, match="float parameters"):
        rule.init({"w": np.arange(3)})
    assert replace(rule, learning_rate=0.5).learning_rate == 0.5

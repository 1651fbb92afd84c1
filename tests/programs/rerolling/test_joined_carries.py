"""Loops whose steps write the inside of an array carry that array, and start with the first step where they can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad.numpy as pnp
from tests.programs.rerolling.test_rerolled_loops import check, short

__all__ = ["short"]  # a fixture: short loops count
STEPS = 20


def upwind(u: Any) -> Any:
    u = pnp.asarray(u).copy()
    for _ in range(STEPS):
        old = u.copy()
        u[1:] = old[1:] - 0.1 * old[1:] * (old[1:] - old[:-1])
    return u


def heat(u: Any) -> Any:
    u = pnp.asarray(u).copy()
    for _ in range(STEPS):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def insulated(u: Any) -> Any:
    u = pnp.asarray(u).copy()
    for _ in range(STEPS):
        u[1:-1] = u[1:-1] + 0.2 * np.sin(u[2:] - 2 * u[1:-1] + u[:-2])
        u[0], u[-1] = u[1], u[-2]
    return u


def periodic(u: Any) -> Any:
    for _ in range(STEPS):
        around = np.concatenate([u[-1:], u, u[:1]])
        u = u + 0.2 * np.sin(around[2:] - 2 * u + around[:-2])
    return u


def two_states(u: Any) -> Any:
    v = np.cos(u)
    for _ in range(STEPS):
        both = np.concatenate([u, v])
        u, v = u + 0.1 * np.sin(both[::2]), v - 0.1 * both[1::2] * u
    return u * v


def delayed(u: Any) -> Any:
    before = np.cos(u)
    for _ in range(STEPS):
        around = np.concatenate([before[:1], u, before[-1:]])
        before, u = u, 0.5 * before + 0.1 * np.sin(around[2:] * around[:-2])
    return u + before


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("f", "carried"),
    [
        (upwind, [(12,)]),
        (heat, [(12,)]),
        (insulated, [(12,)]),
        (periodic, [(14,)]),
        (two_states, [(24,)]),
        (delayed, None),
    ],
)
def test_arrays_that_steps_join_are_carried_whole(f: Any, carried: Any) -> None:
    (loop,) = check(f, np.linspace(1.0, 0.2, 12) ** 2)
    if carried:
        assert [type.shape for type in loop["of"].program.in_types[: loop["carry"]]] == carried
    if f in (heat, insulated, upwind):  # all steps are those of one loop, and nothing is joined but what a step leaves
        assert loop["length"] == STEPS
        joined = [node for node in loop["of"].program.nodes if node.op.name == "concatenate"]
        assert len(joined) == 1 and joined[0] in loop["of"].program.outputs
        taken = loop["of"].program.in_types[loop["carry"] :]
        assert all(type.shape == () for type in taken), "the ends that stay are parts of what is carried"


def test_the_inside_of_a_grid() -> None:
    def f(u: Any) -> Any:
        u = pnp.asarray(u).copy()
        for _ in range(STEPS):
            u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] * u[1:-1, :-2] - u[:-2, 1:-1])
        return u

    (loop,) = check(f, np.random.default_rng(0).normal(size=(20, 24)) / 3)
    assert [type.shape for type in loop["of"].program.in_types[: loop["carry"]]] == [(20, 24)]
    assert all(type.shape == () for type in loop["of"].program.in_types[loop["carry"] :])


def test_what_differs_from_step_to_step_is_joined_in_the_step() -> None:
    data = np.random.default_rng(0).normal(size=(STEPS, 1))

    def f(u: Any) -> Any:
        for n in range(STEPS):
            around = np.concatenate([data[n], u])
            u = u - 0.1 * np.sin(u) * (u - around[:-1])
        return u

    (loop,) = check(f, np.linspace(1.0, 0.2, 12))
    assert [type.shape for type in loop["of"].program.in_types[: loop["carry"]]] == [(12,)]


def test_a_part_that_starts_as_something_else_is_carried_beside_its_array() -> None:
    def f(u: Any, v: Any) -> Any:
        for _ in range(STEPS):
            v, u = u[1:] * 0.5 + 0.1 * np.sin(v), np.concatenate([u[:1], u[1:] * 0.5 + 0.1 * np.sin(v)])
        return u, v

    x = np.linspace(1.0, 0.2, 12)
    check(f, x, np.cos(x[1:]))


def test_what_is_mostly_something_else_is_joined_in_the_step() -> None:
    weights = np.linspace(-1.0, 1.0, 99).reshape(3, 33)

    def f(x: Any) -> Any:
        y = x
        for _ in range(STEPS):
            y = np.tanh(weights @ np.concatenate([y, np.ones(30)]) / 20 + x)
        return y

    (loop,) = check(f, np.ones(3))
    assert [type.shape for type in loop["of"].program.in_types[: loop["carry"]]] == [(3,)]

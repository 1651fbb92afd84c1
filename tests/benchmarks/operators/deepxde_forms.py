"""The families in DeepXDE, with its own `PDEOperatorCartesianProd`: a loop over functions, and shifted."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

os.environ.setdefault("DDE_BACKEND", "pytorch")

import deepxde as dde
import families
import numpy as np
import torch


class Given(dde.data.function_spaces.FunctionSpace):
    """The functions that are given, whatever points are asked for: their place in the batch is their feature."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def random(self, size: int) -> Any:
        """Return the places of all functions."""
        return np.arange(size)

    def eval_one(self, feature: int, x: Any) -> Any:
        """Return a function at points."""
        return self.eval_batch(np.array([feature]), x)[0]

    def eval_batch(self, features: Any, xs: Any) -> Any:
        """Return functions at the sensors, or at the points of conditions and all."""
        if len(xs) == self.data["sensors"].shape[1]:
            return self.data["sensors"][features]
        at_edge = self.data["v"][:, len(self.data["v"][0]) - len(self.data["edge"]) :]
        return np.concatenate([at_edge, self.data["v"]], axis=1)[features]


class Wanted(dde.icbc.boundary_conditions.BC):
    """A condition at given points that asks for zero, or for the input function there."""

    def __init__(self, geometry: Any, points: Any, own: bool) -> None:
        super().__init__(geometry, lambda x, on: True, 0)
        self.points, self.own = points, own

    def collocation_points(self, X: Any) -> Any:
        """Return its points."""
        return self.points

    def error(self, X: Any, inputs: Any, outputs: Any, beg: int, end: int, aux_var: Any = None) -> Any:
        """Return what outputs are off by."""
        return outputs[beg:end, 0:1] - (aux_var[beg:end] if self.own else 0.0)


def by_names(names: str, x: Any, u: Any, along: str) -> Any:
    """Return a derivative of one function's outputs."""
    for place in range(0, len(along), 2):
        pair = [names.index(letter) for letter in along[place : place + 2]]
        u = dde.grad.hessian(u, x, i=pair[0], j=pair[1]) if len(pair) == 2 else dde.grad.jacobian(u, x, j=pair[0])
    return u


def equation(form: str, name: str) -> Callable[..., Any]:
    """Return the residual, as DeepXDE asks for it."""
    family = families.FAMILIES[name]

    def one_by_one(x: Any, u: Any, v: Any) -> Any:
        def of(along: str) -> Any:
            return by_names(family.names, x, u, along)

        return family.residual(v, *[sum(k * of(along) for along, k in one.items()) for one in family.combinations])

    def shifted(z: Any, u: Any, v: Any) -> Any:
        lazy = dde.zcs.LazyGrad(z, u)

        def of(along: str) -> Any:
            return lazy.compute(tuple(along.count(letter) for letter in family.names)) if along else u

        return family.residual(v, *[sum(k * of(along) for along, k in one.items()) for one in family.combinations])

    return shifted if form.endswith("shifted") else one_by_one


def step(form: str, name: str, data: dict[str, Any]) -> Callable[[], float]:
    """Return what makes a step of Adam, and returns the loss before it."""
    family = families.FAMILIES[name]
    dde.config.set_default_float(str(data["all"].dtype))
    geometry = dde.geometry.Rectangle([0, 0], [1, 1])
    cuts = {"reaction": [0, 2 * family.edge // 3, family.edge], "burgers": [0, family.edge], "plate": [0]}[name]
    conditions = [Wanted(geometry, data["edge"][low:high], name == "burgers") for low, high in pairwise(cuts)]
    problem = dde.data.PDE(geometry, equation(form, name), conditions, anchors=data["all"])
    shifted = form.endswith("shifted")
    kind = dde.zcs.PDEOperatorCartesianProd if shifted else dde.data.PDEOperatorCartesianProd
    sensors = np.zeros((family.sensors, 2))
    operator = kind(problem, Given(data), sensors, len(data["sensors"]))
    sizes = [families.WIDTH] * (families.DEPTH + 1)
    net = dde.nn.DeepONetCartesianProd([family.sensors, *sizes], [family.inputs, *sizes], "tanh", "Glorot normal")
    if family.features is not None:
        net.apply_feature_transform(lambda at: family.features(torch, at))
    if family.transform is not None:
        net.apply_output_transform(lambda inputs, u: u * family.transform(torch, inputs[1]))
    model = (dde.zcs.Model if shifted else dde.Model)(operator, net)
    computed, told = operator.losses_train, list[Any]()

    def keep(*given: Any, **named: Any) -> Any:
        found = computed(*given, **named)
        told[:] = found
        return found

    operator.losses_train = keep
    model.compile("adam", lr=1e-3, verbose=0)
    _set(net, data["parameters"])
    batch = operator.train_next_batch()

    def advance() -> float:
        model._train_step(*batch)
        return float(sum(told))

    return advance


def _set(net: Any, parameters: Any) -> None:
    """Begin with the same parameters as the others."""
    with torch.no_grad():
        for part in ("branch", "trunk"):
            for linear, (weights, bias) in zip(getattr(net, part).linears, parameters[part], strict=True):
                linear.weight.copy_(torch.as_tensor(weights.T))
                linear.bias.copy_(torch.as_tensor(bias))

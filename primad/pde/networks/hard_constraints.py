"""What stands for the unknowns: networks, and what makes conditions hold whatever their parameters are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.first_order import jvp
from primad.ir.array_types import is_complex
from primad.numpy.shapes.shaping import concatenate, stack
from primad.pde.fields.named_fields import TIME, Field, FieldAt
from primad.pde.fields.values_elsewhere import KnownPlaces
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import clock, space_of, time_of
from primad.pde.geometry.point_arguments import FEW, ConstantValue, Place, Point, moved, number
from primad.pde.networks.field_networks import Inputs, Network
from primad.pde.problem.conditions import Value
from primad.pde.problem.named_arguments import by_name

Tree = Any
Function = Callable[[Point], Any]


@dataclass(frozen=True)
class Given:
    """A function of coordinates by name as one of a point: equal to others of the same function."""

    function: Callable[..., Any]

    def __call__(self, point: Point) -> Any:
        """Return the function's value at a point."""
        return by_name(self.function, point)


@dataclass(frozen=True)
class Imposed:
    """What holds of one unknown by construction: u = E + φ·N, with E right where φ vanishes.

    Attributes:
        domain: of the problem.
        values: for each part of the boundary the values there.
        velocities: of the beginning, the derivatives in time there.
        slopes: for each part of the boundary the derivatives along the normal there, where they are E's own.
    """

    domain: Domain
    values: Mapping[str, Function] = field(default_factory=dict)
    velocities: Mapping[str, Function] = field(default_factory=dict)
    slopes: Mapping[str, Function] = field(default_factory=dict)

    def around(self, network: Callable[[], Any], point: Point) -> Any:
        """Return the unknown at a point."""
        if not self.values:
            return network()
        base, factor = self.domain.extended(self.values, point), self.domain.vanishing(list(self.values), point)
        for velocity in self.velocities.values():
            time = clock(self.domain)
            name, start = time.names[0], time.low
            passed = point[name] - start

            def extension(t: Any, name: str = name) -> Any:
                return self.domain.extended(self.values, moved(point, name, t)) + 0.0 * t

            rate = jvp(extension, (start,), (1.0,))[1]
            base = base + passed * (velocity(moved(point, name, start)) - rate)
            factor = factor * (passed / time.measure)
        if self.slopes:
            factor = factor * self.domain.vanishing(list(self.slopes), point)
        return base + factor * network()


@dataclass(frozen=True)
class SharedNetwork:
    """Unknowns that are the outputs of one network.

    Attributes:
        names: of the unknowns.
        network: what computes them.
        inputs: what it gets of a point.
        imposed: what holds of each unknown by construction.
        past: what is known of unknowns before the start.
    """

    names: tuple[str, ...]
    network: Network
    inputs: Inputs
    imposed: Mapping[str, Imposed]
    past: Mapping[str, Function] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of its parameters."""
        return ",".join(self.names)

    def init(self, seed: int, numbers: int = 0) -> Tree:
        """Return parameters to begin with.

        Args:
            seed: decides them.
            numbers: how many tell which function of a family is meant; 0 of no family.
        """
        if numbers:
            return self.network.init_in_family(seed, self.inputs.size, numbers, len(self.names))
        return self.network.init(seed, self.inputs.size, len(self.names))

    def at(self, params: Tree, point: Point, functions: Any = None) -> Any:
        """Return the unknowns at a point: a number, or a vector of several; of a family with an axis of functions.

        Args:
            params: of the network.
            point: the point.
            functions: the numbers that tell which functions of a family are meant, a function a row; None of no family.
        """
        x = self.inputs.of(point)
        outputs = (
            self.network.apply(params, x)
            if functions is None
            else vmap(lambda numbers: self.network.apply_in_family(params, x, numbers))(functions)
        )

        def output(place: int) -> Callable[[], Any]:
            return lambda: outputs[..., place]

        found = [self.imposed[name].around(output(i), point) for i, name in enumerate(self.names)]
        for name, one in zip(self.names, found, strict=True):
            check_parts(name, outputs.dtype, one)
        return found[0] if len(found) == 1 else stack(found, axis=-1)

    def at_any_time(self, domain: Domain, params: Tree, point: Point, functions: Any = None) -> Any:
        """Return what `at` does, and before the start what is known of the past.

        Each of both is asked at the times that it is for, and at the start in the place of others: what it would return
        there might be no number, and its derivatives count.

        Args:
            domain: of the problem.
            params: of the network.
            point: the point.
            functions: as `at` takes them.
        """
        time = clock(domain)
        name, start = time.names[0], time.low
        t = point[name]
        before = t < start
        later, earlier = (moved(point, name, np.where(*which)) for which in ((before, start, t), (before, t, start)))
        found = self.at(params, later, functions)
        each = [found[..., i] for i in range(len(self.names))] if len(self.names) > 1 else [found]
        known = [
            np.where(before, self.past[name](earlier), one) if name in self.past else one
            for name, one in zip(self.names, each, strict=True)
        ]
        return known[0] if len(known) == 1 else stack(known, axis=-1)

    def on(self, domain: Domain, params: Tree, at: Any, functions: Any = None) -> FieldAt:
        """Return the unknowns at points: of few coordinates; of many those of space are one array.

        Args:
            domain: of the problem.
            params: of the network.
            at: the points, one a row.
            functions: as `at` takes them.
        """
        names, space, time = domain.names, space_of(domain), time_of(domain) or TIME
        components = None if len(self.names) == 1 else self.names
        few, count = len(names) <= FEW, len(space)
        together = 0 if few else count if names[:count] == space else len(names)

        def point(*given: Any) -> Point:
            if few:
                return dict(zip(names, given, strict=True))
            return Place(names, concatenate([given[0], stack(given[1:])]) if given[1:] else given[0])

        arguments = ([f"({' '.join(names[:together])})"] if together else []) + [*names[together:]]

        def made(function: Callable[..., Any]) -> Field:
            in_family = functions is not None
            return Field(function, " ".join(arguments), components, family=in_family, space=space, time=time)

        found = made(lambda *given: self.at(params, point(*given), functions))
        known = made(lambda *given: self.at_any_time(domain, params, point(*given), functions)) if self.past else found
        found.places = KnownPlaces(domain, self.names, known, tuple(self.past), self.inputs.periodic)
        return found.on(at)


def as_function(value: Value) -> Function:
    """Return a number, or a function of coordinates by name, as a function of a point."""
    return Given(value) if callable(value) else ConstantValue(number(value))


def check_parts(name: str, dtype: Any, given: Any) -> None:
    """Raise where complex values are given to an unknown whose network is real.

    Raises:
        ProblemError: if they are.
    """
    if np.iscomplexobj(given) and not is_complex(dtype):
        raise ProblemError(
            f"{name} has complex values, and a real network",
            fix=f'make the network complex: network=pde.Complex(pde.MLP()), or unknowns={{"{name}": pde.Complex()}} '
            "beside real ones.",
        )

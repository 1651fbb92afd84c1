"""Networks for a family of problems: what depends on the function, and what depends on the point, apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.pde.families.input_functions import spline
from primad.pde.geometry.sampling import Array, generator
from primad.pde.networks.field_networks import MLP, Network, check_network, check_positive

__all__ = ["FNO", "DeepONet"]

Tree = Any
HALF = MLP(40, 2)
"""What the branch and the trunk are, if nothing else is said."""
DEGREE = 5
"""Of the splines between what an FNO has at the sensors: second derivatives of them are smooth."""


class OperatorNetwork(Network):
    """A network that is one of a family only: without functions there is nothing for a part of it."""

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Raise: there are no functions.

        Raises:
            ProblemError: always.
        """
        name = type(self).__name__
        raise ProblemError(
            f"{name} is the network of a family of problems, and the problem has none",
            fix='say what functions there are, family={"v": pde.GaussianProcess("x")}, and let the equation ask for v; '
            "or take pde.MLP().",
        )

    def apply(self, params: Tree, x: Any) -> Any:
        """Raise, as `init` does.

        Raises:
            ProblemError: always.
        """
        return self.init(0, 0, 0)


@dataclass(frozen=True)
class DeepONet(OperatorNetwork):
    """A sum of products of what a branch makes of a function, and what a trunk makes of a point (Lu et al. 2021).

    For N functions at P points the branch is computed N times and the trunk, with all derivatives by coordinates, P
    times; what there is N·P times is a matrix product. L. Lu, P. Jin, G. Pang, Z. Zhang & G. Karniadakis, Nature
    Machine Intelligence 3 (2021) 218; with an equation in place of data S. Wang, H. Wang & P. Perdikaris, Science
    Advances 7 (2021) eabi8605.

    Attributes:
        rank: how many products.
        branch: the network of the functions: it gets their values at the sensors.
        trunk: the network of the points.

    Example:
        >>> from primad import pde
        >>> network = pde.DeepONet(rank=8, branch=pde.MLP(8, 1), trunk=pde.MLP(8, 1))
        >>> sorted(network.init_in_family(0, 2, 50, 1))
        ['bias', 'branch', 'trunk']
    """

    rank: int = 40
    branch: Network = HALF
    trunk: Network = HALF

    def __post_init__(self) -> None:
        check_positive(self, whole=("rank",))
        check_network(self, "branch", self.branch)
        check_network(self, "trunk", self.trunk)

    def init_in_family(self, key: int, inputs: int, numbers: int, outputs: int) -> Tree:
        """Return parameters to begin with, of the branch and the trunk."""
        return {
            "branch": self.branch.init(2 * key, numbers, self.rank * outputs),
            "trunk": self.trunk.init(2 * key + 1, inputs, self.rank * outputs),
            "bias": np.zeros(outputs),
        }

    def apply_in_family(self, params: Tree, x: Any, numbers: Any) -> Any:
        """Return the outputs at a point for the function that numbers tell."""
        code = reshape(self.branch.apply(params["branch"], numbers), (-1, self.rank))
        basis = reshape(self.trunk.apply(params["trunk"], x), (-1, self.rank))
        return np.einsum("ok,ok->o", code, basis) + params["bias"]  # of many functions and points a matrix product


@dataclass(frozen=True)
class FNO(OperatorNetwork):
    """A Fourier neural operator (Li et al. 2021) whose output is known at any point.

    Layers act on functions at the sensors: low Fourier modes are mixed, each by matrices of its own, and added to what
    a matrix makes of each sensor. Between the sensors what the last layer gives are splines of degree 5; a decoder
    makes the outputs at a point of these and of the point. The layers are computed once for each function, the decoder
    for each pair of a function and a point. Z. Li, N. Kovachki, K. Azizzadenesheli, B. Liu, K. Bhattacharya, A. Stuart
    & A. Anandkumar, ICLR 2021.

    Attributes:
        width: how many functions a layer has.
        modes: how many Fourier modes are mixed, of the lowest ones.
        layers: how many.
        decoder: the network of a point and of the functions there.
        padding: sensors beyond the end, relative to their number, at which functions are 0, as they need not be
            periodic; 0 for those that are.
        along: which of the network's inputs, by place, the functions are of: of the coordinates, where none repeats
            (`Periodic`); of one that does they cannot be.
        functions: how many there are, all with as many sensors.

    Example:
        >>> from primad import pde
        >>> network = pde.FNO(width=4, modes=3, layers=2, decoder=pde.MLP(8, 1))
        >>> sorted(network.init_in_family(0, 2, 20, 1))
        ['decoder', 'layers', 'lift', 'shift']
    """

    width: int = 16
    modes: int = 8
    layers: int = 3
    decoder: Network = HALF
    padding: float = 0.25
    along: int = 0
    functions: int = 1

    def __post_init__(self) -> None:
        check_positive(self, whole=("width", "modes", "layers", "functions"))
        check_network(self, "decoder", self.decoder)
        if not 0.0 <= self.padding <= 1.0:
            raise ProblemError(f"FNO: padding is from 0 to 1, got {self.padding!r}", fix="leave it out, or write 0.25.")

    def init_in_family(self, key: int, inputs: int, numbers: int, outputs: int) -> Tree:
        """Return parameters to begin with, of the layers and the decoder.

        Raises:
            ProblemError: if there are fewer modes than are mixed, or no such coordinate.
        """
        sensors, rest = divmod(numbers, self.functions)
        most = self._length(sensors) // 2 + 1
        if rest or not 0 <= self.along < inputs or self.modes > most:
            what = f"{self.modes} modes of {sensors} sensors, which have {most}"
            if self.modes <= most:
                what = f"{numbers} values for {self.functions} functions of the coordinate {self.along} of {inputs}"
            raise ProblemError(
                f"FNO: {what}",
                fix="ask for fewer modes, or for functions with more sensors; `functions` and `along` say how many "
                "functions there are, with as many sensors each, and which coordinate they are of.",
            )
        rng, width = generator(2 * key), self.width

        def drawn(*shape: int, fan: int) -> Array:
            found: Array = rng.standard_normal(shape) / np.sqrt(fan)
            return found

        layers = [
            {
                "modes": drawn(2, self.modes, width, width, fan=2 * width),  # real and imaginary parts
                "matrix": drawn(width, width, fan=width),
                "bias": np.zeros(width),
            }
            for _ in range(self.layers)
        ]
        return {
            "lift": drawn(self.functions + 1, width, fan=self.functions + 1),
            "shift": np.zeros(width),
            "layers": layers,
            "decoder": self.decoder.init(2 * key + 1, inputs + width, outputs),
        }

    def misfit(self, places: Sequence[str], coordinates: Sequence[str]) -> ProblemError | None:
        """Return that functions are of another coordinate than `along` says, or of one that repeats."""
        place = places[self.along] if 0 <= self.along < len(places) else None
        wrong = [name for name in coordinates if name != place]
        if not wrong:
            return None
        there = places.index(wrong[0]) if wrong[0] in places else None
        return ProblemError(
            f"FNO: its layers are read along {place}, and there are functions of {wrong[0]}",
            why=f"along={self.along} counts what a network gets of a point: {', '.join(places)}.",
            fix="take pde.DeepONet(): where a coordinate repeats, a network gets its cosine and sine."
            if there is None
            else f"write along={there}; of functions of several coordinates take pde.DeepONet().",
        )

    def apply_in_family(self, params: Tree, x: Any, numbers: Any) -> Any:
        """Return the outputs at a point for the function that numbers tell."""
        found = self._at_sensors(params, numbers)
        there = spline(np.linspace(-1, 1, found.shape[0]), found.T, DEGREE)(x[self.along])
        return self.decoder.apply(params["decoder"], concatenate([x, there]))

    def _at_sensors(self, params: Tree, numbers: Any) -> Any:
        """Return what the layers make of functions: their values at the sensors, (sensors, width)."""
        values = reshape(numbers, (self.functions, -1))
        sensors = values.shape[1]
        grid = np.linspace(-1, 1, sensors)
        h = concatenate([values, grid[None]]).T @ params["lift"] + params["shift"]
        h = np.pad(h, ((0, self._length(sensors) - sensors), (0, 0)))
        for place, layer in enumerate(params["layers"]):
            low = np.fft.rfft(h, axis=0)[: self.modes]
            mixed = np.einsum("kw,kwo->ko", low, layer["modes"][0] + 1j * layer["modes"][1])
            h = np.fft.irfft(mixed, h.shape[0], axis=0) + h @ layer["matrix"] + layer["bias"]
            h = h if place == self.layers - 1 else np.tanh(h)
        return h[:sensors]

    def _length(self, sensors: int) -> int:
        return sensors + round(self.padding * sensors)

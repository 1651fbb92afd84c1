"""Networks that stand for unknown functions: parameters are trees, and one point goes in at a time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.nn.activations import silu, softmax
from primad.nn.initializers import xavier_normal
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.pde.geometry.point_arguments import as_vector
from primad.pde.geometry.sampling import Array, generator
from primad.pde.networks.own_activations import check_activation

__all__ = ["MLP", "Complex", "Fourier", "Mixture", "Network", "Separable"]

Tree = Any
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "sine": np.sin, "swish": silu}


def check_positive(owner: Any, *names: str, whole: tuple[str, ...] = ()) -> None:
    """Raise unless attributes of a network are positive numbers, or integers.

    Raises:
        ProblemError: if one is not.
    """
    for name in (*names, *whole):
        value, kinds = getattr(owner, name), (int, np.integer) if name in whole else (int, float, np.number)
        number = isinstance(value, kinds) and not isinstance(value, bool)
        if not number or not value > 0:
            what = "positive" if number else f"a positive {'integer' if name in whole else 'number'}"
            fix = _sizes_meant(value) or f"write {name}=10, say."
            raise ProblemError(f"{type(owner).__name__}: {name} must be {what}, got {value!r}", fix=fix)


def _sizes_meant(value: Any) -> str:
    """Return what to write for a list of the sizes of all layers."""
    hidden = list(value)[1:-1] if isinstance(value, (list, tuple)) else []
    if not hidden:
        return ""
    return f"write MLP(width={hidden[0]}, depth={len(hidden)}): a problem knows how many inputs and outputs there are."


def check_network(owner: Any, name: str, value: Any) -> None:
    """Raise unless a value is a network.

    Raises:
        ProblemError: if it is none.
    """
    if not isinstance(value, Network):
        got = f"{value.__name__}, which is a class" if isinstance(value, type) else type(value).__name__
        raise ProblemError(
            f"{type(owner).__name__}: {name} is a network, got {got}", fix="pass MLP(16, 2), or another one."
        )


def _check_chosen(what: str, value: str, known: Any) -> None:
    if value not in known:
        raise ProblemError(
            f"there is no {what} {value!r}", fix=suggestion(str(value), known) or f"choose one of {', '.join(known)}."
        )


class Network(ABC):
    """A function of a point with parameters: what `Problem` takes in place of a network of primad's.

    Inputs are coordinates that were moved to [−1, 1], or cosine and sine where the problem is periodic.
    """

    @abstractmethod
    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Return parameters to begin with, float64.

        Args:
            key: decides them.
            inputs: how many numbers a point is.
            outputs: how many numbers the function returns.
        """

    @abstractmethod
    def apply(self, params: Tree, x: Any) -> Any:
        """Return the outputs at a point, both vectors."""

    def init_in_family(self, key: int, inputs: int, numbers: int, outputs: int) -> Tree:
        """Return parameters to begin with where so many numbers tell which function of a family is meant."""
        return self.init(key, inputs + numbers, outputs)

    def apply_in_family(self, params: Tree, x: Any, numbers: Any) -> Any:
        """Return the outputs at a point for the function of a family that numbers tell: further inputs here."""
        return self.apply(params, concatenate([x, numbers]))

    def misfit(self, places: Sequence[str], coordinates: Sequence[str]) -> ProblemError | None:
        """Return what is wrong where the network is that of a family: nothing for most.

        Args:
            places: what its inputs are, names of coordinates or "cos x", in their order.
            coordinates: of which the functions of the family are.
        """
        return None


@dataclass(frozen=True)
class Fourier:
    """Random Fourier features (Tancik et al. 2020): cosines and sines of random combinations of the inputs.

    Attributes:
        count: how many combinations; each gives a cosine and a sine.
        scale: standard deviation of the frequencies: larger for solutions with finer detail.
        seed: decides them; they are not trained.
    """

    count: int = 32
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(self, "scale", whole=("count",))

    def apply(self, x: Any) -> Any:
        """Return the features of a point."""
        frequencies = self.scale * generator(self.seed).standard_normal((x.shape[0], self.count))
        phase = x @ frequencies
        return concatenate([np.cos(phase), np.sin(phase)])


@dataclass(frozen=True)
class MLP(Network):
    """A multilayer perceptron.

    Attributes:
        width: neurons of a hidden layer.
        depth: how many hidden layers.
        activation: "tanh", "sine" or "swish"; or a smooth function of arrays, element by element, such as
            `primad.nn.softplus`.
        form: "plain"; "residual", whose layers add to what they get; "gated", whose layers mix two encodings of the
            point (Wang, Teng & Perdikaris, SIAM J. Sci. Comput. 43 (2021)).
        features: what comes before the first layer: `Fourier`, or None.
        frequency: what the first layer of a "sine" network multiplies (Sitzmann et al. 2020 take 30).

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> network = pde.MLP(width=8, depth=2)
        >>> params = network.init(0, 2, 1)
        >>> network.apply(params, np.array([0.5, -0.5])).shape
        (1,)
    """

    width: int = 20
    depth: int = 3
    activation: Literal["tanh", "sine", "swish"] | Callable[[Any], Any] = "tanh"
    form: Literal["plain", "residual", "gated"] = "plain"
    features: Fourier | None = None
    frequency: float = 3.0

    def __post_init__(self) -> None:
        check_positive(self, "frequency", whole=("width", "depth"))
        if self.features is not None and not isinstance(self.features, Fourier):
            raise ProblemError(
                f"MLP: features are a pde.Fourier or None, got {self.features!r}",
                fix="write features=pde.Fourier(count=32, scale=1.0).",
            )
        if callable(self.activation):
            check_activation(self.activation)
        else:
            _check_chosen("activation", self.activation, ACTIVATIONS)
        _check_chosen("form", self.form, ("plain", "residual", "gated"))

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Return parameters to begin with: Glorot's normal weights, small random shifts of the first layer."""
        rng = generator(key)
        first = inputs if self.features is None else 2 * self.features.count
        sizes = [first, *[self.width] * self.depth, outputs]
        layers = [self._layer(rng, n, m, i == 0) for i, (n, m) in enumerate(pairwise(sizes))]
        if self.form != "gated":
            return {"layers": layers}
        return {"layers": layers, "gates": [self._layer(rng, first, self.width, True) for _ in range(2)]}

    def _layer(self, rng: np.random.Generator, inputs: int, outputs: int, first: bool) -> Tree:
        if self.activation == "sine":
            bound = 1 / inputs if first else math.sqrt(6 / inputs)
            weights = rng.uniform(-bound, bound, (inputs, outputs))
            return {"weights": weights * (self.frequency if first else 1.0), "bias": rng.uniform(-1, 1, outputs)}
        bias = rng.uniform(-1, 1, outputs) if first else np.zeros(outputs)
        return {"weights": xavier_normal(rng, (inputs, outputs)), "bias": bias}

    def apply(self, params: Tree, x: Any) -> Any:
        """Return the outputs at a point."""
        activation = self.activation if callable(self.activation) else ACTIVATIONS[self.activation]
        if self.features is not None:
            x = self.features.apply(x)

        def through(layer: Tree, a: Any) -> Any:
            return activation(a @ layer["weights"] + layer["bias"])

        *hidden, last = params["layers"]
        a = through(hidden[0], x)
        gates = [through(gate, x) for gate in params.get("gates", ())]
        for layer in hidden[1:]:
            if self.form == "residual":
                a = a + through(layer, a)
            elif gates:
                mixed = through(layer, a)
                a = gates[0] + mixed * (gates[1] - gates[0])
            else:
                a = through(layer, a)
        return a @ last["weights"] + last["bias"]


@dataclass(frozen=True)
class Separable(Network):
    """A sum of products of functions of one coordinate each (Cho et al., SPINN, 2023).

    Attributes:
        rank: how many products.
        factor: the network of each coordinate.

    Example:
        >>> from primad import pde
        >>> params = pde.Separable(rank=4, factor=pde.MLP(8, 1)).init(0, 3, 1)
        >>> len(params)
        3
    """

    rank: int = 16
    factor: Network = MLP(16, 2)

    def __post_init__(self) -> None:
        check_positive(self, whole=("rank",))
        check_network(self, "factor", self.factor)

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Return parameters to begin with, of one network for each coordinate."""
        return [self.factor.init(key * inputs + i, 1, self.rank * outputs) for i in range(inputs)]

    def apply(self, params: Tree, x: Any) -> Any:
        """Return the outputs at a point."""
        product: Any = 1.0
        for i, one in enumerate(params):
            product = product * self.factor.apply(one, x[i : i + 1])
        return np.sum(reshape(product, (self.rank, -1)), axis=0)


@dataclass(frozen=True)
class Mixture(Network):
    """A mixture of bases: networks, each as far as a gate trusts it at the point (Jacobs et al. 1991).

    Attributes:
        bases: the networks.
        gate: a network with one output for each of them, of which the softmax is taken.

    Example:
        >>> from primad import pde
        >>> smooth, fine = pde.MLP(16, 2), pde.MLP(16, 2, features=pde.Fourier(16, scale=4.0))
        >>> len(pde.Mixture((smooth, fine)).init(0, 2, 1)["bases"])
        2
    """

    bases: Sequence[Network]
    gate: Network = MLP(8, 1)

    def __post_init__(self) -> None:
        if not isinstance(self.bases, (list, tuple)) or not self.bases:
            raise ProblemError("a mixture needs networks in a list", fix="write Mixture((MLP(16, 2), MLP(8, 1))).")
        for one in (*self.bases, self.gate):
            check_network(self, "each basis, and the gate,", one)

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Return parameters to begin with, of all networks and the gate."""
        count = len(self.bases)
        bases = [one.init(key * (count + 1) + i, inputs, outputs) for i, one in enumerate(self.bases)]
        return {"bases": bases, "gate": self.gate.init(key * (count + 1) + count, inputs, count)}

    def apply(self, params: Tree, x: Any) -> Any:
        """Return the outputs at a point."""
        trusts = softmax(self.gate.apply(params["gate"], x))
        return sum(trusts[i] * one.apply(params["bases"][i], x) for i, one in enumerate(self.bases))


@dataclass(frozen=True)
class Complex(Network):
    """Complex unknowns: a real network with two outputs for each, its real and its imaginary part.

    Attributes:
        parts: the network of the parts.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> network = pde.Complex(pde.MLP(width=8, depth=2))
        >>> network.apply(network.init(0, 2, 1), np.array([0.5, -0.5])).dtype
        dtype('complex128')
    """

    parts: Network = MLP(24, 2)

    def __post_init__(self) -> None:
        check_network(self, "parts", self.parts)

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Return parameters to begin with, of the network of the parts."""
        return self.parts.init(key, inputs, 2 * outputs)

    def apply(self, params: Tree, x: Any) -> Any:
        """Return the outputs at a point, complex."""
        pairs = reshape(self.parts.apply(params, x), (-1, 2))
        return pairs[:, 0] + 1j * pairs[:, 1]


@dataclass(frozen=True)
class Inputs:
    """What a network gets of a point: coordinates in [−1, 1]; of periodic ones the cosine and the sine.

    Attributes:
        names: of the coordinates.
        bounds: their lowest and highest values, one a row.
        periodic: names of those whose functions repeat at the bounds.
    """

    names: tuple[str, ...]
    bounds: Array
    periodic: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """How many numbers a network gets."""
        return len(self.places)

    @property
    def places(self) -> list[str]:
        """What these numbers are, by names of coordinates, or "cos x" and "sin x"."""
        found = [[f"cos {name}", f"sin {name}"] if name in self.periodic else [name] for name in self.names]
        return [place for places in found for place in places]

    def of(self, point: Any) -> Any:
        """Return the numbers of a point, which is a mapping from names to numbers."""
        if not self.periodic:
            low, high = self.bounds.T
            return (as_vector(point, self.names) - (low + high) / 2) / ((high - low) / 2)
        found = []
        for name, (low, high) in zip(self.names, self.bounds, strict=True):
            middle, half = (low + high) / 2, (high - low) / 2
            moved = (point[name] - middle) / half
            found += [np.cos(np.pi * moved), np.sin(np.pi * moved)] if name in self.periodic else [moved]
        return np.stack(found)

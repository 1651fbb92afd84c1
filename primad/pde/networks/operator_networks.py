"""Networks for a family of problems: what depends on the function, and what depends on the point, apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.numpy.shapes.shaping import reshape
from primad.pde.networks.field_networks import MLP, Network, check_network, check_positive

__all__ = ["DeepONet"]

Tree = Any
HALF = MLP(40, 2)
"""What the branch and the trunk are, if nothing else is said."""


@dataclass(frozen=True)
class DeepONet(Network):
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

    def init(self, key: int, inputs: int, outputs: int) -> Tree:
        """Raise: without a family there is nothing for the branch.

        Raises:
            ProblemError: always.
        """
        raise ProblemError(
            "a DeepONet is the network of a family of problems, and the problem has none",
            fix='say what functions there are, family={"v": pde.GaussianProcess("x")}, and let the equation ask for v; '
            "or take pde.MLP().",
        )

    def apply(self, params: Tree, x: Any) -> Any:
        """Raise, as `init` does.

        Raises:
            ProblemError: always.
        """
        return self.init(0, 0, 0)

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

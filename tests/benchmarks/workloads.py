"""The workloads, defined once: sizes, seeds and arrays. Plain NumPy, so that any interpreter can load them."""

from dataclasses import dataclass, field

import numpy as np

NU = 0.01 / np.pi


@dataclass(frozen=True)
class Workload:
    """A computation that every system is timed on.

    Attributes:
        name: of the workload.
        kind: which residual is differentiated; each side has one function per kind.
        sizes: widths of the network's layers.
        points: number of points.
        gradient: whether the parameter gradient is computed with the value.
        order: highest order, for kind 'order'.
        forward_passes: matrix products of the best known method, in forward passes (for the flop limit).
    """

    name: str
    kind: str
    sizes: tuple[int, ...]
    points: int
    gradient: bool = True
    order: int = 0
    forward_passes: float = 1.0
    tags: dict[str, str] = field(default_factory=dict)

    def parameters(self, dtype: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return weights and biases."""
        rng = np.random.default_rng(0)
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return [
            ((rng.normal(size=(n, m)) / np.sqrt(n)).astype(dtype), (0.1 * rng.normal(size=m)).astype(dtype))
            for n, m in pairs
        ]

    def inputs(self, dtype: str) -> np.ndarray:
        """Return the points."""
        return np.random.default_rng(1).uniform(-1.0, 1.0, (self.points, self.sizes[0])).astype(dtype)

    def matmul_flops(self) -> float:
        """Return the flops of the matrix products that the best known method needs."""
        forward = 2.0 * self.points * sum(n * m for n, m in zip(self.sizes[:-1], self.sizes[1:], strict=True))
        return forward * self.forward_passes


def _network(inputs: int, width: int, depth: int, outputs: int = 1) -> tuple[int, ...]:
    return (inputs, *(width,) * depth, outputs)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("burgers", "burgers", _network(2, 64, 4), 10_000, forward_passes=12),
        Workload("burgers-large", "burgers", _network(2, 64, 4), 1_000_000, forward_passes=12),
        *(
            Workload(f"order-{k}", "order", _network(2, 64, 4), 1000, order=k, gradient=False, forward_passes=k + 1)
            for k in (2, 4, 6, 8, 10)
        ),
        *(
            Workload(f"order-{k}-gradient", "order", _network(2, 64, 4), 1000, order=k, forward_passes=3 * (k + 1))
            for k in (2, 4)
        ),
        Workload("laplacian", "laplacian", _network(100, 64, 4), 256, gradient=False, forward_passes=67),
        Workload("laplacian-gradient", "laplacian", _network(100, 64, 4), 256, forward_passes=201),
        Workload("laplacian-wide", "laplacian", (50, 768, 768, 512, 512, 1), 256, gradient=False, forward_passes=52),
        Workload("plate", "plate", _network(2, 50, 4), 10_000, forward_passes=27),
    )
}

"""The workloads, defined once: sizes, seeds and arrays. Plain NumPy, so that any interpreter can load them."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Workload:
    """A computation that every system is timed on.

    Attributes:
        name: of the workload.
        group: the name that asks for it on the command line, with others of its group.
        kind: what is computed; each side has functions by kind.
        sizes: widths of the network's layers, inputs first.
        points: number of points, or of unknowns; of matrices the number of rows.
        stack: number of matrices, if there are several.
        gradient: whether the parameter gradient is computed with the value.
        order: highest order, for kind 'order'.
        activation: of the network.
        dtypes: it is run in.
        must, reach: the ratios to the best peer to reach, and to reach for.
        against: the peer that these are ratios to, where it is not the best of all.
        peer_gigabytes: memory that the peers' best form needs, where that is more than a common machine has.
        looped: whether a loop is one of plain Python, where a system has another form for it.
        note: what the table says about the targets beside the ratios.
    """

    name: str
    group: str
    kind: str
    sizes: tuple[int, ...] = ()
    points: int = 0
    stack: int = 0
    gradient: bool = True
    order: int = 0
    activation: str = "tanh"
    dtypes: tuple[str, ...] = ("float64",)
    must: float | None = None
    reach: float | None = None
    against: str = ""
    peer_gigabytes: float = 0.0
    looped: bool = False
    note: str = ""

    def arguments(self, dtype: str) -> tuple[Any, ...]:
        """Return the arguments of the function that is timed: arrays, and lists of (weights, bias)."""
        rng = np.random.default_rng(0)
        if self.group in ("loops", "long"):
            return tuple(x.astype(dtype) for x in of_loop(self.kind, self.points))
        if self.group == "linear-algebra":
            return tuple([x.astype(dtype) for x in of_matrices(self.kind, self.points, self.stack)])
        if self.group == "everyday":
            given = of_everyday(self.kind, self.points)
            return tuple([x.astype(dtype) if x.dtype.kind == "f" else x for x in given])
        if self.group == "simulations":
            from simulations import of_simulations

            found = of_simulations(self.kind, self.points)
            return tuple([x.astype(dtype) if x.dtype.kind == "f" else x for x in found])
        if self.group == "complex":
            from waves import of_waves  # beside this module in the processes that run workloads

            width = np.dtype(f"c{2 * np.dtype(dtype).itemsize}")
            return tuple([x.astype(width if x.dtype.kind == "c" else dtype) for x in of_waves(self.kind, self.points)])
        if self.group == "plain":
            return (rng.uniform(0.1, 0.9, self.points).astype(dtype),)
        if self.kind == "chain":
            return (float(np.dtype(dtype).type(0.3)),)
        if self.kind.startswith("rosenbrock"):
            vectors = rng.uniform(-1.0, 1.0, (2, self.points)).astype(dtype)
            return tuple(vectors) if self.kind == "rosenbrock-hvp" else (vectors[0],)
        parameters = []
        for n, m in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            weights = rng.normal(size=(n, m)) / np.sqrt(n)
            parameters.append((weights.astype(dtype), (0.1 * rng.normal(size=m)).astype(dtype)))
        points = np.random.default_rng(1).uniform(-1.0, 1.0, (self.points, self.sizes[0])).astype(dtype)
        return parameters, points

    def bytes(self, dtype: str) -> float:
        """Return the bytes that any method moves: the arguments once, and the result."""
        if self.kind == "chain" or self.group in (
            "loops",
            "long",
            "linear-algebra",
            "everyday",
            "plain",
            "complex",
            "simulations",
        ):
            return 0.0
        if self.kind.startswith("rosenbrock"):
            return float(sum(x.nbytes for x in self.arguments(dtype)) + self.points * np.dtype(dtype).itemsize)
        weights = sum((n + 1) * m for n, m in zip(self.sizes[:-1], self.sizes[1:], strict=True))
        return float((weights * (1 + self.gradient) + self.points * self.sizes[0]) * np.dtype(dtype).itemsize)


def of_loop(kind: str, points: int) -> tuple[Any, ...]:
    """Return the arguments of a loop."""
    rng = np.random.default_rng(0)
    if kind.startswith("lorenz"):
        return np.array([10.0, 28.0, 8 / 3]), np.array([1.0, 1.0, 1.0])
    if kind == "lstm":
        return rng.normal(size=(1024 + 256, 1024)) / 36, 0.1 * rng.normal(size=1024), rng.normal(size=1024)
    if kind == "reaction-diffusion":
        return (rng.uniform(0.4, 0.6, (64, 64)),)
    if kind == "matrices":
        return (rng.normal(size=(3, 3)) / 3,)
    if kind == "long":
        return (rng.uniform(0.1, 1.0, points),)  # negative ones grow without limit
    return (rng.uniform(-5.0, 5.0, points),)


def of_matrices(kind: str, points: int, stack: int) -> tuple[Any, ...]:
    """Return the arguments of a function of matrices."""
    rng = np.random.default_rng(0)
    lead = (stack,) if stack else ()
    if kind == "evidence":
        x = np.sort(rng.uniform(0.0, 10.0, points))
        y = np.sin(x) + 0.1 * rng.normal(size=points)
        return np.array([0.1, -0.2, -2.0]), (x[:, None] - x) ** 2, np.eye(points), y
    if kind == "mixture":
        factors = np.eye(DIMENSIONS) + 0.2 * np.tril(rng.normal(size=(PARTS, DIMENSIONS, DIMENSIONS)))
        means = 2.0 * rng.normal(size=(PARTS, DIMENSIONS))
        return rng.normal(size=PARTS), means, factors, 3.0 * rng.normal(size=(points, DIMENSIONS))
    a = rng.normal(size=(*lead, points, points))
    if kind == "eigh":
        return a + np.swapaxes(a, -1, -2), rng.normal(size=a.shape)
    if kind == "svd":
        return a, rng.normal(size=a.shape)
    a += 2.0 * points**0.5 * np.eye(points)
    return (a,) if kind == "logdet" else (a, rng.normal(size=(*lead, points, 1)))


def of_everyday(kind: str, points: int) -> tuple[Any, ...]:
    """Return the arguments of one of the everyday programs."""
    rng = np.random.default_rng(0)
    if kind == "forces":
        lattice = np.stack(np.meshgrid(*[np.arange(7.0)] * 3), -1).reshape(-1, 3)[:points]
        return (1.2 * lattice + 0.05 * rng.normal(size=lattice.shape), *np.triu_indices(points, 1))
    if kind == "logsumexp":
        return (rng.normal(size=points),)
    if kind == "attention":
        return (*rng.normal(size=(3, 64, 64)) / 8, rng.normal(size=(points, 64)))
    if kind == "convolution":
        weights = rng.normal(size=(8, 1, 3, 3)) / 3, rng.normal(size=(16, 8, 3, 3)) / 8
        return (*weights, rng.normal(size=(points, 1, 28, 28)))
    x = rng.normal(size=(points, 20))
    return 0.1 * rng.normal(size=20), x, np.sign(x[:, 0] + 0.5 * rng.normal(size=points))


def network(inputs: int, width: int, depth: int, outputs: int = 1) -> tuple[int, ...]:
    """Return the widths of the layers of a network with `depth` hidden layers."""
    return (inputs, *(width,) * depth, outputs)


BURGERS = network(2, 64, 4)
BOTH = ("float64", "float32")
PARTS, DIMENSIONS = 16, 4
"""Of the mixture."""
PLAIN = (
    "valley", "likelihood", "softmax", "normalized", "layer", "rolled", "quadratic", "angles", "lengths", "pieces",
    "clipped", "matrix", "solved", "stacked", "running", "polynomial", "distances", "entropy", "single", "absolute",
    "powers",
)  # fmt: skip
"""The small functions of which plain gradients are taken."""
SIMULATED = (
    ("kalman", 200, ("", "-in-python")), ("forward-pass", 500, ("", "-in-python")),
    ("transport", 200, ("", "-in-python")), ("rollout", 200, ("", "-in-python")), ("bodies", 64, ("", "-in-python")),
    ("option", 200, ("", "-in-python")), ("basket", 100_000, ("",)), ("assembly", 40_000, ("",)),
    ("elastic", 10_000, ("",)), ("spline", 10_000, ("",)), ("picture", 256, ("",)),
)  # fmt: skip
"""Simulations, how large, and whether their loop is run as a scan or written in plain Python too."""

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("burgers", "burgers", "burgers", BURGERS, 10_000, dtypes=BOTH, must=2, reach=3,
                 note="reach for 75 % of the limit"),
        Workload("burgers-large", "burgers-large", "burgers", BURGERS, 1_000_000, peer_gigabytes=22,
                 note="must: < 500 MB, ≤ 110 × the time of burgers; reach for 200 MB"),
        Workload("gauss-newton", "gauss-newton", "gauss-newton", network(2, 20, 4), 10_000, must=2,
                 note="a step with JᵀJ assembled; must: 60 % of the limit, with half of JᵀJ"),
        Workload("gauss-newton-large", "gauss-newton", "gauss-newton", network(2, 20, 4), 100_000, peer_gigabytes=4,
                 note="must: the memory of gauss-newton, which has a tenth of the points; all rows take 1.1 GB"),
        Workload("gauss-newton-products", "gauss-newton", "gauss-newton-products", BURGERS, 10_000, must=3,
                 note="a step by ten products with JᵀJ, without the matrix"),
        Workload("siren", "siren", "burgers", BURGERS, 10_000, activation="sin", must=2, reach=3),
        *(
            Workload(f"order-{k}", "order", "order", BURGERS, 1000, order=k, gradient=False, must=1,
                     note="must: first call 0.3 s" if k == 8 else "")
            for k in range(1, 11)
        ),
        *(
            Workload(f"order-{k}-gradient", "order", "order", BURGERS, 1000, order=k, must=1,
                     note="must: first call 1 s" if k == 8 else "")
            for k in range(1, 11)
        ),
        Workload("laplacian", "laplacian", "laplacian", network(100, 64, 4), 256, gradient=False, must=2),
        Workload("laplacian-gradient", "laplacian", "laplacian", network(100, 64, 4), 256, must=2),
        Workload("laplacian-wide", "laplacian-wide", "laplacian", (50, 768, 768, 512, 512, 1), 256, gradient=False,
                 must=1, note="reach for 90 % of the limit"),
        Workload("plate", "plate", "plate", network(2, 50, 4), 10_000, must=1, reach=3),
        Workload("navier-stokes", "navier-stokes", "navier-stokes", network(4, 50, 4, 4), 5000, must=2,
                 reach=3),
        Workload("rosenbrock-gradient", "small", "rosenbrock-gradient", points=1000, gradient=False, must=1, reach=3),
        Workload("rosenbrock-hvp", "small", "rosenbrock-hvp", points=1000, gradient=False, must=1, reach=3),
        Workload("small-network", "small", "fit", network(2, 20, 3), 64, must=1, reach=3),
        Workload("eager", "eager", "chain", order=200, gradient=False, must=1 / 1.5, reach=1,
                 against="HIPS autograd", note="200 operations, one call"),
        Workload("lorenz", "loops", "lorenz", must=10, reach=30, against="JAX", note="reach for 2 × the time of C"),
        Workload("lorenz-hessian", "loops", "lorenz-hessian", must=10, against="JAX",
                 note="reach for 3 × the time of lorenz"),
        Workload("lorenz-python", "loops", "lorenz-python", note="must: first call 5 s, then 3 × lorenz"),
        Workload("reaction-diffusion", "loops", "reaction-diffusion", must=2, against="JAX"),
        Workload("lstm", "loops", "lstm", must=1, reach=2, against="PyTorch"),
        Workload("matrices", "loops", "matrices", must=20, against="JAX", note="reach for 0.5 ms"),
        Workload("newton", "loops", "newton", points=10_000, must=3, against="JAX"),
        Workload("long", "long", "long", points=1000, note="a million steps of a thousand numbers; must: < 500 MB"),
        *(
            Workload(f"{kind}-{n}", "linear-algebra", kind, points=n, must=1)
            for kind in ("logdet", "solve", "eigh", "svd")
            for n in ((20, 200, 1000) if kind in ("logdet", "solve") else (20, 200))
        ),
        *(
            Workload(f"{kind}-stack", "linear-algebra", kind, points=4, stack=10_000, must=1)
            for kind in ("logdet", "solve", "eigh", "svd")
        ),
        Workload("evidence", "linear-algebra", "evidence", points=200, must=1),
        Workload("mixture", "linear-algebra", "mixture", points=10_000, must=2),
        Workload("forces", "everyday", "forces", points=300, must=2),
        Workload("logsumexp", "everyday", "logsumexp", points=1_000_000, must=1),
        Workload("attention", "everyday", "attention", points=512, must=1.5),
        Workload("convolution", "everyday", "convolution", points=16, must=2),
        Workload("logistic", "everyday", "logistic", points=10_000, must=2),
        Workload("filtered", "complex", "filtered", points=2**16, must=1, reach=3),
        Workload("blurred", "complex", "blurred", points=256, must=1, reach=3),
        Workload("schrodinger", "complex", "schrodinger", points=1024, must=1, reach=3),
        *(Workload(f"pulses-{n}", "complex", "pulses", points=n, must=1, reach=3) for n in (2, 10)),
        *(Workload(f"pulses-hessian-{n}", "complex", "pulses-hessian", points=n, must=1, reach=3) for n in (2, 10)),
        *(Workload(f"layers-{n}", "complex", "layers", points=n, must=1, reach=3) for n in (2, 100)),
        *(Workload(f"gratings-{n}", "complex", "gratings", points=n, must=1, reach=3) for n in (2, 100)),
        Workload("products", "complex", "products", points=512, must=1, reach=3),
        Workload("sizes", "complex", "sizes", points=1_000_000, must=1, reach=3),
        *(
            Workload(f"{kind}{form}", "simulations", kind, points=points, must=1.3, looped=form != "")
            for kind, points, forms in SIMULATED
            for form in forms
        ),
        *(
            Workload(f"plain-{kind}", "plain", kind, points=10, gradient=False, reach=1, against="HIPS autograd")
            for kind in PLAIN
        ),
        Workload("start-import", "start", "import", BURGERS, 10_000, must=2, reach=4,
                 against="JAX"),
        Workload("start-gradient", "start", "burgers", BURGERS, 10_000, must=2, reach=4, against="JAX",
                 note="import and first gradient of burgers"),
    )
}  # fmt: skip

GROUPS = tuple(dict.fromkeys(workload.group for workload in WORKLOADS.values()))


def chosen(names: Sequence[str], parser: argparse.ArgumentParser) -> list[Workload]:
    """Return the workloads that a command line asks for, by their names or groups; all if it names none."""
    for name in names:
        if name not in WORKLOADS and name not in GROUPS:
            parser.error(f"unknown workload {name!r}; there are {', '.join(dict.fromkeys([*GROUPS, *WORKLOADS]))}")
    return [w for w in WORKLOADS.values() if not names or w.name in names or w.group in names]

"""Solve a problem by finite elements with one system: `serve.py SYSTEM PROBLEM`, printing JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SPENT = 0.5
"""Processor seconds of the calls that one measurement is of, at least. Chosen: a tick of the clock is a microsecond."""
LAME = (0.9, 0.75)
"""Lamé's constants of the elastic plate."""
PROBES = np.random.default_rng(0).uniform(0.05, 0.95, (20, 3))
"""Points at which solutions are compared; the first coordinates in the plane."""
SIZES = {"poisson P1": 128, "poisson P2": 64, "elastic P2": 32, "poisson 3-D P1": 20}
"""Elements along each side, by problem: a million entries of a matrix at most."""


def by_primad(problem: str) -> Callable[[], tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Return what prepares the problem, and returns what assembles and solves, and what takes the result to probes."""
    from primad import pde

    size, degree = 1 / SIZES[problem], int(problem[-1])
    if problem == "poisson 3-D P1":
        box = pde.Box(x=(0, 1), y=(0, 1), z=(0, 1))
        stated = pde.Problem(lambda u, k: k * pde.laplacian(u) + 1, box, [pde.Dirichlet(u=0)], constants={"k": 1.0})
    elif problem == "elastic P2":
        (first, second) = LAME
        along, both = first + 2 * second, first + second

        def at_rest(u: Any, v: Any, load: Any) -> Any:
            return (
                along * u.xx + second * u.yy + both * v.d("xy"),
                along * v.yy + second * v.xx + both * u.d("xy") - load,
            )

        def free(u: Any, v: Any, n: Any) -> Any:
            shear = second * (u.y + v.x)
            return (along * u.x + first * v.y) * n.x + shear * n.y, (along * v.y + first * u.x) * n.y + shear * n.x

        conditions = [pde.Dirichlet(u=0, v=0, on="x-"), pde.Condition(free, on=["x+", "y-", "y+"])]
        plate = pde.Box(x=(0, 1), y=(0, 1))
        stated = pde.Problem(at_rest, plate, conditions, unknowns="u v", constants={"load": 1.0})
    else:
        square = pde.Box(x=(0, 1), y=(0, 1))
        stated = pde.Problem(lambda u, k: k * pde.laplacian(u) + 1, square, [pde.Dirichlet(u=0)], constants={"k": 1.0})

    def prepared() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
        elements = pde.Elements(stated, size, degree)

        def probed(found: Any) -> Any:
            there = elements.interpolation(PROBES[:, : stated.domain.dimension])
            return there @ (found["v"] if isinstance(found, dict) else found)

        return elements.values, probed

    return prepared


def by_scikit_fem(problem: str) -> Callable[[], tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Return the same of scikit-fem, as its examples are written."""
    import skfem
    from skfem.helpers import ddot, dot, eye, grad, sym_grad, trace

    line = np.linspace(0, 1, SIZES[problem] + 1)

    @skfem.BilinearForm
    def laplace(u: Any, v: Any, _: Any) -> Any:
        return dot(grad(u), grad(v))

    @skfem.LinearForm
    def one(v: Any, _: Any) -> Any:
        return 1.0 * v

    @skfem.BilinearForm
    def stress(u: Any, v: Any, _: Any) -> Any:
        strain = sym_grad(u)
        return ddot(2 * LAME[1] * strain + eye(LAME[0] * trace(strain), 2), sym_grad(v))

    @skfem.LinearForm
    def weight(v: Any, _: Any) -> Any:
        return -1.0 * v.value[1]

    def prepared() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
        elastic = problem == "elastic P2"
        mesh = skfem.MeshTet.init_tensor(line, line, line) if "3-D" in problem else _triangles(skfem, line)
        kinds = {"poisson P1": skfem.ElementTriP1, "poisson P2": skfem.ElementTriP2, "elastic P2": skfem.ElementTriP2}
        element = kinds.get(problem, skfem.ElementTetP1)()
        basis = skfem.Basis(mesh, skfem.ElementVector(element) if elastic else element)
        held = basis.get_dofs(lambda x: np.isclose(x[0], 0)) if elastic else basis.get_dofs()

        def solved() -> Any:
            matrix, load = (stress, weight) if elastic else (laplace, one)
            return skfem.solve(*skfem.condense(matrix.assemble(basis), load.assemble(basis), D=held))

        def probed(found: Any) -> Any:
            return (basis.probes(PROBES[:, : mesh.dim()].T) @ found).reshape(-1, len(PROBES))[-1]

        return solved, probed

    return prepared


def _triangles(skfem: Any, line: Any) -> Any:
    """Return a square cut along the diagonals from lower left to upper right."""
    count = len(line)
    points = np.stack([axis.ravel() for axis in np.meshgrid(line, line, indexing="ij")])
    low = np.arange(count * count).reshape(count, count)[:-1, :-1].ravel()
    cells = [(low, low + count, low + count + 1), (low, low + 1, low + count + 1)]
    return skfem.MeshTri(points, np.concatenate([np.stack(one) for one in cells], axis=1))


def main(system: str, problem: str) -> None:
    """Measure a problem, and print what was found."""
    prepared = {"primad": by_primad, "scikit-fem": by_scikit_fem}[system](problem)
    begin = time.process_time()
    solved, probed = prepared()
    middle = time.process_time()
    found = solved()
    first = time.process_time() - middle
    repeats = max(1, int(SPENT / max(first, 1e-6)))
    each = np.inf
    for _ in range(3):
        begun = time.process_time()
        for _ in range(repeats):
            solved()
        each = min(each, (time.process_time() - begun) / repeats)
    values = np.asarray(probed(found)).ravel().tolist()
    print(json.dumps({"values": values, "prepare": middle - begin, "first": first, "each": each}))


if __name__ == "__main__":
    main(*sys.argv[1:])

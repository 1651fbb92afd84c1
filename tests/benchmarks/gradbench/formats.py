"""What the messages of each evaluation hold, as arguments and results of its functions: NumPy, for every system."""

from collections.abc import Callable
from typing import Any

import numpy as np

Input = dict[str, Any]


def ode(given: Input) -> tuple[Any, ...]:
    return np.array(given["x"]), given["s"]


def det(given: Input) -> tuple[Any, ...]:
    return (np.array(given["A"]).reshape(given["ell"], given["ell"]),)


def gmm(given: Input) -> tuple[Any, ...]:
    parameters = [np.array(given[name], float) for name in ("alpha", "mu", "q", "l")]
    return *parameters, np.array(given["x"]), given["gamma"], given["m"]


def ba(given: Input) -> tuple[Any, ...]:
    """Cameras, points, weights and features are repeated; observations take cameras and points in turn."""
    n, m, p = given["n"], given["m"], given["p"]
    observations = np.arange(p)
    return (
        np.tile(given["cam"], (n, 1)),
        np.tile(given["x"], (m, 1)),
        np.full(p, given["w"]),
        np.tile(given["feat"], (p, 1)),
        observations % n,
        observations % m,
    )


def ba_errors(results: Any, given: Input) -> Any:
    errors, weights = results
    return {
        "reproj_error": {"elements": errors[0].tolist(), "repeated": len(errors)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def ba_matrix(results: Any, given: Input) -> Any:
    """The first thirty rows' ends, columns and values of the sparse matrix, and the last of each."""
    (blocks, slopes), (n, m, p) = results, (given["n"], given["m"], given["p"])
    observation = np.arange(p)[:, None]
    columns = np.concatenate(
        [
            11 * (observation % n) + np.arange(11),
            11 * n + 3 * (observation % m) + np.arange(3),
            11 * n + 3 * m + observation,
        ],
        axis=1,
    )
    of_errors, of_weights = np.repeat(columns, 2, axis=0), columns[:, -1:]
    ends = np.concatenate([15 * np.arange(2 * p + 1), 30 * p + 1 + np.arange(p)])
    entries = np.concatenate([of_errors.ravel(), of_weights.ravel()])
    values = np.concatenate([blocks.ravel(), slopes])
    shown = {"rows": ends, "cols": entries, "vals": values}
    return {name: [*found[:30].tolist(), found[-1].item()] for name, found in shown.items()}


def ht(given: Input) -> tuple[Any, ...]:
    """Without coordinates in triangles, a point belongs to a vertex; with them, to the three of a triangle."""
    data, model = given["data"], given["data"]["model"]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    hand = {name: np.array(model[name]) for name in names}
    places, us = np.array(data["correspondences"]), np.array(given["us"]).reshape(-1, 2)
    with_us = len(us) > 0
    corners = np.array(model["triangles"])[places] if with_us else places
    parents = tuple(model["parents"])
    return np.array(given["theta"]), us if with_us else None, parents, hand, corners, np.array(data["points"])


def arrays(*names: str) -> Callable[[Input], tuple[Any, ...]]:
    """Return what takes arrays by their names."""
    return lambda given: tuple(np.array(given[name], float) for name in names)


ARGUMENTS: dict[str, Callable[[Input], tuple[Any, ...]]] = {
    "hello": lambda given: (float(given),),  # type: ignore[arg-type]
    "lse": arrays("x"),
    "llsq": lambda given: (np.array(given["x"]), given["n"]),
    "ode": ode,
    "det": det,
    "kmeans": arrays("points", "centroids"),
    "gmm": gmm,
    "lstm": arrays("main_params", "extra_params", "state", "sequence"),
    "ba": ba,
    "ht": ht,
    "saddle": arrays("start"),
    "particle": arrays("w"),
}

RESULTS: dict[tuple[str, str], Callable[[Any, Input], Any]] = {
    ("gmm", "jacobian"): lambda found, given: {
        name: array.tolist() for name, array in zip(("alpha", "mu", "q", "l"), found, strict=True)
    },
    ("lstm", "jacobian"): lambda found, given: np.concatenate([array.ravel() for array in found]).tolist(),
    ("det", "gradient"): lambda found, given: found.ravel().tolist(),
    ("ba", "objective"): ba_errors,
    ("ba", "jacobian"): ba_matrix,
    ("ht", "objective"): lambda found, given: found.ravel().tolist(),
    ("ht", "jacobian"): lambda found, given: found.reshape(-1, found.shape[-1]).tolist(),
}
"""Of functions whose results are no plain number or array: what is answered."""


def result(module: str, function: str, found: Any, given: Input) -> Any:
    """Return what is answered: a value that JSON has."""
    form = RESULTS.get((module, function))
    return form(found, given) if form else np.asarray(found).tolist()

"""Mosaic's steady conduction of heat on hexahedra, with primad's derivatives."""

from typing import Any

import hexahedra
import numpy as np
from mosaic_shared.problems.thermal_mesh import InputSchema as _Inputs
from mosaic_shared.problems.thermal_mesh import OutputSchema as _Outputs
from mosaic_shared.schema_types import make_differentiable
from tesseract_core.runtime import ShapeDType

import primad

CONDUCTIVITY = 1.0
"""Of a full cell. Mosaic's."""
RESULTS = ("thermal_compliance", "identification_error")


class InputSchema(make_differentiable(_Inputs, ["rho", "source"])):
    """Densities and sources of cells, a mesh with its conditions, and temperatures to be found."""


class OutputSchema(make_differentiable(_Outputs, list(RESULTS))):
    """The work of the heat that flows in, and the squared distance from the temperatures to be found."""


def _program(inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the results as a function of what they are differentiated in, and that at the inputs."""
    cells = int(inputs["hex_mesh"]["n_faces"])
    system = hexahedra.system(inputs["hex_mesh"], inputs["boundary_conditions"], "conduction", CONDUCTIVITY)
    target = np.asarray(inputs["target_temperature"], float)[: len(system.loads)]

    def results(rho: Any, source: Any) -> dict[str, Any]:
        temperatures = system.solve(rho[:cells], source[:cells])
        missed = temperatures[: len(target)] - target
        return dict(zip(RESULTS, (np.dot(system.loads, temperatures), np.dot(missed, missed)), strict=True))

    source = np.zeros(cells)
    given = np.asarray(inputs["source"], float)
    source[: min(cells, len(given))] = given[:cells]
    return results, {"rho": np.asarray(inputs["rho"], float), "source": source if len(given) < cells else given}


def apply(inputs: InputSchema) -> OutputSchema:
    """Solve for the temperatures."""
    results, at = _program(inputs.model_dump())
    return OutputSchema(**{name: np.float32(value) for name, value in results(**at).items()})


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """Pull cotangents back; one factorisation serves the solution and its cotangents."""
    results, at = _program(inputs.model_dump())
    moving = sorted(vjp_inputs)

    def chosen(*values: Any) -> Any:
        found = results(**{**at, **dict(zip(moving, values, strict=True))})
        return {name: found[name] for name in vjp_outputs}

    _, pull = primad.vjp(chosen, *(at[name] for name in moving))
    back = pull({name: np.float64(cotangent_vector[name]) for name in vjp_outputs})
    sizes = {name: len(getattr(inputs, name)) for name in moving}
    return {name: each[: sizes[name]].astype(np.float32) for name, each in zip(moving, back, strict=True)}


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    """Say what the results are, of any inputs."""
    return {name: ShapeDType(shape=(), dtype="float32") for name in RESULTS}

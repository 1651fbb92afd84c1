"""Mosaic's linear elasticity on hexahedra, with primad's derivatives."""

from typing import Any

import hexahedra
import numpy as np
from mosaic_shared.problems.structural_mesh import InputSchema as _Inputs
from mosaic_shared.problems.structural_mesh import OutputSchema as _Outputs
from mosaic_shared.schema_types import make_differentiable
from tesseract_core.runtime import ShapeDType

import primad

MODULUS = 70.0e3
"""Young's modulus of a full cell. Mosaic's."""


class InputSchema(make_differentiable(_Inputs, ["rho"])):
    """Densities of cells, and a mesh with its conditions; values at its boundary are tractions."""


class OutputSchema(make_differentiable(_Outputs, ["compliance"])):
    """The work of the tractions."""


def _compliance(inputs: dict[str, Any]) -> Any:
    """Return the compliance as a function of the densities."""
    system = hexahedra.system(inputs["hex_mesh"], inputs["boundary_conditions"], "elasticity", MODULUS)
    cells = int(inputs["hex_mesh"]["n_faces"])
    return lambda rho: np.dot(system.loads, system.solve(rho[:cells]))


def apply(inputs: InputSchema) -> OutputSchema:
    """Solve for the displacements."""
    given = inputs.model_dump()
    return OutputSchema(compliance=np.float32(_compliance(given)(np.asarray(given["rho"], float))))


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """Pull a cotangent back; one factorisation serves the solution and its cotangent."""
    given = inputs.model_dump()
    _, pull = primad.vjp(_compliance(given), np.asarray(given["rho"], float))
    (back,) = pull(np.float64(cotangent_vector["compliance"]))
    return {"rho": back.astype(np.float32)}


def abstract_eval(abstract_inputs: InputSchema) -> dict[str, Any]:
    """Say what the result is, of any inputs."""
    return {"compliance": ShapeDType(shape=(), dtype="float32")}

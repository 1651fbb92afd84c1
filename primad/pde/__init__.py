"""Partial differential equations: fields with named derivatives, operators on them, and equations."""

from primad.pde.fields import Field, FieldAt
from primad.pde.operators import (
    advection,
    biharmonic,
    curl,
    diffusion,
    directional_derivative,
    divergence,
    gradient,
    hessian,
    laplacian,
    material_derivative,
    normal_derivative,
    strain,
)
from primad.pde.systems import CoordinateSystem, cylindrical, polar, spherical

__all__ = [
    "CoordinateSystem",
    "Field",
    "FieldAt",
    "advection",
    "biharmonic",
    "curl",
    "cylindrical",
    "diffusion",
    "directional_derivative",
    "divergence",
    "gradient",
    "hessian",
    "laplacian",
    "material_derivative",
    "normal_derivative",
    "polar",
    "spherical",
    "strain",
]


def __dir__() -> list[str]:
    return sorted(__all__)

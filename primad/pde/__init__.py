"""Partial differential equations: fields with named derivatives, operators, domains, conditions, and problems."""

from primad.pde import (
    comparison,
    conditions,
    domains,
    equations,
    history,
    interpolation,
    intervals,
    marching,
    meshes,
    networks,
    plots,
    problem,
    sampling,
    settings,
    shapes,
    solution,
)
from primad.pde import references as references
from primad.pde.comparison import *
from primad.pde.conditions import *
from primad.pde.domains import *
from primad.pde.equation import Equation, manufactured
from primad.pde.equations import *
from primad.pde.fields import Field, FieldAt
from primad.pde.history import *
from primad.pde.interpolation import *
from primad.pde.intervals import *
from primad.pde.marching import *
from primad.pde.meshes import *
from primad.pde.networks import *
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
from primad.pde.plots import *
from primad.pde.problem import *
from primad.pde.sampling import *
from primad.pde.settings import *
from primad.pde.shapes import *
from primad.pde.solution import *
from primad.pde.systems import CoordinateSystem, cylindrical, polar, spherical

__all__ = [
    "CoordinateSystem",
    "Equation",
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
    "manufactured",
    "material_derivative",
    "normal_derivative",
    "polar",
    "spherical",
    "strain",
]
__all__ += comparison.__all__
__all__ += conditions.__all__
__all__ += domains.__all__
__all__ += equations.__all__
__all__ += history.__all__
__all__ += interpolation.__all__
__all__ += intervals.__all__
__all__ += marching.__all__
__all__ += meshes.__all__
__all__ += networks.__all__
__all__ += plots.__all__
__all__ += problem.__all__
__all__ += sampling.__all__
__all__ += settings.__all__
__all__ += shapes.__all__
__all__ += solution.__all__


def __dir__() -> list[str]:
    return sorted(__all__)

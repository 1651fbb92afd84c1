"""Partial differential equations: fields with named derivatives, operators, domains, conditions, and problems."""

from importlib import import_module
from typing import TYPE_CHECKING

from primad.pde import references as references
from primad.pde.deepxde_names import missing
from primad.pde.elements import discretisation, element_solution
from primad.pde.elements.discretisation import *
from primad.pde.elements.element_solution import *
from primad.pde.equations import catalog
from primad.pde.equations.catalog import *
from primad.pde.equations.symbolic_equations import Equation, manufactured
from primad.pde.families import ensembles, family_data, input_functions
from primad.pde.families.ensembles import *
from primad.pde.families.family_data import *
from primad.pde.families.input_functions import *
from primad.pde.fields.coordinate_systems import CoordinateSystem
from primad.pde.fields.field_operators import (
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
from primad.pde.fields.flux_operators import flux_divergence
from primad.pde.fields.integrals import integral
from primad.pde.fields.named_fields import Field, FieldAt
from primad.pde.fields.spectral_derivatives import spectral_derivative
from primad.pde.geometry import domains, intervals, meshes, sampling, shapes, solids
from primad.pde.geometry.domains import *
from primad.pde.geometry.intervals import *
from primad.pde.geometry.meshes import *
from primad.pde.geometry.sampling import *
from primad.pde.geometry.shapes import *
from primad.pde.geometry.solids import *
from primad.pde.lines import line_solution, method_of_lines
from primad.pde.lines.line_solution import *
from primad.pde.lines.method_of_lines import *
from primad.pde.networks import field_networks, operator_networks
from primad.pde.networks.field_networks import *
from primad.pde.networks.operator_networks import *
from primad.pde.problem import conditions, inner_conditions, pde_problem, settings
from primad.pde.problem.conditions import *
from primad.pde.problem.inner_conditions import *
from primad.pde.problem.pde_problem import *
from primad.pde.problem.settings import *
from primad.pde.report import comparison, plots, run_plots, spectral_interpolation
from primad.pde.report.animations import *
from primad.pde.report.comparison import *
from primad.pde.report.plots import *
from primad.pde.report.run_plots import *
from primad.pde.report.spectral_interpolation import *
from primad.pde.solve import history, marching, solution
from primad.pde.solve.history import *
from primad.pde.solve.marching import *
from primad.pde.solve.solution import *
from primad.pde.volumes import finite_volumes, volume_solution
from primad.pde.volumes.finite_volumes import *
from primad.pde.volumes.volume_solution import *

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
    "flux_divergence",
    "gradient",
    "hessian",
    "integral",
    "laplacian",
    "manufactured",
    "material_derivative",
    "normal_derivative",
    "polar",
    "spectral_derivative",
    "spherical",
    "strain",
]
__all__ += comparison.__all__
__all__ += conditions.__all__
__all__ += discretisation.__all__
__all__ += element_solution.__all__
__all__ += ensembles.__all__
__all__ += finite_volumes.__all__
__all__ += line_solution.__all__
__all__ += method_of_lines.__all__
__all__ += volume_solution.__all__
__all__ += domains.__all__
__all__ += catalog.__all__
__all__ += history.__all__
__all__ += spectral_interpolation.__all__
__all__ += intervals.__all__
__all__ += marching.__all__
__all__ += inner_conditions.__all__
__all__ += meshes.__all__
__all__ += field_networks.__all__
__all__ += family_data.__all__
__all__ += input_functions.__all__
__all__ += operator_networks.__all__
__all__ += plots.__all__
__all__ += run_plots.__all__
__all__ += pde_problem.__all__
__all__ += sampling.__all__
__all__ += settings.__all__
__all__ += shapes.__all__
__all__ += solids.__all__
__all__ += solution.__all__


if TYPE_CHECKING:
    from primad.pde.fields.known_systems import cylindrical, polar, spherical
else:

    def __getattr__(name: str) -> object:
        """Return a coordinate system; raise for another name, and say what is meant."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("cylindrical", "polar", "spherical"):
            return getattr(import_module("primad.pde.fields.known_systems"), name)
        raise missing(name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)

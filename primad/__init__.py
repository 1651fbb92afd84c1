"""primad: a derivative compiler for scientific Python."""

from importlib import import_module
from typing import TYPE_CHECKING

from primad.system.process import CollectorOff

with CollectorOff():
    from primad import nn as nn
    from primad import numpy as numpy
    from primad import ops as ops
    from primad import transforms as transforms
    from primad.errors import DomainError as DomainError
    from primad.errors import EnclosureError as EnclosureError
    from primad.errors import IndexShapeError as IndexShapeError
    from primad.errors import MatrixError as MatrixError
    from primad.errors import MemoryLimitError as MemoryLimitError
    from primad.errors import NotDifferentiableError as NotDifferentiableError
    from primad.errors import PrimadError as PrimadError
    from primad.errors import ProblemError as ProblemError
    from primad.errors import ProgramError as ProgramError
    from primad.errors import ShapeError as ShapeError
    from primad.errors import StepsError as StepsError
    from primad.errors import TracingError as TracingError
    from primad.functional.control.branches import cond as cond
    from primad.functional.control.branches import switch as switch
    from primad.functional.control.checkpointing import checkpoint as checkpoint
    from primad.functional.control.mapping import vmap as vmap
    from primad.functional.control.user_loops import associative_scan as associative_scan
    from primad.functional.control.user_loops import fori_loop as fori_loop
    from primad.functional.control.user_loops import map as map
    from primad.functional.control.user_loops import scan as scan
    from primad.functional.control.while_loops import while_loop as while_loop
    from primad.functional.derivatives.first_order import jvp as jvp
    from primad.functional.derivatives.first_order import linear_transpose as linear_transpose
    from primad.functional.derivatives.first_order import linearize as linearize
    from primad.functional.derivatives.first_order import vjp as vjp
    from primad.functional.derivatives.gradient_checks import check_grads as check_grads
    from primad.functional.derivatives.gradients import grad as grad
    from primad.functional.derivatives.gradients import value_and_grad as value_and_grad
    from primad.functional.derivatives.higher_order import derivative as derivative
    from primad.functional.derivatives.higher_order import hvp as hvp
    from primad.functional.derivatives.higher_order import laplacian as laplacian
    from primad.functional.derivatives.higher_order import taylor as taylor
    from primad.functional.derivatives.lazy_arrays import Hessian as Hessian
    from primad.functional.derivatives.lazy_arrays import Jacobian as Jacobian
    from primad.functional.derivatives.lazy_matrices import hessian as hessian
    from primad.functional.derivatives.lazy_matrices import jacfwd as jacfwd
    from primad.functional.derivatives.lazy_matrices import jacobian as jacobian
    from primad.functional.derivatives.lazy_matrices import jacrev as jacrev
    from primad.functional.derivatives.wirtinger import wirtinger as wirtinger
    from primad.functional.jit import jit as jit
    from primad.functional.parsing import parse as parse
    from primad.functional.recorded_values import stop_gradient as stop_gradient
    from primad.functional.recorded_values import value as value
    from primad.functional.rules.custom_rules import custom_jvp as custom_jvp
    from primad.functional.rules.custom_rules import custom_vjp as custom_vjp
    from primad.functional.rules.opaque import opaque as opaque
    from primad.ir.array_types import ArrayType as ArrayType
    from primad.ir.program import Cost as Cost
    from primad.ir.program import Program as Program
    from primad.ops.linalg.eigen import MatrixFunctions
    from primad.ops.record.fields import Law as Law
    from primad.ops.record.kinds import composite as composite
    from primad.ops.record.kinds import custom as custom
    from primad.ops.record.kinds import elementwise as elementwise
    from primad.ops.record.kinds import linear as linear
    from primad.ops.record.kinds import multilinear as multilinear
    from primad.ops.record.kinds import piecewise_constant as piecewise_constant
    from primad.ops.record.primitive import Primitive as Primitive
    from primad.parallel.job import ranks as ranks
    from primad.parallel.shares import Share as Share
    from primad.parallel.threads import get_num_threads as get_num_threads
    from primad.parallel.threads import set_num_threads as set_num_threads
    from primad.recording.traced_array import TracedArray as TracedArray
    from primad.recording.tracing import trace as trace
    from primad.simplify import simplify as simplify
    from primad.transforms.lowering import lower as lower
    from primad.verify import verify as verify

__version__ = "0.1.0"

__all__ = [
    "ArrayType",
    "Cost",
    "DomainError",
    "EnclosureError",
    "Explanation",
    "Hessian",
    "IndexShapeError",
    "Jacobian",
    "Law",
    "MatrixError",
    "MemoryLimitError",
    "NotDifferentiableError",
    "PrimadError",
    "Primitive",
    "ProblemError",
    "Program",
    "ProgramError",
    "ShapeError",
    "Share",
    "StepsError",
    "TracedArray",
    "TracingError",
    "__version__",
    "associative_scan",
    "check_grads",
    "checkpoint",
    "composite",
    "cond",
    "custom",
    "custom_jvp",
    "custom_vjp",
    "derivative",
    "distribute",
    "elementwise",
    "enclose",
    "enclosures",
    "explain",
    "fori_loop",
    "from_jax",
    "from_sympy",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "integrate",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "laplacian",
    "linear",
    "linear_transpose",
    "linearize",
    "lower",
    "map",
    "multilinear",
    "nn",
    "numpy",
    "opaque",
    "ops",
    "optimize",
    "parse",
    "pde",
    "piecewise_constant",
    "ranks",
    "residual_of",
    "scan",
    "set_num_threads",
    "show_versions",
    "simplify",
    "stop_gradient",
    "switch",
    "taylor",
    "to_jax",
    "to_pytensor",
    "to_scipy",
    "to_sympy",
    "to_torch",
    "trace",
    "transforms",
    "value",
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
    "while_loop",
    "wirtinger",
]

_LATE = {
    "Explanation": "primad.explanation",
    "SymmetricTensor": "primad.functional.derivatives.symmetric_tensors",
    "derivatives": "primad.functional.derivatives.symmetric_tensors",
    "distribute": "primad.functional.export.distribute",
    "enclose": "primad.enclosures",
    "explain": "primad.explanation",
    "from_jax": "primad.functional.export.from_jax",
    "from_sympy": "primad.symbolic",
    "residual_of": "primad.symbolic",
    "show_versions": "primad.explanation",
    "to_jax": "primad.functional.export.to_jax",
    "to_pytensor": "primad.functional.export.to_pytensor",
    "to_scipy": "primad.optimize.scipy_solvers.functions_for_scipy",
    "to_sympy": "primad.symbolic",
    "to_torch": "primad.functional.export.to_torch",
}
"""What is imported when it is first asked for: most programs never do, and SymPy takes longer than all the rest."""

Program.formulas = lambda: import_module("primad.symbolic.program_formulas")
MatrixFunctions.found = lambda program, active: import_module("primad.programs.spectra.spectral_forms").spectral_form(
    program, active
)

if TYPE_CHECKING:
    from primad import enclosures as enclosures
    from primad import implicit as implicit
    from primad import integrate as integrate
    from primad import optimize as optimize
    from primad import pde as pde
    from primad.enclosures import enclose as enclose
    from primad.explanation import Explanation as Explanation
    from primad.explanation import explain as explain
    from primad.explanation import show_versions as show_versions
    from primad.functional.derivatives.symmetric_tensors import SymmetricTensor as SymmetricTensor
    from primad.functional.derivatives.symmetric_tensors import derivatives as derivatives
    from primad.functional.export.distribute import distribute as distribute
    from primad.functional.export.from_jax import from_jax as from_jax
    from primad.functional.export.to_jax import to_jax as to_jax
    from primad.functional.export.to_pytensor import to_pytensor as to_pytensor
    from primad.functional.export.to_torch import to_torch as to_torch
    from primad.optimize.scipy_solvers.functions_for_scipy import to_scipy as to_scipy
    from primad.symbolic import from_sympy as from_sympy
    from primad.symbolic import residual_of as residual_of
    from primad.symbolic import to_sympy as to_sympy
else:

    def __getattr__(name: str) -> object:
        """Import what is asked for late."""
        if name in ("enclosures", "implicit", "integrate", "optimize", "pde"):
            return import_module(f"primad.{name}")
        if name in _LATE:
            return getattr(import_module(_LATE[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""primad: a derivative compiler for scientific Python."""

from importlib import import_module
from typing import TYPE_CHECKING

from primad import nn as nn
from primad import numpy as numpy
from primad import ops as ops
from primad import transforms as transforms
from primad.errors import DomainError as DomainError
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
from primad.functional.branches import cond as cond
from primad.functional.branches import switch as switch
from primad.functional.checkpoint import checkpoint as checkpoint
from primad.functional.checks import check_grads as check_grads
from primad.functional.compile import jit as jit
from primad.functional.custom import custom_jvp as custom_jvp
from primad.functional.custom import custom_vjp as custom_vjp
from primad.functional.derivatives import grad as grad
from primad.functional.derivatives import jvp as jvp
from primad.functional.derivatives import linear_transpose as linear_transpose
from primad.functional.derivatives import linearize as linearize
from primad.functional.derivatives import value_and_grad as value_and_grad
from primad.functional.derivatives import vjp as vjp
from primad.functional.distribute import distribute as distribute
from primad.functional.higher_order import derivative as derivative
from primad.functional.higher_order import hvp as hvp
from primad.functional.higher_order import laplacian as laplacian
from primad.functional.higher_order import taylor as taylor
from primad.functional.jax import to_jax as to_jax
from primad.functional.lazy import Hessian as Hessian
from primad.functional.lazy import Jacobian as Jacobian
from primad.functional.lazy import hessian as hessian
from primad.functional.lazy import jacfwd as jacfwd
from primad.functional.lazy import jacobian as jacobian
from primad.functional.lazy import jacrev as jacrev
from primad.functional.loops import associative_scan as associative_scan
from primad.functional.loops import fori_loop as fori_loop
from primad.functional.loops import map as map
from primad.functional.loops import scan as scan
from primad.functional.mapping import vmap as vmap
from primad.functional.opaque import opaque as opaque
from primad.functional.reading import parse as parse
from primad.functional.torch import to_torch as to_torch
from primad.functional.values import stop_gradient as stop_gradient
from primad.functional.values import value as value
from primad.functional.while_loops import while_loop as while_loop
from primad.ir.program import Cost as Cost
from primad.ir.program import Program as Program
from primad.job import ranks as ranks
from primad.kinds import composite as composite
from primad.kinds import custom as custom
from primad.kinds import elementwise as elementwise
from primad.kinds import linear as linear
from primad.kinds import multilinear as multilinear
from primad.kinds import piecewise_constant as piecewise_constant
from primad.primitive import Law as Law
from primad.primitive import Primitive as Primitive
from primad.recording import trace as trace
from primad.runtime.chunks import get_num_threads as get_num_threads
from primad.runtime.chunks import set_num_threads as set_num_threads
from primad.shares import Share as Share
from primad.simplify import simplify as simplify
from primad.trace import TracedArray as TracedArray
from primad.transforms.lowering import lower as lower
from primad.types import ArrayType as ArrayType
from primad.verify import verify as verify

__version__ = "0.1.0"

__all__ = [
    "ArrayType",
    "Cost",
    "DomainError",
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
    "explain",
    "fori_loop",
    "from_sympy",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
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
]

_LATE = {
    "Explanation": "primad.explanation",
    "explain": "primad.explanation",
    "from_sympy": "primad.symbolic",
    "residual_of": "primad.symbolic",
    "show_versions": "primad.explanation",
    "to_sympy": "primad.symbolic",
}
"""What is imported when it is first asked for: most programs never do, and SymPy takes longer than all the rest."""

if TYPE_CHECKING:
    from primad import integrate as integrate
    from primad import optimize as optimize
    from primad import pde as pde
    from primad.explanation import Explanation as Explanation
    from primad.explanation import explain as explain
    from primad.explanation import show_versions as show_versions
    from primad.symbolic import from_sympy as from_sympy
    from primad.symbolic import residual_of as residual_of
    from primad.symbolic import to_sympy as to_sympy
else:

    def __getattr__(name: str) -> object:
        """Import what is asked for late."""
        if name in ("integrate", "optimize", "pde"):
            return import_module(f"primad.{name}")
        if name in _LATE:
            return getattr(import_module(_LATE[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

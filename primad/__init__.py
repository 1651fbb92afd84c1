"""primad: a derivative compiler for scientific Python."""

from primad import nn as nn
from primad import numpy as numpy
from primad import ops as ops
from primad.errors import IndexShapeError as IndexShapeError
from primad.errors import NotDifferentiableError as NotDifferentiableError
from primad.errors import PrimadError as PrimadError
from primad.errors import ProgramError as ProgramError
from primad.errors import ShapeError as ShapeError
from primad.errors import TracingError as TracingError
from primad.functional.compile import checkpoint as checkpoint
from primad.functional.compile import jit as jit
from primad.functional.compile import stop_gradient as stop_gradient
from primad.functional.compile import value as value
from primad.functional.compile import vmap as vmap
from primad.functional.derivatives import derivative as derivative
from primad.functional.derivatives import grad as grad
from primad.functional.derivatives import hvp as hvp
from primad.functional.derivatives import jvp as jvp
from primad.functional.derivatives import laplacian as laplacian
from primad.functional.derivatives import linear_transpose as linear_transpose
from primad.functional.derivatives import linearize as linearize
from primad.functional.derivatives import taylor as taylor
from primad.functional.derivatives import value_and_grad as value_and_grad
from primad.functional.derivatives import vjp as vjp
from primad.functional.lazy import Hessian as Hessian
from primad.functional.lazy import Jacobian as Jacobian
from primad.functional.lazy import hessian as hessian
from primad.functional.lazy import jacfwd as jacfwd
from primad.functional.lazy import jacobian as jacobian
from primad.functional.lazy import jacrev as jacrev
from primad.ir.program import Cost as Cost
from primad.ir.program import Program as Program
from primad.kinds import composite as composite
from primad.kinds import elementwise as elementwise
from primad.kinds import linear as linear
from primad.kinds import multilinear as multilinear
from primad.kinds import piecewise_constant as piecewise_constant
from primad.primitive import Law as Law
from primad.primitive import Primitive as Primitive
from primad.simplify import simplify as simplify
from primad.trace import TracedArray as TracedArray
from primad.trace import trace as trace
from primad.transforms.lower import lower as lower
from primad.types import ArrayType as ArrayType

__version__ = "0.1.0"

"""Steps for stiff systems: linearly implicit methods, whose systems of a step all have one matrix, factored once.

The Jacobian, and the slope's derivative in time, are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import MemoryLimitError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM, SPARSE_SHARE
from primad.implicit.sparse_systems import solution_with
from primad.integrate.complex_parts import matrix_of_parts, of_parts, parts, whole
from primad.integrate.method_steps import Method, Stepped, combined, norm, scale
from primad.ir.array_types import is_complex
from primad.numpy.linalg.sparse_arrays import entries_of
from primad.recording.traced_array import TracedArray

Function = Callable[..., Any]
_D = 1 / (2 + np.sqrt(2))


def _system(fun: Function, t: Any, y: Any, factor: Any, mass: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return what solves with the matrix M − factor J, where M is 1 without a mass matrix, and the derivative in time.

    Of large states whose Jacobian is mostly zero the matrix is sparse, and its factors serve all right sides. Of
    complex values, whose slope need not be analytic, the system is that of the parts.
    """
    if is_complex(y.dtype):
        solved, in_time = _system(of_parts(fun), t, parts(y), factor, None if mass is None else matrix_of_parts(mass))
        return lambda b: whole(solved(parts(b))), whole(in_time)
    matrix, in_time = jacobian(lambda y: fun(t, y))(y), jacobian(lambda t: fun(t, y))(t)[:]
    size = y.shape[0]
    if size >= SPARSE_FROM and isinstance(y, TracedArray) and _is_sparse(matrix, size):
        from scipy.sparse import csc_array, eye_array  # loads when it is called

        given = eye_array(size, dtype=y.dtype) if mass is None else mass if _has_entries(mass) else csc_array(mass)
        entries = entries_of(given) - matrix.sparse("csc") * factor
        return lambda b: solution_with(entries, b, "solve_ivp"), in_time
    mass = mass.toarray() if _has_entries(mass) else mass
    system = (np.eye(size) if mass is None else mass) - factor * matrix[:]
    return lambda b: np.linalg.solve(system, b), in_time


def _is_sparse(matrix: Any, size: int) -> bool:
    """Say whether few entries of a Jacobian may not be zero."""
    try:
        return bool(matrix.pattern().nnz <= SPARSE_SHARE * size**2)
    except MemoryLimitError:
        return False


def _has_entries(mass: Any) -> bool:
    """Say whether a mass matrix is a sparse one."""
    return hasattr(mass, "toarray")


def _weighted(mass: Any, x: Any) -> Any:
    """Return a mass matrix times a value."""
    return x if mass is None else mass @ x


def _ros23(fun: Function, t: Any, y: Any, slope: Any, h: Any, mass: Any = None) -> Stepped:
    """The L-stable method of order 2 and 3 by Rosenbrock in the form of Shampine and Reichelt (`ode23s`)."""
    solved, in_time = _system(fun, t, y, h * _D, mass)
    k1 = solved(slope + h * _D * in_time)
    middle = fun(t + h / 2, y + h / 2 * k1)
    k2 = solved(middle - _weighted(mass, k1)) + k1
    new = y + h * k2
    after = fun(t + h, new)
    first, second = _weighted(mass, k1), _weighted(mass, k2)
    k3 = solved(after - (6 + np.sqrt(2)) * (second - middle) - 2 * (first - slope) + h * _D * in_time)

    def error(atol: Any, rtol: Any) -> Any:
        return norm(h / 6 * (k1 - 2 * k2 + k3) / scale(y, new, atol, rtol))

    return Stepped(new, after, error, pnp.stack([k1, k2]))


def _between_ros23(inside: Any, y: Any, h: Any, x: Any) -> Any:
    first, second = x * (1 - x) / (1 - 2 * _D), x * (x - 2 * _D) / (1 - 2 * _D)
    return y + h * (first * inside[0] + second * inside[1])


# Of E. Hairer and G. Wanner, Solving Ordinary Differential Equations II (second edition, 1996), section IV.7: RODAS.
_GAMMA = 0.25
_A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0),
)
_C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)
_IN_TIME = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
_TIMES = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
_INSIDE = (
    (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662),
    (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872),
)


def _rodas4(fun: Function, t: Any, y: Any, slope: Any, h: Any, mass: Any = None) -> Stepped:
    """The method RODAS of order 4 and 3: L-stable, and its last stage is the new value."""
    solved, in_time = _system(fun, t, y, h * _GAMMA, mass)
    stages: list[Any] = []
    at = y
    for a, c, time, part in zip(_A, _C, _TIMES, _IN_TIME, strict=True):
        if a:
            at = y + combined(a, stages)
            right = fun(t + time * h, at) + _weighted(mass, combined(c, stages)) / h
        else:
            right = slope
        stages.append(h * _GAMMA * solved(right + part * h * in_time if part else right))
    new = at + stages[-1]

    def error(atol: Any, rtol: Any) -> Any:
        return norm(stages[-1] / scale(y, new, atol, rtol))

    inside = pnp.stack([new, *(combined(row, stages) for row in _INSIDE)])
    return Stepped(new, fun(t + h, new), error, inside)


def _between_rodas4(inside: Any, y: Any, h: Any, x: Any) -> Any:
    return y * (1 - x) + x * (inside[0] + (1 - x) * (inside[1] + x * inside[2]))


STIFF = {"ROS23": Method(_ros23, _between_ros23, 2, 3), "RODAS4": Method(_rodas4, _between_rodas4, 3, 6)}
"""The methods for stiff systems, by name."""

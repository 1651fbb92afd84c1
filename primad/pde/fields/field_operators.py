"""Differential operators of fields at points, in Cartesian and in other coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.pde.fields.coordinate_systems import CoordinateSystem
from primad.pde.fields.field_refusals import no_field
from primad.pde.fields.named_fields import FieldAt
from primad.pde.written_names import names_in
from primad.system.deferred import sympy

Names = str | Sequence[str] | None
FEW = 4
"""Coordinates whose second derivatives are terms of an operator; more, if they are all of an array, are one stack."""


def space(u: FieldAt, wrt: Names = None) -> tuple[str, ...]:
    """Return the coordinates that an operator is about: those of space, or those that are named."""
    known = u.field.coordinates
    if wrt is None:
        return u.field.space
    chosen = names_in(wrt)
    for name in chosen:
        if known.split(name) != (name,):
            raise ShapeError(
                f"{name!r} is no coordinate of the field; they are {', '.join(known.names)}",
                fix="name coordinates of the field.",
            )
    return chosen


def _check(u: Any, operator: str) -> None:
    if not isinstance(u, FieldAt):
        raise no_field(u, operator)


def gradient(u: FieldAt, wrt: Names = None, system: CoordinateSystem | None = None) -> Any:
    """Return ∇u, along a last axis; of a field with components the matrix of ∂ⱼuᵢ.

    Args:
        u: a field at points.
        wrt: names of the coordinates of space; by default all but t.
        system: the system of coordinates, if they are not Cartesian.

    Example:
        >>> import primad.pde as pde
        >>> u = pde.Field(lambda x, y: x**2 * y, "x y")
        >>> pde.gradient(u(1.0, 3.0))
        array([6., 1.])
    """
    _check(u, "gradient")
    if system is None:
        return pnp.stack([u.d(name) for name in space(u, wrt)], axis=-1)
    if _is_vector(u):
        return _in_system(u, system, system.vector_gradient)
    return _in_system(u, system, system.gradient)


def hessian(u: FieldAt, wrt: Names = None) -> Any:
    """Return the matrix of ∂ᵢ∂ⱼu, along two last axes.

    Example:
        >>> import primad.pde as pde
        >>> u = pde.Field(lambda x, y: x**2 * y, "x y")
        >>> pde.hessian(u(1.0, 3.0))
        array([[6., 2.],
               [2., 0.]])
    """
    _check(u, "hessian")
    names = space(u, wrt)
    return pnp.stack([pnp.stack([u.d(f"{x} {y}") for y in names], axis=-1) for x in names], axis=-2)


def divergence(v: FieldAt, wrt: Names = None, system: CoordinateSystem | None = None) -> Any:
    """Return ∇·v of a field with as many components as coordinates of space.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> v = pde.Field(lambda x, y: np.stack([x * x, x * y]), "x y")
        >>> float(pde.divergence(v(1.0, 3.0)))
        3.0
    """
    _check(v, "divergence")
    if system is not None:
        return _in_system(v, system, system.divergence)
    return _total([part.d(name) for part, name in _paired(v, wrt, "divergence")])


def curl(v: FieldAt, wrt: Names = None, system: CoordinateSystem | None = None) -> Any:
    """Return ∇×v: three components along a last axis, or in the plane the one across it.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> v = pde.Field(lambda x, y: np.stack([-y, x]), "x y")
        >>> float(pde.curl(v(1.0, 3.0)))
        2.0
    """
    _check(v, "curl")
    if system is not None:
        return _in_system(v, system, system.curl)
    parts = _paired(v, wrt, "curl")
    if len(parts) == 2:
        (u, x), (w, y) = parts
        return w.d(x) - u.d(y)
    if len(parts) != 3:
        raise ShapeError(
            f"curl: a vector in {len(parts)} dimensions has none",
            fix="the curl is that of a vector in the plane or in space.",
        )

    def across(i: int) -> Any:
        (second, y), (third, z) = parts[(i + 1) % 3], parts[(i + 2) % 3]
        return third.d(y) - second.d(z)

    return pnp.stack([across(i) for i in range(3)], axis=-1)


def laplacian(u: FieldAt, wrt: Names = None, system: CoordinateSystem | None = None) -> Any:
    """Return Δu, of each component if there are some: second derivatives are added up while they are propagated.

    Example:
        >>> import primad.pde as pde
        >>> u = pde.Field(lambda r, theta: r**3, "r theta")
        >>> float(pde.laplacian(u(2.0, 0.0), system=pde.polar))
        18.0
    """
    _check(u, "laplacian")
    if system is not None:
        if _is_vector(u):
            raise ShapeError(
                "laplacian: of a vector in other coordinates", fix="∇(∇·v) − ∇×(∇×v) holds in all; take components."
            )
        return _in_system(u, system, system.laplacian)
    names, known = space(u, wrt), u.field.coordinates
    argument, index = known.directions[names[0]]
    if len(names) > FEW and index is not None and set(names) == set(known.arguments[argument]):
        return u.laplacian(argument)
    return u.combination([(1.0, (name, name)) for name in names])


def biharmonic(u: FieldAt, wrt: Names = None) -> Any:
    """Return Δ²u: a mixed fourth derivative is taken once for the two orders in which it is there.

    Example:
        >>> import primad.pde as pde
        >>> u = pde.Field(lambda x, y: x**4 + x**2 * y**2, "x y")
        >>> float(pde.biharmonic(u(1.0, 1.0)))
        32.0
    """
    _check(u, "biharmonic")
    names = space(u, wrt)
    pure = [(1.0, (name,) * 4) for name in names]
    mixed = [(2.0, (x, x, y, y)) for i, x in enumerate(names) for y in names[i + 1 :]]
    return u.combination([*pure, *mixed])


def directional_derivative(u: FieldAt, direction: Any, wrt: Names = None) -> Any:
    """Return (a·∇)u for vectors a along the last axis of an array, or given as a sequence, or a field at the points.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> u = pde.Field(lambda x, y: x * y, "x y")
        >>> float(pde.directional_derivative(u(1.0, 3.0), np.array([0.0, 1.0])))
        1.0
    """
    _check(u, "directional_derivative")
    names = space(u, wrt)
    if hasattr(direction, "_fields"):  # the normal of a condition, whose components have names
        direction = [getattr(direction, name) for name in names if name in direction._fields]
    parts = _parts(direction, len(names), "direction")
    if _is_vector(u):
        parts = [part[..., None] if pnp.ndim(part) else part for part in parts]
    return _total([part * u.d(name) for part, name in zip(parts, names, strict=True)])


def normal_derivative(u: FieldAt, normals: Any, wrt: Names = None) -> Any:
    """Return ∂u/∂n for unit normals n along the last axis of an array; of those in space and time, the part in space.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> u = pde.Field(lambda x, y: x * y, "x y")
        >>> float(pde.normal_derivative(u(1.0, 3.0), np.array([-1.0, 0.0])))
        -3.0
    """
    _check(u, "normal_derivative")
    names, known = space(u, wrt), u.field.coordinates.names
    is_array = not isinstance(normals, (FieldAt, list, tuple))
    if is_array and wrt is None and pnp.shape(normals)[-1:] == (len(known),):
        normals = [normals[..., known.index(name)] for name in names]
    return directional_derivative(u, normals, wrt)


def advection(v: Any, u: FieldAt, wrt: Names = None) -> Any:
    """Return (v·∇)u, of each component if there are some; v may be a field at the same points, u itself, or arrays.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> u = pde.Field(lambda x, y: x * y, "x y")
        >>> float(pde.advection((1.0, 2.0), u(1.0, 3.0)))
        5.0
    """
    _check(u, "advection")
    return directional_derivative(u, v, wrt)


def material_derivative(u: FieldAt, v: Any, wrt: Names = None) -> Any:
    """Return ∂u/∂t + (v·∇)u.

    Example:
        >>> import primad.pde as pde
        >>> u = pde.Field(lambda x, t: x - 2 * t, "x t")
        >>> float(pde.material_derivative(u(1.0, 3.0), (2.0,)))
        0.0
    """
    _check(u, "material_derivative")
    return u.d(u.field.time) + advection(v, u, wrt)


def strain(v: FieldAt, wrt: Names = None, system: CoordinateSystem | None = None) -> Any:
    """Return the rate of strain, the symmetric part of ∇v, along two last axes.

    Example:
        >>> import numpy as np, primad.pde as pde
        >>> v = pde.Field(lambda x, y: np.stack([y, x * y]), "x y")
        >>> pde.strain(v(1.0, 3.0))
        array([[0., 2.],
               [2., 1.]])
    """
    _check(v, "strain")
    if system is None:
        names = [name for _, name in _paired(v, wrt, "strain")]
        slopes = gradient(v, names)
    else:
        slopes = gradient(v, system=system)
    return 0.5 * (slopes + pnp.swapaxes(slopes, -1, -2))


def diffusion(u: FieldAt, weight: Any, wrt: Names = None) -> Any:
    """Return ∇·(k ∇u): with a weight k that is a number, a field at the same points, or a matrix of these.

    A field may depend on fewer coordinates than u. Values at points are refused: they do not tell their derivatives.

    Example:
        >>> import primad.pde as pde
        >>> k = pde.Field(lambda x, y: 1 + x, "x y")
        >>> u = pde.Field(lambda x, y: x**2 + y, "x y")
        >>> float(pde.diffusion(u(1.0, 0.0), k(1.0, 0.0)))
        6.0
    """
    _check(u, "diffusion")
    names = space(u, wrt)
    if isinstance(weight, FieldAt):
        return _total([weight * laplacian(u, names), *[slope * u.d(x) for x, slope in _slopes(weight, names)]])
    if not isinstance(weight, (list, tuple)) and pnp.ndim(weight) == 0:
        return weight * laplacian(u, names)
    if not isinstance(weight, (list, tuple)) and pnp.shape(weight) != (len(names), len(names)):
        raise _without_derivatives(weight)
    if len(weight) != len(names) or any(len(row) != len(names) for row in weight):
        raise ShapeError(
            f"diffusion: a matrix for {len(names)} coordinates has that many rows and columns",
            fix="pass a list of rows, or a number or a field at points.",
        )
    terms = []
    for row, x in zip(weight, names, strict=True):
        for entry, y in zip(row, names, strict=True):
            if not isinstance(entry, FieldAt) and pnp.ndim(entry):
                raise _without_derivatives(entry)
            terms.append(entry * u.d(f"{x} {y}"))
            terms += [slope * u.d(y) for _, slope in _slopes(entry, [x])]
    return _total(terms)


def _slopes(weight: Any, names: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the derivatives of a weight by those coordinates that it depends on, with their names."""
    known = weight.field.coordinates.names if isinstance(weight, FieldAt) else ()
    return [(name, weight.d(name)) for name in names if name in known]


def _without_derivatives(weight: Any) -> ShapeError:
    return ShapeError(
        f"diffusion: a weight is an array of the shape {pnp.shape(weight)}",
        why="Weights are differentiated, and values at points do not tell their derivatives.",
        fix="pass a field at the points: pde.Field(lambda x: 1 + x**2, 'x')(x); of a function of a field, exp(k), "
        "write np.exp(k) * (pde.laplacian(u) + k.x * u.x).",
    )


def _total(terms: Sequence[Any]) -> Any:
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found


def _is_vector(u: FieldAt) -> bool:
    return u.ndim - u.field.family > len(u.shape_of_points)


def _paired(v: FieldAt, wrt: Names, what: str) -> list[tuple[FieldAt, str]]:
    """Return the components of a vector with the coordinates along which they point."""
    names = space(v, wrt)
    parts = v.components
    if len(parts) != len(names):
        raise ShapeError(
            f"{what}: the field has {len(parts)} components for the coordinates {', '.join(names)}",
            fix="name the coordinates of space: wrt='x y'. A field of velocities alone has its components only.",
        )
    return list(zip(parts, names, strict=True))


def _parts(v: Any, count: int, what: str) -> list[Any]:
    found: list[Any] = [part.value for part in v.components] if isinstance(v, FieldAt) else []
    if not found and isinstance(v, (list, tuple)):
        found = [part.value if isinstance(part, FieldAt) else part for part in v]
    if not found:
        found = [v[..., i] for i in range(pnp.shape(v)[-1] if pnp.ndim(v) else 0)]
    if len(found) != count:
        raise ShapeError(
            f"a {what} for {count} coordinates of space has {len(found)} components",
            fix="pass a component for each, or name the coordinates: divergence(v, 'x y').",
        )
    return found


# -- other coordinates -------------------------------------------------------------------------------------------------


def _in_system(u: FieldAt, system: CoordinateSystem, operator: Callable[[Any], Any]) -> Any:
    """Return what a linear operator of a system is at points: the sum of derivatives with coefficients."""
    missing = [name for name in system.names if name not in u.field.coordinates.names]
    if missing:
        raise ShapeError(
            f"the field has no coordinate {missing[0]}, which the system has: {system!r}",
            fix=f"name the field's coordinates {' '.join(system.names)}.",
        )
    parts: tuple[Any, ...] = u.components if _is_vector(u) else (u,)
    if _is_vector(u) and len(parts) != len(system.names):
        raise ShapeError(
            f"a vector in {len(system.names)} dimensions has not {len(parts)} components",
            fix="give the field one for each coordinate.",
        )
    unknowns = [sympy.Function(f"u{i}")(*system.symbols) for i in range(len(parts))]
    result = operator(unknowns if _is_vector(u) else unknowns[0])
    shape = np.shape(result) if isinstance(result, (list, sympy.MatrixBase)) else ()
    flat = list(sympy.flatten(result)) if shape else [result]
    points = [u.coordinate(name) for name in system.names]
    found = [_combined(sympy.expand(each), unknowns, parts, system, points) for each in flat]
    if not shape:
        return found[0]
    stacked = pnp.stack(found, axis=-1)
    return pnp.reshape(stacked, (*u.shape_of_points, *shape))


def _combined(
    expression: Any, unknowns: Sequence[Any], parts: Sequence[Any], system: CoordinateSystem, points: Sequence[Any]
) -> Any:
    from primad.symbolic.from_expressions import from_sympy  # loads when it is called, with SymPy

    atoms = [*sorted(expression.atoms(sympy.Derivative), key=str), *unknowns]
    names = [sympy.Dummy(f"d{i}") for i in range(len(atoms))]
    plain = expression
    for atom, name in zip(atoms, names, strict=True):  # derivatives first, which contain the functions
        plain = plain.xreplace({atom: name})
    terms = []
    for atom, name in zip(atoms, names, strict=True):
        coefficient = sympy.simplify(sympy.diff(plain, name))
        if coefficient == 0:
            continue
        derivative = isinstance(atom, sympy.Derivative)
        part = parts[unknowns.index(atom.expr if derivative else atom)]
        along = [str(q) for q, times in atom.variable_count for _ in range(int(times))] if derivative else []
        value = part.d(" ".join(along)) if along else part.value
        if coefficient.is_number:
            terms.append(value * float(coefficient))
        else:
            terms.append(from_sympy(coefficient, system.symbols)(*points) * value)
    return _total(terms) if terms else np.zeros(parts[0].shape_of_points)

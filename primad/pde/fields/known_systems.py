"""Coordinate systems with names; imported, with SymPy, when one is asked for."""

import sympy

from primad.pde.fields.coordinate_systems import CoordinateSystem

polar = CoordinateSystem(
    "r theta",
    lambda r, theta: (r * sympy.cos(theta), r * sympy.sin(theta)),
    scales=lambda r, theta: (1, r),
)
"""Polar coordinates of the plane."""
cylindrical = CoordinateSystem(
    "r theta z",
    lambda r, theta, z: (r * sympy.cos(theta), r * sympy.sin(theta), z),
    scales=lambda r, theta, z: (1, r, 1),
)
"""Cylindrical coordinates."""
spherical = CoordinateSystem(
    "r theta phi",
    lambda r, theta, phi: (
        r * sympy.sin(theta) * sympy.cos(phi),
        r * sympy.sin(theta) * sympy.sin(phi),
        r * sympy.cos(theta),
    ),
    scales=lambda r, theta, phi: (1, r, r * sympy.sin(theta)),
)
"""Spherical coordinates: theta is the angle to the axis z, phi that around it."""

"""Coordinate systems: operators in coordinates that a SymPy map takes to Cartesian ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from primad.errors import ShapeError
from primad.pde.written_names import names_in
from primad.system.deferred import sympy

Vector = Sequence[Any]


class CoordinateSystem:
    """Coordinates q with a map to Cartesian ones, X(q), and what operators are in them.

    Where the lines of the coordinates meet at right angles, vectors have the components along the unit vectors of these
    lines; otherwise Cartesian ones. The methods take and return SymPy expressions of the symbols; the operators of
    `primad.pde` take a system (`laplacian(u, system=polar)`), and evaluate them at points.

    Args:
        coordinates: names of the coordinates, or their symbols.
        cartesian: the map, a function of the symbols, or a sequence of expressions in them.
        scales: lengths of ∂X/∂qᵢ, where they are known to be simpler than SymPy finds them.

    Example:
        >>> import sympy
        >>> from primad.pde import CoordinateSystem
        >>> polar = CoordinateSystem("r theta", lambda r, theta: (r * sympy.cos(theta), r * sympy.sin(theta)))
        >>> r, theta = polar.symbols
        >>> polar.laplacian(r**3)
        9*r
    """

    def __init__(
        self,
        coordinates: str | Sequence[Any],
        cartesian: Callable[..., Sequence[Any]] | Sequence[Any],
        scales: Callable[..., Sequence[Any]] | None = None,
    ) -> None:
        given = names_in(coordinates)
        self.symbols: tuple[Any, ...] = tuple(
            [sympy.Symbol(each, real=True) if isinstance(each, str) else each for each in given]
        )
        self.names = tuple([str(symbol) for symbol in self.symbols])
        self.cartesian = tuple(map(sympy.sympify, cartesian(*self.symbols) if callable(cartesian) else cartesian))
        n = len(self.symbols)
        if len(self.cartesian) != n:
            raise ShapeError(
                f"CoordinateSystem: {n} coordinates and {len(self.cartesian)} Cartesian ones",
                fix=f"return {n} expressions from the map.",
            )
        others = set().union(*(each.free_symbols for each in self.cartesian)) - set(self.symbols)
        if others:
            raise ShapeError(
                f"CoordinateSystem: the map contains {', '.join(sorted(map(str, others)))}",
                fix="write it with the symbols that it gets, and with numbers.",
            )
        self._scales = None if scales is None else scales(*self.symbols)

    @cached_property
    def jacobian(self) -> Any:
        """∂X/∂q."""
        return sympy.Matrix(self.cartesian).jacobian(self.symbols)

    @cached_property
    def metric(self) -> Any:
        """Products of the vectors ∂X/∂qᵢ."""
        return (self.jacobian.T * self.jacobian).applyfunc(sympy.simplify)

    @property
    def is_orthogonal(self) -> bool:
        """Whether lines of different coordinates meet at right angles."""
        return bool(self.metric.is_diagonal())

    @cached_property
    def scales(self) -> tuple[Any, ...]:
        """Lengths of the vectors ∂X/∂qᵢ; r rather than |r|, so that unit vectors have derivatives."""
        if self._scales is not None:
            return tuple(map(sympy.sympify, self._scales))
        return tuple([_root(self.metric[i, i]) for i in range(len(self.symbols))])

    @cached_property
    def inverse(self) -> Any:
        """∂q/∂X, as functions of q."""
        return (self.metric.inv() * self.jacobian.T).applyfunc(sympy.simplify)

    @cached_property
    def frame(self) -> Any:
        """The unit vectors that components refer to, as columns."""
        if not self.is_orthogonal:
            return sympy.eye(len(self.symbols))
        return (self.jacobian * sympy.diag(*[1 / scale for scale in self.scales])).applyfunc(sympy.simplify)

    @cached_property
    def _hand(self) -> Any:
        """1 where the unit vectors are a right-handed system, else −1."""
        return sympy.simplify(self.jacobian.det() / sympy.Mul(*self.scales)) if self.is_orthogonal else sympy.Integer(1)

    def gradient(self, u: Any) -> list[Any]:
        """Return the gradient of a scalar."""
        slopes = [sympy.diff(u, q) for q in self.symbols]
        if self.is_orthogonal:
            return [slope / scale for slope, scale in zip(slopes, self.scales, strict=True)]
        return list(self.inverse.T * sympy.Matrix(slopes))

    def vector_gradient(self, v: Vector) -> Any:
        """Return the matrix of ∂ⱼvᵢ."""
        n = len(self.symbols)
        if len(v) != n:
            raise ShapeError(
                f"a vector in {n} dimensions has not {len(v)} components",
                fix="pass one for each coordinate.",
            )
        if not self.is_orthogonal:
            return sympy.Matrix(list(v)).jacobian(self.symbols) * self.inverse
        h, q = self.scales, self.symbols

        def entry(i: int, j: int) -> Any:
            found = sympy.diff(v[i], q[j]) / h[j]
            if i != j:
                return found - v[j] * sympy.diff(h[j], q[i]) / (h[i] * h[j])
            return found + sum(v[k] * sympy.diff(h[i], q[k]) / (h[i] * h[k]) for k in range(n) if k != i)

        return sympy.Matrix(n, n, entry)

    def divergence(self, v: Vector) -> Any:
        """Return the divergence of a vector."""
        return self.vector_gradient(v).trace()

    def curl(self, v: Vector) -> Any:
        """Return the curl: three components, or the one across the plane."""
        slopes, sign = self.vector_gradient(v), self._hand
        if len(self.symbols) == 2:
            return sign * (slopes[1, 0] - slopes[0, 1])
        if len(self.symbols) != 3:
            raise ShapeError(
                f"curl: a vector in {len(self.symbols)} dimensions has none",
                fix="the curl is that of a vector in the plane or in space.",
            )
        return [sign * (slopes[(i + 2) % 3, (i + 1) % 3] - slopes[(i + 1) % 3, (i + 2) % 3]) for i in range(3)]

    def laplacian(self, u: Any) -> Any:
        """Return the Laplacian of a scalar."""
        total: Any = 0
        for i, j, factor, drift in self._second:
            total += factor * sympy.diff(u, self.symbols[i], self.symbols[j]) + drift * sympy.diff(u, self.symbols[j])
        return total if total.has(sympy.core.function.AppliedUndef) else sympy.simplify(total)

    @cached_property
    def _second(self) -> list[tuple[int, int, Any, Any]]:
        """For each pair of coordinates, the factors of the second derivative and of the first one by the second."""
        if self.is_orthogonal:
            factors = sympy.diag(*[1 / scale**2 for scale in self.scales])
            volume = sympy.Mul(*self.scales)
        else:
            factors = (self.inverse * self.inverse.T).applyfunc(sympy.simplify)
            volume = _root(sympy.simplify(self.metric.det()))
        n = len(self.symbols)
        return [
            (i, j, factors[i, j], sympy.simplify(sympy.diff(volume * factors[i, j], self.symbols[i]) / volume))
            for i in range(n)
            for j in range(n)
            if factors[i, j] != 0
        ]

    def __repr__(self) -> str:
        return f"CoordinateSystem({' '.join(self.names)} -> {', '.join(map(str, self.cartesian))})"


def _root(square: Any) -> Any:
    """Return a square root that has derivatives."""
    return sympy.sqrt(square).replace(sympy.Abs, lambda x: x)

"""What the best known methods compute of a unit of a network at a point: formulas, to be run on numbers or counted.

A method sends streams through a network: the value of each unit and the derivatives that the problem asks for. Matrix
products take every stream through a layer's weights by itself; an activation y = f(z) mixes the streams of one unit.
The formulas rest on one fact: any derivative ∂ has ∂y = s ∂z, where s = f'(z) is a field like z. So further
derivatives of y are those of a product of two fields, and so is what comes back: the change of y with z is
δy = s δz, its streams are those of the product of s and δz, linear in those of δz, and the transpose of a linear map
takes as many products as the map. The derivatives of s follow from s' = −2 y y' for the tangent, and −y z' for the
sine. For one direction these are the recurrences of Taylor coefficients (A. Griewank and A. Walther, Evaluating
Derivatives, 2nd ed., SIAM 2008, chapter 13), for a sum of second derivatives the forward Laplacian.

Formulas take plain numbers, which is how tests prove them, or a `Quantity`, which counts products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Streams = dict[str, Any]


@dataclass(frozen=True)
class Activation:
    """A function of a unit.

    Attributes:
        rate, of_itself: derivatives of the slope are s' = rate · y · q', where q is y, or else z.
        slope: s, from y and what is computed with it (the cosine of a sine).
        second, third: f'' and f''', from y and s.
    """

    rate: float
    of_itself: bool
    slope: Callable[[Any, Any], Any]
    second: Callable[[Any, Any], Any]
    third: Callable[[Any, Any], Any]


ACTIVATIONS = {
    "tanh": Activation(
        -2.0, True, lambda y, _: 1.0 - y * y, lambda y, s: -2.0 * (y * s), lambda y, s: 4.0 * s - 6.0 * (s * s)
    ),
    "sin": Activation(-1.0, False, lambda y, cosine: cosine, lambda y, s: -1.0 * y, lambda y, s: -1.0 * s),
}


class Jets:
    """Taylor coefficients along one direction, to an order.

    Attributes:
        names: of the streams; the value is `0`.
        inputs: the streams of the first layer beside the value that are not zero: the same at each point.
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.names = tuple(map(str, range(order + 1)))
        self.inputs = self.names[1:2]

    def forward(self, z: Streams, y0: Any, s0: Any, activation: Activation) -> tuple[Streams, Streams]:
        """Return the streams of y, and what `times` needs of s."""
        y, s = {"0": y0}, {"0": s0}
        for i in range(1, self.order + 1):
            y[str(i)] = sum(j / i * (z[str(j)] * s[str(i - j)]) for j in range(1, i + 1))
            if activation.of_itself:  # half of the products y_j y_(i−j) are equal in pairs
                of_y = [(1.0 if 2 * j == i else 2.0) * (y[str(j)] * y[str(i - j)]) for j in range(i // 2 + 1)]
                s[str(i)] = activation.rate / 2 * sum(of_y)
            else:
                of_z = [j / i * (z[str(j)] * y[str(i - j)]) for j in range(1, i + 1)]
                s[str(i)] = activation.rate * sum(of_z)
        return y, s

    def times(self, s: Streams, v: Streams) -> Streams:
        """Return the streams of s times another field."""
        return {
            str(i): sum(s[str(i - j)] * v[str(j)] for j in range(i + 1)) for i in range(self.order + 1)
        }  # fmt: skip


class SecondOrder:
    """First derivatives in some directions, and the sum of the second ones in the first few of them.

    Args:
        directions: how many there are.
        summed: of how many the second derivatives are added up, the stream `L`.
        common: whether f'' stands before sums, which takes fewer products of many directions; else derivatives of s do.
    """

    def __init__(self, directions: int, summed: int, common: bool) -> None:
        self.first = tuple(map(str, range(1, directions + 1)))
        self.summed = self.first[:summed]
        self.names = ("0", *self.first, "L")
        self.inputs = self.first
        self.common = common

    def forward(self, z: Streams, y0: Any, s0: Any, activation: Activation) -> tuple[Streams, Streams]:
        """Return the streams of y, and what `times` needs of s."""
        y = {"0": y0, **{i: s0 * z[i] for i in self.first}}
        if self.common:
            second = activation.second(y0, s0)
            square = sum(z[i] * z[i] for i in self.summed)
            y["L"] = s0 * z["L"] + second * square
            at_l = second * z["L"] + activation.third(y0, s0) * square
            return y, {"0": s0, "second": second, "L": at_l, **{i: z[i] for i in self.first}}
        q = y if activation.of_itself else z
        s = {"0": s0, **{i: activation.rate * (y0 * q[i]) for i in self.first}}
        y["L"] = s0 * z["L"] + sum(s[i] * z[i] for i in self.summed)
        s["L"] = activation.rate * (y0 * q["L"] + sum(y[i] * q[i] for i in self.summed))
        return y, s

    def times(self, s: Streams, v: Streams) -> Streams:
        """Return the streams of s times another field."""
        found = {"0": s["0"] * v["0"]}
        if self.common:
            bent = s["second"] * v["0"]
            found |= {i: s["0"] * v[i] + s[i] * bent for i in self.first}
            mixed = s["second"] * sum(s[i] * v[i] for i in self.summed)
        else:
            found |= {i: s["0"] * v[i] + s[i] * v["0"] for i in self.first}
            mixed = sum(s[i] * v[i] for i in self.summed)
        found["L"] = s["0"] * v["L"] + 2.0 * mixed + s["L"] * v["0"]
        return found


class Biharmonic:
    """The streams that Δ²y needs in two dimensions: y, ∇y, second derivatives, ∇Δy (`Lx`, `Ly`) and Δ²y (`LL`)."""

    names = ("0", "x", "y", "xx", "xy", "yy", "Lx", "Ly", "LL")
    inputs = ("x", "y")

    def forward(self, z: Streams, y0: Any, s0: Any, activation: Activation) -> tuple[Streams, Streams]:
        """Return the streams of y, and what `times` needs of s."""
        assert activation.of_itself  # no workload has another
        y, s = {"0": y0}, {"0": s0}
        for i in "xy":
            y[i] = s0 * z[i]
            s[i] = -2.0 * (y0 * y[i])
        for i, j in ("xx", "xy", "yy"):
            y[i + j] = s0 * z[i + j] + s[j] * z[i]
            s[i + j] = -2.0 * (y0 * y[i + j] + y[i] * y[j])
        for i, j in ("xy", "yx"):  # ∂ᵢ (s Δz + ∇s ∇z)
            y["L" + i] = (
                s0 * z["L" + i] + s[i] * (_laplacian(z) + z[i + i]) + s[j] * z["xy"] + s[i + i] * z[i] + s["xy"] * z[j]
            )
            s["L" + i] = -2.0 * (y0 * y["L" + i] + y[i] * (_laplacian(y) + 2.0 * y[i + i]) + 2.0 * (y[j] * y["xy"]))
        y["LL"] = (
            s0 * z["LL"]
            + sum(3.0 * (s[i] * z["L" + i]) + s["L" + i] * z[i] for i in "xy")
            + _laplacian(s) * _laplacian(z)
            + 2.0 * (s["xx"] * z["xx"] + s["yy"] * z["yy"])
            + 4.0 * (s["xy"] * z["xy"])
        )
        squares = y["xx"] * y["xx"] + y["yy"] * y["yy"] + 2.0 * (y["xy"] * y["xy"])
        slopes = sum(y[i] * y["L" + i] for i in "xy")
        s["LL"] = -2.0 * (y0 * y["LL"] + _laplacian(y) * _laplacian(y) + 4.0 * slopes + 2.0 * squares)
        return y, s

    def times(self, s: Streams, v: Streams) -> Streams:
        """Return the streams of s times another field."""
        found = {"0": s["0"] * v["0"], **{i: s["0"] * v[i] + s[i] * v["0"] for i in "xy"}}
        for i in "xy":
            found[i + i] = s["0"] * v[i + i] + 2.0 * (s[i] * v[i]) + s[i + i] * v["0"]
        found["xy"] = s["0"] * v["xy"] + s["x"] * v["y"] + s["y"] * v["x"] + s["xy"] * v["0"]
        for i, j in ("xy", "yx"):
            found["L" + i] = (
                s["0"] * v["L" + i]
                + s["L" + i] * v["0"]
                + s[i] * (_laplacian(v) + 2.0 * v[i + i])
                + (_laplacian(s) + 2.0 * s[i + i]) * v[i]
                + 2.0 * (s["xy"] * v[j] + s[j] * v["xy"])
            )
        found["LL"] = (
            s["0"] * v["LL"]
            + s["LL"] * v["0"]
            + 4.0 * sum(s[i] * v["L" + i] + s["L" + i] * v[i] for i in "xy")
            + (6.0 * s["xx"] + 2.0 * s["yy"]) * v["xx"]
            + (2.0 * s["xx"] + 6.0 * s["yy"]) * v["yy"]
            + 8.0 * (s["xy"] * v["xy"])
        )
        return found


def _laplacian(of: Streams) -> Any:
    return of["xx"] + of["yy"]


Method = Jets | SecondOrder | Biharmonic


# -- counting ----------------------------------------------------------------------------------------------------------

Form = tuple[tuple[int, float], ...]


class Products:
    """The products of quantities that were formed, each once: equal ones are one, up to a factor."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Form, Form], int] = {}
        self._factors: list[tuple[int, ...]] = [()]  # number 0 stands for the constant 1

    def leaf(self) -> Quantity:
        """Return a new quantity that varies with the point."""
        self._factors.append(())
        return Quantity(self, {len(self._factors) - 1: 1.0})

    def product(self, a: Form, b: Form) -> int:
        """Return the number of the product of two sums."""
        key = (min(a, b), max(a, b))
        if key not in self._numbers:
            self._numbers[key] = len(self._factors)
            self._factors.append(tuple([number for number, _ in a + b]))
        return self._numbers[key]

    def needed(self, results: Iterable[Any]) -> int:
        """Return how many products the results take."""
        waiting = [number for result in results if isinstance(result, Quantity) for number in result.terms]
        seen: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number not in seen:
                seen.add(number)
                waiting.extend(self._factors[number])
        return sum(bool(self._factors[number]) for number in seen)


class Quantity:
    """A sum of varying quantities and products of them, with constant factors.

    Factors are constants of a unit: they can be put into the weights of the next layer, and are not counted. A sum is
    not counted, as it is part of a multiply-add.
    """

    def __init__(self, products: Products, terms: Mapping[int, float]) -> None:
        self.products = products
        self.terms = {number: factor for number, factor in terms.items() if factor}

    def __add__(self, other: Any) -> Quantity:
        more = other.terms if isinstance(other, Quantity) else {0: float(other)}
        sums = {number: self.terms.get(number, 0.0) + more.get(number, 0.0) for number in {**self.terms, **more}}
        return Quantity(self.products, sums)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Quantity:
        return self + -1.0 * other

    def __rsub__(self, other: Any) -> Quantity:
        return -1.0 * self + other

    def __mul__(self, other: Any) -> Quantity:
        if not isinstance(other, Quantity):
            return Quantity(self.products, {number: factor * other for number, factor in self.terms.items()})
        if not self.terms or not other.terms:
            return Quantity(self.products, {})
        (scale, form), (more, others) = self._normal(), other._normal()
        return Quantity(self.products, {self.products.product(form, others): scale * more})

    __rmul__ = __mul__

    def _normal(self) -> tuple[float, Form]:
        """Return a factor, and the sum without it."""
        ordered = sorted(self.terms.items())
        scale = ordered[0][1]
        return scale, tuple([(number, round(factor / scale, 9)) for number, factor in ordered])


def counted(
    method: Method, activation: Activation, needed: Sequence[str], *, first: bool = False, gradient: bool = False
) -> int:
    """Return the products of a unit at a point that a method takes.

    Args:
        method: which streams there are.
        activation: of the unit.
        needed: the streams that the next layer reads.
        first: whether the unit is in the first layer, where derivatives of z are the same at each point, or zero.
        gradient: whether the parameters' gradient goes back through the unit, too.
    """
    products = Products()

    def varying(constant: float) -> Streams:
        given = {name: constant if name in method.inputs else 0.0 for name in method.names[1:]}
        return {"0": products.leaf(), **(given if first else {name: products.leaf() for name in method.names[1:]})}

    y0 = products.leaf()
    y, s = method.forward(varying(1.0), y0, activation.slope(y0, products.leaf()), activation)
    results = [y[name] for name in needed]
    if gradient:
        back = method.times(s, varying(0.0))
        results += [back[name] for name in needed]
    return products.needed(results)

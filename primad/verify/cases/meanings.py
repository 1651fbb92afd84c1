"""What ops that hold a program mean: their values by SymPy's derivatives of the program's formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import one_or_all
from primad.transforms.lowering import lower
from primad.verify.exact.number_systems import Numbers
from primad.verify.exact.object_arrays import Evaluator

Array = np.ndarray[Any, Any]


def _values(n: Numbers, of: ClosedProgram, arrays: Sequence[Array]) -> list[Array]:
    return Evaluator(n).run(of.hoisted, arrays)


def derivatives(y: Array, x: Array) -> Array:
    """Return all derivatives derivatives of the expressions y by the symbols x."""
    import sympy  # only a proof needs it

    out = np.empty((*y.shape, *x.shape), object)
    for i in np.ndindex(y.shape):
        for j in np.ndindex(x.shape):
            out[(*i, *j)] = sympy.diff(y[i], x[j])
    return out


def _block(full: Array, *blocks: Any) -> Array:
    for axis, bounds in enumerate([bounds for block in blocks for bounds in block]):
        full = np.take(full, [*range(*bounds)], axis)
    return full


def jacobian(
    n: Numbers,
    *xs: Array,
    of: Any,
    output: int,
    argument: int,
    mode: str,
    rows: Any,
    columns: Any,
    order: Any = None,
) -> Array:
    """Return a block of the derivatives of one result by one argument."""
    found = _block(derivatives(_values(n, of, xs)[output], xs[argument]), rows, columns)
    return found if order is None else np.transpose(found, order)


def hessian(
    n: Numbers,
    *xs: Array,
    of: Any,
    output: int,
    first: int,
    second: int,
    rows: Any,
    left: Any,
    right: Any,
    order: Any = None,
) -> Array:
    """Return a block of the second derivatives of one result by two arguments."""
    full = derivatives(derivatives(_values(n, of, xs)[output], xs[first]), xs[second])
    found = _block(full, rows, left, right)
    return found if order is None else np.transpose(found, order)


def jacobian_diagonal(
    n: Numbers, *xs: Array, of: Any, output: int, argument: int, mode: str, rows: Any, columns: Any
) -> Array:
    """Return the diagonal of a block of the derivatives of one result by one argument."""
    return np.diagonal(_block(derivatives(_values(n, of, xs)[output], xs[argument]), rows, columns))


def mixed_diagonal(
    n: Numbers, *xs: Array, of: Any, output: int, first: int, second: int, left: Any, right: Any
) -> Array:
    """Return the diagonal of a block of the second derivatives of one result by two arguments."""
    return np.diagonal(_block(derivatives(derivatives(_values(n, of, xs)[output], xs[first]), xs[second]), left, right))


def hvp(n: Numbers, *xs: Array, of: Any, output: int, argument: int, along: int) -> Array:
    """Return the second derivatives of one result, along a direction in one of the arguments."""
    *inputs, v = xs
    slope = derivatives(derivatives(_values(n, of, inputs)[output], inputs[argument]), inputs[along])
    return np.tensordot(slope, v, v.ndim)


def hessian_diagonal(n: Numbers, *xs: Array, of: Any, output: int, argument: int, total: bool) -> Array:
    """Return the second derivatives by each element of an argument, or their sum."""
    x = xs[argument]
    full = derivatives(derivatives(_values(n, of, xs)[output], x), x)
    found = np.diagonal(full, 0, -2, -1)
    return np.asarray(np.sum(found, axis=-1), object) if total else found


def partial(n: Numbers, *xs: Array, of: Any, output: int, component: Any, groups: Any, points: int) -> Array:
    """Return sums of partial derivatives.

    Element by element, since the coordinates of a point are axes of the arguments.
    """
    import sympy  # only a proof needs it

    count = len(of.hoisted.inputs)
    xs, given = xs[:count], iter(xs[count:])
    weighted = [(n.number(sign) if sign else next(given)[()], terms) for sign, terms in groups]
    y = _values(n, of, xs)[output]
    y = y if component is None else y[..., component]
    out = np.empty(y.shape, object)
    for place in np.ndindex(y.shape):
        at = place[:points]
        total: Any = 0
        for weight, directions in ((weight, term) for weight, terms in weighted for term in terms):
            along = [xs[argument][at if index is None else (*at, index)] for argument, index in directions]
            total += weight * (sympy.diff(y[place], *along) if along else y[place])
        out[place] = total
    return out


def pushforward(n: Numbers, *xs: Array, of: Any, output: int, argument: int) -> Array:
    """Return the derivative of one result along a direction in one argument."""
    *inputs, t = xs
    return np.tensordot(derivatives(_values(n, of, inputs)[output], inputs[argument]), t, t.ndim)


def pullback(n: Numbers, *xs: Array, of: Any, output: int, argument: int) -> Array:
    """Return the derivatives of one result by one argument, weighted by a cotangent."""
    *inputs, w = xs
    return np.tensordot(w, derivatives(_values(n, of, inputs)[output], inputs[argument]), w.ndim)


def _total(terms: Sequence[Any]) -> Array:
    return np.asarray(sum(terms[1:], terms[0]), object)


def jvp(n: Numbers, *xs: Array, of: Any, active: tuple[bool, ...]) -> Any:
    """Return all results and their derivatives along directions in the active arguments."""
    inputs, given = xs[: len(active)], iter(xs[len(active) :])
    out = _values(n, of, inputs)
    moving = [(x, next(given)) for x, on in zip(inputs, active, strict=True) if on]
    return (*out, *[_total([np.tensordot(derivatives(y, x), t, x.ndim) for x, t in moving]) for y in out])


def vjp(n: Numbers, *xs: Array, of: Any, active: tuple[bool, ...]) -> Any:
    """Return all results and, for each active argument, the derivatives weighted by cotangents."""
    inputs, cotangents = xs[: len(active)], xs[len(active) :]
    out = _values(n, of, inputs)
    pairs = list(zip(out, cotangents, strict=True))
    chosen = [x for x, on in zip(inputs, active, strict=True) if on]
    return (*out, *[_total([np.tensordot(w, derivatives(y, x), w.ndim) for y, w in pairs]) for x in chosen])


def vmap(n: Numbers, *xs: Array, of: Any, batched: tuple[bool, ...], size: int) -> Any:
    """Return the results for each row, stacked."""
    return _stacked([_values(n, of, row) for row in _rows(xs, batched, size)])


def mapped(n: Numbers, *xs: Array, of: Any, batched: tuple[bool, ...], size: int) -> Any:
    """Return the results for each row of a program whose ops have rules of their own, stacked."""
    program = lower(of.hoisted)
    return _stacked([Evaluator(n).run(program, row) for row in _rows(xs, batched, size)])


def _stacked(rows: Sequence[Sequence[Array]]) -> Any:
    return one_or_all([np.stack(found) for found in zip(*rows, strict=True)])


def _rows(xs: Sequence[Array], batched: Sequence[bool], size: int) -> list[list[Array]]:
    return [[x[i] if on else x for x, on in zip(xs, batched, strict=True)] for i in range(size)]


def same(n: Numbers, *xs: Array, of: Any, rule: Any = None) -> Any:
    """Return what the program gives: the op changes only how it is differentiated."""
    return one_or_all(_values(n, of, xs))


def transposed(n: Numbers, *xs: Array, of: Any, linear: tuple[bool, ...]) -> Any:
    """Return, row by row, the matrix of the map from the operands that it is linear in, times the cotangents."""
    kept, cotangents = iter(xs[: linear.count(False)]), xs[linear.count(False) :]
    types = of.hoisted.in_types
    operands = [np.zeros(type.shape, object) if on else next(kept) for type, on in zip(types, linear, strict=True)]
    found = []
    for place, on in enumerate(linear):
        if on:
            pulled = np.empty(types[place].shape, object)
            for index in np.ndindex(pulled.shape):
                unit = np.zeros(pulled.shape, object)
                unit[index] = 1
                out = _values(n, of, [unit if i == place else x for i, x in enumerate(operands)])
                pulled[index] = sum(np.sum(y * w) for y, w in zip(out, cotangents, strict=True))
            found.append(pulled)
    return one_or_all(found)


def pulled(n: Numbers, *xs: Array, of: ClosedProgram) -> Any:
    """Return the derivative of the program at the residuals, which may be numbers, along the tangents."""
    import sympy  # only a proof needs it

    x, p, *tangents = xs
    inputs = [np.array(sympy.symbols(f"{name}:2", real=True), object) for name in "vw"]
    point = dict(zip([*inputs[0], *inputs[1]], [*x, *p], strict=True))
    found = []
    for y in _values(n, of, inputs):
        total = _total([np.tensordot(derivatives(y, v), t, 1) for v, t in zip(inputs, tangents, strict=True)])
        found.append(np.array([value.subs(point) for value in total.flat], object).reshape(total.shape))
    return tuple(found)

"""Running programs on object arrays, whose elements are exact: SymPy expressions, or high-precision numbers.

The NumPy definitions of structural, linear and multilinear primitives run unchanged on object arrays. The others have
one line each, in their records (`meaning`) or here, in terms of the few scalar functions that a number system provides
(`number_systems.Numbers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import CAPTURED, INPUT, LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.ops.record.primitive import Primitive, one_or_all
from primad.recording.tracing import trace
from primad.transforms import lower
from primad.verify.exact import exact_fourier, exact_matrices
from primad.verify.exact.exact_philox import draw
from primad.verify.exact.number_systems import Numbers

Array = np.ndarray[Any, Any]
Definition = Callable[..., Any]


def pointwise(function: Callable[..., Any], dtype: Any = object) -> Definition:
    """Lift a function `(numbers, *elements, **params)` to arrays."""

    def definition(numbers: Numbers, *arrays: Any, **params: Any) -> Array:
        out = np.empty(np.shape(arrays[0]), dtype)
        for index in np.ndindex(out.shape):
            out[index] = function(numbers, *(array[index] for array in arrays), **params)
        return out

    return definition


def _truncate(n: Numbers, x: Any, dtype: str) -> Any:
    if isinstance(x, (bool, np.bool_, int, np.integer)):
        return np.dtype(dtype).type(x)
    if dtype == "bool":
        return not n.equal(x, 0)
    return -n.floor(-x) if n.less(x, 0) else n.floor(x)


def extremum(better: Callable[[Numbers, Any, Any], bool]) -> Definition:
    """Return the reduction to the best element along axes."""

    def best(numbers: Numbers, x: Array, *, axes: tuple[int, ...]) -> Array:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        moved = x.transpose((*kept, *axes)).reshape((*[x.shape[axis] for axis in kept], -1))
        out = np.empty(moved.shape[:-1], object)
        for index in np.ndindex(out.shape):
            found = moved[index][0]
            for element in moved[index][1:]:
                if better(numbers, element, found):
                    found = element
            out[index] = found
        return out

    return best


def order_along(numbers: Numbers, x: Array, *, axis: int) -> Array:
    """Return the indices that sort along an axis."""

    def compare(a: Any, b: Any) -> int:
        return -1 if numbers.less(a, b) else 1 if numbers.less(b, a) else 0

    def order(row: Array) -> Array:
        def by_value(i: int, j: int) -> int:
            return compare(row[i], row[j])

        return np.array(sorted(range(len(row)), key=cmp_to_key(by_value)), np.int64)

    return np.apply_along_axis(order, axis, x).astype(np.int64) if x.size else np.zeros(x.shape, np.int64)


def first_largest(
    numbers: Numbers,
    x: Array,
    *,
    axes: tuple[int, ...],
    count: tuple[int, ...],
    size: tuple[int, ...],
    step: tuple[int, ...],
    dilation: tuple[int, ...],
    low: tuple[int, ...],
) -> Array:
    """Return where windows have their first largest element, in row-major order over the axes of the windows."""
    length = [x.shape[axis] for axis in axes]
    shape = list(x.shape)
    for axis, n in zip(axes, count, strict=True):
        shape[axis] = n
    out = np.empty(shape, np.int64)
    for index in np.ndindex(out.shape):
        best: tuple[Any, int] | None = None
        for element in np.ndindex(size):
            entries = zip(axes, element, step, dilation, low, strict=True)
            at = [index[axis] * s + p * d - before for axis, p, s, d, before in entries]
            if any(not 0 <= i < n for i, n in zip(at, length, strict=True)):
                continue
            place = list(index)
            for axis, i in zip(axes, at, strict=True):
                place[axis] = i
            value = x[tuple(place)]
            if best is None or numbers.less(best[0], value):
                best = value, int(np.ravel_multi_index(at, length))
        assert best is not None
        out[index] = best[1]
    return out


def _numbers(n: Numbers, values: Any) -> Array:
    """Turn numbers of NumPy into numbers of the number system."""
    values = np.asarray(values)
    out = np.empty(values.shape, object)
    for index in np.ndindex(values.shape):
        value = values[index]
        out[index] = n.number(value.item()) if isinstance(value, np.generic) else value
    return out


DEFINITIONS: dict[Primitive, Definition] = {
    ops.stop_gradient: lambda n, x: x,
    ops.barrier: lambda n, x: x,
    ops.truncate: pointwise(_truncate),
    ops.eye: lambda numbers, /, *, n, dtype: _numbers(numbers, [[int(i == j) for j in range(n)] for i in range(n)]),
    ops.iota: lambda numbers, /, *, n, dtype: _numbers(numbers, list(range(n))),
    ops.draw: draw,
    ops.cast: lambda n, x, *, dtype: _numbers(n, x),
    ops.fft: exact_fourier.fft,
    ops.rfft: exact_fourier.rfft,
    ops.irfft: exact_fourier.irfft,
    ops.dct: exact_fourier.dct,
    ops.dst: exact_fourier.dst,
    ops.left_vectors: exact_matrices.left_vectors,
    ops.slopes: exact_matrices.slopes,
    ops.real_part: pointwise(lambda n, z: n.real(z)),
    ops.imaginary_part: pointwise(lambda n, z: n.imag(z)),
    ops.conj: pointwise(lambda n, z: n.real(z) - n.number(1j) * n.imag(z)),
    ops.complex_of: pointwise(lambda n, x, y: x + n.number(1j) * y),
    ops.argsort: order_along,
    ops.reduce_max: extremum(lambda n, x, y: n.less(y, x)),
    ops.reduce_min: extremum(lambda n, x, y: n.less(x, y)),
    ops.window_argmax: first_largest,
    ops.project: lambda n, several, *, index: several[index],
    ops.solve_triangular: exact_matrices.solve_triangular,
    ops.qr: exact_matrices.qr,
    ops.lu: exact_matrices.lu,
    ops.cholesky: exact_matrices.cholesky,
    ops.cofactors: exact_matrices.cofactors,
    ops.cofactors_along: exact_matrices.cofactors_along,
    ops.eigh: exact_matrices.eigh,
    ops.svd: exact_matrices.svd,
    ops.expm: exact_matrices.expm,
    ops.expm_frechet: exact_matrices.expm_frechet,
    ops.logm: exact_matrices.logm,
    ops.logm_frechet: exact_matrices.logm_frechet,
    ops.solve_sylvester: exact_matrices.solve_sylvester,
    ops.sqrtm: exact_matrices.sqrtm,
    ops.gaps: exact_matrices.gaps,
    ops.spread: lambda n, ct, x, **params: np.where(np.eye(x.shape[-1], dtype=bool), ct[..., None, :], n.number(0)),
}
"""What primitives mean whose elements do not follow from those at their places, where NumPy knows no object arrays."""


def definition_of(op: Primitive) -> Definition | None:
    """Return what a primitive means on object arrays, if its NumPy function does not run on them."""
    return DEFINITIONS.get(op) or (None if op.meaning is None else pointwise(op.meaning))


class Evaluator:
    """Runs programs on a number system.

    Args:
        numbers: the number system.
        definitions: meanings of further ops, `(numbers, *arrays, **params) -> array`.
    """

    def __init__(self, numbers: Numbers, definitions: Mapping[Primitive, Definition] | None = None) -> None:
        self.numbers = numbers
        self.definitions = definitions or {}

    def run(self, program: Program, arguments: Sequence[Any], frozen: dict[Node, Any] | None = None) -> list[Any]:
        """Compute the outputs: object arrays where they are floats, else plain arrays.

        Args:
            program: any program without captured nodes of open traces.
            arguments: one array per input.
            frozen: values of `stop_gradient` nodes: used where present, noted where not. A difference quotient with the
                same `frozen` at both points sees what differentiation sees.
        """
        values: dict[Node, Any] = {}
        for node, argument in zip(program.inputs, arguments, strict=True):
            values[node] = self.array(argument, node.type)
        for node in program.nodes:
            if node not in values:
                values[node] = self._compute(node, values, frozen)
        return [values[node] for node in program.outputs]

    def _compute(self, node: Node, values: Mapping[Node, Any], frozen: dict[Node, Any] | None) -> Any:
        if node.op is INPUT:
            raise ValueError("the program has an input of another trace")
        if node.op is LITERAL:
            value = literal_value(node)
            return self.array(np.broadcast_to(np.asarray(value, node.type.dtype), node.type.shape), node.type)
        if node.op is CAPTURED:
            return self.array(node.params[0][1].array, node.type)
        if frozen is not None and node.op is ops.stop_gradient:
            return frozen.setdefault(node, values[node.inputs[0]])
        operands, types = [values[operand] for operand in node.inputs], [operand.type for operand in node.inputs]
        return self.apply(node.op, operands, dict(node.params), node.type, types)

    def apply(
        self, op: Primitive, operands: Sequence[Any], params: dict[str, Any], type: Any, types: Sequence[Any] = ()
    ) -> Any:
        """Apply one op to operands, of these types if they are not real numbers; several results are a tuple."""
        definition = self.definitions.get(op) or definition_of(op)
        if definition is not None:
            return self.array(definition(self.numbers, *operands, **params), type)
        if not type.is_float and all(operand.dtype != object for operand in operands):
            return self.array(op.numpy(*operands, **params), type)
        if op.programs.build is not None:
            (held,) = op.programs.names
            options = {name: value for name, value in params.items() if name != held}
            return one_or_all(self.run(lower(op.programs.build(params[held].hoisted, **options)), operands))
        try:
            return self.array(op.numpy(*operands, **params), type)
        except (TypeError, AttributeError):
            # NumPy's transcendental functions do not know the elements; they, or the op's definition, can be recorded.
            types = types or [ArrayType(x.shape, np.float64 if x.dtype == object else x.dtype) for x in operands]
            try:
                program = trace(lambda *arrays: (op.lower or op.numpy)(*arrays, **params))(*types)
            except TracingError:
                raise _without_meaning(op, len(operands)) from None
            if any(node.op is op for node in program.nodes):  # NumPy's function asks for the op itself
                raise _without_meaning(op, len(operands)) from None
            return self.run(program, operands)[0]

    def array(self, value: Any, type: Any) -> Any:
        """Return a value as an array of exact numbers (floats) or a plain array (integers, booleans).

        Of the results of an op that has several, each as its own.
        """
        if isinstance(type, TupleType):
            return tuple([self.array(part, each) for part, each in zip(value, type.types, strict=True)])
        if not type.is_float:
            return np.asarray(value).astype(type.dtype)
        if not isinstance(value, np.ndarray):
            out = np.empty((), object)
            out[()] = self.numbers.number(value.item()) if isinstance(value, np.generic) else value
            return out
        return value if value.dtype == object else _numbers(self.numbers, value)


OF_SCIPY = {f"{letter}{order}": f"bessel{letter}({order}, x)" for letter in "jyik" for order in (0, 1)}
"""What SymPy calls SciPy's Bessel functions."""


def _without_meaning(op: Primitive, count: int) -> TracingError:
    """Return the error for an op of the user's whose function cannot be computed with symbols."""
    names = ", ".join("xyzpqr"[:count])
    known = (OF_SCIPY.get(name) for name in (op.name, getattr(op.numpy, "__name__", "")))
    meaning = next((text for text in known if text), "")
    said = f"sympy.{meaning or 'besselj(0, x)'}"
    return TracingError(
        f"{op.name}: its NumPy function runs neither on symbols nor on traced arrays",
        why="A proof needs to know what the op means.",
        fix=f"say it in SymPy's functions{'' if meaning else ', were it a Bessel function so'}: verify(…, symbolic="
        f"{{{op.name}: lambda numbers, {names}: np.frompyfunc(lambda {names}: {said}, {count}, 1)({names})}}), with "
        f"all ops that rules use; give its record the function `meaning`, as primad's own have it; or compare with "
        f"differences: primad.check_grads({op.name}, ({names},)).",
    )

"""A function f of Hermitian matrices, V diag(f(w)) Vᴴ, its derivatives, and its trace, as ops that hold f.

Of general matrices, of which `lower` is None, V⁻¹ stands for Vᴴ, and f is analytic.

They have derivatives of every order also where eigenvalues are equal, since f does to a matrix what does not depend on
the basis of vectors. The one of f(A) along E is V (f[w[i], w[j]] · (Vᴴ E V)[i, j]) Vᴴ, and that along several changes,
one after the other, has the divided differences of more values between them:

  T(E₁, …, Eₖ) = V (Σ f[w[i₀], …, w[iₖ]] S₁[i₀, i₁] … Sₖ[iₖ₋₁, iₖ]) Vᴴ  with  Sⱼ = Vᴴ Eⱼ V.

If A moves along E, T changes by the sum of the T in which E stands at one of the k + 1 places. The differences are the
same in any order, so that Tr(C T(E₁, …, Eₖ)) = Tr(T(Eⱼ₊₁, …, Eₖ, C, E₁, …, Eⱼ₋₁) Eⱼ): transposes are of the same kind.

Source: Ju. L. Daleckii and S. G. Krein (1951); R. Bhatia, Matrix Analysis (1997), V.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Linear, Zero, complex_dtype, real_dtype
from primad.ir.program import ClosedProgram, Program
from primad.ops.arrays.contraction import ALPHABET, letters, split
from primad.ops.linalg.factorization import adjoint, hermitian, square, transposed
from primad.ops.record.fields import DerivativeRules
from primad.ops.record.primitive import Primitive, full
from primad.programs.derived_programs import derived
from primad.programs.program_ops import holding_op
from primad.programs.spectra.divided_differences import divided_differences, slope
from primad.recording.tracing import program_of
from primad.transforms import batching, forward
from primad.transforms.lowering import apply_program_op, expand, inline


def _matrix_type(
    name: str, a: ArrayType, of: ClosedProgram, params: Sequence[ArrayType], repeated: int, lower: bool | None
) -> ArrayType:
    """Return the type of a function of matrices; raise where operands are not what the function takes."""
    square(name, a)
    wanted = of.operand_types
    values = ArrayType(wanted[0].shape, complex_dtype(a.dtype) if lower is None else real_dtype(a.dtype))
    own = values.shape[repeated:] == a.shape[:-1]
    if not own or [values, *params] != wanted or [x.shape for x in of.out_types] != [values.shape]:
        raise ShapeError(
            f"{name}: its program is not of the eigenvalues of {a} and of {params}",
            fix="build the program for vectors of the eigenvalues and these params.",
        )
    return ArrayType((*values.shape, a.shape[-1]), np.result_type(a.dtype, of.out_types[0].dtype))


def _matrices(program: Program, dtype: str, repeated: int) -> ArrayType:
    """Return the type of the matrices that a function is of, which are the same along axes in front of it."""
    shape = program.in_types[0].shape[repeated:]
    return ArrayType((*shape, shape[-1]), np.dtype(dtype))


def _batched(
    op: Any, flags: tuple[bool, ...], size: int, *operands: Any, of: ClosedProgram, repeated: int, **options: Any
) -> Any:
    """Apply an op to a stack of operands: its program is that of a stack of spectra.

    Where changes alone are stacked, as the directions of a Jacobian are, the program is one; where it is one matrix,
    that is decomposed once.
    """
    count = len(operands) - options.get("order", 0)
    shared = not any(flags[:count])
    (a, *rest), (several, *on) = operands, flags
    if several and repeated:
        front = of.program.in_types[0].shape[:repeated]
        a = ops.broadcast(a, shape=(size, *front, *a.shape[1:]), axes=tuple(range(1, 1 + repeated)))
    whole = [
        x if stacked or (shared and i < count) else ops.broadcast(x, shape=(size, *x.shape), axes=(0,))
        for i, (x, stacked) in enumerate(zip(rest, on, strict=True), 1)
    ]
    if shared:
        return op(a, *whole, of=of, repeated=repeated, **{**options, "stack": (size, *options["stack"])})

    def make() -> ClosedProgram:
        return ClosedProgram(batching.vmap(of.hoisted, [True] * count, size))

    held = derived("stacked spectra", of, size, make)
    along = len(options.get("stack", ()))
    changes = [_stack_axis(x, 0, along) for x in whole[count - 1 :]]
    repeated = 0 if several else repeated + 1
    found = apply_program_op(op, held, [a, *whole[: count - 1]], changes, repeated=repeated, **options)
    return _stack_axis(found, along, 0)


def _stack_axis(x: Any, start: int, stop: int) -> Any:
    """Move an axis to another place."""
    order = [i for i in range(x.ndim) if i != start]
    order.insert(stop, start)
    return ops.permute(x, order=tuple(order)) if start != stop else x


def _by_definition(op: Primitive, tangents: Sequence[Any], operands: Sequence[Any], **params: Any) -> Any:
    """Return the tangent of what an op stands for."""
    definition = op.lower
    assert definition is not None
    program = program_of([x.type for x in operands], lambda *xs: [definition(*xs, **params)])
    active = [not isinstance(t, Zero) for t in tangents]
    pushed = forward.by_rules(expand(program, active), active)  # and not by what would be found in it again
    return inline(pushed, [*operands, *(t for t in tangents if not isinstance(t, Zero))])[-1]


def _tells_apart(of: ClosedProgram, params: Sequence[Any], tangents: Sequence[Any]) -> bool:
    """Say whether something changes that differs from one eigenvalue to the other."""
    ndim = of.program.in_types[0].ndim
    return any(p.ndim == ndim and not isinstance(t, Zero) for p, t in zip(params, tangents, strict=True))


def _decomposed(
    a: Any, lower: bool | None, params: Sequence[Any], repeated: int
) -> tuple[Any, Any, Any, Sequence[Any]]:
    """Return eigenvalues, vectors, the inverse of their matrix, and operands in the same order.

    Those of general matrices are in the order of their places along a direction in the plane: those that are equal are
    neighbours, and of several the first and the last are apart.
    """
    if lower is not None:
        w, v = ops.eigh(a, lower=lower)
        return w, v, adjoint(v), params
    w, v, _ = ops.eig(a)
    last = w.ndim - 1
    own = [p.ndim == repeated + w.ndim for p in params]
    back = ops.left_vectors(v, w, _numbers(w, [p for p, has in zip(params, own, strict=True) if has]))
    order = ops.argsort(ops.real_part(w) + ops.imaginary_part(w) * full(LEANING, ops.imaginary_part(w)), axis=last)

    def in_order(p: Any) -> Any:
        wide = ops.broadcast(order, shape=p.shape, axes=tuple(range(repeated)))
        return ops.gather(p, wide, axis=p.ndim - 1, batch=p.ndim - 1)

    rows = [ops.gather(x, order, axis=last, batch=last) for x in (w, transposed(v), back)]
    params = [in_order(p) if has else p for p, has in zip(params, own, strict=True)]
    return rows[0], transposed(rows[1]), rows[2], params


def _numbers(w: Any, given: Sequence[Any]) -> Any:
    """Return what tells eigenvalues apart: the numbers that operands have for each, along one more axis, the last."""
    rows = []
    for x in (full(0.0, w), *given):
        front = x.ndim - w.ndim
        moved = ops.permute(ops.cast(x, dtype=str(w.dtype)), order=(*range(front, x.ndim), *range(front)))
        rows.append(ops.reshape(moved, shape=(*w.shape, math.prod(x.shape[:front]))))
    return ops.concatenate(*rows, axis=w.ndim)


LEANING = math.pi / 4
"""How far the direction leans, in which values of general matrices are ordered. Chosen: two of a spectrum that somebody
writes down, as roots of unity or a grid, are nowhere at the same place along it."""


def _change(moved: Any, lower: bool | None) -> Any:
    """Return the change of a matrix of which a triangle is read, or the whole of it."""
    return moved if lower is None else hermitian(moved if lower else adjoint(moved))


# -- functions of matrices ---------------------------------------------------------------------------------------------


def matrix_function(
    of: ClosedProgram, a: Any, params: Sequence[Any], changes: Sequence[Any], lower: bool | None
) -> Any:
    """Apply the derivative of a function of matrices along some changes (none: the function itself), as a node."""
    options = {
        "order": len(changes),
        "lower": lower,
        "dtype": str(a.dtype),
        "repeated": of.program.in_types[0].ndim + 1 - a.ndim,
        "stack": changes[0].shape[: changes[0].ndim - of.program.in_types[0].ndim - 1] if changes else (),
    }
    if len(params) >= len(of.program.inputs):  # with what the program captures
        return spectral_function(a, *params, *changes, of=of, **options)
    return apply_program_op(spectral_function, of, [a, *params], changes, **options)


def _infer(*types: ArrayType, of: ClosedProgram, **options: Any) -> ArrayType:
    order, stack = options["order"], options["stack"]
    end = len(types) - order
    one = _matrix_type("spectral_function", types[0], of, types[1:end], options["repeated"], options["lower"])
    found = ArrayType((*stack, *one.shape), one.dtype)
    fits = all(type == found for type in types[end:]) and (order or not stack)
    if not fits or np.dtype(options["dtype"]) != types[0].dtype:
        raise ShapeError(
            f"spectral_function: changes {types[end:]} do not fit {found}",
            fix="give changes of the shapes and dtypes of the operands.",
        )
    return found


def _build(
    program: Program, *, order: int, lower: bool | None, dtype: str, repeated: int, stack: tuple[int, ...]
) -> Program:
    a, values, count = _matrices(program, dtype, repeated), program.in_types[0], len(program.inputs)
    result = np.result_type(a.dtype, program.out_types[0].dtype)
    front, left = ALPHABET[: len(stack) + values.ndim - 1], ALPHABET[len(stack) + values.ndim - 1 : -1]
    left = left[: order + 1]

    def product(x: Any, y: Any, rows: str, columns: str, out: str) -> Any:
        """Contract over axes behind those of stacks, of which each operand has the last ones."""
        own = [front[len(front) + len(labels) - z.ndim :] for z, labels in ((x, rows), (y, columns))]
        return ops.contract(x, y, labels=letters(own[0] + rows, own[1] + columns, max(own, key=len) + out))

    def body(a: Any, *rest: Any) -> list[Any]:
        changes = rest[count - 1 :]
        w, v, back, params = _decomposed(a, lower, rest[: count - 1], repeated)
        w = ops.broadcast(w, shape=values.shape, axes=tuple(range(repeated)))
        v, back = (ops.cast(x, dtype=str(result)) for x in (v, back))
        i, j, k = *left[:1], ALPHABET[-2], ALPHABET[-1]
        found = ops.cast(divided_differences(program, w, params, order), dtype=str(result))
        if not order:
            return [product(v * found[..., None, :], back, i + j, j + k, i + k)]
        turned = [product(product(back, e, i + j, j + k, i + k), v, i + j, j + k, i + k) for e in changes]
        found = product(found, turned[0], left, left[:2], left)
        for place, change in enumerate(turned[1:], 1):
            later = left[place + 1 :]
            found = product(found, change, i + left[place] + later, left[place] + later[0], i + later)
        return [product(product(v, found, i + j, j + k, i + k), back, i + j, j + k, i + k)]

    changed = ArrayType((*stack, *values.shape, values.shape[-1]), result)
    return program_of([a, *program.in_types[1:], *[changed] * order], body)


def _push(tangents: Sequence[Any], out: Any, a: Any, *rest: Any, of: ClosedProgram, **options: Any) -> Any:
    order, lower = options["order"], options["lower"]
    end = len(rest) - order
    params, changes = rest[:end], list(rest[end:])
    moved, moved_params, moved_changes = tangents[0], tangents[1 : 1 + end], tangents[1 + end :]
    if _tells_apart(of, params, moved_params):
        return _by_definition(spectral_function, tangents, [a, *rest], of=of, **options)
    terms = []
    if not isinstance(moved, Zero):
        e = ops.cast(_change(moved, lower), dtype=str(out.dtype))
        e = ops.broadcast(e, shape=out.shape, axes=tuple(range(out.ndim - a.ndim)))
        terms += [matrix_function(of, a, params, [*changes[:j], e, *changes[j:]], lower) for j in range(order + 1)]
    for j, t in enumerate(moved_changes):
        if not isinstance(t, Zero):
            terms.append(matrix_function(of, a, params, [*changes[:j], t, *changes[j + 1 :]], lower))
    for j, t in enumerate(moved_params):
        if not isinstance(t, Zero):
            rate = matrix_function(slope(of, 1 + j), a, params, changes, lower)
            factor = ops.cast(t, dtype=str(out.dtype))
            new = (*range(out.ndim - 2 - t.ndim), out.ndim - 2, out.ndim - 1)
            terms.append(rate * ops.broadcast(factor, shape=out.shape, axes=new))
    return _sum(terms, out)


def _sum(terms: Sequence[Any], out: Any) -> Any:
    return sum(terms[1:], terms[0]) if terms else Zero(out.type)


def _pull(cotangent: Any, a: Any, *rest: Any, of: ClosedProgram, **options: Any) -> list[Any]:
    end, lower = len(rest) - options["order"], options["lower"]
    params, changes = rest[:end], rest[end:]
    (j,) = [j for j, e in enumerate(changes) if isinstance(e, Linear)]
    turned = [*changes[j + 1 :], transposed(cotangent), *changes[:j]]
    found: list[Any] = [None] * (1 + len(rest))
    found[1 + end + j] = transposed(matrix_function(of, a, params, turned, lower))
    return found


spectral_function: Primitive = holding_op(
    "spectral_function",
    build=_build,
    infer=_infer,
    derivative=DerivativeRules(jvp=_push, transpose=_pull, linear_operands=None),
    batch=lambda *args, **params: _batched(spectral_function, *args, **params),
    doc="A function of matrices, V diag(f(w)) V⁻¹, or its derivative along changes, its last operands, one "
    "after the other.",
)


# -- traces ------------------------------------------------------------------------------------------------------------


def _sum_type(*types: ArrayType, of: ClosedProgram, repeated: int, lower: bool | None, **options: Any) -> ArrayType:
    found = _matrix_type("spectral_sum", types[0], of, types[1:], repeated, lower)
    return ArrayType(found.shape[:-2], of.out_types[0].dtype)


def _build_sum(program: Program, *, lower: bool | None, dtype: str, repeated: int) -> Program:
    def body(a: Any, *params: Any) -> list[Any]:
        w = ops.eig(a)[0] if lower is None else ops.eigh(a, lower=lower)[0]
        w = ops.broadcast(w, shape=program.in_types[0].shape, axes=tuple(range(repeated)))
        found = inline(program, [w, *params])[0]
        return [ops.sum(found, axes=(found.ndim - 1,))]

    return program_of([_matrices(program, dtype, repeated), *program.in_types[1:]], body)


def _push_sum(tangents: Sequence[Any], out: Any, a: Any, *params: Any, of: ClosedProgram, **options: Any) -> Any:
    """The trace of f(A) changes by Tr(f′(A) E)."""
    moved, moved_params, lower = tangents[0], tangents[1:], options["lower"]
    if _tells_apart(of, params, moved_params):
        return _by_definition(spectral_sum, tangents, [a, *params], of=of, **options)
    terms = []
    if not isinstance(moved, Zero):
        rate = matrix_function(slope(of, 0), a, params, [], lower)
        e = ops.cast(_change(moved, lower), dtype=str(rate.dtype))
        front = ALPHABET[2 : out.ndim + 2]
        labels = f"{front}ab,{front[out.ndim + 2 - e.ndim :]}ba->{front}"
        change = ops.contract(rate, e, labels=letters(*split(labels)))
        terms.append(ops.real_part(change) if change.dtype.kind == "c" and out.dtype.kind != "c" else change)
    for j, t in enumerate(moved_params):
        if not isinstance(t, Zero):
            rate = apply_program_op(spectral_sum, slope(of, 1 + j), [a, *params], **options)
            terms.append(rate * ops.cast(t, dtype=str(out.dtype)))
    return _sum(terms, out)


spectral_sum: Primitive = holding_op(
    "spectral_sum",
    build=_build_sum,
    infer=_sum_type,
    derivative=DerivativeRules(jvp=_push_sum),
    batch=lambda *args, **params: _batched(spectral_sum, *args, **params),
    doc="The sum of a function of all eigenvalues of matrices: the trace of the function of the matrices.",
)

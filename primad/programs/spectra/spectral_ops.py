"""A function f of Hermitian matrices, V diag(f(w)) Vᴴ, its derivatives, and its trace, as ops that hold f.

They have derivatives of every order also where eigenvalues are equal, since f does to a matrix what does not depend on
the basis of vectors. The one of f(A) along E is V (f[w[i], w[j]] · (Vᴴ E V)[i, j]) Vᴴ, and that along several changes,
one after the other, has the divided differences of more values between them:

  T(E₁, …, Eₖ) = V (Σ f[w[i₀], …, w[iₖ]] S₁[i₀, i₁] … Sₖ[iₖ₋₁, iₖ]) Vᴴ  with  Sⱼ = Vᴴ Eⱼ V.

If A moves along E, T changes by the sum of the T in which E stands at one of the k + 1 places. The differences are the
same in any order, so that Tr(C T(E₁, …, Eₖ)) = Tr(T(Eⱼ₊₁, …, Eₖ, C, E₁, …, Eⱼ₋₁) Eⱼ): transposes are of the same kind.

Source: Ju. L. Daleckii and S. G. Krein (1951); R. Bhatia, Matrix Analysis (1997), V.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Linear, Zero, real_dtype
from primad.ir.program import ClosedProgram, Program
from primad.ops.arrays.contraction import ALPHABET
from primad.ops.linalg.factorization import adjoint, hermitian, matrix_product, square, transposed
from primad.ops.record.fields import Axes, DerivativeRules, Programs, Work
from primad.ops.record.primitive import Primitive
from primad.programs.program_ops import built
from primad.programs.spectra.divided_differences import divided_differences, slope
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepare
from primad.transforms import batching, forward
from primad.transforms.lowering import alone, apply_program_op, inline, lower


def _made(name: str, jvp: Any, build: Any, infer: Any, transpose: Any, batch: Any, doc: str) -> Primitive:
    """Make an op that holds a function of eigenvalues, of matrices and of what else the function takes."""

    def lower_built(*operands: Any, of: ClosedProgram, **options: Any) -> Any:
        return inline(built(primitive, of, options), operands)[0]

    def numpy(*arrays: Any, of: ClosedProgram, **options: Any) -> Any:
        return prepare(built(primitive, of, options)).run(arrays)[0]

    primitive = Primitive(
        name=name,
        kind="program",
        numpy=numpy,
        infer=infer,
        lower=lower_built,
        derivative=DerivativeRules(jvp=jvp, transpose=transpose, linear_operands=None if transpose else ()),
        axes=Axes(batch=batch),
        programs=Programs(names=("of",), build=build),
        work=Work(
            flops=lambda node: lower(alone(node.op, [operand.type for operand in node.inputs], node.params)).cost()
        ),
        doc=doc,
    )
    return primitive


def _matrix_type(name: str, a: ArrayType, of: ClosedProgram, params: Sequence[ArrayType]) -> ArrayType:
    """Return the type of a function of matrices; raise where operands are not what the function takes."""
    square(name, a)
    wanted = [node.type for node in (*of.program.inputs, *of.program.sources)]
    values = ArrayType(a.shape[:-1], real_dtype(a.dtype))
    if [values, *params] != wanted or [x.shape for x in of.out_types] != [values.shape]:
        raise ShapeError(f"{name}: its program is not of the eigenvalues of {a} and of {params}")
    return ArrayType(a.shape, np.result_type(a.dtype, of.out_types[0].dtype))


def _batched(op: Any, flags: tuple[bool, ...], size: int, *operands: Any, of: ClosedProgram, **options: Any) -> Any:
    """Apply an op to a stack of matrices: its program is that of a stack of spectra."""
    whole = [x if on else ops.broadcast(x, shape=(size, *x.shape), axes=(0,))
             for x, on in zip(operands, flags, strict=True)]
    program = of.hoisted
    count = len(program.inputs)
    stacked = ClosedProgram(batching.vmap(program, [True] * count, size))
    return apply_program_op(op, stacked, whole[:count], whole[count:], **options)


def _by_definition(op: Primitive, tangents: Sequence[Any], operands: Sequence[Any], **params: Any) -> Any:
    """Return the tangent of what an op stands for."""
    types = [x.type for x in operands]
    program = program_of(types, lambda *xs: [op.lower(*xs, **params)])
    active = [not isinstance(t, Zero) for t in tangents]
    pushed = forward.jvp(program, active)
    return inline(pushed, [*operands, *(t for t in tangents if not isinstance(t, Zero))])[-1]


def _tells_apart(a: Any, params: Sequence[Any], tangents: Sequence[Any]) -> bool:
    """Say whether something changes that differs from one eigenvalue to the other."""
    return any(p.ndim == a.ndim - 1 and not isinstance(t, Zero) for p, t in zip(params, tangents, strict=True))


# -- functions of matrices ---------------------------------------------------------------------------------------------


def matrix_function(of: ClosedProgram, a: Any, params: Sequence[Any], changes: Sequence[Any], lower: bool) -> Any:
    """Apply the derivative of a function of matrices along some changes (none: the function itself), as a node."""
    count = len(of.program.inputs)
    if len(params) >= count:  # with the values that the program takes besides
        return spectral_function(a, *params, *changes, of=of, order=len(changes), lower=lower, dtype=str(a.dtype))
    return apply_program_op(
        spectral_function, of, [a, *params], changes, order=len(changes), lower=lower, dtype=str(a.dtype)
    )


def _infer(*types: ArrayType, of: ClosedProgram, order: int, lower: bool, dtype: str) -> ArrayType:
    end = len(types) - order
    found = _matrix_type("spectral_function", types[0], of, types[1:end])
    if any(type != found for type in types[end:]) or np.dtype(dtype) != types[0].dtype:
        raise ShapeError(f"spectral_function: changes {types[end:]} do not fit {found}")
    return found


def _build(program: Program, *, order: int, lower: bool, dtype: str) -> Program:
    values = program.in_types[0]
    n = values.shape[-1]
    a = ArrayType((*values.shape, n), np.dtype(dtype))
    count = len(program.inputs)
    result = ArrayType(a.shape, np.result_type(a.dtype, program.out_types[0].dtype))

    def body(a: Any, *rest: Any) -> list[Any]:
        params, changes = rest[: count - 1], rest[count - 1 :]
        w, v = ops.eigh(a, lower=lower)
        v = ops.cast(v, dtype=str(result.dtype))
        found = ops.cast(divided_differences(program, w, params, order), dtype=str(result.dtype))
        if not order:
            return [matrix_product(v * found[..., None, :], adjoint(v))]
        turned = [matrix_product(matrix_product(adjoint(v), e), v) for e in changes]
        lead = ALPHABET[: values.ndim - 1]
        places = ALPHABET[values.ndim - 1 : values.ndim + order]
        first, left = places[0], places[1:]
        found = ops.contract(found, turned[0], labels=f"{lead}{places},{lead}{places[:2]}->{lead}{places}")
        for change in turned[1:]:
            inner, left = left[0], left[1:]
            found = ops.contract(
                found, change, labels=f"{lead}{first}{inner}{left},{lead}{inner}{left[0]}->{lead}{first}{left}"
            )
        return [matrix_product(matrix_product(v, found), adjoint(v))]

    return program_of([a, *program.in_types[1:], *[result] * order], body)


def _push(
    tangents: Sequence[Any], out: Any, a: Any, *rest: Any, of: ClosedProgram, order: int, lower: bool, dtype: str
) -> Any:
    end = len(rest) - order
    params, changes = rest[:end], list(rest[end:])
    moved, moved_params, moved_changes = tangents[0], tangents[1 : 1 + end], tangents[1 + end :]
    if _tells_apart(a, params, moved_params):
        options = {"of": of, "order": order, "lower": lower, "dtype": dtype}
        return _by_definition(spectral_function, tangents, [a, *rest], **options)
    terms = []
    if not isinstance(moved, Zero):
        e = ops.cast(hermitian(moved if lower else adjoint(moved)), dtype=str(out.dtype))
        terms += [
            matrix_function(of, a, params, [*changes[:j], e, *changes[j:]], lower) for j in range(order + 1)
        ]
    for j, t in enumerate(moved_changes):
        if not isinstance(t, Zero):
            terms.append(matrix_function(of, a, params, [*changes[:j], t, *changes[j + 1 :]], lower))
    for j, t in enumerate(moved_params):
        if not isinstance(t, Zero):
            rate = matrix_function(slope(of, 1 + j), a, params, changes, lower)
            factor = ops.cast(t, dtype=str(out.dtype))
            terms.append(rate * ops.broadcast(factor, shape=out.shape, axes=(t.ndim, t.ndim + 1)))
    return _sum(terms, out)


def _sum(terms: Sequence[Any], out: Any) -> Any:
    return sum(terms[1:], terms[0]) if terms else Zero(out.type)


def _pull(cotangent: Any, a: Any, *rest: Any, of: ClosedProgram, order: int, lower: bool, dtype: str) -> list[Any]:
    end = len(rest) - order
    params, changes = rest[:end], rest[end:]
    (j,) = [j for j, e in enumerate(changes) if isinstance(e, Linear)]
    turned = [*changes[j + 1 :], transposed(cotangent), *changes[:j]]
    found: list[Any] = [None] * (1 + len(rest))
    found[1 + end + j] = transposed(matrix_function(of, a, params, turned, lower))
    return found


spectral_function: Primitive = _made(
    "spectral_function",
    jvp=_push,
    build=_build,
    infer=_infer,
    transpose=_pull,
    batch=lambda *args, **params: _batched(spectral_function, *args, **params),
    doc="A function of Hermitian matrices, V diag(f(w)) Vᴴ, or its derivative along changes, one after the other, whose "
    "changes are the last operands.",
)


# -- traces ------------------------------------------------------------------------------------------------------------


def _sum_type(*types: ArrayType, of: ClosedProgram, lower: bool, dtype: str) -> ArrayType:
    _matrix_type("spectral_sum", types[0], of, types[1:])
    return ArrayType(types[0].shape[:-2], of.out_types[0].dtype)


def _build_sum(program: Program, *, lower: bool, dtype: str) -> Program:
    values = program.in_types[0]
    a = ArrayType((*values.shape, values.shape[-1]), np.dtype(dtype))

    def body(a: Any, *params: Any) -> list[Any]:
        found = inline(program, [ops.eigh(a, lower=lower)[0], *params])[0]
        return [ops.sum(found, axes=(found.ndim - 1,))]

    return program_of([a, *program.in_types[1:]], body)


def _push_sum(
    tangents: Sequence[Any], out: Any, a: Any, *params: Any, of: ClosedProgram, lower: bool, dtype: str
) -> Any:
    """The trace of f(A) changes by Tr(f′(A) E)."""
    moved, moved_params = tangents[0], tangents[1:]
    if _tells_apart(a, params, moved_params):
        return _by_definition(spectral_sum, tangents, [a, *params], of=of, lower=lower, dtype=dtype)
    terms = []
    if not isinstance(moved, Zero):
        e = hermitian(moved if lower else adjoint(moved))
        rate = matrix_function(slope(of, 0), a, params, [], lower)
        lead = ALPHABET[2 : out.ndim + 2]
        change = ops.contract(rate, ops.cast(e, dtype=str(rate.dtype)), labels=f"{lead}ab,{lead}ba->{lead}")
        terms.append(change if out.dtype.kind == "c" else ops.real_part(change) if change.dtype.kind == "c" else change)
    for j, t in enumerate(moved_params):
        if not isinstance(t, Zero):
            rate = apply_program_op(
                spectral_sum, slope(of, 1 + j), [a, *params], lower=lower, dtype=dtype
            )
            terms.append(rate * ops.cast(t, dtype=str(out.dtype)))
    return _sum(terms, out)


spectral_sum: Primitive = _made(
    "spectral_sum",
    jvp=_push_sum,
    build=_build_sum,
    infer=_sum_type,
    transpose=None,
    batch=lambda *args, **params: _batched(spectral_sum, *args, **params),
    doc="The sum of a function of all eigenvalues of Hermitian matrices: the trace of the function of the matrices.",
)

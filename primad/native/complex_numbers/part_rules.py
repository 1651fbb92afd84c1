"""How each op of complex numbers is written in real ones: by its kind, by a rule of its own, or why it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import real_dtype
from primad.ir.node import LITERAL, Leaf, Node, literal_value
from primad.native.complex_numbers import complex_arithmetic, part_functions, transforms
from primad.native.complex_numbers.complex_arithmetic import Parts
from primad.native.emit.emit_context import Missing
from primad.native.llvm.compile_limits import BUDGET
from primad.ops.record.primitive import Primitive, full

Operand = Any
"""Parts of complex numbers, or a traced array of others."""
Rule = Callable[..., Any]
"""(*operands, **params) -> parts, or a traced array of what is not complex."""


def _cast(x: Operand, *, dtype: str) -> Parts:
    to = str(real_dtype(np.dtype(dtype)))
    if isinstance(x, Parts):
        return Parts(*[ops.cast(part, dtype=to) for part in x])
    real = ops.cast(x, dtype=to)
    return Parts(real, full(0.0, real))


def _defined_where(condition: Any, z: Parts) -> Parts:
    return Parts(ops.defined_where(condition, z.real), ops.select(condition, z.imag, full(0.0, z.imag)))


def _contract(x: Parts, y: Parts, *, labels: str) -> Parts:
    def of(a: Any, b: Any) -> Any:
        return ops.contract(a, b, labels=labels)

    return Parts(of(x.real, y.real) - of(x.imag, y.imag), of(x.real, y.imag) + of(x.imag, y.real))


def _power(node: Node) -> Rule | Missing:
    exponent = node.inputs[1]
    value = complex(literal_value(exponent)) if exponent.op is LITERAL else 0.5
    n = int(value.real) if value == int(value.real) else 0
    if not 0 < abs(n) <= BUDGET.exponent:
        return Missing(f"power is products of complex numbers for whole exponents up to {BUDGET.exponent} only")
    return lambda x, y: complex_arithmetic.whole_power(x, n)


def _fft(node: Node) -> Rule | Missing:
    lengths = [node.type.shape[axis] for axis in dict(node.params)["axes"]]
    return transforms.fft if transforms.are_short(lengths, node.type.size) else _LONG


def _of_reals(rule: Rule, operand: bool) -> Callable[[Node], Rule | Missing]:
    """Return how transforms of real numbers are written, which are those of half as many pairs."""

    def chosen(node: Node) -> Rule | Missing:
        reals = node.inputs[0] if operand else node
        n = reals.type.shape[dict(node.params)["axis"]]
        return rule if n % 2 == 0 and transforms.are_short([n // 2], reals.type.size // 2) else _LONG

    return chosen


_LONG = Missing(
    f"Fourier transforms are NumPy's, but those of 2, 4, 8, 16, … numbers in arrays of at most {transforms.MOST}"
)


RULES: dict[Primitive, Rule] = {
    ops.real_part: lambda z: z.real,
    ops.imaginary_part: lambda z: z.imag,
    ops.conj: lambda z: Parts(z.real, -z.imag),
    ops.complex_of: Parts,
    ops.cast: _cast,
    ops.defined_where: _defined_where,
    ops.mul: complex_arithmetic.product,
    ops.div: complex_arithmetic.quotient,
    ops.contract: _contract,
    ops.equal: complex_arithmetic.is_equal,
    **{ops.BY_NAME[name]: getattr(part_functions, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "sech2",
    )},
}  # fmt: skip
"""The ops with a rule of their own; all others that are linear or move elements are applied to each part."""
SOME: dict[Primitive, Callable[[Node], Rule | Missing]] = {
    ops.power: _power,
    ops.fft: _fft,
    ops.rfft: _of_reals(transforms.rfft, True),
    ops.irfft: _of_reals(transforms.irfft, False),
}
"""The ops of which some applications are written: (node) -> how, or why not."""
_INVERSE = Missing("NumPy's own formulas for inverse functions of complex numbers have no native code")
_MATRICES = Missing("native code eliminates in real matrices only")
NOT_WRITTEN: dict[Primitive, Missing] = {
    **dict.fromkeys((ops.arcsin, ops.arccos, ops.arctan, ops.arcsinh, ops.arccosh, ops.arctanh, ops.leg), _INVERSE),
    **dict.fromkeys((ops.solve_triangular, ops.lu, ops.cofactors, ops.cofactors_along), _MATRICES),
    **dict.fromkeys((ops.solve_sylvester, ops.left_vectors, ops.gaps, ops.slopes), _MATRICES),
    **dict.fromkeys(
        (ops.expm, ops.expm_frechet, ops.logm, ops.logm_frechet, ops.sqrtm),
        Missing("exponentials, logarithms and roots of matrices are SciPy's"),
    ),
    **dict.fromkeys((ops.dct, ops.dst), Missing("cosine and sine transforms are SciPy's")),
    **dict.fromkeys(
        (ops.erf, ops.erfc, ops.erfi, ops.scaled_erfc, ops.exp1, ops.expi, ops.lambertw),
        Missing("special functions of complex numbers are SciPy's"),
    ),
}
"""The ops that take complex numbers and are left to NumPy, with the reason."""


def rule_of(node: Node) -> Rule | Missing:
    """Return how an application to complex numbers is written, or why it is not."""
    op = node.op
    if op in SOME:
        return SOME[op](node)
    found = NOT_WRITTEN.get(op) or RULES.get(op)
    if found is not None:
        return found
    if op.complex == "analytic" and (op.kind == "linear" or op is ops.stop_gradient):
        return lambda *operands, **params: _on_each_part(op, operands, params)
    return Missing(f"{op.name} is not written in parts of complex numbers")


def _on_each_part(op: Primitive, operands: Sequence[Operand], params: dict[str, Any]) -> Parts:
    """Apply an op that is linear in all its complex operands together to their parts."""
    return Parts(*[op(*[x[k] if isinstance(x, Parts) else x for x in operands], **params) for k in range(2)])


def touches_complex(node: Node) -> bool:
    """Say whether an op takes or gives complex numbers."""
    return not isinstance(node.op, Leaf) and (node.type.is_complex or any(x.type.is_complex for x in node.inputs))

"""Functions of SciPy's that native code calls: those that `scipy.special` exports for Cython, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.ir.node import Node
from primad.native.emit.emit_context import Pointwise, times
from primad.native.llvm.symbols import MARK, variant_of_doubles
from primad.native.llvm.vectors import Vector

MODULE = "scipy.special.cython_special"


def exported(*names: str, of_order: str = "") -> Pointwise:
    """Return how functions of SciPy's are called.

    Args:
        names: the function; or those for n = 0, 1, … where the op has a param n.
        of_order: the one that takes n as its first operand, for all other n.
    """

    def function(node_params: dict[str, Any], count: int) -> tuple[str, list[float]]:
        n = node_params.get("n", 0)
        if isinstance(n, tuple):  # derivatives of some orders, of which SciPy has the function itself
            return "" if any(n) else variant_of_doubles(MODULE, names[0], count), []
        name, before = (names[int(n)], []) if n in range(len(names)) else (of_order, [float(n)])
        return name and variant_of_doubles(MODULE, name, count + len(before)), before

    def emit(v: Vector, *operands: str, **params: Any) -> str:
        wide = v.of(np.float64)
        name, before = function(params, len(operands))
        values = operands if wide is v else [v.changed("fpext", x, wide) for x in operands]
        found = wide.each(f"{MARK}{MODULE}.{name}", *map(wide.constant, before), *values, then=[("i32", "0")])
        return found if wide is v else wide.changed("fptrunc", found, v)

    def limit(node: Node) -> str:
        params = dict(node.params)
        found, _ = function(params, len(node.inputs))
        which = f" of n = {params['n']}" if "n" in params else ""
        return "" if found else f"SciPy exports no {node.op.name}{which} for native code"

    return Pointwise(emit, function=True, limit=limit, times_exp=times(12))  # measured, for those of one operand

"""What to write instead of functions that make plain arrays, samples or objects of values that are traced.

Only errors come here.
"""

from __future__ import annotations

import ast

import numpy as np

from primad.recording.user_expressions import Doing

_SPARSE = {
    **{f"{form}_{kind}": f"{form}_array" for form in ("csr", "csc", "coo") for kind in ("array", "matrix")},
    **dict.fromkeys(("diags", "diags_array"), "diags_array"),
    **{name: name for name in ("kron", "block_array", "block_diag", "hstack", "vstack")},
    "bmat": "block_array",
}
"""How `primad.scipy.sparse` calls what makes sparse arrays of entries, by SciPy's name."""
_OVER_SEVERAL = ("dblquad", "nquad", "tplquad")
"""Integrals over several variables."""


def instead_of_joined(now: Doing) -> str:
    """Return what to write instead of one of SciPy's functions that makes sparse arrays; "" of other expressions."""
    if not isinstance(now.node, ast.Call) or not now.module.startswith("scipy.sparse"):
        return ""
    return instead_of_plain(now, now.module, now.name_of(now.node.func))


def instead_of_plain(now: Doing, module: str, name: str) -> str:
    """Return what to write instead of a call that makes something plain of a traced value; "" of other calls.

    Args:
        now: the call.
        module: of the function that is called.
        name: of the function.
    """
    assert isinstance(now.node, ast.Call)
    if module == "builtins" and name == "complex":
        return "write x + 1j * y, which may be traced."
    if module.startswith("numpy.random"):
        return (
            "draw what does not depend on traced values, and compute the sample from it: loc + scale * "
            "rng.normal(size=n), scale * rng.exponential(size=n), primad.scipy.stats.gamma.ppf(rng.random(n), a)."
        )
    if module.startswith("numpy") and name == "arange":
        return (
            "how many elements it has would depend on a traced value: np.linspace(start, stop, n) and "
            "step * np.arange(n), with a plain number n, take one."
        )
    if isinstance(now.value(now.node.func), np.vectorize) or name == "vectorize":
        return "make it by primad.numpy.vectorize, which calls the function for each traced number."
    if module.startswith("scipy.integrate") and name in _OVER_SEVERAL:
        return (
            "nest primad.integrate.quad: quad(lambda x: quad(lambda y: f(x, y), c, d)[0], a, b)[0], where c and d may "
            "depend on x."
        )
    owner = now.value(now.node.func.value) if isinstance(now.node.func, ast.Attribute) else None
    if name == "solve" and (module.startswith("scipy.sparse.linalg") or type(owner).__name__ == "SuperLU"):
        return "make the factors by primad.scipy.sparse.linalg.splu (import primad.scipy.sparse.linalg)."
    if module.startswith("scipy.sparse") and name in _SPARSE:
        return (
            f"make it by primad.scipy.sparse.{_SPARSE[name]}, whose entries may be traced (import primad.scipy.sparse)."
        )
    return ""

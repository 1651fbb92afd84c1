"""Equations of a jaxpr that JAX itself defines by others: what computes with its sparse arrays, and more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from primad.functional.export.jaxprs import Calls, Reader, as_described, is_key
from primad.xla.jax_functions import jax_module

SPARSE = (
    "bcoo_dot_general", "bcoo_dot_general_sampled", "bcoo_extract", "bcoo_fromdense", "bcoo_sort_indices",
    "bcoo_spdot_general", "bcoo_sum_duplicates", "bcoo_todense", "bcoo_transpose",
    "bcsr_dot_general", "bcsr_extract", "bcsr_fromdense", "bcsr_todense",
    "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense",
    "csr_fromdense", "csr_matmat", "csr_matvec", "csr_todense",
)  # fmt: skip
"""Primitives of JAX's sparse arrays: of each its module has the definition, by gathers, products and scatters."""


def _of_sparse_arrays(name: str) -> Callable[[Reader, Any, list[Any]], list[Any]]:
    def read(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
        module = import_module(f"jax.experimental.sparse.{name.partition('_')[0]}")
        return in_its_place(reader, getattr(module, f"_{name}_impl"), equation, operands)

    return read


def in_its_place(reader: Reader, definition: Callable[..., Any], equation: Any, operands: list[Any]) -> list[Any]:
    """Return the results of an equation by a function of JAX's that defines it."""
    jax = jax_module()
    closed = jax.make_jaxpr(lambda *given: definition(*given, **equation.params))(*map(as_described, operands))
    return reader.read(closed, operands)


def _platform(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """Return which branch of `platform_dependent` a CPU takes: the one that names it, or the one for all others."""
    platforms = equation.params["platforms"]
    named = [i for i, names in enumerate(platforms) if names is not None and "cpu" in names]
    return [np.int32(named[0] if named else platforms.index(None))]


def _empty(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    aval = equation.outvars[0].aval
    assert not is_key(aval)
    return [np.zeros(aval.shape, aval.dtype)]


DEFINED: Calls = {
    **{name: _of_sparse_arrays(name) for name in SPARSE},
    "custom_vmap_call": lambda reader, equation, operands: reader.read(equation.params["call"], operands),
    "empty": _empty,
    "platform_index": _platform,
}
"""name of a primitive -> function of the reader, the equation and its operands."""

"""The function of each of JAX's primitives, or why there is none: total over those that JAX lists; a test reads it.

What holds functions of its own (loops, branches, calls, rules) is in `primad.functional.export.jaxpr_calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from primad.xla.primitives.arrays import ARRAYS
from primad.xla.primitives.elementwise import ELEMENTWISE
from primad.xla.primitives.factorizations import FACTORIZATIONS
from primad.xla.primitives.indexing import INDEXING
from primad.xla.primitives.keys import KEYS
from primad.xla.primitives.sliding import SLIDING

FUNCTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {**ELEMENTWISE, **ARRAYS, **FACTORIZATIONS, **INDEXING, **KEYS, **SLIDING}
)
"""name -> function of the operands, with the primitive's params as keywords."""

_DEVICES = (
    "It says what several devices exchange; a program of primad's has none.",
    "take shard_map, pmap and collectives out of the function.",
)
_SHARDING = ("It says where an array lies; a program of primad's has no devices.", "take the sharding out.")
_REFERENCES = (
    "It reads or writes memory of a Pallas kernel or a reference; a program's values do not change.",
    "convert a version of the function without kernels and references.",
)
_EFFECTS = ("It is done for its effect on the process, which a program does not have.", "take it out of the function.")
_TANGENTS = (
    "It stands in derivatives that JAX takes, and has no op.",
    "convert the function itself, and differentiate with primad: primad.grad(primad.from_jax(f)).",
)
_NO_OP = ("No op computes it, and what it is asked of depends on an argument.", "pass the result as an argument.")
_DRAWS = (
    "Its random numbers are those of one device.",
    "draw with keys of threefry (jax.random.key), or pass numbers that were drawn.",
)
_SPARSE = (
    "JAX defines its sparse arrays by no other primitives.",
    "multiply by entries: jax.ops.segment_sum(data * x[columns], rows, n).",
)
_REDUCTIONS = ("It reduces with a function of its own.", "reduce with sum, prod, max, min, all or any.")

REFUSED: MappingProxyType[str, tuple[str, str]] = MappingProxyType({
    **dict.fromkeys((
        "all_gather", "all_to_all", "axis_index", "pmax", "pmin", "ppermute", "psum", "ragged_all_to_all",
        "reduce_scatter", "psum_invariant", "pvary", "pbroadcast", "shard_map", "all_gather_invariant",
    ), _DEVICES),
    **dict.fromkeys(("sharding_constraint", "reshard", "layout_constraint"), _SHARDING),
    **dict.fromkeys((
        "get", "swap", "addupdate", "empty2", "pallas_call", "run_state", "new_ref", "core_map", "freeze",
    ), _REFERENCES),
    **dict.fromkeys((
        "after_all", "create_token", "debug_callback", "debug_print", "io_callback", "ffi_call",
    ), _EFFECTS),
    **dict.fromkeys((
        "custom_lin", "igamma_grad_a", "select_and_gather_add", "select_and_scatter", "select_and_scatter_add",
        "mul_jvp", "linear_call",
    ), _TANGENTS),
    **dict.fromkeys((
        "random_gamma", "approx_top_k",
        "hessenberg", "householder_product", "schur", "tridiagonal", "tridiagonal_solve",
        "ragged_dot_general", "cholesky_update", "geqrf", "geqp3", "ormqr",
    ), _NO_OP),
    "pure_callback": (
        "It calls a function of Python's, which has no jaxpr.",
        "call it by primad.opaque, outside of the function that is converted.",
    ),
    **dict.fromkeys(("rng_bit_generator", "rng_uniform"), _DRAWS),
    **dict.fromkeys((
        "bcoo_dot_general", "bcoo_dot_general_sampled", "bcoo_extract", "bcoo_fromdense", "bcoo_spdot_general",
        "bcoo_todense", "bcoo_transpose", "bcsr_dot_general", "bcsr_extract", "bcsr_fromdense", "bcsr_todense",
    ), _SPARSE),
    "reduce_window": _REDUCTIONS,
})  # fmt: skip
"""name -> why no function stands for it, and what to write instead."""

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
    "It is a function of its own of SciPy's or of a GPU's.",
    "solve with primad.scipy.sparse.linalg.spsolve, and multiply by entries that bcoo_dot_general takes.",
)
_COMPILERS = (
    "It tells a compiler of JAX's how to compile, or what to call; a program of primad's has its own.",
    "convert the function that it is applied to.",
)
_HOLDERS = (
    "It reads or writes an object of JAX's that changes; a program's values do not.",
    "pass the value in, and return what it becomes.",
)
_SHAPES = ("It is about lengths that are not known; those of a program are.", "export with lengths that are numbers.")
_BITS = ("It is about bits, or words, that no op has.", "take it out of the function, and pass its result.")
_REDUCTIONS = ("It reduces with a function of its own.", "reduce with sum, prod, max, min, all or any.")

REFUSED: MappingProxyType[str, tuple[str, str]] = MappingProxyType({
    **dict.fromkeys((
        "all_gather", "all_gather_done", "all_gather_invariant", "all_gather_reduced", "all_gather_reduced_start",
        "all_gather_start", "all_to_all", "all_to_all_done", "all_to_all_start", "axis_index", "pbroadcast",
        "pbroadcast_done", "pbroadcast_start", "pmax", "pmin", "ppermute", "ppermute_done", "ppermute_start", "precv",
        "preduced", "psend", "psum", "psum_done", "psum_invariant", "psum_invariant_start", "psum_start", "pvary",
        "ragged_all_to_all", "reduce_scatter", "reduce_scatter_done", "reduce_scatter_start", "reduced_vary_cast_p",
        "shard_map", "unreduced_psum", "unreduced_psum_start", "unreduced_reduce_scatter",
        "unreduced_reduce_scatter_start", "vary_unreduced_cast_p",
    ), _DEVICES),
    **dict.fromkeys((
        "compute_on", "global_array_to_host_local_array", "host_local_array_to_global_array", "inspect_sharding",
        "layout_constraint", "reshard", "shard_alike", "sharding_constraint", "with_memory_space_constraint",
    ), _SHARDING),
    **dict.fromkeys((
        "accum_grad_in_ref", "add_dependency", "addupdate", "all_reduce_ffs", "all_reduce_population_count", "barrier",
        "bitcast", "broadcast_to", "core_map", "create_linear", "custom_fusion", "delay", "dma_start", "dma_wait",
        "einshape_lo", "emit_pipeline", "empty2", "empty_ref", "free_ref", "freeze", "fusible", "get",
        "get_barrier_semaphore", "get_global", "jaxpr_call", "load", "masked_cummax", "masked_cummin", "masked_cumsum",
        "masked_load", "masked_sort", "masked_swap", "matmul_acc_lhs", "matmul_pop", "matmul_push_rhs", "mpmd_map",
        "multiple_of", "new_ref", "num_programs", "pack", "pack_dtype", "pack_elementwise", "pallas_call",
        "parallel_loop", "pin", "pipeline_body", "prng_join", "prng_random_bits", "prng_seed", "prng_split",
        "program_id", "reciprocal", "remove_memory_space", "roll", "run_scoped", "run_state", "sc_fetch_and_add",
        "semaphore_read", "semaphore_signal", "semaphore_wait", "stage", "stochastic_round", "swap", "trace_value",
        "unique", "unpack", "unpack_dtype", "unpack_elementwise", "unpin",
    ), _REFERENCES),
    **dict.fromkeys((
        "after_all", "buffer_callback", "check", "create_token", "dce_sink", "debug_callback", "debug_print",
        "ffi_call", "io_callback", "unreachable",
    ), _EFFECTS),
    **dict.fromkeys((
        "call_hi_primitive_linearized", "custom_lin", "igamma_grad_a", "linear_call", "mul_jvp", "remat_opt",
        "select_and_gather_add", "select_and_scatter", "select_and_scatter_add",
    ), _TANGENTS),
    **dict.fromkeys((
        "approx_top_k", "cholesky_update", "geqp3", "geqrf", "hessenberg", "householder_product", "ormqr",
        "ragged_dot_general", "schur", "tridiagonal", "tridiagonal_solve",
    ), _NO_OP),
    "pure_callback": (
        "It calls a function of Python's, which has no jaxpr.",
        "call it by primad.opaque, outside of the function that is converted.",
    ),
    **dict.fromkeys(("rng_bit_generator", "rng_uniform"), _DRAWS),
    **dict.fromkeys(("coo_spmm", "coo_spmv", "csr_spmm", "csr_spmv", "spsolve", "todense"), _SPARSE),
    **dict.fromkeys((
        "call_exported", "cudnn_fusion", "custom_jvp_call_jaxpr", "custom_partitioning", "dot_product_attention_bwd",
        "dot_product_attention_bwd_wrapper", "dot_product_attention_fp8_bwd", "dot_product_attention_fp8_bwd_wrapper",
        "dot_product_attention_fp8_fwd", "dot_product_attention_fp8_fwd_wrapper", "dot_product_attention_fwd",
        "dot_product_attention_fwd_wrapper", "scaled_dot", "scaled_matmul", "scaled_matmul_wrapper", "tie",
        "tpu_custom_call", "xla_metadata_value",
    ), _COMPILERS),
    **dict.fromkeys(("box_get", "box_set", "log_extend", "log_read", "new_box", "new_log"), _HOLDERS),
    **dict.fromkeys(("dim_as_value", "dimension_size", "shape_assertion"), _SHAPES),
    **dict.fromkeys((
        "from_edtype", "iota_2x32_shape", "mulhi", "philox2x32", "philox4x32", "threefry4x32", "to_edtype",
    ), _BITS),
    "reduce_window": _REDUCTIONS,
})  # fmt: skip
"""name -> why no function stands for it, and what to write instead."""

"""Programs as functions for JAX: what primad derived and simplified, in the hands of XLA."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.tracing import check_function, is_weak, record, type_of
from primad.runtime.cache import Cache
from primad.runtime.executors.xla_executor import as_jax, check_integers, check_precision
from primad.simplify import simplify
from primad.system.process import MOST_KEPT
from primad.transforms.lowering import lower
from primad.xla.jax_functions import jax_module


class JaxKey(NamedTuple):
    """What a function of JAX's arrays depends on: see `JitKey`; and whether JAX has 64 bits."""

    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    wide: bool
    in_tree: Any
    entries: Hashable
    kind: str = "jax"


@transform
def to_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX's arrays that computes what `function` does, for `jax.jit`, `grad`, `vmap` and export.

    The function is recorded once for each combination of shapes and dtypes; derivatives in it are primad's, simplified
    with its laws. What it makes are calls of `jax.numpy` and `jax.lax`, so that nothing of primad is left in what JAX
    compiles or exports. Needs the extra `primad[jax]`.

    Args:
        function: a function of arrays and pytrees of arrays, such as `primad.grad(f)`, or a Program.

    Returns:
        a pure function with the same arguments and result, of JAX's arrays. Elements that an op has no value for (an
        index out of range, a matrix without a factor) are NaN there: JAX cannot raise for values. `jit` with
        `backend="jax"` raises.

    Raises:
        TracingError: if JAX is not installed; if the program has 64-bit floats, or integers that take more than
            32 bits, where JAX is set to 32 bits; for an op
            that JAX has no function for, such as a call back to Python, with the user's line.

    Example:
        >>> import numpy as np, primad
        >>> f = primad.to_jax(primad.grad(lambda x: np.sum(np.sin(x) ** 2)))
        >>> jax = __import__("jax")  # doctest: +SKIP
        >>> jax.jit(f)(jax.numpy.ones(2, "float32"))  # doctest: +SKIP
        Array([0.9092974, 0.9092974], dtype=float32)
    """
    check_function(function)
    programs = Cache(MOST_KEPT)

    def converted(*args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        types = tuple([_type_of(leaf) for leaf in leaves])
        weak = tuple([is_weak(leaf) or bool(getattr(leaf, "weak_type", False)) for leaf in leaves])

        def make() -> tuple[Program, Callable[..., Any]]:
            program = record(function, types, in_tree, weak=weak)
            check_precision(program)
            return program, as_jax(simplify(lower(program)))

        wide = bool(jax_module().config.jax_enable_x64)
        program, run = programs.get(JaxKey(types, weak, wide, in_tree, structure_key(in_tree)), make)
        check_integers(leaves)
        jnp = jax_module().numpy
        operands = [jnp.asarray(leaf, type.dtype) for leaf, type in zip(leaves, types, strict=True)]
        return tree.unflatten(program.out_tree, run(*operands)[0])

    return converted


def _type_of(leaf: Any) -> ArrayType:
    """Return the type of an array of JAX's or NumPy's, or of what JAX is recording, or of a Python number there."""
    if is_weak(leaf) or isinstance(leaf, bool):
        return ArrayType((), jax_module().numpy.asarray(leaf).dtype)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ArrayType(leaf.shape, leaf.dtype)
    return type_of(leaf)

"""Functions that were written in JAX as functions of NumPy's and of traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from primad.errors import TracingError
from primad.functional.derived_calls import run_once
from primad.functional.export.jaxpr_calls import CALLS
from primad.functional.export.jaxprs import Reader
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function, is_weak, type_of
from primad.runtime.cache import Cache
from primad.system.process import MOST_KEPT
from primad.xla.jax_functions import jax_module


class JaxprKey(NamedTuple):
    """What a jaxpr depends on: the types of arrays, which of them are numbers, other arguments; how wide JAX counts."""

    types: tuple[ArrayType | None, ...]
    weak: tuple[bool, ...]
    constants: tuple[Any, ...]
    wide: bool
    in_tree: Any
    entries: Hashable
    kind: str = "jaxpr"


@transform
def from_jax(function: Callable[..., Any], max_steps: int = 100_000) -> Callable[..., Any]:
    """Return a function of NumPy's arrays that computes what a function written in JAX does, for `grad`, `jit`, `vmap`.

    JAX traces the function once for each combination of shapes and dtypes, and the operations that it finds are
    recorded as primad's own. So primad's derivatives of any order, its simplifications and native code apply; rules
    (`custom_jvp`, `custom_vjp`), loops, branches and random keys keep their meaning. What depends on no argument is
    computed once. Needs the extra `primad[jax]`.

    Args:
        function: a pure function of arrays and pytrees of arrays, which JAX can trace. Arguments that are no arrays or
            floats, as Python integers, booleans and strings, are constants of it.
        max_steps: the most steps of a `while_loop` in it (see `primad.while_loop`).

    Returns:
        a function with the same arguments and result, of NumPy's arrays or traced ones. An index is clamped or dropped
        as in JAX; at a clamped one the derivative is that of the value, which JAX drops. Where JAX gives NaN for a
        matrix without a factor, it raises.

    Raises:
        TracingError: if JAX is not installed; if an argument has 64 bits where JAX is set to 32; for a primitive of
            JAX's without a meaning on one CPU (devices, sharding, Pallas, callbacks), by its name, with the line.

    Example:
        >>> import numpy as np, primad
        >>> jax = __import__("jax")  # doctest: +SKIP
        >>> f = primad.from_jax(lambda x: jax.numpy.sum(jax.nn.softplus(x) ** 2))  # doctest: +SKIP
        >>> primad.hessian(f)(np.zeros(2, "float32"))[0, 0]  # doctest: +SKIP
        np.float32(0.8465736)
    """
    check_function(function)
    kept = Cache(MOST_KEPT)

    def converted(*args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        places = [i for i, leaf in enumerate(leaves) if _is_array(leaf)]
        given = [leaves[i] if isinstance(leaves[i], TracedArray) else np.asarray(leaves[i]) for i in places]
        weak = tuple([is_weak(leaves[i]) for i in places])
        constants = tuple([(i, type(x), x) for i, x in enumerate(leaves) if i not in places])
        types = tuple([type_of(x) for x in given])

        def make() -> tuple[Reader, Any, Any]:
            return (Reader(CALLS, max_steps), *_traced(function, types, weak, places, leaves, in_tree))

        wide = bool(jax_module().config.jax_enable_x64)
        key = JaxprKey(types, weak, constants, wide, in_tree, structure_key(in_tree))
        reader, closed, out_tree = kept.get(key, make)
        found = run_once(lambda *values: reader.read(closed, values), given)
        return jax_module().tree.unflatten(out_tree, found)

    return converted


def _is_array(leaf: Any) -> bool:
    """Say whether JAX traces an argument: arrays and floats, but no integers, booleans or strings of Python's."""
    if isinstance(leaf, TracedArray):
        return True
    return isinstance(leaf, (float, complex, np.generic)) or (hasattr(leaf, "shape") and hasattr(leaf, "dtype"))


def _traced(
    function: Callable[..., Any], types: Any, weak: Any, places: list[int], leaves: list[Any], in_tree: Any
) -> tuple[Any, Any]:
    """Return the jaxpr of a function of the arrays among its arguments, and the structure of its result."""
    jax = jax_module()
    constants = {i: leaf for i, leaf in enumerate(leaves) if i not in places}

    def flat(*values: Any) -> Any:
        arrays = dict(zip(places, values, strict=True))
        return function(*tree.unflatten(in_tree, [arrays.get(i, constants.get(i)) for i in range(len(leaves))]))

    described = [_described(type, number) for type, number in zip(types, weak, strict=True)]
    closed, shape = jax.make_jaxpr(flat, return_shape=True)(*described)
    return closed, jax.tree.structure(shape)


def _described(type: ArrayType, weak: bool) -> Any:
    """Return a type as JAX takes it: a number of Python's in the dtype that JAX gives it.

    Raises:
        TracingError: for an array of 64 bits where JAX would round it to 32.
    """
    jax = jax_module()
    dtype = jax.dtypes.canonicalize_dtype(type.dtype)
    if dtype != type.dtype and not weak and type.dtype.kind in "fc":
        raise TracingError(
            f"from_jax: an argument is {type}, and JAX is set to 32 bits",
            why="JAX would round it.",
            fix='call jax.config.update("jax_enable_x64", True) at the start, or pass arrays of float32.',
        )
    return jax.ShapeDtypeStruct(type.shape, dtype, weak_type=weak)

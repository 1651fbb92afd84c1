"""Large steps in blocks: pointwise ones one block after the other, and others that can on the threads of chunks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from primad.machine import SECOND_CACHE
from primad.process import silently
from primad.runtime.chunks import run_chunks
from primad.types import ArrayType

BLOCK_BYTES = SECOND_CACHE.share(1, 8)
"""What `in_blocks` computes at once: operands, result and what lies between stay in cache together."""


def in_chunks(work: Callable[[int], Any], count: int) -> list[Any]:
    """Call `work` with 0, 1, …, count − 1 on the threads of chunks and return the results in order."""

    def silent(chunk: int, stopped: Callable[[], bool]) -> Any:
        return silently(work, chunk)  # a plan's setting is its own thread's

    return list(run_chunks(silent, count))


def in_blocks(function: Callable[..., Any], type: ArrayType) -> Callable[..., Any]:
    """Return a pointwise definition that computes a large array of a type block by block.

    What it makes on the way to the result then takes a block's memory, not the array's.
    """
    axis = int(np.argmax(type.shape))
    length = type.shape[axis]
    step = max(1, BLOCK_BYTES * length // type.nbytes)
    writes = takes(function, "out")

    def blocks(*operands: Any, out: Any = None, **params: Any) -> Any:
        result = np.empty(type.shape, type.dtype) if out is None else out
        for start in range(0, length, step):
            place = (slice(None),) * axis + (slice(start, start + step),)
            parts = [np.broadcast_to(x, type.shape)[place] for x in operands]
            if writes:
                function(*parts, out=result[place], **params)
            else:
                result[place] = function(*parts, **params)
        return result

    return blocks


@lru_cache(maxsize=1024)
def takes(function: Any, name: str) -> bool:
    """Say whether a function has a parameter."""
    try:
        return name in signature(function).parameters
    except (TypeError, ValueError):
        return False


def chunks_for(function: Any) -> dict[str, Any]:
    """Return the argument that lets a definition share its blocks among threads, if it can."""
    # Python finds the parameters of built-in functions by reading a text, for which it compiles its tokenizer first.
    if isinstance(function, (np.ufunc, BuiltinFunctionType)):
        return {}
    return {"each": in_chunks} if takes(function, "each") else {}

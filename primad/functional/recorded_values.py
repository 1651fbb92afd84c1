"""What a function that is recorded says of its own values: read this one now, take that one as a constant."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from primad import ops
from primad.recording import tree
from primad.recording.traced_array import TracedArray

T = TypeVar("T")


def value(x: Any) -> Any:
    """Read the value of a traced array on purpose, as a plain array: a number without a derivative.

    Args:
        x: a traced array whose value is known (not under jit, vmap or trace), or a plain array, returned as it is.

    Returns:
        a NumPy array or scalar.

    Raises:
        TracingError: where only the type is known.

    Example:
        >>> import numpy as np, primad
        >>> def f(x):
        ...     print("x is", primad.value(x))
        ...     return x * x
        >>> primad.grad(f)(3.0)
        x is 3.0
        np.float64(6.0)
    """
    if not isinstance(x, TracedArray):
        return x
    found = np.array(x._read("the value"))
    return found if found.ndim else found[()]


def stop_gradient(x: T) -> T:
    """Return x as a constant: every derivative through it is zero. Works on arrays and pytrees of arrays.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(lambda x: x * primad.stop_gradient(x))(3.0)
        np.float64(3.0)
    """
    return cast(T, tree.map(lambda leaf: ops.stop_gradient(leaf) if isinstance(leaf, TracedArray) else leaf, x))

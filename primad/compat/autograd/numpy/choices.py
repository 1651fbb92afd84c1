"""`autograd.numpy.where`, which gives Python's numbers and lists back as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pn


def _is_of_arrays(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_is_of_arrays, x))
    return isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "dtype")


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's, with keywords x and y too; of Python's numbers and lists only, the result is of these types.

    Raises:
        ValueError: if one of x and y is missing, as in autograd.
    """
    if not args and not kwargs:
        return pn.where(condition)
    values = [*args, *(kwargs[name] for name in ("x", "y")[len(args) :] if name in kwargs)]
    if len(values) != 2 or len(args) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    found = pn.where(condition, *values)
    return found if _is_of_arrays([condition, *values]) else found.tolist()

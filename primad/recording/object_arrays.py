"""NumPy's arrays of objects with traced numbers in them: what `np.array([f(x), g(x)])` makes.

To NumPy a traced number is an object with operators, as a Fraction is: it puts it into an array of objects, and
computes on that element by element. Wherever such an array meets primad (an operand, an argument, a result), it is one
traced array, the stack of its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.recording.protocols import FUNCTIONS, METHODS

OBJECTS = np.dtype(object)


def as_object(number: Any) -> np.ndarray[Any, Any]:
    """Return an array without axes that holds an object, which is not asked what it is."""
    holder = np.empty(1, OBJECTS)
    holder[0] = number
    return holder.reshape(())


def holds_traced(value: Any) -> bool:
    """Say whether a value is an array of objects with a traced number in it."""
    return (
        type(value) is np.ndarray
        and value.dtype is OBJECTS
        and any(hasattr(type(item), "__leaf__") for item in value.flat)
    )


def stacked(value: Any) -> Any:
    """Return the traced array that an array of objects with traced numbers stands for; any other value as it is."""
    if not holds_traced(value):
        return value
    if any(hasattr(type(item), "__settled__") for item in value.flat):
        raise TracingError(
            "an array of objects holds an array that may be written to",
            why="np.array([…]) of it copies no numbers: what is written to it later would be seen there.",
            fix="make the array with primad.numpy.array([…]).",
        )
    return METHODS["reshape"](FUNCTIONS[np.stack](list(value.flat)), value.shape)

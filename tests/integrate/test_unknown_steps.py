"""Values at the end of an unknown number of steps: made once, when one is read."""

import numpy as np
import pytest

from primad.errors import NotDifferentiableError
from primad.integrate.unknown_steps import UnknownSteps


def test_what_goes_wrong_in_making_them_is_what_is_said() -> None:
    """An AttributeError is no missing attribute of theirs, which would ask for t_eval."""
    steps = UnknownSteps(lambda: object().missing, 1)  # type: ignore[attr-defined]
    for read in (lambda: steps[:, -1], lambda: steps.T[-1], lambda: steps[0][-1]):
        with pytest.raises(AttributeError, match="missing"):
            read()
    with pytest.raises(NotDifferentiableError, match="t_eval"):
        steps[:, 0]


def test_they_are_made_once() -> None:
    made: list[int] = []
    steps = UnknownSteps(lambda: made.append(1) or np.array(2.5), 0)
    assert (steps[-1], steps[:][-1], steps[-1], len(made)) == (2.5, 2.5, 2.5, 1)

"""The Jacobian of a function that was recorded once, for solvers: sparse where most of it is zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.functional.complex_checks import check_real
from primad.functional.derivatives.sparse_matrices import ComputedForm
from primad.functional.derived_calls import Call
from primad.ir.key import Key
from primad.ir.program import ClosedProgram
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.runtime.executors.dispatch import prepared

Array = np.ndarray[Any, Any]

SPARSE_FROM = 200
"""Elements of the argument from which it is looked for zeros of the Jacobian. Chosen: factors of a matrix of fewer take
less than a millisecond."""
SPARSE_SHARE = 0.2
"""Share of the Jacobian's entries, at most, that a sparse one has. Chosen: factors of more take less time if dense."""


class RecordedJacobianKey(NamedTuple):
    """The whole Jacobian of a result of a program in its first input."""

    of: Key
    output: int
    kind: str = "recorded Jacobian"


class RecordedJacobian:
    """The Jacobian of a result of a program in its first input, of one axis both.

    Args:
        of: the program.
        output: the number of the result.
    """

    def __init__(self, of: ClosedProgram, output: int = 0) -> None:
        self._of, self._output = of, output
        check_real([of.program.in_types[0]], "a solver's Jacobian")
        self._size = of.out_types[output].size * of.program.in_types[0].size
        self._options = {
            "output": output, "argument": 0, "mode": "auto", "rows": whole(of.out_types[output].shape),
            "columns": whole(of.program.in_types[0].shape),
        }  # fmt: skip

    def at(self, values: Sequence[Array], share: float) -> Any:
        """Return it at values of the program's inputs and of what it captured.

        Args:
            values: what is said above.
            share: of its entries, up to which it is SciPy's sparse array, and not NumPy's.
        """
        if share:
            form = ComputedForm(self._of, jacobian_, self._options, values)
            if form.count <= share * self._size:
                return form.sparse("csc")
        build, of, options = jacobian_.programs.build, self._of, self._options
        assert build is not None
        run = prepared(RecordedJacobianKey(of.key, self._output), lambda: build(of.hoisted, **options)).run
        return np.asarray(run(list(values))[0])


def jacobian_of(function: Callable[[Any], Any], x: Array, known: bool) -> Callable[[Array, float], Any]:
    """Record a function of a row of numbers, and return that of its Jacobian (see `RecordedJacobian.at`).

    Args:
        function: of one array of one axis, which returns another.
        x: an argument.
        known: whether the function may branch on its values, for which alone it is recorded then.
    """
    call = Call(function, (x,), known=known)
    recorded = RecordedJacobian(ClosedProgram(call.program))
    captured = call.program.source_values
    return lambda x, share: recorded.at([x, *captured], share)

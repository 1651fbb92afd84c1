"""distribute: a function of points that the processes of a job share, compiled, with one sum over the processes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from primad.errors import TracingError
from primad.functional.jit import jit
from primad.functional.transformed import Transformed, transform
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, leaf_value
from primad.ir.program import Program
from primad.parallel.shares import Share
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function, is_weak, record, type_of
from primad.runtime.cache import Cache
from primad.runtime.calling import arrays
from primad.runtime.tiling.distributed import DistributedPlan
from primad.simplify import simplify
from primad.system.process import MOST_KEPT

Function = Callable[..., Any]


class _Made(NamedTuple):
    """What was compiled for one combination of argument types.

    Attributes:
        program: what was recorded.
        plan: what runs.
        captured: its inputs after the arguments.
    """

    program: Program
    plan: DistributedPlan
    captured: list[Any]

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self.program, self.plan


class SharedKey(NamedTuple):
    """What is compiled for a call depends on: see `JitKey`; and how which leaves are cut: leaf, axis and chunks."""

    types: tuple[ArrayType, ...]
    weak: tuple[bool, ...]
    in_tree: Any
    entries: Hashable
    cuts: tuple[tuple[int, tuple[int, int]], ...]
    kind: str = "shared"


@transform
def distribute(function: Function) -> Function:
    """Return a function that the processes of a job compute together: each has a `Share` of the points.

    The function is written for all points, as for one process; its shapes, and a mean, are those of all. What it
    computes at points stays where the points are. What it sums over them, such as a loss and its gradient, is added up
    over the processes in one sum, and so is what `optimize` needs of residuals; all processes have the result. It has
    the same bits for any number of processes on equal processors: points are cut into chunks, which do not depend on
    that number, and the sums of the chunks are added in a tree over the chunks.

    Every process calls it with the same arguments but for the Shares, and as often. `distribute` comes last: write
    `distribute(grad(f))`. Needs the extra `primad[mpi]`; `mpiexec -n 4 python script.py` starts four processes.

    Args:
        function: a function of arrays and pytrees of arrays, which maps over the points of its Shares and sums over
            them, such as `primad.value_and_grad(loss)`.

    Returns:
        a function with the same arguments, of which some are Shares or trees of Shares, and the same result: arrays
        that are equal in all processes, and Shares where a result has the points.

    Raises:
        TracingError: if no argument is a Share, where the function needs a value; if mpi4py is not installed; if the
            processes do not call it with the same arguments.
        ShapeError: for an op that mixes points, or lets those of two Shares meet; if there are fewer chunks than
            processes.

    Example:
        >>> import numpy as np, primad
        >>> def loss(w, x, y):
        ...     return np.mean((np.tanh(x @ w) - y) ** 2)
        >>> x, y = primad.Share.of(np.ones((100, 3))), primad.Share.of(np.zeros(100))
        >>> value, gradient = primad.distribute(primad.value_and_grad(loss))(np.ones(3), x, y)
        >>> round(value, 6), gradient.shape
        (np.float64(0.990134), (3,))
    """
    check_function(function)
    known = Cache(MOST_KEPT)

    def distributed(*args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        cuts = {i: (x.axis, x.chunks.count) for i, x in enumerate(leaves) if isinstance(x, Share)}
        if any(isinstance(leaf, TracedArray) for leaf in leaves):
            raise TracingError(
                "distribute: the function was called inside of another transform",
                why="What the processes compute together is one program, with its derivatives in it.",
                fix="apply distribute last: primad.distribute(primad.grad(f)), not grad(distribute(f)).",
            )
        if not cuts:
            raise TracingError(
                "distribute: no argument is a Share, so there is nothing that the processes could share",
                fix="pass the points as primad.Share.of(points), or use primad.jit.",
            )
        types = tuple([type_of(leaf) for leaf in leaves])
        weak = tuple([is_weak(leaf) for leaf in leaves])

        def make() -> _Made:
            program = record(function, types, in_tree, weak=weak)
            if program.captured:
                raise TracingError(
                    "distribute: the function closes over a traced array",
                    fix="call it outside of other transforms, or pass the array as an argument.",
                )
            lowered = simplify(program.hoisted(scalars=False))
            captured = [leaf_value(node) for node in program.sources if node.op is not LITERAL]
            return _Made(program, DistributedPlan(lowered, cuts), captured)

        key = SharedKey(types, weak, in_tree, structure_key(in_tree), tuple(cuts.items()))
        made = known.get(key, make)
        given = [leaf if i in cuts else arrays([leaf])[0] for i, leaf in enumerate(leaves)]
        return tree.unflatten(made.program.out_tree, made.plan.run([*given, *made.captured]))

    return distributed


def compiler_of(function: Function) -> tuple[Function, Callable[[Function], Function]]:
    """Return a function and what compiles it: a distributed one is compiled, with what is derived of it, by distribute.

    Args:
        function: what the user gave, such as `distribute(residuals)`.
    """
    if isinstance(function, Transformed) and function.made[0] is distribute:
        return function.made[1][0], distribute
    return function, jit

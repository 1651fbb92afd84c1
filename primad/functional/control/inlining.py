"""Jitted functions that a function being recorded calls: recorded in place, or as calls where they are long together.

In place, the laws see through them. But a step that is repeated some hundred times would be planned as often; as a call
it is recorded once, and planned once, and so are its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from msgspec import Struct

from primad.errors import TracingError
from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import as_tuple
from primad.programs.call import call
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import is_number, record, type_of
from primad.runtime.calling import traced_operands

RECORDED_IN_PLACE = 600
"""Nodes that the calls of one function add to a trace before further ones are calls of its program. Chosen: short
programs gain more from laws and kernels that see through the calls than recording them once saves. The last bits of
results depend on it."""
WORTH_A_CALL = 20
"""Nodes of a function, at least, of which a call pays. Estimated: running a plan takes as long as some ten small steps.
The last bits of results depend on it."""


class _Known(Struct):
    """What a trace knows of a function: how often it was recorded in place, the nodes that this made, its programs."""

    function: Callable[..., Any]
    times: int
    nodes: int
    programs: dict[Any, ClosedProgram | None]

    @property
    def is_repeated(self) -> bool:
        return self.nodes >= RECORDED_IN_PLACE and self.nodes >= WORTH_A_CALL * self.times


def called(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    in_tree: Any,
    key: Hashable,
) -> Any:
    """Call a jitted function on arguments of which some are traced.

    Args:
        function: what was jitted, of the arguments that are not static.
        leaves: its arguments, flattened.
        in_tree: the structure of the pair of those by place and those by name.
        key: what tells the function, with its static arguments, from others while it exists.
    """
    trace = max((leaf.node.trace for leaf in leaves if type(leaf) is TracedArray), key=lambda trace: trace.age)
    known = trace.noted.setdefault((_Known, key), _Known(function, 0, 0, {}))  # it keeps the function, and so its id
    if known.is_repeated:
        of = _program(known, leaves, in_tree)
        if of is not None:
            operands = traced_operands([*leaves, *of.program.sources])
            return tree.unflatten(of.program.out_tree, as_tuple(call(*operands, of=of)))
    before = trace.size
    own = [TracedArray(leaf.node) if type(leaf) is TracedArray else leaf for leaf in leaves]  # to write to, as calls do
    args, kwargs = tree.unflatten(in_tree, own)
    result = function(*args, **kwargs)
    known.times += 1
    known.nodes += trace.size - before
    return result


def _program(known: _Known, leaves: Sequence[Any], in_tree: Any) -> ClosedProgram | None:
    """Return the function's program for such arguments; None where it has to see values or closes over traced ones."""

    def flat(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return known.function(*args, **kwargs)

    flat.__qualname__ = getattr(known.function, "__qualname__", "function")
    types = tuple([type_of(leaf) for leaf in leaves])
    weak = tuple([is_number(leaf) for leaf in leaves])
    key = types, weak, in_tree, structure_key(in_tree)
    if key not in known.programs:
        try:
            program = record(flat, types, in_tree, weak=weak)
            known.programs[key] = None if program.captured else ClosedProgram(program)
        except TracingError:  # recorded in place it may have values; if not, that raises again
            known.programs[key] = None
    return known.programs[key]

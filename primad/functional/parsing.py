"""Reading programs back from their text, with all of primad's ops known by name, and pickling them as their text."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Any

from primad import nn, ops
from primad import numpy as primad_numpy
from primad.errors import ProgramError, TracingError
from primad.functional.transformed import name_of, not_pickled
from primad.ir.node import CAPTURED, INPUT, LITERAL, Node
from primad.ir.parse import parse as parse_with
from primad.ir.program import ClosedProgram, Program
from primad.ir.text import is_shown
from primad.ops.record.primitive import Primitive
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.programs.jacobians.differential_operators import partial_
from primad.programs.jacobians.hessian_laws import MATRICES
from primad.programs.loops.scan import scan
from primad.programs.loops.while_loop import while_loop
from primad.programs.program_ops import jvp_, vjp_, vmap_
from primad.recording import tree
from primad.transforms import lower
from primad.transforms.batching import mapped
from primad.transforms.lowering import applications
from primad.transforms.reverse import transposed


@cache
def known_ops() -> dict[str, Primitive]:
    """Return primad's primitives and composites by name."""
    holding = [*MATRICES, partial_, jvp_, vjp_, vmap_, call, scan, while_loop, checkpoint_, mapped, transposed]
    records = [*ops.ALL, *primad_numpy.COMPOSITES, *nn.COMPOSITES, *holding]
    return {record.name: record for record in records}


def parse(text: str, primitives: Sequence[Primitive] = (), captured: Sequence[Any] = ()) -> Program:
    """Read a program from the text that `str(program)` gave; nothing in the text is executed.

    Args:
        text: the program's text.
        primitives: further ops that it uses, by the names they have.
        captured: values of the captured arrays that are too long for the text to show, in order.

    Returns:
        a program with the same text and the same canonical key, which takes its inputs one by one.

    Raises:
        ProgramError: where the text is damaged, names an op that is not known, or its types do not agree.

    Example:
        >>> import numpy as np, primad
        >>> program = primad.trace(lambda x: np.sin(x) * 2.0)(0.5)
        >>> primad.parse(str(program))(0.5)
        np.float64(0.958851077208406)
    """
    known = known_ops()
    for primitive in primitives:
        if known.get(primitive.name, primitive) is not primitive:
            raise ProgramError(f"parse: {primitive.name!r} is the name of one of primad's own ops", fix="rename yours.")
    program = parse_with(text, {**known, **{primitive.name: primitive for primitive in primitives}}, captured)
    if any(getattr(node.op, "holds_program", False) for node in program.nodes):
        try:
            lower(program)  # whether a derivative in it can be built shows only there
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = getattr(error, "what", repr(error))
            raise ProgramError(
                f"program text holds a program that cannot be differentiated as it says: {what}",
                fix="read the text of a program as primad prints it: str(program).",
            ) from None
    return program


# -- pickling ----------------------------------------------------------------------------------------------------------


def read(
    text: str,
    primitives: Sequence[Primitive],
    captured: Sequence[Any],
    arguments: Any,
    result: Any,
    lines: Sequence[str | None],
) -> Program:
    """Read a program that was pickled: its text, the ops and arrays that this needs, trees like its own, its lines."""
    program = parse(text, primitives, captured)
    program.lines = {node: line for node, line in zip(_statements(program), lines, strict=True) if line is not None}
    program.in_tree = None if arguments is None else tree.flatten(arguments[0])[1]
    program.out_tree = None if result is None else tree.flatten(result[0])[1]
    return program


def known_op(name: str) -> Primitive:
    """Return the op of primad's that has this name."""
    return known_ops()[name]


def _reduce_program(program: Program) -> Any:
    if program.captured:
        raise TracingError(
            "a program that closes over an open trace cannot be pickled",
            why="It depends on values of the function that is being recorded.",
            fix="pass these values to the program as arguments.",
        )
    primitives = []
    for node in dict.fromkeys(applications(program)):
        known = known_ops().get(node.op.name)
        if known is not None and known is not node.op:
            raise TracingError(
                f"a program that applies your op {node.op.name} cannot be pickled",
                why="One of primad's own ops has this name, and programs are pickled as their text.",
                fix="give yours another name.",
            )
        if known is None and node.op not in primitives:
            primitives.append(node.op)
        _check_params(node)
    arrays = [node.params[0][1].array for node in program.nodes if node.op is CAPTURED]
    hidden = [array for array in arrays if not is_shown(array)]
    lines = [program.lines.get(node) for node in _statements(program)]
    return read, (str(program), primitives, hidden, _like(program.in_tree), _like(program.out_tree), lines)


def _statements(program: Program) -> list[Node]:
    """Return the nodes that have a statement in the text, in its order."""
    return [node for node in program.nodes if node.op not in (INPUT, LITERAL)]


def _check_params(node: Node) -> None:
    """Raise unless the text can say the params of an application."""
    stack = [value for _, value in node.params]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(value)
        elif not isinstance(value, (str, bool, int, float, ClosedProgram, type(None))):
            name = getattr(value, "name", None) or type(value).__name__
            raise TracingError(
                f"a program that applies {node.op.name} with {name} cannot be pickled",
                why="Programs are pickled as their text, and a rule, or the tree of arguments that are not plain "
                "arrays, is code or a class, which the text does not say.",
                fix="pickle the function, defined at the top of a module, instead of its program; or, where nothing is "
                "differentiated again, primad.lower(program), which has no rules left.",
            )


def _like(structure: Any) -> tuple[Any] | None:
    """Return a tree of this structure, in a tuple; None where there is no structure."""
    return None if structure is None else (tree.unflatten(structure, range(structure.num_leaves)),)


def _reduce_primitive(op: Primitive) -> Any:
    if known_ops().get(op.name) is op:
        return known_op, (op.name,)
    owner = getattr(op.numpy, "__self__", None)
    if getattr(owner, "primitive", None) is op:  # of an opaque function
        return getattr, (owner, "primitive")
    name = name_of(op, anywhere=True)
    if name is None:
        raise not_pickled(f"the op {op.name}", "and its rules are code.", "or pickle a value that it computes")
    return resolve_name, (name,)


copyreg.pickle(Program, _reduce_program)
copyreg.pickle(Primitive, _reduce_primitive)

"""Reading programs back from their text, with all of primad's ops known by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from primad import nn, ops
from primad import numpy as primad_numpy
from primad.errors import ProgramError
from primad.functional.compile import checkpoint_
from primad.ir.parse import parse as parse_with
from primad.ir.program import Program
from primad.primitive import Primitive
from primad.programs.consumers import MATRICES
from primad.programs.ops import jvp_, vjp_, vmap_
from primad.transforms import lower
from primad.transforms.batching import mapped
from primad.transforms.reverse import transposed


@cache
def known_ops() -> dict[str, Primitive]:
    """Return primad's primitives and composites by name."""
    holding = [*MATRICES, jvp_, vjp_, vmap_, checkpoint_, mapped, transposed]
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
            what = getattr(error, "what", None) or str(error) or type(error).__name__
            raise ProgramError(
                f"program text holds a program that cannot be differentiated as it says: {what}"
            ) from None
    return program

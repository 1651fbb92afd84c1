"""How autograd's modules and names are found here: one error for those that are missing."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import NoReturn

from primad.errors import no_attribute

_TAPE = "it is a part of autograd's tape; make_vjp, make_jvp, primitive, defvjp and defjvp do what programs need of it."
_PARTS_OF_THE_TAPE = """
    JVPNode Node SparseBox SparseObject TraceStack VJPNode add_outgrads backward_pass box_types find_top_boxed_args
    new_box primitive_jvps primitive_vjps sparse_add sum_outgrads toposort trace trace_stack"""
_INSTEAD = {
    **dict.fromkeys(_PARTS_OF_THE_TAPE.split(), _TAPE),
    "quick_grad_check": "use autograd.test_util.check_grads.",
}
"""What to write for names that programs know."""


def missing(module: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise the error for a name that a module of autograd's may have, and its counterpart here does not.

    Args:
        module: the name of the module here.
        name: what was asked for.
        known: the names that it has.

    Raises:
        AttributeError: always.
    """
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise no_attribute(module, name, known, _INSTEAD.get(name, ""))


def specification(module: str) -> ModuleSpec | None:
    """Return the specification of a module, None where there is no such module."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None

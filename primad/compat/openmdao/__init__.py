"""OpenMDAO's components whose `compute_primal` is plain NumPy: partial derivatives are declared and computed for them.

`ExplicitComponent` and `ImplicitComponent` are OpenMDAO's classes of these names, with the methods of
`primad.compat.openmdao.partials` before their own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from primad.compat.openmdao.partials import ExplicitPartials, ImplicitPartials
from primad.errors import TracingError, no_attribute

__all__ = ["ExplicitComponent", "ImplicitComponent"]

PARTIALS = {"ExplicitComponent": ExplicitPartials, "ImplicitComponent": ImplicitPartials}
"""What comes before OpenMDAO's class of a name."""


@cache
def _component(name: str) -> type:
    """Return a class of components, made when it is first asked for: OpenMDAO is imported then.

    Raises:
        TracingError: if it is not installed, with the extra that installs it.
    """
    try:
        import openmdao.api
    except ImportError as error:
        raise TracingError(
            "primad.compat.openmdao needs OpenMDAO, which is not installed",
            why=str(error),
            fix="pip install 'primad[openmdao]'.",
        ) from None
    mine = PARTIALS[name]
    return type(name, (mine, getattr(openmdao.api, name)), {"__doc__": mine.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name in PARTIALS:
        return _component(name)
    raise no_attribute(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Partial differential equations: fields with named derivatives, operators on them, and equations."""

from primad.pde.fields import Field, FieldAt

__all__ = ["Field", "FieldAt"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""Packages that are needed for some things only, imported when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str, what: str) -> Any:
    """Import a package that an extra of primad brings.

    Args:
        module: what to import.
        extra: its name.
        what: what needs it, for the message.

    Raises:
        ImportError: if it is not there, with what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise ImportError(f"{what} need {name}, which is missing: pip install 'primad[{extra}]'", name=name) from error

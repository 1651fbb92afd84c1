"""Packages in plain NumPy, SciPy and Python's math that are differentiated as they are: `record`."""

from primad.compat.packages.importing import record as record

__all__ = ["record"]

"""Functions of gradients that backward passes call."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

from primad.compat.tape import TapeValue

_KEYS = itertools.count()


class HookHandle:
    """What `register_hook` returns: takes the hook away again."""

    def __init__(self, entry: TapeValue, hook: Callable[[TapeValue], TapeValue | None]) -> None:
        self._entry: TapeValue | None = entry
        entry.hooks = entry.hooks or {}
        self._key = next(_KEYS)
        entry.hooks[self._key] = hook
        self._hook = hook

    def remove(self) -> bool:
        """Remove the hook; return whether it was there."""
        if self._entry is None or not self._entry.hooks or self._entry.hooks.get(self._key) is not self._hook:
            warnings.warn("The hook has been removed already.", RuntimeWarning, stacklevel=2)
            return False
        del self._entry.hooks[self._key]
        self._entry = None
        return True

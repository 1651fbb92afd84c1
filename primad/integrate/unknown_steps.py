"""Values at the ends of steps whose number depends on values that are not known: of these the last can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from primad import numpy as pnp
from primad.errors import NotDifferentiableError


class UnknownSteps(NDArrayOperatorsMixin):
    """The `t` and `y` of SciPy's result where the number of steps is not known; they have an index for the last only.

    `t[-1]`, `y[:, -1]`, `y[0, -1]`, `y[0][-1]`, `y[:, -1:]` and `y.T[-1]` are arrays.

    Args:
        last: gives the values at the end; called once, when one is read.
        ndim: how many axes these have.
        first: whether the axis of the steps is the first one, and not the last one.
    """

    def __init__(self, last: Callable[[], Any], ndim: int, first: bool = False) -> None:
        self._make, self._ndim, self._first = last, ndim, first
        self._known: list[Any] = []

    def _last(self) -> Any:
        """Return what is at the end; no property, in which an AttributeError would be one of this class."""
        if not self._known:
            self._known.append(self._make())
        return self._known[0]

    @property
    def T(self) -> UnknownSteps:
        """The same with its axes the other way round."""
        return UnknownSteps(self._last, self._ndim, not self._first)

    def __getitem__(self, index: Any) -> Any:
        """Return values at the end, or steps of some components.

        Raises:
            NotDifferentiableError: for other steps than the last.
        """
        keys = [*index] if isinstance(index, tuple) else [index]
        axes = self._ndim + 1
        if any(key is None for key in keys) or len([key for key in keys if key is not Ellipsis]) > axes:
            self._refuse()
        at = next((i for i, key in enumerate(keys) if key is Ellipsis), len(keys))
        behind = keys[at + 1 :]
        keys = [*keys[:at], *[slice(None)] * (axes - at - len(behind)), *behind]
        step = keys.pop(0 if self._first else -1)
        if isinstance(step, slice):
            if step == slice(None):
                if all(isinstance(key, slice) or _is_number(key) for key in keys):
                    left = self._ndim - sum(map(_is_number, keys))
                    return UnknownSteps(lambda: self._last()[tuple(keys)], left, self._first)
            elif step in (slice(-1, None), slice(-1, None, 1)):
                return pnp.expand_dims(self._last()[tuple(keys)], 0 if self._first else -1)
        elif _is_number(step) and step == -1:
            return self._last()[tuple(keys)]
        self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotDifferentiableError(
            "solve_ivp: t_eval has to be given inside of a transform, for other values than the last",
            why="How many steps are taken depends on values, and the shape of the result with it.",
            fix="pass t_eval=np.linspace(t0, t1, 100); the end is t[-1] and y[:, -1].",
        )

    __array__ = __array_function__ = _refuse
    __iter__ = __len__ = __bool__ = __float__ = __int__ = __complex__ = _refuse

    def __array_ufunc__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise, as all that asks for other values does."""
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        """Raise, as all that asks for other values does."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


def _is_number(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool)

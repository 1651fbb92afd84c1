"""Reading a jaxpr: each of its equations becomes what the table of primitives says, on plain or traced arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.errors import TracingError, is_users
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of
from primad.xla.jax_functions import jax_module
from primad.xla.primitives.table import FUNCTIONS, REFUSED

Calls = dict[str, Callable[["Reader", Any, list[Any]], Sequence[Any]]]


class Keys(NamedTuple):
    """An array of JAX's random keys: the arrays of their first and of their second words."""

    first: Any
    second: Any


class Reader:
    """Reads jaxprs.

    Attributes:
        calls: what equations that hold functions become, by the primitive's name: functions of the reader, the
            equation and its operands.
        max_steps: the most steps of a loop that stops at a condition.
        made: what was made of equations that have rules, by the places of these.
        scopes: the values of the variables of the jaxprs that are being read, the innermost last.
    """

    def __init__(self, calls: Calls, max_steps: int) -> None:
        self.calls = calls
        self.max_steps = max_steps
        self.made: dict[int, Any] = {}
        self.scopes: tuple[dict[Any, Any], ...] = ()

    def read(self, closed: Any, operands: Sequence[Any]) -> list[Any]:
        """Return the results of a closed jaxpr on operands."""
        return self.read_open(closed.jaxpr, closed.consts, operands)

    def read_open(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Return the results of a jaxpr on constants and operands."""
        known: dict[Any, Any] = {}
        with self.within((*self.scopes, known)):
            return self._read_open(jaxpr, consts, operands, known)

    @contextmanager
    def within(self, scopes: tuple[dict[Any, Any], ...]) -> Iterator[None]:
        """Read what may refer to the variables of these scopes."""
        before, self.scopes = self.scopes, scopes
        try:
            yield
        finally:
            self.scopes = before

    def value_of(self, tracer: Any) -> Any:
        """Return the value that a tracer of JAX's stood for, in the innermost scope that has one; None if none has."""
        atom = getattr(tracer, "val", None)
        return next((scope[atom] for scope in reversed(self.scopes) if atom in scope), None)

    def _read_open(
        self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], known: dict[Any, Any]
    ) -> list[Any]:
        def value_of(atom: Any) -> Any:
            return stated(atom.val, atom.aval) if hasattr(atom, "val") else known[atom]

        for variables, values in ((jaxpr.constvars, consts), (jaxpr.invars, operands)):
            known.update({v: stated(value, v.aval) for v, value in zip(variables, values, strict=True)})
        for equation in jaxpr.eqns:
            for variable in equation.outvars:
                check_dtype(variable.aval)
            with np.errstate(all="ignore"):  # as in JAX, infinities and NaN are values
                found = self.apply(equation, [value_of(atom) for atom in equation.invars])
            for variable, value in zip(equation.outvars, found, strict=True):
                known[variable] = stated(value, variable.aval)
        return [value_of(atom) for atom in jaxpr.outvars]

    def apply(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """Return the results of one equation."""
        name = equation.primitive.name
        if name in self.calls:
            return self.calls[name](self, equation, operands)
        if name in FUNCTIONS:
            function = FUNCTIONS[name]
            if any(isinstance(x, Keys) for x in operands):
                return _of_words(function, operands, equation.params)
            found = function(*operands, **equation.params)
            return found if equation.primitive.multiple_results else (found,)
        traced = any(isinstance(leaf, TracedArray) for leaf in tree.leaves(operands))
        arrays = {hasattr(v.aval, "dtype") for v in equation.outvars} == {True}
        if not traced and not equation.effects and arrays:
            return list(as_function(equation)(*map(_for_jax, operands)))
        raise refusal(equation)


def _for_jax(x: Any) -> Any:
    if not isinstance(x, Keys):
        return x
    return jax_module().random.wrap_key_data(np.stack(x, axis=-1), impl="threefry2x32")


def _of_words(function: Callable[..., Any], operands: Sequence[Any], params: Any) -> list[Any]:
    """Return an array of keys that a function moves, as it moves each of their words."""
    words = [function(*[x[word] if isinstance(x, Keys) else x for x in operands], **params) for word in range(2)]
    return (
        [Keys(*words)]
        if not isinstance(words[0], (tuple, list))
        else [Keys(*pair) for pair in zip(*words, strict=True)]
    )


def refusal(equation: Any) -> TracingError:
    """Return the error for an equation that nothing stands for."""
    name = equation.primitive.name
    why, fix = REFUSED.get(
        name, ("The table of primitives does not have it.", "write it with other functions of JAX's.")
    )
    return TracingError(f"from_jax: JAX's primitive {name} has no meaning here", why, fix, where=line_of(equation))


def line_of(equation: Any) -> str | None:
    """Return `file:line` of the user's line that an equation came from, as far as JAX knows it."""
    own = os.path.dirname(jax_module().__file__) + os.sep
    trace = getattr(equation.source_info, "traceback", None)
    for frame in getattr(trace, "frames", ()):
        if is_users(frame.file_name) and not frame.file_name.startswith(own):
            return f"{frame.file_name}:{frame.line_num}"
    return None


def check_dtype(aval: Any) -> None:
    """Raise for values of a dtype that NumPy does not have.

    Raises:
        TracingError: it names the dtype.
    """
    if not hasattr(aval, "dtype") or is_key(aval):
        return
    dtype = np.dtype(aval.dtype)
    if dtype.kind not in "biufc" and dtype != jax_module().dtypes.float0:
        raise TracingError(
            f"from_jax: there is no dtype {dtype} here",
            why="Programs compute in the dtypes that NumPy has.",
            fix="convert to float32 or float16 (x.astype(jnp.float32)).",
        )


def stated(value: Any, aval: Any) -> Any:
    """Return a value as an array of the dtype that a jaxpr states.

    Raises:
        TracingError: for a dtype that NumPy does not have.
    """
    if isinstance(value, Keys):
        return value
    if is_key(aval):
        words = np.asarray(jax_module().random.key_data(value))
        return Keys(words[..., 0], words[..., 1])
    dtype = np.dtype(aval.dtype)
    if dtype == jax_module().dtypes.float0:  # the tangents of integers, of which there is nothing to know
        return np.zeros(aval.shape, bool)
    check_dtype(aval)
    if not isinstance(value, TracedArray):
        return np.asarray(value, dtype)
    return value if value.dtype == dtype else pnp.astype(value, dtype)


def is_key(aval: Any) -> bool:
    """Say whether values are random keys."""
    dtypes = jax_module().dtypes
    return bool(dtypes.issubdtype(aval.dtype, dtypes.extended))


def as_function(equation: Any) -> Callable[..., tuple[Any, ...]]:
    """Return the function of JAX's that an equation is."""
    from jax.extend import core

    types = [jax_module().ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in equation.invars]
    outputs = [core.Var(variable.aval) for variable in equation.outvars]
    around = jax_module().make_jaxpr(lambda *_: (0.0,) * len(outputs))(*types).jaxpr
    alone = equation.replace(invars=list(around.invars), outvars=outputs)
    jaxpr = around.replace(eqns=[alone], outvars=outputs, effects=alone.effects)
    return core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))  # type: ignore[no-any-return]


def as_described(x: Any) -> Any:
    """Return the shape and dtype of an array, or of an array of keys, for JAX to trace with."""
    jax = jax_module()
    if isinstance(x, Keys):
        words = jax.ShapeDtypeStruct((*type_of(x.first).shape, 2), np.uint32)
        return jax.eval_shape(lambda words: jax.random.wrap_key_data(words, impl="threefry2x32"), words)
    type = type_of(x)
    return jax.ShapeDtypeStruct(type.shape, type.dtype)

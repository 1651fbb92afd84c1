"""Derivative rules that users give for a function: custom_jvp and custom_vjp.

A function with its own rule is one node; differentiating calls the rule instead of lowering the node. A custom JVP
serves both modes, since it is recorded and transposed like any other. A custom VJP gives only the pullback: its tangent
is a linear op that has a transpose and nothing else, so reverse mode works at every order and forward mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from inspect import signature
from pkgutil import resolve_name
from typing import Any

from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.functional.derived_calls import Call
from primad.functional.rules.custom_ops import custom_jvp_, custom_vjp_
from primad.functional.rules.readings import Readable
from primad.functional.rules.rule_identity import Rule
from primad.functional.transformed import name_of, not_pickled
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function

Function = Callable[..., Any]


def _places(function: Function, names: Sequence[str]) -> list[int]:
    """Return the positions of parameters."""
    if not names:
        return []
    known = list(signature(function).parameters)
    for name in (unknown for unknown in names if unknown not in known):
        raise TracingError(
            f"nondiff_argnames names {name!r}, which is no parameter of the function",
            fix=f"name some of {', '.join(known)}, in a tuple.",
        )
    return [known.index(name) for name in names]


class _Custom(Readable):
    """What custom_jvp and custom_vjp share: recording the function as one node."""

    def __init__(
        self, function: Function, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        check_function(function)
        self._function = function
        self._fixed = tuple(sorted({*nondiff_argnums, *_places(function, nondiff_argnames)}))
        if any(i < 0 for i in self._fixed):
            raise ShapeError(
                f"nondiff_argnums must not be negative, got {tuple(nondiff_argnums)}",
                fix="count arguments from the first, which is 0.",
            )
        update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"<primad.{type(self).__name__} of {getattr(self._function, '__qualname__', self._function)}>"

    def __copy__(self) -> _Custom:
        return self

    def __deepcopy__(self, memo: Any) -> _Custom:
        return self

    def __reduce__(self) -> Any:
        name = name_of(self, anywhere=True)
        if name is None:
            what = f"the function {getattr(self, '__name__', type(self).__name__)}, which has a rule of its own,"
            raise not_pickled(what, "and its rule is code.", "or pickle a value that it computes")
        return resolve_name, (name,)

    def _given(self) -> tuple[Function | None, ...]:
        """Return the functions of the rule that the user gave."""
        raise NotImplementedError

    def parts(self) -> Sequence[Any]:
        """Return the function, its constants and its rule."""
        return type(self), self._function, self._fixed, *self._given()

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        raise NotImplementedError

    def _primitive(self) -> Any:
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or any(i >= len(args) for i in self._fixed):
            args = self._placed(args, kwargs)
        fixed = tuple([args[i] for i in self._fixed])
        free = [arg for i, arg in enumerate(args) if i not in self._fixed]
        if not any(isinstance(leaf, TracedArray) for leaf in tree.leaves(free)):
            return self._function(*args)

        def function(*values: Any) -> Any:
            full = list(values)
            for i, value in zip(self._fixed, fixed, strict=True):
                full.insert(i, value)
            return self._function(*full)

        call = Call(function, free)
        rule = self._rule(call, fixed)
        outputs = call.run(self._primitive(), rule=rule)
        return tree.unflatten(call.out_tree, outputs)

    def _placed(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position: rules know no names. Defaults are among them."""
        given = signature(self._function).bind(*args, **kwargs)
        given.apply_defaults()
        if given.kwargs:
            raise TracingError(
                f"{getattr(self, '__name__', 'the function')}: {next(iter(given.kwargs))} goes by keyword only",
                why="A rule has arguments by position.",
                fix="take the `*` out of the signature of the function.",
            )
        if any(i >= len(given.args) for i in self._fixed):
            raise ShapeError(
                f"nondiff_argnums {self._fixed} for a function of {len(given.args)} arguments",
                fix="count arguments from the first, which is 0.",
            )
        return given.args


class custom_jvp(_Custom):
    """Give a function its own derivative, as a JVP.

    Args:
        function: a function of arrays and pytrees.
        nondiff_argnums: positions of arguments that are constants; they come first in the rule's arguments.
        nondiff_argnames: names of more of them; all come in the order of their positions.

    `defjvp(rule)` sets the rule: rule(*constants, primals, tangents) returns (value, tangent), and must be linear in
    the tangents. Both modes and all orders follow from it.

    Raises:
        NotDifferentiableError: when differentiated without a rule, or with respect to a value that it closes over.

    Example:
        >>> import numpy as np, primad
        >>> @primad.custom_jvp
        ... def log1pexp(x):
        ...     return np.log1p(np.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return log1pexp(x), t / (1 + np.exp(-x))
        >>> primad.grad(log1pexp)(1000.0)
        np.float64(1.0)
    """

    def __init__(
        self, function: Function, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(function, nondiff_argnums, nondiff_argnames)
        self._jvp: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """Set the rule (primals, tangents) -> (value, tangent); return it, so that it can be a decorator."""
        self._jvp = rule
        return rule

    def _given(self) -> tuple[Function | None, ...]:
        return (self._jvp,)

    def _primitive(self) -> Any:
        return custom_jvp_

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        name = getattr(self, "__name__", "custom_jvp")
        if self._jvp is None:
            raise NotDifferentiableError(
                f"custom_jvp function {name} has no rule", fix=f"give it one with @{name}.defjvp."
            )
        jvp = partial(self._jvp, *fixed) if fixed else self._jvp
        types = call.program.in_types, call.program.out_types
        return Rule(name, call.in_tree, call.out_tree, jvp=jvp, types=types, owner=(self, *fixed))


class custom_vjp(_Custom):
    """Give a function its own derivative, as a pullback; forward mode through it raises.

    Args:
        function: a function of arrays and pytrees.
        nondiff_argnums: positions of arguments that are constants; they come first in the arguments of `backward`.
        nondiff_argnames: names of more of them; all come in the order of their positions.

    `defvjp(forward, backward)` sets the rule: forward(*args) returns (value, residuals); backward(*constants,
    residuals, cotangent) returns a tuple with one cotangent per differentiable argument.

    Raises:
        NotDifferentiableError: when differentiated without a rule, or in forward mode.

    Example:
        >>> import numpy as np, primad
        >>> @primad.custom_vjp
        ... def clipped(x):
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
        >>> primad.grad(lambda x: 5.0 * clipped(x))(2.0)
        np.float64(1.0)
    """

    def __init__(
        self, function: Function, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(function, nondiff_argnums, nondiff_argnames)
        self._both: tuple[()] | tuple[Function, Function] = ()

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Set the rule: forward(*args) -> (value, residuals), backward(residuals, cotangent) -> cotangents."""
        self._both = forward, backward

    def _given(self) -> tuple[Function | None, ...]:
        return self._both

    def _primitive(self) -> Any:
        return custom_vjp_

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        name = getattr(self, "__name__", "custom_vjp")
        if not self._both:
            raise NotDifferentiableError(
                f"custom_vjp function {name} has no rule", fix=f"give it one with {name}.defvjp."
            )
        forward, pulled = self._both

        def with_fixed(*values: Any) -> Any:
            full = list(values)
            for i, value in zip(self._fixed, fixed, strict=True):
                full.insert(i, value)
            return forward(*full)

        backward = partial(pulled, *fixed) if fixed else pulled
        types = call.program.in_types, call.program.out_types
        chosen = with_fixed if fixed else forward
        owner = (self, *fixed)
        return Rule(name, call.in_tree, call.out_tree, forward=chosen, backward=backward, types=types, owner=owner)


class TwoSided(_Custom):
    """A function with a JVP for forward mode and a pullback for reverse mode, which nobody compares."""

    def __init__(self, function: Function, push: Function, pull: Function) -> None:
        super().__init__(function)
        self._push, self._pull = push, pull

    def _given(self) -> tuple[Function | None, ...]:
        return self._push, self._pull

    def _primitive(self) -> Any:
        return custom_jvp_

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        types = call.program.in_types, call.program.out_types
        name = getattr(self, "__name__", "function")
        return Rule(name, call.in_tree, call.out_tree, jvp=self._push, backward=self._pull, types=types, owner=(self,))

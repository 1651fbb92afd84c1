"""What transforms of functions return: called as the function is, and pickled as the transform and the function.

Nothing is pickled as code. What is read back is found by its name, or made again by calling the transform; a function
that has no name in a module is sent as the programs that were recorded of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from pkgutil import resolve_name
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.ir.node import WEAK
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import Shown, check_function, is_weak, type_of
from primad.system.tracebacks import entrance

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Transformed(partial):  # type: ignore[type-arg]  # of all ways to wrap a function this is called the fastest
    """A function that a transform made.

    Attributes:
        made: the transform and the arguments that it was called with, the first of which is the user's function.
        programs: returns the programs that were recorded of the function, and which of their inputs were Python
            numbers.
    """

    __qualname__: str
    made: tuple[Function, tuple[Any, ...], dict[str, Any]]
    programs: Callable[[], list[tuple[Program, tuple[bool, ...]]]]

    def __new__(
        cls, compute: Function, transform: Function, args: tuple[Any, ...], kwargs: dict[str, Any], programs: Any = list
    ) -> Transformed:
        """Wrap what the transform made of `args` and `kwargs`."""
        check_function(args[0])
        self = super().__new__(cls, compute)
        for names in (compute, args[0]):  # a Program has none of its own
            update_wrapper(self, names, assigned=("__name__", "__qualname__"), updated=())
        self.__doc__ = compute.__doc__
        self.made = transform, args, kwargs
        self.programs = programs
        self.__module__ = getattr(args[0], "__module__", None) or __name__
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<primad.{self.made[0].__name__} of {self.__qualname__}>"

    def __copy__(self) -> Transformed:
        return self

    def __deepcopy__(self, memo: Any) -> Transformed:
        return self

    def __reduce__(self) -> Any:
        transform, args, kwargs = self.made
        name = name_of(self)
        if name is None and not is_sent(args[0]) and not self.programs():
            name = name_of(self, anywhere=True)
        if name is not None:
            return resolve_name, (name,)
        function, *options = args
        if not is_sent(function):
            function = self._recorded()
        return partial(transform, **kwargs), (function, *options)

    def _recorded(self) -> Recorded:
        """Return what stands for a function without a name."""
        found = self.programs()
        what = f"primad.{self.made[0].__name__} of {self.__qualname__}"
        if found:
            return Recorded(*found)
        raise not_pickled(
            what,
            "and nothing was recorded of it that could be sent instead. (Only jit keeps programs, of calls without "
            "static arguments.)",
            "or pickle a jitted function of it after it was called, or a program: primad.trace(f)(*arguments)",
        )


def not_pickled(what: str, why: str, otherwise: str) -> TracingError:
    """Return the error for a function that cannot be pickled."""
    return TracingError(
        f"{what} cannot be pickled",
        why=f"It is found under no name in a module, since it is a lambda, or was defined inside a function, {why}",
        fix=f"define it at the top of a module; {otherwise}.",
    )


def transform(make: F) -> F:
    """Let what a transform of functions returns be pickled."""

    @wraps(make)
    def made(function: Any, *options: Any, **named: Any) -> Any:
        return Transformed(entrance(make(function, *options, **named)), made, (function, *options), named)

    return cast(F, made)


class Recorded:
    """A function that is known by the programs that were recorded of it, each for arguments of other types.

    Args:
        programs: each a program of (positional arguments, keywords), and which of its inputs are Python numbers.
    """

    def __init__(self, *programs: tuple[Program, tuple[bool, ...]]) -> None:
        self._programs = programs
        self.__name__ = self.__qualname__ = programs[0][0].label.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program for arguments of these types, or record it on traced ones."""
        leaves, in_tree = tree.flatten((args, kwargs))
        types = [type_of(leaf) for leaf in leaves]
        weak = tuple([leaf.node.params == WEAK if isinstance(leaf, TracedArray) else is_weak(leaf) for leaf in leaves])
        for program, numbers in self._programs:
            if program.in_tree == in_tree and program.in_types == types and (weak == numbers or _indifferent(program)):
                return program(args, kwargs)
        raise ShapeError(
            f"a function that was read from a pickle got arguments of types ({', '.join(map(str, types))})",
            why="It was pickled as the programs that had been recorded of it: "
            f"{'; '.join([repr(program) for program, _ in self._programs])}.",
            fix="define the function at the top of a module, which pickles it by its name, or call it with these "
            "arguments before it is pickled.",
        )

    def __reduce__(self) -> Any:
        return Recorded, self._programs


_WIDE = frozenset(map(np.dtype, ("float64", "int64", "bool")))


def _indifferent(program: Program) -> bool:
    """Say whether Python's numbers and NumPy's lead to the same program: there are no narrower types to adopt."""
    return all(node.type.dtype in _WIDE for node in program.nodes if hasattr(node.type, "dtype"))


# -- names -------------------------------------------------------------------------------------------------------------


def is_sent(function: Any) -> bool:
    """Say whether a function can be pickled; of objects that are neither plain functions nor ours, they say it."""
    if type(function) is FunctionType or type(function) is Shown:
        return name_of(function) == f"{function.__module__}:{function.__qualname__}"
    if type(function) is Transformed:
        return is_sent(function.made[1][0]) or bool(function.programs()) or name_of(function, anywhere=True) is not None
    return True


def name_of(thing: Any, anywhere: bool = False) -> str | None:
    """Return the name (`module:name`) under which an import finds an object, or None.

    Args:
        thing: what is looked for; also what a decorator wrapped it in may have the name.
        anywhere: whether to look in all modules, if its own does not have it, and for any name in a script: those that
            a script gives only where it is not imported (`if __name__ == "__main__"`) are not there in other processes.
    """
    own = getattr(thing, "__module__", None) or ""
    modules = [own, *(list(sys.modules) if anywhere else [])]
    for module in dict.fromkeys(modules):
        if module in sys.modules and module != "__mp_main__":
            found = _name_in(module, thing)
            own_name = getattr(thing, "__qualname__", None)
            if found is not None and (anywhere or module != "__main__" or found.startswith(f"{module}:{own_name}")):
                return found
    return None


def _attributes(value: Any) -> Any:
    """Return an object's `__dict__` without running its own code, which for names in other modules may warn or fail."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _name_in(module: str, thing: Any) -> str | None:
    names = getattr(sys.modules[module], "__dict__", {})
    qualified = getattr(thing, "__qualname__", "")
    if "." in qualified and "<" not in qualified:  # of a class
        try:
            if resolve_name(f"{module}:{qualified}") is thing:
                return f"{module}:{qualified}"
        except (AttributeError, ImportError, ValueError):
            pass
    for name, value in list(names.items()):
        path = name
        seen = set[int]()  # a function may be said to wrap itself
        while value is not thing and id(value) not in seen:
            seen.add(id(value))
            attributes = _attributes(value)
            if type(attributes) is dict and "__wrapped__" in attributes:
                value, path = attributes["__wrapped__"], f"{path}.__wrapped__"
        if value is thing:
            return f"{module}:{path}"
    return None

"""What Python functions read: their code, what they close over, the globals that they name, and all that these lead to.

Two readings that are equal are of functions that compute the same, as long as they are pure functions of what they
read. Where something is met whose contents cannot be compared (a random generator, a file, an object of C code), there
is no reading. The functions of NumPy, SciPy, Python and primad itself read nothing.
"""

from __future__ import annotations

import functools
from abc import ABCMeta
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from opcode import opmap
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)  # fmt: skip
from typing import Any

import numpy as np

from primad.functional.transformed import Transformed
from primad.ops.record.primitive import Primitive
from primad.recording.argument_keys import exact_key
from primad.recording.traced_array import TracedArray

MOST_VALUES = 2000
"""Values that a reading may visit, at about 1 µs each. Chosen: recording a rule takes 1 ms or more, and a reading is to
save it."""
MOST_BYTES = 1000 * MOST_VALUES
"""Bytes of arrays that a reading may compare, at about 1 ns each."""
_CONSTANT = (
    "builtins", "cmath", "functools", "itertools", "math", "numpy", "operator", "primad", "scipy.linalg",
    "scipy.special", "_functools", "_operator",
)  # fmt: skip
"""Modules whose functions give the same for the same arguments, with what is in them."""
_VARYING = ("numpy.random", "primad.compat.mxnet", "primad.compat.paddle")
"""Those among them whose functions need not."""
_REACHING = frozenset(
    ("__import__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "getattr", "globals", "hasattr", "input",
     "locals", "open", "setattr", "vars")
)  # fmt: skip
"""Built-in functions that read what no name tells."""
_ATOMS = (str, int, float, complex, bytes, bool, type(None), type(...), type(NotImplemented), slice, range)
_OF_EVERY_CLASS = frozenset(
    ("__annotate_func__", "__annotations__", "__annotations_cache__", "__dataclass_fields__", "__dataclass_params__",
     "__dict__", "__doc__", "__firstlineno__", "__match_args__", "__module__", "__qualname__",
     "__static_attributes__", "__weakref__", "_abc_impl")
)  # fmt: skip
"""Attributes of classes that say nothing of what their instances do."""
_OF_C_CODE = (MethodDescriptorType, WrapperDescriptorType, BuiltinFunctionType, GetSetDescriptorType)
_IMPORT = opmap["IMPORT_NAME"]
_built_ins = attrgetter("__builtins__")


class FunctionReading:
    """What functions read.

    Attributes:
        values: what tells it from others.
    """

    def __init__(self, values: Hashable, reader: _FunctionReader) -> None:
        self.values = values
        self._readable = reader.readable
        self._held = reader.held

    @property
    def states(self) -> tuple[Hashable, ...]:
        """What the `Readable` objects among it say of themselves besides, now."""
        return tuple([value.state() for value in self._readable])

    def holds(self) -> bool:
        """Say whether all of it is what it was: the same objects in the same places, and the same numbers in arrays.

        This takes a tenth of the time of another reading.
        """
        return all(look(holder) == found for look, holder, found, _ in self._held)


class Readable:
    """An object that says itself what it means, where its attributes are more than that."""

    _known: FunctionReading | None = None

    def parts(self) -> Sequence[Any]:
        """Return what its meaning depends on, the same objects as long as it means the same."""
        raise NotImplementedError

    def state(self) -> Hashable:
        """Return what may change while it means the same."""
        return None

    def reading(self) -> FunctionReading | None:
        """Return what it reads, as `reading`; the same one as long as it holds."""
        if self._known is None or not self._known.holds():
            self._known = reading(self)
        return self._known


class _UnknownError(Exception):
    """A value cannot be compared with what it is at another time."""


def reading(*functions: Any) -> FunctionReading | None:
    """Return what functions read; None where that cannot be told."""
    reader = _FunctionReader()
    try:
        own = tuple([reader.key(function) for function in functions])
        return FunctionReading((own, *reader.of_modules()), reader)
    except (_UnknownError, RecursionError):
        return None


class _FunctionReader:
    """One walk through all that functions read.

    Attributes:
        readable: the `Readable` objects that have a state, in the order in which they were met.
        held: what may come to hold something else: what looks at it, itself, what it holds, and that again, to keep it.
    """

    def __init__(self) -> None:
        self.readable: list[Readable] = []
        self.held: list[tuple[Callable[[Any], Any], Any, Any, Any]] = []
        self._seen: dict[int, tuple[int, Any]] = {}
        self._names: set[str] = set()
        self._modules: dict[int, ModuleType] = {}
        self._bytes = MOST_BYTES

    def key(self, value: Any) -> Hashable:
        """Return what tells a value from others, and from what it is at other times."""
        kind = type(value)
        if kind in _ATOMS or (isinstance(value, np.generic) and kind.__module__ == "numpy"):
            return exact_key(value)
        known = self._seen.get(id(value))
        if known is not None:
            return "again", known[0]
        if len(self._seen) >= MOST_VALUES:
            raise _UnknownError
        self._seen[id(value)] = len(self._seen), value  # held, so that no other value has its place
        for types, read in _WAYS:
            if isinstance(value, types):
                return kind, read(self, value)
        if _is_constant(kind) and callable(value) and _is_constant(value) and _is_of_c(kind):
            return exact_key(value)
        return self._instance(value)

    def of_modules(self) -> list[Hashable]:
        """Return what the functions may take out of modules: whatever has one of the names that they use."""
        found: list[Hashable] = []
        done: dict[int, set[str]] = {}
        before = -1
        while before != len(found):  # what is found may lead to other modules and names
            before = len(found)
            for module in list(self._modules.values()):
                known = done.setdefault(id(module), set())
                for name in sorted((vars(module).keys() & self._names) - known):
                    known.add(name)
                    found.append(self._named(vars(module), name))
        return found

    def _hold(self, look: Callable[[Any], Any], holder: Any, kept: Any = None) -> None:
        """Note what something holds; `kept` are the objects whose places are compared."""
        self.held.append((look, holder, look(holder), kept))

    def _named(self, names: dict[str, Any], name: str) -> Hashable:
        """Return the key of what a name stands for."""
        value = names[name]
        self._hold(functools.partial(_place, name), names, value)
        return name, self.key(value)

    def _items(self, values: Any) -> Hashable:
        if len(values) > MOST_VALUES:
            raise _UnknownError
        if not isinstance(values, (tuple, frozenset)):
            self._hold(_places, values, list(values))
        return tuple([self.key(value) for value in values])

    def _mapping(self, values: Mapping[Any, Any]) -> Hashable:
        if len(values) > MOST_VALUES:
            raise _UnknownError
        self._hold(_places_by_name, values, dict(values))
        return tuple([(self.key(name), self.key(value)) for name, value in list(values.items())])

    def _array(self, array: np.ndarray[Any, Any]) -> Hashable:
        self._bytes -= array.nbytes
        if type(array) is not np.ndarray or array.dtype.hasobject or self._bytes < 0:
            raise _UnknownError
        self._hold(contents, array)
        return contents(array)

    def _module(self, module: ModuleType) -> Hashable:
        self._modules[id(module)] = module
        return exact_key(module)

    def _readable(self, value: Readable) -> Hashable:
        if value.state() is not None:
            self.readable.append(value)
        self._hold(lambda value: _places(value.parts()), value, value.parts())
        return tuple([self.key(part) for part in value.parts()])

    def _transformed(self, value: Transformed) -> Hashable:
        if value.programs is not list:  # it goes on with what it recorded
            raise _UnknownError
        return self.key(value.made)

    # -- functions -----------------------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Hashable:
        cells = function.__closure__ or ()
        constant = _is_library(str(function.__globals__.get("__name__")))  # `wraps` may have given it another module
        if constant and not cells:
            return exact_key(function)
        code = function.__code__
        self._hold(_written, function, (code, function.__defaults__, function.__kwdefaults__))
        found = [self._cell(cell) for cell in cells]
        found += [self.key(x) for x in (function.__defaults__, function.__kwdefaults__) if x]
        if not constant:
            if vars(function):
                found.append(self.key(vars(function)))
            found += self._globals(code, function)
        return code, tuple(found)

    def _cell(self, cell: Any) -> Hashable:
        try:
            value = cell.cell_contents
        except ValueError:
            self._hold(_inside, cell)
            return "empty"
        self._hold(_inside, cell, value)
        return self.key(value)

    def _globals(self, code: CodeType, function: FunctionType) -> list[Hashable]:
        """Return what the names in a code stand for; more of them than it reads, since attributes are names too."""
        if _IMPORT in code.co_code[::2]:
            raise _UnknownError
        found: list[Hashable] = []
        built_in: dict[str, Any] = _built_ins(function)
        for name in code.co_names:
            self._names.add(name)
            if name in function.__globals__:
                found.append(self._named(function.__globals__, name))
            elif name in built_in:
                self._hold(functools.partial(_place, name), function.__globals__)
                found.append(self._named(built_in, name))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                found += self._globals(constant, function)
        return found

    def _built_in(self, function: BuiltinFunctionType) -> Hashable:
        if not _is_constant(function):  # as methods of objects, which have no module
            raise _UnknownError
        if function.__module__ == "builtins" and function.__name__ in _REACHING:
            raise _UnknownError
        return exact_key(function)

    def _ufunc(self, ufunc: np.ufunc) -> Hashable:
        if set("".join(ufunc.types)) <= set("O->"):  # made of a Python function
            raise _UnknownError
        return exact_key(ufunc)

    # -- objects -------------------------------------------------------------------------------------------------------

    def _class(self, cls: type) -> Hashable:
        if _is_constant(cls):
            return exact_key(cls)
        if type(cls) not in (type, ABCMeta):
            raise _UnknownError
        found: list[Hashable] = [exact_key(cls)]
        found += [self.key(base) for base in cls.__bases__ if base is not object]
        self._hold(_places_by_name, vars(cls), dict(vars(cls)))
        for name, value in vars(cls).items():
            if name not in _OF_EVERY_CLASS and not isinstance(value, MemberDescriptorType):
                found.append((name, self.key(value)))
        return tuple(found)

    def _instance(self, value: Any) -> Hashable:
        """Return the key of an object of a class that is written in Python, with all its attributes."""
        cls = type(value)
        if any(_is_of_c(base) for base in cls.__mro__[:-1]):
            raise _UnknownError
        found = [self.key(cls)]
        self._hold(type, value)
        if hasattr(value, "__dict__"):
            found.append(self._mapping(vars(value)))
        for base in cls.__mro__:
            for name, slot in vars(base).items():
                if isinstance(slot, MemberDescriptorType) and hasattr(value, name):
                    self._hold(functools.partial(_slot, name), value, getattr(value, name))
                    found.append((name, self.key(getattr(value, name))))
        return tuple(found)


# -- what something holds: places of objects, which those who note them keep -------------------------------------------


def _place(name: str, names: dict[str, Any]) -> int:
    return id(names.get(name, names))


def _slot(name: str, value: Any) -> int:
    return id(getattr(value, name, value))


def _inside(cell: Any) -> int:
    try:
        return id(cell.cell_contents)
    except ValueError:
        return 0


def _places(values: Any) -> list[int]:
    return [*map(id, values)]


def _places_by_name(values: Mapping[Any, Any]) -> list[int]:
    return [*map(id, values), *map(id, values.values())]


def _written(function: FunctionType) -> tuple[int, int, int]:
    return id(function.__code__), id(function.__defaults__), id(function.__kwdefaults__)


def contents(array: np.ndarray[Any, Any]) -> Hashable:
    """Return what tells an array from others: its dtype, its shape and its bits."""
    return array.dtype.str, array.shape, blake2b(array.tobytes()).digest()


def _wrapped(*names: str) -> Callable[[_FunctionReader, Any], Hashable]:
    """Return what reads the attributes of an object that wraps functions."""
    return lambda reader, value: tuple([reader.key(getattr(value, name)) for name in names])


def _unknown(reader: _FunctionReader, value: Any) -> Hashable:
    raise _UnknownError


_WAYS: tuple[tuple[Any, Callable[[_FunctionReader, Any], Hashable]], ...] = (
    (FunctionType, _FunctionReader._function),
    (Readable, _FunctionReader._readable),
    (TracedArray, _unknown),
    (Primitive, lambda reader, value: exact_key(value)),
    ((tuple, list, set, frozenset), lambda reader, value: _plain(reader, value, _FunctionReader._items)),
    (dict, lambda reader, value: _plain(reader, value, _FunctionReader._mapping)),
    (np.ndarray, _FunctionReader._array),
    (ModuleType, _FunctionReader._module),
    (np.ufunc, _FunctionReader._ufunc),
    (BuiltinFunctionType, _FunctionReader._built_in),
    (MethodType, _wrapped("__func__", "__self__")),
    (Transformed, _FunctionReader._transformed),
    (functools.partial, lambda reader, value: _plain(reader, value, _wrapped("func", "args", "keywords"))),
    (type, _FunctionReader._class),
    (np.dtype, lambda reader, value: (value, value.str)),
    ((staticmethod, classmethod), _wrapped("__func__")),
    (property, _wrapped("fget")),
    (functools.cached_property, _wrapped("func")),
)
"""How values are read, by their types; the first that fits."""


def _plain(reader: _FunctionReader, value: Any, read: Callable[[_FunctionReader, Any], Hashable]) -> Hashable:
    """Read a container that is of Python's own class, or a named tuple."""
    cls = type(value)
    if cls.__module__ not in ("builtins", "functools") and not (isinstance(value, tuple) and hasattr(cls, "_fields")):
        raise _UnknownError
    return read(reader, value)


def _is_constant(value: Any) -> bool:
    """Say whether a function or class is one of a library's that depend on their arguments only."""
    return _is_library(str(getattr(value, "__module__", "")))


@functools.lru_cache(1024)
def _is_library(module: str) -> bool:
    constant, varying = (
        any(module == package or module.startswith(f"{package}.") for package in packages)
        for packages in (_CONSTANT, _VARYING)
    )
    return constant and not varying


def _is_of_c(cls: type) -> bool:
    """Say whether a class is written in C: its objects may hold what no attribute tells."""
    return any(
        isinstance(value, _OF_C_CODE) and name not in ("__dict__", "__weakref__") for name, value in vars(cls).items()
    )

"""Which modules of other people's are recorded, and what stands in them for NumPy, SciPy and Python's `math`."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Sequence
from functools import cache, partial, wraps
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np

from primad.compat.packages import python_functions
from primad.compat.packages.assigned import let_be_written
from primad.compat.packages.fitted import take_traced_points
from primad.compat.packages.held import adopt_held
from primad.errors import TracingError
from primad.recording.foreign import holds_arrays
from primad.recording.protocols import FUNCTIONS

_MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.polynomial", "numpy.polynomial.polynomial",
    "numpy.polynomial.chebyshev", "numpy.polynomial.legendre", "numpy.polynomial.hermite",
    "numpy.polynomial.hermite_e", "numpy.polynomial.laguerre",
    "scipy", "scipy.fft", "scipy.fftpack", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage",
    "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.sparse.linalg", "scipy.special", "scipy.stats",
)  # fmt: skip
"""Modules whose functions are recorded under their path, in primad."""


_OF_FFTPACK = ("dct", "dctn", "dst", "dstn", "fft", "fftshift", "ifft", "ifftshift")
"""Functions of SciPy's older `fftpack` that are those of `scipy.fft`; its `rfft` packs numbers in another way, and its
inverse cosine and sine transforms have another scale."""


class StandIn(ModuleType):
    """A module whose functions are recorded where there is a counterpart here, and its own otherwise.

    Args:
        own: the module that it stands for.
        classes: whether classes of numbers have counterparts too.
    """

    def __init__(self, own: ModuleType, classes: bool) -> None:
        super().__init__(own.__name__, own.__doc__)
        self.__dict__.update(_own=own, _classes=classes)

    def __getattr__(self, name: str) -> Any:
        found = counterpart(getattr(self._own, name), self._classes)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(self._own)


@cache
def stand_in(name: str, classes: bool) -> StandIn:
    """Return what stands for a module: the same one each time."""
    return StandIn(import_module(name), classes)


@cache
def _functions(name: str) -> dict[int, tuple[Any, Any]]:
    """Return the functions of a module, and what stands for each, by the places of these."""
    own = sys.modules[name]
    if own is math:
        given = [(getattr(math, each, None), function) for each, function in python_functions.MATH.items()]
        return {id(of): (of, python_functions.recorded(of, function)) for of, function in given if of is not None}
    here = _here(name.replace("fftpack", "fft"))
    names = _OF_FFTPACK if name.endswith("fftpack") else here.__all__
    pairs = [(getattr(own, each, None), getattr(here, each)) for each in names]
    return {id(of): (of, _beside(of, function)) for of, function in pairs if of is not None and of is not function}


def _beside(own: Any, here: Any) -> Any:
    """Return what stands for a function of NumPy's: its own, where what has units or labels answers."""
    if not callable(own) or own not in FUNCTIONS:
        return here

    @wraps(own)
    def call(*args: Any, **options: Any) -> Any:
        kinds: tuple[Any, ...] = tuple(map(type, args))
        foreign = any(holds_arrays(kind, "__array_function__") for kind in kinds)
        return (own if foreign else here)(*args, **options)

    return call


def _here(name: str) -> Any:
    """Return the module here that records what a module has; those of NumPy's series are attributes only."""
    found: Any = import_module(f"primad.{name.partition('.')[0]}")
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def counterpart(value: Any, classes: bool = True) -> Any:
    """Return what stands for a module, or a function of one; anything else as it is.

    Args:
        value: what a module has.
        classes: whether classes of numbers have counterparts too.
    """
    if value is np.broadcast:
        return python_functions.broadcast
    if isinstance(value, ModuleType):
        return stand_in(value.__name__, classes) if value is math or value.__name__ in _MODULES else value
    standing = python_functions.CLASSES.get(value) if classes and isinstance(value, type) else None
    if standing is not None:
        return standing
    module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
    root = str(module).partition(".")[0]
    for name in _loaded() if root in ("numpy", "scipy") else ("math",) if root == "math" else ():
        of, found = _functions(name).get(id(value), (None, None))
        if of is value:
            return found
    return value


def _loaded() -> list[str]:
    return [name for name in _MODULES if name in sys.modules]


_CLASSES_OF_NUMBERS = frozenset(("float", "float64", "complex", "complex128"))
_ASKED_FOR = frozenset(("np", "numpy", "scipy", "math"))
_MAY_ASK = re.compile(
    r"\bis (?:not )?(?:\w+\.)?(?:float|complex|np|numpy|scipy|math)|"
    r"\b(?:float64|float|complex128|complex|np|numpy|scipy|math) is\b|class \w+\([^)]*\b(?:float64|complex128)\b"
)
"""Text that may ask for a class or a module itself; so comments do."""


def _asks(source: str) -> tuple[bool, bool]:
    """Say whether code asks if a module is NumPy itself, and if a class is one of numbers, or derives from NumPy's.

    What stands for a module or a class is not the same one.
    """
    if not _MAY_ASK.search(source):
        return False, False
    modules = classes = False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(each, (ast.Is, ast.IsNot)) for each in node.ops):
            asked = [node.left, *node.comparators]
            modules |= any(isinstance(each, ast.Name) and each.id in _ASKED_FOR for each in asked)
            classes |= any(_last_name(each) in _CLASSES_OF_NUMBERS for each in asked)
        elif isinstance(node, ast.ClassDef):
            classes |= any(_last_name(each) in ("float64", "complex128") for each in node.bases)
    return modules, classes


def _last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def adopt(module: ModuleType) -> None:
    """Let what a module has of NumPy, SciPy and `math` be recorded.

    One with functions that numba compiles stays as it is, since they know Python's own names only; and so does one that
    asks whether a module is NumPy.
    """
    names, source = vars(module), _source(module)
    compiled = any(type(each).__module__.startswith("numba.") for each in names.values())
    asks_for_module, asks_for_class = _asks(source)
    if compiled or asks_for_module:
        return
    classes = not asks_for_class
    names.update({name: counterpart(each, classes) for name, each in list(names.items()) if not name.startswith("__")})
    for name, function in python_functions.BUILTINS.items():
        names.setdefault(name, function)
    if classes:
        names.update(
            {kind.__name__: names.get(kind.__name__, python_functions.CLASSES[kind]) for kind in (float, complex)}
        )
    adopt_held(module, partial(counterpart, classes=classes))
    let_be_written(module, source)


def _source(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


class _Finder:
    """Finds modules of packages that are recorded, as Python does, and lets them be recorded once they are loaded.

    Attributes:
        packages: their names.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module in Python of one of the packages, None for others."""
        if not is_within(fullname, self.packages):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or not isinstance(found.loader, SourceFileLoader):
            return None
        found.loader = _Loader(fullname, found.loader.path)
        return found


class _Loader(SourceFileLoader):
    """Loads a module, and lets it be recorded."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code."""
        super().exec_module(module)
        adopt(module)


_FINDER = _Finder()
_INTERPOLATION = "scipy.interpolate"


def is_within(module: str, packages: set[str]) -> bool:
    """Say whether a module is one of some packages, or of their parts."""
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def record(*packages: str | ModuleType) -> None:
    r"""Let packages that were written for plain NumPy be differentiated as they are, in this process and from now on.

    In their modules, loaded or not yet, `numpy`, `scipy` and functions that they have of these are those of
    `primad.numpy` and `primad.scipy`, functions of Python's `math` take traced numbers, `float(x)` of one is x, and
    `isinstance(x, float)` holds for it. So conversions (`np.asarray(x, dtype=float)`), arrays that are filled, and
    `math.log` are recorded. On plain numbers all of it computes what it did. What a package compiles, and classes that
    it derives from NumPy's array, hold plain numbers only, and refuse traced ones as before.

    Args:
        packages: their names, or modules themselves; of SciPy's own "scipy.interpolate", whose splines and
            interpolators that were fitted before take traced points then.

    Raises:
        TracingError: for NumPy, the rest of SciPy, primad and Python's own modules.

    Example:
        >>> import types
        >>> import primad
        >>> from primad.compat import packages
        >>> theirs = types.ModuleType("theirs")
        >>> exec("from math import exp\ndef bell(x): return exp(-0.5 * float(x) ** 2)", vars(theirs))
        >>> packages.record(theirs)
        >>> print(f"{primad.grad(theirs.bell)(1.0):.6f}")
        -0.606531
    """
    names = {each if isinstance(each, str) else each.__name__ for each in packages}
    if _INTERPOLATION in names:
        take_traced_points()
        names -= {_INTERPOLATION}
    for name in names:
        root = name.partition(".")[0]
        if root in ("numpy", "scipy", "primad") or root in sys.stdlib_module_names:
            raise TracingError(
                f"packages.record({name!r})",
                why="All programs in the process use its functions, also those that need plain numbers.",
                fix="name the packages that call it.",
            )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages |= names
    for name, module in list(sys.modules.items()):
        if is_within(name, names) and type(module) is ModuleType:
            adopt(module)
    for each in packages:
        if isinstance(each, ModuleType) and sys.modules.get(each.__name__) is not each:
            adopt(each)

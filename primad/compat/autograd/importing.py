"""How autograd's modules and names are found here: `install`, and one error for those that are missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import NoReturn

from primad.errors import TracingError, no_attribute

HERE = __name__.rpartition(".")[0]
"""The package that stands for autograd."""


_TAPE = "it is a part of autograd's tape; make_vjp, make_jvp, primitive, defvjp and defjvp do what programs need of it."
_PARTS_OF_THE_TAPE = """
    SparseBox SparseObject add_outgrads box_types find_top_boxed_args primitive_jvps primitive_vjps sparse_add
    sum_outgrads"""
_INSTEAD = {
    **dict.fromkeys(_PARTS_OF_THE_TAPE.split(), _TAPE),
}
"""What to write for names that programs know."""


def missing(module: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise the error for a name that a module of autograd's may have, and its counterpart here does not.

    Args:
        module: the name of the module here.
        name: what was asked for.
        known: the names that it has.

    Raises:
        AttributeError: always.
    """
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise no_attribute(module, name, known, _INSTEAD.get(name, ""))


def specification(module: str) -> ModuleSpec | None:
    """Return the specification of a module, None where there is no such module."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


class _Standing:
    """Finds the modules of this package under autograd's names: the same objects, loaded once.

    It has the methods of a finder and a loader, without `importlib.abc`, which takes as long to load as this package.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of one of autograd's modules, None for others."""
        name, _, rest = fullname.partition(".")
        if name != "autograd":
            return None
        found = specification(HERE + fullname.removeprefix("autograd"))
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: primad.compat.autograd stands for autograd in this process, and has no "
                f"{rest}",
                name=fullname,
            )
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, self, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module here that has the rest of the name."""
        found = import_module(HERE + spec.name.removeprefix("autograd"))
        spec.loader_state = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own specification: it was loaded under its own name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Make `import autograd` find `primad.compat.autograd`, in this process and from now on.

    Programs and packages that were written for HIPS autograd then run on primad without a changed line. Whether
    autograd itself is there does not matter. `python -m primad.compat.autograd SCRIPT` does the same for one program.

    Raises:
        TracingError: if autograd itself was imported before.

    Example:
        >>> import primad.compat.autograd
        >>> primad.compat.autograd.install()
        >>> from autograd import grad
        >>> grad(lambda x: x**2)(3.0)
        np.float64(6.0)
    """
    before = sys.modules.get("autograd")
    if before is not None and before is not sys.modules[HERE]:
        raise TracingError(
            f"autograd itself was imported before, from {getattr(before, '__file__', 'somewhere')}",
            why="What has its functions already would go on using them.",
            fix="call primad.compat.autograd.install() before the first import of autograd.",
        )
    if not any(isinstance(finder, _Standing) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Standing())

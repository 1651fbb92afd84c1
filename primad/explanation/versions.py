"""What a report of a defect needs to say of the machine and of what is installed."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from primad.native.llvm.compiler import compiler
from primad.parallel.threads import get_num_threads
from primad.system import machine
from primad.system.disk_cache import disk_cache


def show_versions() -> None:
    """Print the versions of Python, primad and all that it can use, and what primad sees of the machine.

    Put the text into reports of defects. It names no file, user or host; of the environment it shows the variables that
    begin with `PRIMAD_` or set the threads of BLAS.

    Example:
        >>> import primad
        >>> primad.show_versions()  # doctest: +ELLIPSIS
        Python ...
    """
    print("\n".join(f"{name:<24}{value}" for name, value in _facts()))


def _facts() -> list[tuple[str, object]]:
    """Return what is printed: names and values."""
    packages = [(name, _installed(name)) for name in ["primad", *_requirements()]]
    settings = sorted(name for name in os.environ if name.startswith("PRIMAD_") or name.endswith("_NUM_THREADS"))
    return [
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", f"{platform.system()} {platform.machine()}, {sys.byteorder}-endian"),
        *packages,
        ("native code", "yes" if compiler() is not None else "no: NumPy runs every operation"),
        ("machine code is kept", _kept()),
        ("vectors", f"{machine.VECTOR_BYTES} bytes"),
        ("caches", f"{_kilobytes(machine.FIRST_CACHE.size)} and {_kilobytes(machine.SECOND_CACHE.size)} a core"),
        ("processors", machine.processors()),
        ("threads", get_num_threads()),
        *[("BLAS", _library(each)) for each in machine.blas().info()],
        *[(name, os.environ[name]) for name in settings],
    ]


def _kept() -> str:
    """Say whether machine code is kept for later processes, or why not."""
    cache = disk_cache()
    return "no" if cache is None else f"no: {cache.refused}" if cache.refused else "yes"


def _requirements() -> list[str]:
    """Return what primad's own metadata say that it needs, or may use, without the tools of its developers."""
    found = [line for line in requires("primad") or [] if "extra == 'dev'" not in line.replace('"', "'")]
    names = [line.split(";")[0].split("[")[0].rstrip("<>=!~,.0123456789 ") for line in found]
    return [name for name in dict.fromkeys(names) if name != "primad"]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _kilobytes(size: int) -> str:
    return f"{size // 1024} kB"


def _library(facts: dict[str, object]) -> str:
    parts = (facts.get(name) for name in ("internal_api", "version", "architecture", "threading_layer"))
    return ", ".join(str(part) for part in parts if part) + f", {facts['num_threads']} threads"

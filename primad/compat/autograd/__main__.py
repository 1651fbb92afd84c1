"""`python -m primad.compat.autograd SCRIPT [ARGS]`: run a program that was written for HIPS autograd on primad."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from primad.compat.autograd.importing import install

USAGE = """usage: python -m primad.compat.autograd SCRIPT [ARGS]
       python -m primad.compat.autograd -m MODULE [ARGS]

Runs a script or a module; `import autograd` in it finds primad."""


def main(arguments: list[str]) -> int:
    """Run what the arguments say.

    Returns:
        the exit status: 2 where they say nothing.
    """
    by_name = arguments[:1] == ["-m"]
    what = arguments[by_name:]
    if not what or what[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if what else 2
    install()
    sys.argv = what
    if by_name:
        sys.path[0] = str(Path.cwd())
        runpy.run_module(what[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(what[0]).resolve().parent)
        runpy.run_path(what[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

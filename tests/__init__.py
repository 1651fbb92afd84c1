"""The suite: a folder for each package of primad, and what the tests share."""

import atexit
import os
import shutil
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path


def _share_bytecode() -> None:
    """Keep bytecode in pytest's cache where the shell asks for none beside the sources.

    Every process of a run, of which there are dozens, would otherwise compile all that it imports, SymPy and JAX among
    it: eight seconds for all of the suite. Bytecode of files that lie in temporary folders goes with the run.
    """
    root = Path(__file__).parent.parent
    folder = root / ".pytest_cache" / "d" / "bytecode"
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    sys.dont_write_bytecode = False
    kept = (root, Path(sys.prefix), Path(sys.base_prefix))
    temporary = Path(tempfile.gettempdir())

    def tidy() -> None:
        here = Path(cache_from_source(str(temporary / "any.py"))).parent
        for each in here.iterdir() if here.is_dir() else ():
            if not any(path.is_relative_to(temporary / each.name) for path in kept):
                shutil.rmtree(each, ignore_errors=True)

    atexit.register(tidy)


# Before anything else of the suite is imported: pytest imports the package before the files in it.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    _share_bytecode()

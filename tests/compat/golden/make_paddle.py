"""Run the programs of tests/compat/programs/paddle_*.py with Paddle itself, and write what they give as JSON.

    PYTHON_WITH_PADDLE tests/compat/golden/make_paddle.py [NAME …]

Names are those of program files without `.py`; by default all. Files are written beside this one.
"""

import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "programs"

os.environ.setdefault("FLAGS_enable_pir_api", "0")
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

import paddle  # noqa: E402
from encoding import outcome, programs  # noqa: E402


def load(path):
    """Import a program file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    """Write one JSON file for each program file."""
    for name in sys.argv[1:] or sorted(path.stem for path in PROGRAMS.glob("paddle_*.py")):
        found = {key: outcome(program, paddle) for key, program in programs(load(PROGRAMS / f"{name}.py")).items()}
        lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in found.items())
        head = f'{{\n "paddle": "{paddle.__version__}",\n "programs": {{\n'
        (HERE / f"{name}.json").write_text(head + lines + "\n }\n}\n")
        print(f"{name}: {len(found)} programs, {sum('error' in value for value in found.values())} errors")


main()

r"""Run `autograd_programs.py` and `autograd_rules.py` with HIPS autograd itself, and write down what they give.

Needs autograd 1.8 and SciPy, in an environment of their own:

    python tests/compat/golden/make_autograd.py
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import autograd_rules  # noqa: E402
from autograd_programs import PROGRAMS, system  # noqa: E402
from encoding import encode  # noqa: E402

ag = system("autograd")
found = {program.__name__: encode(program(ag)) for program in (*PROGRAMS, *autograd_rules.PROGRAMS)}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
(HERE / "autograd.json").write_text(f"{{\n{lines}\n}}\n")

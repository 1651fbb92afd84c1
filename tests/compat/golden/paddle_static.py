"""Make paddle_static.json: what Paddle computes for the cases of static programs.

Run once by hand, with a Python that has Paddle (`pip install paddlepaddle==3.3.1`), in this folder:

    python paddle_static.py

Static programs with names, and `append_backward` on them, exist in Paddle's old intermediate representation only, which
the flag FLAGS_enable_pir_api=0 selects. Many functions (sum, tanh, exp, matmul …) no longer work there: for those,
values and gradients come from the new representation, in which variables have no names. What Paddle can do in neither
is kept as the error that it raises.
"""

import json
import os
import platform
import subprocess
import sys

NAMED = "named"
os.environ["FLAGS_enable_pir_api"] = "0" if NAMED in sys.argv else "1"  # noqa: SIM112

import numpy  # noqa: E402
import paddle  # noqa: E402
from paddle_static_cases import EXPRESSIONS, cases, expression  # noqa: E402


def attempt(function):
    """Return what a case gives, or the error."""
    try:
        return function(paddle)
    except Exception as error:
        first = str(error).strip().splitlines()
        return {"error": type(error).__name__, "message": first[-1] if first else ""}


if __name__ == "__main__":
    paddle.enable_static()
    if NAMED in sys.argv:
        print(json.dumps({name: attempt(function) for name, function in cases()}))
        sys.exit()
    run = subprocess.run([sys.executable, __file__, NAMED], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    for text in EXPRESSIONS:
        if "error" in found[f"expression {text}"]:
            found[f"expression {text}"] = attempt(lambda paddle, text=text: expression(paddle, text, named=False))
    versions = {"paddle": paddle.__version__, "numpy": numpy.__version__, "python": platform.python_version()}
    with open("paddle_static.json", "w") as file:
        json.dump({"versions": versions, "cases": found}, file, indent=1)
        file.write("\n")

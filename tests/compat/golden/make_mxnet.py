r"""Run the programs of `mxnet_programs.py` and `mxnet_api_programs.py` with MXNet itself and write down what they give.

Needs mxnet 1.9.1 and NumPy below 1.24, in an environment of their own:

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_ENGINE_TYPE=NaiveEngine OMP_NUM_THREADS=1 \
        python tests/compat/golden/make_mxnet.py
"""

import json
import sys
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import mxnet_api_programs  # noqa: E402, F401
from mxnet_programs import PROGRAMS, run  # noqa: E402

warnings.simplefilter("ignore")
found = {name: run(function, mx) for name, function in sorted(PROGRAMS.items())}
lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
versions = json.dumps({"mxnet": mx.__version__, "numpy": np.__version__})
(HERE / "mxnet.json").write_text(f'{{\n"versions": {versions},\n"results": {{\n{lines}\n}}\n}}\n')
print(len(found), "programs;", sum("error" in result for result in found.values() if isinstance(result, dict)), "raise")

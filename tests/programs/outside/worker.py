"""Run the cases of one script, in a process of its own: `worker.py SCRIPT autograd|primad|differences RESULTS [NAME…]`.

A case is a public function of the script. Those without an argument use `autograd`, which is primad's for 'primad'; a
function of one argument is given `grad` and `hessian` of plain NumPy code, by primad or by differences. With names of
packages these, and the script, are recorded by `primad.compat.packages`.
"""

from __future__ import annotations

import importlib.util
import inspect
import pickle
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


def load(script: Path) -> list[Callable[..., Any]]:
    """Return the cases of a script."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = [each for each in vars(module).values() if inspect.isfunction(each) and each.__module__ == script.stem]
    return [each for each in own if not each.__name__.startswith("_")]


def attempt(case: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Return what a case gives, or its error, and its seconds of processor time: of the first call and of the next."""
    seconds = []
    try:
        for _ in range(2):
            begun = time.process_time()
            result = case(*given)
            seconds.append(time.process_time() - begun)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return {"error": f"{message[:300]} ({Path(last.filename).name}:{last.lineno})"}
    return {"result": plain(result), "seconds": seconds}


def plain(result: Any) -> Any:
    """Return a result as nested dicts and lists of NumPy arrays, which any process can read."""
    import numpy as np

    if isinstance(result, dict):
        return {str(key): plain(item) for key, item in result.items()}
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    return np.array(result)


def by_differences() -> SimpleNamespace:
    """Return gradients and Hessians by central differences, extrapolated to step 0 (Richardson)."""
    import numpy as np

    steps = 0.02 * 0.5 ** np.arange(4)

    def extrapolated(values: list[Any]) -> Any:
        for order in (4.0, 16.0, 64.0):
            values = [(order * fine - coarse) / (order - 1.0) for coarse, fine in pairwise(values)]
        return values[0]

    def jacobian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def at(x: Any) -> Any:
            x = np.asarray(x, float)
            units = np.eye(x.size).reshape(x.size, *x.shape) * np.maximum(np.abs(x), 0.1)
            scale = np.maximum(np.abs(x), 0.1).ravel()
            columns = [
                extrapolated([(np.asarray(f(x + h * unit)) - np.asarray(f(x - h * unit))) / (2.0 * h) for h in steps])
                for unit in units
            ]
            found = np.stack([column / size for column, size in zip(columns, scale, strict=True)], -1)
            return found.reshape(found.shape[:-1] + x.shape)

        return at

    return SimpleNamespace(grad=jacobian, jacobian=jacobian, hessian=lambda f: jacobian(jacobian(f)))


def main(script: str, way: str, results: str, *recorded: str) -> None:
    """Run all cases of a script and write down what they give."""
    warnings.simplefilter("ignore")
    given: Any = by_differences() if way == "differences" else None
    if way == "primad":
        import primad.compat.autograd

        primad.compat.autograd.install()
        given = SimpleNamespace(grad=primad.grad, jacobian=primad.jacobian, hessian=primad.hessian)
    cases = load(Path(script))
    if way == "primad" and recorded:
        from primad.compat import packages

        own = ModuleType(Path(script).stem)
        own.__dict__.update(cases[0].__globals__)
        packages.record(*recorded, own)
        cases[0].__globals__.update(vars(own))
    found = {case.__name__: attempt(case, *[given] * len(inspect.signature(case).parameters)) for case in cases}
    Path(results).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

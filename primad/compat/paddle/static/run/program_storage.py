"""`paddle.static.save` and `load`: the values of a program's persistable variables, in a file that holds no code."""

from __future__ import annotations

from typing import Any

from primad.compat.paddle.eager import tensor_storage
from primad.compat.paddle.static.program import Program


def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """Write the parameters to `model_path.pdparams`, and the state of optimisers to `model_path.pdopt`.

    Args:
        program: the program; its values are in the global scope.
        model_path: where to write, without the ending.
        protocol: accepted and not used: nothing is pickled.
        configs: accepted and not used.
    """
    tensor_storage.save(program.state_dict("param"), f"{model_path}.pdparams")
    tensor_storage.save(program.state_dict("opt"), f"{model_path}.pdopt")


def load(program: Program, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Read what `save` wrote into the global scope.

    Args:
        program: the program.
        model_path: where it was written, without the ending.
        executor: ignored.
        var_list: the variables to read, by default all of the program.

    Raises:
        InvalidArgumentError: if there is no such file, or a value has another shape.
    """
    wanted = None if var_list is None else {variable.name for variable in var_list}
    for ending in ("pdparams", "pdopt"):
        found = tensor_storage.load(f"{model_path}.{ending}", return_numpy=True)
        program.set_state_dict({name: array for name, array in found.items() if wanted is None or name in wanted})

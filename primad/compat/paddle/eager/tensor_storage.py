"""`save` and `load`: nested dicts and lists of tensors in the safetensors format, which holds data and no code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError
from primad.compat.tape import TapeValue

_KEY = "structure"


def save(obj: Any, path: str | os.PathLike[str], protocol: int = 4, **configs: Any) -> None:
    """Write tensors, in nested dicts, lists and tuples with numbers, texts and None, to a file.

    Args:
        obj: what to write, such as a `state_dict()`.
        path: the file; its folders are made.
        protocol: accepted and not used: nothing is pickled.
        configs: accepted and not used.

    Raises:
        ArgumentTypeError: for anything else.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    structure = _describe(obj, arrays)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save_file(arrays, path, {_KEY: json.dumps(structure)})


def _describe(obj: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(obj, (Tensor, np.ndarray, np.generic)):
        array = obj._entry.array if isinstance(obj, Tensor) else np.asarray(obj)
        name = f"t{len(arrays)}"
        arrays[name] = np.array(array, order="C")  # unlike ascontiguousarray, this keeps 0-D arrays 0-D
        return {"tensor" if isinstance(obj, Tensor) else "array": name}
    if isinstance(obj, dict):
        return {"dict": [[_describe(key, arrays), _describe(value, arrays)] for key, value in obj.items()]}
    if isinstance(obj, (list, tuple)):
        return {"list" if isinstance(obj, list) else "tuple": [_describe(item, arrays) for item in obj]}
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return {"value": obj}
    raise ArgumentTypeError(
        f"save: a {type(obj).__name__} cannot be written",
        why="Files hold tensors, numbers and texts in dicts, lists and tuples, and no code.",
        fix="save layer.state_dict() and optimizer.state_dict() instead of the objects.",
    )


def load(path: str | os.PathLike[str], return_numpy: bool = False, **configs: Any) -> Any:
    """Read what `save` wrote.

    Args:
        path: the file.
        return_numpy: whether tensors are returned as NumPy arrays.
        configs: accepted and not used.

    Raises:
        InvalidArgumentError: if the file is not one that `save` wrote; Paddle's pickles are not read.
    """
    if not Path(path).is_file():
        raise InvalidArgumentError(f"load: there is no file {str(path)!r}")
    try:
        arrays = load_file(path)
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        structure = json.loads(header["__metadata__"][_KEY])
    except (SafetensorError, KeyError, ValueError):
        raise InvalidArgumentError(
            f"load: {str(path)!r} was not written by save of this layer",
            why="Paddle's own files are pickles, which can run code when they are read.",
            fix="read them with Paddle, and write its arrays with primad.compat.paddle.save.",
        ) from None
    return _restore(structure, arrays, return_numpy)


def _restore(structure: Any, arrays: dict[str, Any], return_numpy: bool) -> Any:
    ((kind, content),) = structure.items()
    if kind == "tensor":
        return arrays[content] if return_numpy else Tensor(TapeValue(arrays[content]))
    if kind == "array":
        return arrays[content]
    if kind == "dict":
        return dict([[_restore(part, arrays, return_numpy) for part in pair] for pair in content])
    if kind in ("list", "tuple"):
        items = [_restore(item, arrays, return_numpy) for item in content]
        return items if kind == "list" else tuple(items)
    return content

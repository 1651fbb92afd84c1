"""Trees of arrays in files: the safetensors format, which holds numbers and nothing that could run."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from primad import tree
from primad.errors import ShapeError
from primad.trace import type_of

Tree = Any


def _names(structure: Any) -> list[str]:
    return ["/".join(map(str, path)) or "value" for path in tree.paths(structure)]


def save(path: str | os.PathLike[str], values: Tree) -> None:
    """Write a tree of arrays and numbers, such as parameters and an optimiser's state.

    The file appears at once and complete: a program that is stopped while it writes leaves the old file as it was.

    Args:
        path: the file, by custom with the ending .safetensors.
        values: a tree; each leaf goes by its path in it (keys, positions and field names, joined by slashes).

    Raises:
        TracingError: if a leaf is no array or number.
        ShapeError: if two leaves have the same name.

    Example:
        >>> import numpy as np, pathlib, primad, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.safetensors"
        >>> rule = primad.nn.Adam()
        >>> params = {"w": np.ones(2)}
        >>> primad.nn.save(file, (params, rule.init(params)))
        >>> params, state = primad.nn.load(file, (params, rule.init(params)))
        >>> sorted(primad.nn.load(file))
        ['0/w', '1/first/w', '1/second/w', '1/step']
    """
    from safetensors.numpy import save as encode  # loads when something is saved

    leaves, structure = tree.flatten(values)
    names = _names(structure)
    if len(set(names)) != len(names):
        raise ShapeError(f"save: two leaves have the same name, one of {names}", fix="use keys without slashes.")
    arrays = {name: np.ascontiguousarray(leaf, type_of(leaf).dtype) for name, leaf in zip(names, leaves, strict=True)}
    shaped = {name: array.reshape(np.shape(leaf)) for (name, array), leaf in zip(arrays.items(), leaves, strict=True)}
    # Each with a dozen modules: only when something is saved.
    import tempfile
    from pathlib import Path

    target = Path(path)

    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encode(shaped))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        os.unlink(draft)
        raise


def load(path: str | os.PathLike[str], like: Tree = None) -> Tree:
    """Read a tree that `save` wrote.

    Args:
        path: the file.
        like: a tree of the structure that was saved; its leaves say what to expect.

    Returns:
        the tree, with numbers where `like` has numbers; without `like`, a dictionary of arrays by name.

    Raises:
        ShapeError: if the file holds other names, shapes or dtypes than `like`, or is no such file.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as decode

    try:
        with open(path, "rb") as file:
            arrays: dict[str, Any] = decode(file.read())
    except SafetensorError as error:
        raise ShapeError(f"load: {os.fspath(path)} is not a file of arrays", why=str(error)) from None
    if like is None:
        return arrays
    leaves, structure = tree.flatten(like)
    names = _names(structure)
    if set(names) != set(arrays):
        missing, extra = sorted(set(names) - set(arrays)), sorted(set(arrays) - set(names))
        raise ShapeError(f"load: {os.fspath(path)} lacks {missing or 'nothing'} and has {extra or 'nothing'} besides")
    found = []
    for name, leaf in zip(names, leaves, strict=True):
        array = arrays[name]
        if type_of(array) != type_of(leaf):
            raise ShapeError(f"load: {name} in {os.fspath(path)} is {type_of(array)}, expected {type_of(leaf)}")
        # Whoever updates in place needs memory of their own.
        found.append(array.copy() if isinstance(leaf, np.ndarray) else type(leaf)(array[()]))
    return tree.unflatten(structure, found)

"""Trees of arrays in files: the safetensors format, which holds numbers and nothing that could run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.recording import tree
from primad.recording.tracing import type_of
from primad.system.whole_files import write_whole

__all__ = ["load", "save", "told"]

Tree = Any
WIDE = "arrays of complex128"
"""The text that names them: the format has complex64 only, so that they are written as float64 with both parts along a
last axis."""


def _names(structure: Any) -> list[str]:
    return ["/".join(map(str, path)) or "value" for path in tree.paths(structure)]


def save(path: str | os.PathLike[str], values: Tree, *, about: Mapping[str, str] | None = None) -> None:
    """Write a tree of arrays and numbers, such as parameters and an optimiser's state.

    Arrays of complex128, which the format lacks, are in it as float64 with both parts along a last axis.

    The file appears at once and complete: a program that is stopped while it writes leaves the old file as it was.

    Args:
        path: the file, by custom with the ending .safetensors.
        values: a tree; each leaf goes by its path in it (keys, positions and field names, joined by slashes).
        about: texts by name, which say what the arrays belong to; `told` reads them.

    Raises:
        TracingError: if a leaf is no array or number.
        ShapeError: if two leaves have the same name.
        OSError: if the file cannot be written.

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
    wide = [name for name, array in shaped.items() if array.dtype == np.complex128]
    shaped |= {name: shaped[name][..., None].view(np.float64) for name in wide}
    texts = {**(about or {}), **({WIDE: json.dumps(wide)} if wide else {})}
    write_whole(path, encode(shaped, texts or None))


_FORMATS = {
    "BOOL": "?",
    **{f"{kind}{8 * size}": f"<{letter}{size}" for kind, letter in (("I", "i"), ("U", "u")) for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "C64": "<c8",
}
"""NumPy's names of the elements that files have."""


def _decoded(path: str, name: str, tensor: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return an array of a file; of bfloat16, which NumPy lacks, as the float32 of the same value."""
    kind, shape, data = tensor["dtype"], tensor["shape"], tensor["data"]
    if kind == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if kind not in _FORMATS:
        raise ShapeError(
            f"load: {name} in {path} has elements of type {kind}, which NumPy lacks or primad cannot compute with",
            fix="convert it where it was saved, to float32 for instance.",
        )
    array = np.frombuffer(data, _FORMATS[kind]).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def told(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the texts by name that a file of the safetensors format has besides its arrays.

    Args:
        path: the file.

    Raises:
        ShapeError: if it is no such file.

    Example:
        >>> import numpy as np, pathlib, primad, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "weights.safetensors"
        >>> primad.nn.save(file, {"w": np.ones(2)}, about={"unit": "metres"})
        >>> primad.nn.told(file)
        {'unit': 'metres'}
    """
    return {name: text for name, text in _texts(path).items() if name != WIDE}


def _texts(path: str | os.PathLike[str]) -> dict[str, str]:
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        head = file.read(size) if size <= os.fstat(file.fileno()).st_size else b""
    try:
        return {str(name): str(text) for name, text in json.loads(head).get("__metadata__", {}).items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise ShapeError(
            f"load: {os.fspath(path)} is not a file of arrays",
            why=str(error),
            fix="give a file that primad.nn.save has written, or another of safetensors.",
        ) from None


def load(path: str | os.PathLike[str], like: Tree = None) -> Tree:
    """Read a tree that `save` wrote, or another file of the safetensors format; bfloat16 becomes float32.

    Args:
        path: the file.
        like: a tree of the structure that was saved; its leaves say what to expect.

    Returns:
        the tree, with numbers where `like` has numbers; without `like`, a dictionary of arrays by name.

    Raises:
        ShapeError: if the file holds other names, shapes or dtypes than `like`, elements that NumPy has no type for
            (8-bit floats), or is no such file.
    """
    from safetensors import SafetensorError, deserialize  # loads when something is loaded

    with open(path, "rb") as file:
        content = file.read()
    try:
        tensors = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ShapeError(
            f"load: {os.fspath(path)} is not a file of arrays",
            why=str(error),
            fix="give a file that primad.nn.save has written, or another of safetensors.",
        ) from None
    arrays = {name: _decoded(os.fspath(path), name, tensor) for name, tensor in tensors}
    for name in json.loads(_texts(path).get(WIDE, "[]")):
        arrays[name] = arrays[name].view(np.complex128)[..., 0]
    if like is None:
        return arrays
    leaves, structure = tree.flatten(like)
    names = _names(structure)
    if set(names) != set(arrays):
        missing, extra = sorted(set(names) - set(arrays)), sorted(set(arrays) - set(names))
        raise ShapeError(
            f"load: {os.fspath(path)} lacks {missing or 'nothing'} and has {extra or 'nothing'} besides",
            fix="give a container of the saved names as like=, or none for a dict of arrays.",
        )
    found = []
    for name, leaf in zip(names, leaves, strict=True):
        array = arrays[name]
        if type_of(array) != type_of(leaf):
            raise ShapeError(
                f"load: {name} in {os.fspath(path)} is {type_of(array)}, expected {type_of(leaf)}",
                fix="give like= arrays of the saved shapes and dtypes, or none for a dict of arrays.",
            )
        # Whoever updates in place needs memory of their own.
        found.append(array.copy() if isinstance(leaf, np.ndarray) else type(leaf)(array[()]))
    return tree.unflatten(structure, found)

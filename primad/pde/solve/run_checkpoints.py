"""Runs that stop and go on: a folder with the state of a search, which is replaced as a whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from primad.errors import PrimadError, ProblemError
from primad.ir.node import CAPTURED, leaf_value
from primad.ir.program import Program
from primad.nn.saving import load, save
from primad.recording import tree
from primad.recording.tracing import type_of

Tree = Any
Array = np.ndarray[Any, Any]
STATE, ABOUT = "state.safetensors", "run.json"


class Checkpoint:
    """The folder of a run: the state as arrays (safetensors), and in words (JSON) what it belongs to.

    Args:
        folder: where; it is made if there is none.
        about: what the state belongs to; a state of something else is not taken.

    Raises:
        ProblemError: if the folder cannot be made, or belongs to something else.
    """

    def __init__(self, folder: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
        self.folder, self.about = Path(folder), json.loads(json.dumps(about))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProblemError(
                f"the checkpoint's folder {self.folder} cannot be made: {error}",
                fix="name a folder that you may write to.",
            ) from None

    def load(self) -> dict[str, Array] | None:
        """Return the arrays of the state; None if there is none.

        Raises:
            ProblemError: if the files are damaged, or belong to another problem or other settings.
        """
        state, about = self.folder / STATE, self.folder / ABOUT
        if not state.exists() and not about.exists():
            return None
        try:
            known = json.loads(about.read_text(encoding="utf-8"))
            if not isinstance(known, dict):
                raise ValueError("it is no record")
        except (OSError, ValueError) as error:
            raise self._strange(f"{ABOUT} cannot be read: {error}") from None
        differing = [name for name in {**known, **self.about} if known.get(name) != self.about.get(name)]
        if differing:
            name = differing[0]
            raise self._strange(
                "its problem is another one: equations, conditions, data, or arrays that functions close over"
                if name == "problem"
                else f"its {name} is {_short(known.get(name))}, that of this run {_short(self.about.get(name))}"
            )
        if not state.exists():  # it was stopped before it had a state
            return None
        try:
            return dict(load(state))
        except (OSError, PrimadError) as error:
            raise self._strange(f"{STATE} is damaged: {getattr(error, 'what', error)}") from None

    def _strange(self, why: str) -> ProblemError:
        return ProblemError(
            f"the checkpoint in {self.folder} does not belong to this run: {why}",
            fix="choose another folder, or delete this one to begin anew.",
        )

    def save(self, values: Mapping[str, Tree]) -> None:
        """Write the state; the old one stays until the new one is complete.

        Raises:
            OSError: if it cannot be written; the old one is as it was.
        """
        if not (self.folder / ABOUT).exists():
            draft = self.folder / f"{ABOUT}.draft"
            draft.write_text(json.dumps(self.about, indent=1), encoding="utf-8")
            os.replace(draft, self.folder / ABOUT)
        save(self.folder / STATE, dict(values))


def identity_of_points(given: Any) -> Any:
    """Return how many points a run has; of points that are given a text that is that of no others."""
    if isinstance(given, Mapping):
        return {name: identity_of_points(one) for name, one in given.items()}
    return (
        int(given)
        if isinstance(given, (int, np.integer))
        else hashlib.sha256(np.asarray(given, np.float64).tobytes()).hexdigest()
    )


def identity(program: Program, arguments: Tree) -> str:
    """Return what tells a program, with the arrays that it closes over and some arguments, from others.

    Arguments count to about seven digits: another machine may compute the last ones otherwise.
    """
    found = hashlib.sha256(program.text().encode())
    for node in program.nodes:
        if node.op is CAPTURED:
            array = np.ascontiguousarray(leaf_value(node))
            found.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    for leaf in tree.leaves(arguments):
        found.update(np.asarray(leaf, np.float32).tobytes())
    return found.hexdigest()[:16]


def restored(arrays: Mapping[str, Array], name: str, like: Tree, *, sizes: bool = True) -> Tree:
    """Return a tree that was saved under a name.

    Args:
        arrays: of the file.
        name: of the tree.
        like: a tree of its structure.
        sizes: whether shapes must be the same.

    Raises:
        ProblemError: if an array is missing or is another one.
    """
    leaves, structure = tree.flatten(like)
    found = []
    for path, leaf in zip(tree.paths(structure), leaves, strict=True):
        key = "/".join(map(str, (name, *path)))
        array = arrays.get(key)
        if array is None or (sizes and type_of(array) != type_of(leaf)):
            have = "missing" if array is None else f"{type_of(array)}, not {type_of(leaf)}"
            raise ProblemError(
                f"the checkpoint does not fit: {key} is {have}",
                fix="choose another folder, or delete this one to begin anew.",
            )
        found.append(array.copy() if isinstance(leaf, np.ndarray) else type(leaf)(array[()]))
    return tree.unflatten(structure, found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"

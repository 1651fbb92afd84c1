"""Pytrees (optree): trees of dicts, tuples, lists and dataclasses are arguments and results, as arrays are.

Dicts keep the order of their keys, which functions can see: the same keys in another order are another structure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import optree

from primad.errors import ShapeError
from primad.recording.object_arrays import OBJECTS, stacked

NAMESPACE = "primad"
_IN_ORDER = optree.dict_insertion_ordered(True, namespace=NAMESPACE)
_IN_ORDER.__enter__()  # for good: optree sorts keys again when this object dies


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Hashable]], unflatten: Callable[[Any, Iterable[Any]], Any]
) -> None:
    """Say how instances of a class are trees.

    Args:
        cls: the class.
        flatten: gives the arrays of an instance, and what is the same for all of one structure.
        unflatten: makes one of the latter and of arrays.
    """
    optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)


def _register(cls: type) -> None:
    names = tuple(field.name for field in dataclasses.fields(cls))

    def flatten(value: Any) -> Any:
        return [getattr(value, name) for name in names], names, names

    def unflatten(_: Any, children: Any) -> Any:
        value: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(value, name, child)
        return value

    optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)


_registered: set[type] = set()


@lru_cache(maxsize=1024)
def _is_leaf(cls: type) -> bool:
    """Say whether objects of a class are leaves as they are: no dataclasses, no arrays with a mutable face."""
    is_tree = dataclasses.is_dataclass(cls) and not hasattr(cls, "__array_function__")
    return not is_tree and not hasattr(cls, "__settled__")


def _register_new(leaves: list[Any]) -> bool:
    """Register the dataclasses among leaves, and say whether there were any.

    Arrays with a mutable face, and arrays of objects with traced numbers, become the traced arrays that they stand for.
    """
    found = False
    leaves[:] = [stacked(leaf) for leaf in leaves]
    for cls in {type(leaf) for leaf in leaves}:
        if _is_leaf(cls):  # type: ignore[arg-type]  # classes are hashable
            continue
        if hasattr(cls, "__settled__"):
            leaves[:] = [leaf.__settled__() if type(leaf) is cls else leaf for leaf in leaves]
        if dataclasses.is_dataclass(cls) and cls not in _registered and not hasattr(cls, "__array_function__"):
            _registered.add(cls)
            _register(cls)
            found = True
    return found


@lru_cache(maxsize=1024)
def _is_array(cls: type) -> bool:
    """Say whether objects of a class are certainly leaves: optree need not be asked. Classes of ours say so."""
    return cls in (np.ndarray, np.float64, float, int) or "__leaf__" in vars(cls)


def _are_arrays(items: tuple[Any, ...]) -> bool:
    found = [
        _is_array(type(item)) and not (type(item) is np.ndarray and item.dtype is OBJECTS)  # type: ignore[arg-type]
        for item in items  # whose classes are hashable
    ]
    return all(found)


def _structure(tree: Any) -> Any:
    return optree.tree_structure(tree, namespace=NAMESPACE)


_LEAF = _structure(0)


@lru_cache(maxsize=64)
def flat(count: int) -> Any:
    """Return the structure of a tuple of so many leaves; `flatten` gives this one for arrays and numbers."""
    return _structure((0,) * count)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a tree and its structure. None is an empty tree. Dataclasses count as trees.

    Raises:
        ShapeError: if the tree contains itself or is too deep.
    """
    if type(tree) is tuple and _are_arrays(tree):
        return list(tree), flat(len(tree))
    if _are_arrays((tree,)):
        return [tree], _LEAF
    try:
        found, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
        while _register_new(found):
            found, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError as error:
        raise _endless(tree) or error from None
    return found, structure


def _endless(tree: Any) -> ShapeError | None:
    """Return the error for a tree that is too deep to be flattened; None if it is not."""
    heights: dict[int, int] = {}
    kept: list[Any] = []  # what the numbers stand for must live as long
    open_: set[int] = set()
    stack = [(tree, False)]
    while stack:
        value, done = stack.pop()
        children = _children(value)
        kept.append(children)
        if done:
            open_.discard(id(value))
            heights[id(value)] = 1 + max([heights[id(child)] for child in children], default=-1)
        elif id(value) in open_ and children:
            return ShapeError(
                f"a tree of type {type(tree).__name__} contains itself (a {type(value).__name__} in it does)",
                why="Arguments and results are flattened to their arrays, of which there would be no end.",
                fix="pass a tree without cycles.",
            )
        elif id(value) not in heights:
            open_.add(id(value))
            stack.append((value, True))
            stack.extend([(child, False) for child in children])
    if heights[id(tree)] < optree.MAX_RECURSION_DEPTH:
        return None
    return ShapeError(
        f"a tree of type {type(tree).__name__} is nested {heights[id(tree)]} deep",
        why=f"Trees of arrays may be {optree.MAX_RECURSION_DEPTH} deep.",
        fix="keep the arrays in a list or a dict instead of a chain.",
    )


def _children(value: Any) -> list[Any]:
    """Return what stands in a tree one level down; nothing for a leaf."""
    first = iter([False])
    found, structure = optree.tree_flatten(value, is_leaf=lambda _: next(first, True), namespace=NAMESPACE)
    return [] if structure.is_leaf() else found


def unflatten(structure: Any, leaves: Any) -> Any:
    """Rebuild a tree from its structure and leaves."""
    if type(leaves) is list:
        if structure is _LEAF and len(leaves) == 1:
            return leaves[0]
        if structure is flat(len(leaves)):
            return tuple(leaves)
    return optree.tree_unflatten(structure, leaves)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree."""
    return flatten(tree)[0]


def map(function: Any, tree: Any, *rest: Any) -> Any:
    """Apply a function to the leaves of one tree, or of several trees of the same structure."""
    first, structure = flatten(tree)
    others = [flatten_as(structure, other, "argument of tree.map") for other in rest]
    return unflatten(structure, [function(*items) for items in zip(first, *others, strict=True)])


def flatten_as(structure: Any, tree: Any, what: str) -> list[Any]:
    """Return the leaves of a tree that must have the given structure, in its order: keys of dicts stand in any.

    Raises:
        ShapeError: if its structure is another one.
    """
    found, other = flatten(tree)
    if other == structure:
        return found
    try:
        found = list(structure.flatten_up_to(tree))
        if optree.all_leaves(found, namespace=NAMESPACE):
            return found
    except ValueError:
        pass
    is_list_instead = "[*" in repr(other) and "[*" not in repr(structure)
    raise ShapeError(
        f"{what}: expected the tree {shown(structure)}, got {shown(other)}",
        fix="a list is a tree of numbers: pass np.array(…)." if is_list_instead else "",
    )


class _Leaf:
    """Stands for an array where a structure is shown."""

    def __repr__(self) -> str:
        return "*"


def shown(structure: Any) -> str:
    """Return a structure as a user writes it, with a star for each array."""
    if structure.is_leaf():
        return "* (one array)"
    if structure.num_leaves > MOST_SHOWN:
        return f"of {structure.num_leaves} arrays"
    return repr(unflatten(structure, [_Leaf()] * structure.num_leaves))


MOST_SHOWN = 64
"""Leaves of the largest structure that a message shows. Chosen: larger ones fill the screen and say nothing."""


def paths(structure: Any) -> list[tuple[Any, ...]]:
    """Return the path (keys, indices, field names) of each leaf."""
    return list(structure.paths())

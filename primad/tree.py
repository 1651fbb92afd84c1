"""Pytrees (optree): trees of dicts, tuples, lists and dataclasses are arguments and results, as arrays are."""

from __future__ import annotations

import dataclasses
from typing import Any

import optree

from primad.errors import ShapeError

NAMESPACE = "primad"


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


def _is_dataclass_to_register(value: Any) -> bool:
    cls = type(value)
    if dataclasses.is_dataclass(cls) and cls not in _registered and not hasattr(cls, "__array_function__"):
        _registered.add(cls)
        _register(cls)
    return False


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a tree and its structure. None is an empty tree. Dataclasses count as trees."""
    return optree.tree_flatten(tree, is_leaf=_is_dataclass_to_register, namespace=NAMESPACE)


def unflatten(structure: Any, leaves: Any) -> Any:
    """Rebuild a tree from its structure and leaves."""
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
    """Return the leaves of a tree that must have the given structure.

    Raises:
        ShapeError: if its structure is another one.
    """
    found, other = flatten(tree)
    if other != structure:
        raise ShapeError(f"{what}: expected the tree {structure}, got {other}")
    return found


def paths(structure: Any) -> list[tuple[Any, ...]]:
    """Return the path (keys, indices, field names) of each leaf."""
    return list(structure.paths())

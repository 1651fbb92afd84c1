"""What the search for functions of matrices makes of ops: one table, as a back end has."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from primad import ops
from primad.ir.node import Leaf, Node
from primad.numpy.linalg.linear_systems import inv_, solve_


class Role(Enum):
    """What an op does with values that are linear in vectors, and with functions of the eigenvalues."""

    DECOMPOSES = auto()
    CONTRACTS = auto()
    ADDS_UP = auto()
    MOVES = auto()
    REPEATS = auto()
    REGROUPS = auto()
    SPREADS_OUT = auto()
    TAKES_RANGE = auto()
    TURNS_ROUND = auto()
    TAKES_PLACES = auto()
    CONJUGATES = auto()
    TAKES_REAL = auto()
    TAKES_IMAGINARY = auto()
    CONVERTS = auto()
    NEGATES = auto()
    ADDS = auto()
    MULTIPLIES = auto()
    DIVIDES = auto()
    INVERTS = auto()
    SOLVES = auto()


_ROLES: dict[Any, Role] = {
    ops.eigh: Role.DECOMPOSES,
    ops.eig: Role.DECOMPOSES,
    ops.contract: Role.CONTRACTS,
    ops.sum: Role.ADDS_UP,
    ops.permute: Role.MOVES,
    ops.broadcast: Role.REPEATS,
    ops.reshape: Role.REGROUPS,
    ops.pad: Role.SPREADS_OUT,
    ops.slice_: Role.TAKES_RANGE,
    ops.flip: Role.TURNS_ROUND,
    ops.gather: Role.TAKES_PLACES,
    ops.conj: Role.CONJUGATES,
    ops.real_part: Role.TAKES_REAL,
    ops.imaginary_part: Role.TAKES_IMAGINARY,
    ops.cast: Role.CONVERTS,
    ops.neg: Role.NEGATES,
    ops.add: Role.ADDS,
    ops.mul: Role.MULTIPLIES,
    ops.div: Role.DIVIDES,
    inv_: Role.INVERTS,
    ops.left_vectors: Role.INVERTS,
    solve_: Role.SOLVES,
}


def role_of(node: Node) -> Role | None:
    """Return what the op of a node does; None for leaves and ops that the search does not follow."""
    return None if isinstance(node.op, Leaf) else _ROLES.get(node.op)


def repeats_along(node: Node, axis: int) -> bool:
    """Say whether a node is the same along an axis because it was repeated there."""
    return role_of(node) is Role.REPEATS and axis in dict(node.params)["axes"]

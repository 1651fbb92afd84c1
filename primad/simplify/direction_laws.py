"""Laws of sums over directions, which the pass `primad.simplify.collapse` moves towards the inputs."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ops.record.fields import Law


def wide(x: Any) -> Any:
    """Repeat an array along a new first axis."""
    return ops.broadcast(x, shape=(4, *x.shape), axes=(0,))


def total(x: Any) -> Any:
    """Sum an array over its first axis."""
    return ops.sum(x, axes=(0,))


def _windows(x: Any, axis: int) -> Any:
    return ops.windows(x, axes=(axis,), count=(2,), size=(2,), step=(2,), dilation=(1,), low=(1,))


def _overlap(x: Any, axis: int) -> Any:
    return ops.overlap_add(x, axes=(axis,), length=(4,), step=(1,), dilation=(1,), low=(0,))


COLLAPSE = (
    Law(
        "a sum of products along an axis that both operands have is the contraction's own",
        "real",
        lambda x, y: (total(ops.contract(x, y, labels="ab,ac->abc")), ops.contract(x, y, labels="ab,ac->bc")),
        ((4, 2), (4, 3)),
    ),
    Law(
        "a sum goes through add",
        "real",
        lambda x, y: (total(ops.add(x, y)), ops.add(total(x), total(y))),
        ((4, 2), (4, 2)),
    ),
    Law(
        "a sum goes through sub and neg",
        "real",
        lambda x, y: (total(ops.neg(ops.sub(x, y))), ops.neg(ops.sub(total(x), total(y)))),
        ((4, 2), (4, 2)),
    ),
    Law(
        "a sum goes through a product with a constant",
        "real",
        lambda x, y: (total(ops.mul(x, wide(y))), ops.mul(total(x), y)),
        ((4, 2), (2,)),
    ),
    Law(
        "a sum goes through a quotient by a constant",
        "real",
        lambda x, y: (total(ops.div(x, wide(y))), ops.div(total(x), y)),
        ((4, 2), (2,)),
    ),
    Law(
        "a sum goes through mask",
        "real",
        lambda c, x: (total(ops.mask(wide(c > 0), x)), ops.mask(c > 0, total(x))),
        ((2,), (4, 2)),
    ),
    Law(
        "a sum goes through select",
        "real",
        lambda c, x, y: (total(ops.select(wide(c > 0), x, y)), ops.select(c > 0, total(x), total(y))),
        ((2,), (4, 2), (4, 2)),
    ),
    Law(
        "a sum goes through permute",
        "real",
        lambda x: (
            ops.sum(ops.permute(x, order=(2, 0, 1)), axes=(1,)),
            ops.permute(ops.sum(x, axes=(0,)), order=(1, 0)),
        ),
        ((4, 2, 3),),
    ),
    Law(
        "a sum goes through reshape",
        "real",
        lambda x: (total(ops.reshape(x, shape=(4, 6))), ops.reshape(total(x), shape=(6,))),
        ((4, 2, 3),),
    ),
    Law(
        "a sum goes through slice",
        "real",
        lambda x: (
            total(ops.slice_(x, start=(0, 1), stop=(4, 3), step=(1, 1))),
            ops.slice_(total(x), start=(1,), stop=(3,), step=(1,)),
        ),
        ((4, 3),),
    ),
    Law(
        "a sum goes through pad",
        "real",
        lambda x: (
            total(ops.pad(x, low=(0, 1), high=(0, 2), interior=(0, 1))),
            ops.pad(total(x), low=(1,), high=(2,), interior=(1,)),
        ),
        ((4, 3),),
    ),
    Law(
        "a sum goes through flip and cumsum",
        "real",
        lambda x: (
            total(ops.cumsum(ops.flip(x, axes=(1,)), axis=1, reverse=False)),
            ops.cumsum(ops.flip(total(x), axes=(0,)), axis=0, reverse=False),
        ),
        ((4, 3),),
    ),
    Law(
        "a sum goes through windows",
        "real",
        lambda x: (total(_windows(x, 1)), _windows(total(x), 0)),
        ((4, 3),),
    ),
    Law(
        "a sum goes through overlap_add",
        "real",
        lambda x: (total(_overlap(x, 1)), _overlap(total(x), 0)),
        ((4, 3, 2),),
    ),
    Law(
        "a sum goes through concatenate",
        "real",
        lambda x, y: (total(ops.concatenate(x, y, axis=1)), ops.concatenate(total(x), total(y), axis=0)),
        ((4, 2), (4, 3)),
    ),
    Law(
        "a sum goes through broadcast",
        "real",
        lambda x: (
            total(ops.broadcast(x, shape=(4, 3, 2), axes=(1,))),
            ops.broadcast(total(x), shape=(3, 2), axes=(0,)),
        ),
        ((4, 2),),
    ),
    Law(
        "sums over two axes go through a product to different factors",
        "real",
        lambda x, y: (
            ops.sum(
                ops.mul(ops.broadcast(x, shape=(4, 3), axes=(0,)), ops.broadcast(y, shape=(4, 3), axes=(1,))),
                axes=(0, 1),
            ),
            ops.mul(ops.sum(x, axes=(0,)), ops.sum(y, axes=(0,))),
        ),
        ((3,), (4,)),
    ),
    Law(
        "a sum goes through contract",
        "real",
        lambda x, y: (
            total(ops.contract(x, y, labels="abc,cd->abd")),
            ops.contract(total(x), y, labels="ab,bc->ac"),
        ),
        ((4, 2, 3), (3, 2)),
    ),
)

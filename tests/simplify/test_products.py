"""Laws of products that need no sum, and of identities among their operands."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.errors import ShapeError
from primad.ops.arrays.contraction import identity
from primad.ops.record.primitive import full
from primad.simplify import simplify
from primad.simplify.outer_products import outer_products

LABELS = [
    (left, right, "".join(order))
    for left, right in itertools.product(("ij",), ("ij", "ji", "jk", "ik", "kl"))
    for count in range(5)
    for order in itertools.permutations(dict.fromkeys(left + right), count)
    if all((left + right).count(letter) + (letter in order) > 1 for letter in left + right)
]


@pytest.mark.parametrize("right", ["ij", "ji", "jk", "ik", "kl"])
def test_identities_in_products(right: str) -> None:
    """Whichever axes an identity shares with another one, or with a matrix, and whichever are kept."""
    x = np.random.default_rng(0).normal(size=(3, 3))
    for left, other, out in LABELS:
        if other != right:
            continue
        labels = f"{left},{right}->{out}"
        for both in (False, True):

            def function(x, labels=labels, both=both):
                seeds = identity(x, 3)
                return ops.contract(seeds, seeds if both else x, labels=labels)

            wanted = np.einsum(labels, np.eye(3), np.eye(3) if both else x)
            np.testing.assert_array_equal(primad.jit(function, backend="reference")(x), wanted, err_msg=labels)


SHAPES = {
    "no sum": ((300,), (200,), lambda x, y: np.multiply.outer(x, y)),
    "a sum over one": ((300, 1), (1, 200), lambda x, y: x @ y),
    "a sum over one, of stacks": ((3, 40, 1), (3, 1, 50), lambda x, y: x @ y),
    "a sum": ((300, 2), (2, 200), lambda x, y: x @ y),
}


@pytest.mark.parametrize("name", SHAPES)
def test_products_without_a_sum_are_pointwise(name: str) -> None:
    left, right, function = SHAPES[name]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=left), rng.normal(size=right)
    program = outer_products(simplify(primad.lower(primad.trace(function)(x, y))))
    found = {node.op for node in program.nodes}
    assert (ops.contract in found) == (name == "a sum") and (ops.mul in found) == (name != "a sum")
    np.testing.assert_allclose(primad.jit(program)(x, y), function(x, y), rtol=1e-14)


@pytest.mark.parametrize(("left", "right"), [*itertools.product(["float32", "float64", "int32", "bool"], repeat=2)])
def test_products_are_of_numbers_of_one_type(left: str, right: str) -> None:
    def product(x, y):
        return ops.contract(x, y, labels="a,a->")

    x, y = np.ones(3, left), np.ones(3, right)
    if left == right != "bool":
        assert primad.trace(product)(x, y).out_types[0].dtype == left
    else:
        with pytest.raises(ShapeError, match="both must be the same number type"):
            primad.trace(product)(x, y)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 2.0, -0.0])
@pytest.mark.parametrize("labels", ["ij,jk->ik", "jk,ij->ik", "ij,ij->i", "ij,k->ijk"])
def test_products_with_what_is_filled_with_a_number_are_numpys(labels: str, value: float) -> None:
    """A sum with a factor is one only where the factor is finite: of zeros, the product with infinity is NaN."""
    lengths = {"i": 2, "j": 3, "k": 4}
    shapes = [tuple([lengths[letter] for letter in part]) for part in labels.partition("->")[0].split(",")]
    x = np.array([0.0, 1.0, -2.0, 0.0])
    for place in (0, 1):
        arrays = [np.full(shape, value) if i == place else np.resize(x, shape) for i, shape in enumerate(shapes)]

        def product(*given: Any, place: int = place) -> Any:
            return ops.contract(*[full(value, y) if i == place else y for i, y in enumerate(given)], labels=labels)

        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(primad.jit(product)(*arrays), np.einsum(labels, *arrays))

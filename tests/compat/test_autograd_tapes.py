"""Programs that walk autograd's tape themselves: what they get is the derivative of what they computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.compat import autograd
from primad.compat.autograd import numpy as anp
from primad.compat.autograd.core import JVPNode, VJPNode, backward_pass, make_jvp, make_vjp, toposort
from primad.compat.autograd.tracer import Node, isbox, new_box, trace

X = np.array([0.4, -1.3, 2.1])
FUNCTIONS = {
    "elementwise": lambda x: anp.sin(x) * x**2,
    "a matrix": lambda x: anp.outer(x, anp.exp(x)),
    "a number": lambda x: anp.sum(x) / (1.0 + anp.dot(x, x)),
    "the box itself": lambda x: x,
    "complex": lambda x: anp.exp(1j * x) + x,
    "a branch on values": lambda x: anp.abs(x) * (3.0 if x[0] > 0.0 else 5.0),
    "a derivative": autograd.grad(lambda x: anp.sum(anp.sin(x) * x)),
}


def pulled(fun: Any, x: Any, g: Any) -> Any:
    """Return the pullback of a cotangent, by a tape."""
    return backward_pass(g, trace(VJPNode.new_root(), fun, x)[1])


def pushed(fun: Any, x: Any, g: Any) -> Any:
    """Return the tangent of a result, by a tape."""
    return trace(JVPNode.new_root(g), fun, x)[1].g


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_tapes_give_the_derivatives_of_make_vjp_and_make_jvp(kind: str) -> None:
    fun = FUNCTIONS[kind]
    back, value = make_vjp(fun, X)
    g = np.cos(np.arange(value.size)).reshape(value.shape) * (1.0 + 0.5j if value.dtype.kind == "c" else 1.0)
    found, node = trace(VJPNode.new_root(), fun, X)
    assert not isbox(found) and np.array_equal(found, value)
    np.testing.assert_allclose(backward_pass(g, node), back(g), rtol=1e-14)
    np.testing.assert_allclose(backward_pass(2.0 * g, node), back(2.0 * g), rtol=1e-14)
    np.testing.assert_allclose(pushed(fun, X, X), make_jvp(fun, X)(X)[1], rtol=1e-14)


def test_tapes_inside_tapes_and_derivatives_give_higher_orders() -> None:
    def product(x: Any) -> Any:
        return lambda y: anp.sin(x * y) * y

    ways = {
        "tape": lambda fun: lambda x: pulled(fun, x, 1.0),
        "forward tape": lambda fun: lambda x: pushed(fun, x, 1.0),
        "grad": autograd.grad,
    }
    wanted = primad.grad(lambda x: primad.grad(product(x))(x))
    for outer in ways.values():
        for inner in ways.values():
            mixed = outer(lambda x, inner=inner: inner(product(x))(x))
            for x in (0.3, 0.7, 0.3):
                assert mixed(x) == pytest.approx(wanted(x), rel=1e-13)


def test_boxes_that_stay_open_as_packages_use_them() -> None:
    box = new_box(X, 0, VJPNode.new_root())
    out = anp.sin(box) * anp.sum(box)
    rows, nodes = [], []
    for g in np.eye(3):
        seed = new_box(g, 0, VJPNode.new_root())
        rows.append(backward_pass(seed, out._node))
        nodes.append(rows[-1]._node)
    stacked = anp.stack(rows)._value
    assert type(stacked) is np.ndarray and isbox(rows[0])
    wanted = primad.jacobian(lambda x: np.sin(x) * np.sum(x))(X)
    np.testing.assert_allclose(stacked, wanted, rtol=1e-14)
    np.testing.assert_allclose(backward_pass(X, nodes[0]), np.asarray(wanted) @ X, rtol=1e-14)  # in the cotangent


def test_a_box_inside_of_another_derivative_holds_a_box_of_that() -> None:
    def held(x: Any) -> Any:
        box = new_box(x, 0, VJPNode.new_root())
        return (anp.sin(box) * x)._value

    assert autograd.grad(held)(0.4) == pytest.approx(np.sin(0.4) + 0.4 * np.cos(0.4), rel=1e-14)


def test_traces_that_do_not_depend_on_their_argument_say_so() -> None:
    with pytest.warns(UserWarning, match="independent of input"):
        assert trace(VJPNode.new_root(), lambda x: 3.0, 1.0) == (3.0, None)
    assert not isbox(trace(VJPNode.new_root(), lambda x: anp.sin(x), 1.0)[0])
    assert new_box(1.0, 0, VJPNode.new_root())._trace != new_box(1.0, 0, VJPNode.new_root())._trace


def test_graphs_are_walked_in_order() -> None:
    root, constant = VJPNode.new_root(), np.array([1.0, 2.0])
    box = new_box(np.array([0.5, -1.0]), 0, root)
    shared = autograd.numpy.sin(box)
    end = (autograd.numpy.sum(shared * constant) * shared[0] + autograd.numpy.sum(box) ** 2)._node
    assert root.parents == [] and VJPNode.new_root().parents == [] and shared._node.parents == [root]
    assert (shared * constant)._node.parents == [shared._node] and (box * box)._node.parents == [root, root]
    order = list(toposort(end))
    assert order[0] is end and order[-1] is root and len({*order}) == len(order) and shared._node in order
    for place, node in enumerate(order):
        assert all(order.index(parent) > place for parent in node.parents)


def test_long_graphs_are_walked() -> None:
    box = x = new_box(1.0, 0, VJPNode.new_root())
    for _ in range(3000):
        x = x + autograd.numpy.sin(x)
    assert len(list(toposort(x._node))) == 6001 and box._node.parents == []


def test_what_has_no_meaning_on_a_tape_is_an_error() -> None:
    def box(value: Any = 1.0) -> Any:
        return new_box(value, 0, VJPNode.new_root())

    with pytest.raises(primad.TracingError, match="two boxes"):
        backward_pass(1.0, (box() * box())._node)
    with pytest.raises(primad.TracingError, match="no box was made"):
        backward_pass(1.0, VJPNode.new_root())
    with pytest.raises(AttributeError, match=r"(?s)VJPNode has no attribute 'vjp'.*backward_pass"):
        _ = (box() * 2.0)._node.vjp
    with pytest.raises(primad.TracingError, match="on no tape"):
        autograd.grad(lambda x: x._node)(1.0)
    with pytest.raises(TypeError, match=r"differentiate w\.r\.t\. type <class 'int'>"):
        box(3)
    with pytest.raises(primad.TracingError, match="Counting: a kind of node"):
        type("Counting", (Node,), {})

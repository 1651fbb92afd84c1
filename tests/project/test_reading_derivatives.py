"""The texts of docs/reading_derivatives.md are what the code prints; running this file writes them anew."""

import numpy as np
import pytest

import primad
from primad import transforms
from tests.documents import ROOT, rewrite, run

PAGE = ROOT / "docs" / "reading_derivatives.md"


def test_page_shows_what_the_code_prints():
    pairs = run(PAGE)
    assert len(pairs) >= 15
    for printed, written in pairs:
        assert printed == written


def softmax_program():
    return primad.trace(lambda x: primad.nn.softmax(x))(primad.ArrayType((3,), float))


def lines(program):
    return len(str(program).splitlines())


def test_softmax_gradient_is_short():
    gradient = transforms.vjp(softmax_program())
    assert lines(gradient) <= 12
    assert lines(primad.simplify(gradient)) <= 16


@pytest.mark.parametrize("order", [1, 2, 3])
def test_softmax_rule_agrees_with_its_definition(order):
    defined = primad.lower(softmax_program())
    x = np.array([0.3, -1.2, 40.0])
    v = np.array([0.7, -0.4, 0.1])

    def along(function, k):
        return function if k == 0 else lambda y: primad.jvp(along(function, k - 1), (y,), (v,))[1]

    found = along(primad.nn.softmax, order)(x)
    assert np.allclose(found, along(defined, order)(x), rtol=1e-12, atol=1e-18)


def test_transposed_tangent_is_the_vjp():
    program = softmax_program()

    def tangent(x, t):
        return primad.jvp(program, (x,), (t,))[1]

    linear = primad.trace(tangent)(*program.in_types * 2)
    transposed = transforms.transpose(linear, [False, True])
    x, ct = np.array([0.1, 0.2, -0.5]), np.array([1.0, -2.0, 0.5])
    assert np.allclose(transposed(x, ct), transforms.vjp(program)(x, ct)[1], rtol=1e-14)


def test_texts_read_back():
    for program in (softmax_program(), transforms.vjp(softmax_program())):
        assert primad.parse(str(program)).key == program.key


if __name__ == "__main__":
    rewrite(PAGE)

"""The square of a number, and its derivative: whether the protocol works."""

import primad


def square(x):
    return x * x


FUNCTIONS = {"square": square, "double": primad.grad(square)}

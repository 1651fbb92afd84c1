"""Expressions that cannot be recorded, in other people's style: each is refused with its line and a way out.

Where the way out is code, it is run, and gives what the expression gives on a plain array.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad

X = np.array([0.3, 0.7, 1.1])
IMPORTS = """
import cmath, decimal, fractions, json, math, statistics, struct
import numpy as np, primad, primad.numpy as pnp, scipy.fft, scipy.special, scipy.stats
"""
EXPRESSIONS: dict[str, str] = {
    # what it is, and what the way out says
    "x.numpy()": "leave that out",
    "x.detach().cpu()": "leave that out",
    "x.values": r"primad\.value\(x\)",
    "x.grad": r"primad\.grad\(f\)\(x\)",
    "x.requires_grad_(True)": r"primad\.grad\(f\)\(x\)",
    "x.append(1.0)": r"primad\.numpy\.append\(x, value\)",
    "x.at[0].set(1.0)": r"primad\.numpy\.set_at\(x, i, value\)",
    "x.iloc[0]": r"x\[i\]",
    "x.nothing_like_it": r"dir\(x\) lists",
    "pnp.sinn(x)": "did you mean sin",
    "1.0 if x else 0.0": r"np\.where\(x > 0, a, b\)",
    "not x": r"np\.all\(x > 0\)",
    "x and 1": r"np\.any\(x > 0\)",
    "max(x, [1, 2, 3])": r"np\.where",
    "int(x)": r"int\(x\[i\]\)",
    "len(x[0])": r"x\[None\]",
    "list(x[0])": r"x\[None\]",
    "x(1)": r"x\[i\]",
    "{x[0]: 1}": "plain number that is read on purpose",
    "x.__setattr__('shape', (3, 1))": r"x = np\.reshape",
    "json.dumps(x[0])": r"primad\.value\(x\)",
    "struct.pack('d', x[0])": r"primad\.value\(x\)",
    "decimal.Decimal(x[0])": r"primad\.value\(x\)",
    "fractions.Fraction(x[0])": r"primad\.value\(x\)",
    "memoryview(x)": r"primad\.value\(x\)",
    "bytes(x)": "",
    "np.zeros(x[0])": r"int\(x\)",
    "range(x[0])": r"int\(x\)",
    "[1, 2, 3][x[0]]": r"int\(x\)",
    "np.roll(x, 0.5)": r"int\(x\)",
    "np.sin(x, foo=1)": r"help\(function\)",
    "np.add(x)": r"help\(function\)",
    "np.sum(x, foo=1)": r"help\(function\)",
    "math.sqrt(x[0])": r"np\.sqrt",
    "cmath.exp(x[0])": r"np\.exp",
    "statistics.mean(x)": r"np\.mean",
    "scipy.fft.fft(x)": r"primad\.scipy\.fft\.fft",
    "scipy.special.tklmbda(1, x)": (
        r"primad\.elementwise\('tklmbda', tklmbda, \[lambda out, x, y: …, lambda out, x, y: …\]\)"
    ),
    "scipy.special.jv(x, 1)": "order as a plain number",
    "scipy.stats.norm.cdf(x)": r"cdf of primad\.scipy\.stats\.norm",
    "scipy.stats.norm.pdf(x[0])": r"pdf of primad\.scipy\.stats\.norm",
    "np.datetime64(x[0])": "",
    "x.astype('S')": "",
    "x.sort()": r"np\.sort\(x\)",
    "x.fill(0.0)": r"primad\.numpy\.copy\(x\)",
    "np.where(x > 0)": "pass both values|pass a float",
    "np.where(x > 0, x, None)": "a function without `return`",
    "np.savetxt('/dev/null', x)": "",
    "'text'": "return arrays",
    "primad.grad(x)": "pass the function itself",
    "primad.grad(lambda y: np.sum(y))('a')": "",
}  # fmt: skip


def defined(expression: str) -> tuple[Callable[[Any], Any], str]:
    """Return a function that returns an expression of x, in a file of its own, and the file."""
    path = f"/user/{abs(hash(expression))}.py"
    source = f"{IMPORTS}\n\ndef f(x):\n    return {expression}\n"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    scope: dict[str, Any] = {}
    exec(compile(source, path, "exec"), scope)
    return scope["f"], path


def of_result(expression: str, transform: Callable[..., Any]) -> bool:
    """Say whether an error is of the whole result, and so of no line: a text, or places where values are known."""
    return expression == "'text'" or (expression == "np.where(x > 0)" and transform is primad.jacobian)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_refused_with_its_line_and_a_way_out(expression: str) -> None:
    f, path = defined(expression)
    for transform in (primad.jit, primad.jacobian):
        with pytest.raises(primad.PrimadError) as caught:
            transform(f)(X)
        told = str(caught.value)
        fix = re.search(r"\n  Fix: (.*)", told)
        assert fix and re.search(EXPRESSIONS[expression], fix[1]), told
        assert re.search(rf"\n  in {path}:\d+$", told) or of_result(expression, transform), told
        assert not re.search(r"TracedArray|WritableArray|primad\.recording|docs/|\.md\b|PyTreeSpec", told), told


WAYS: dict[str, tuple[str, str]] = {
    # what is refused, the way out as the message says it, and it in code
    "1.0 if x else 0.0": ("np.where(x > 0, a, b)", "np.where(x > 0, 1.0, 0.0)"),
    "x.append(1.0)": ("primad.numpy.append(x, value)", "primad.numpy.append(x, 1.0)"),
    "x.at[0].set(1.0)": ("primad.numpy.set_at(x, i, value)", "primad.numpy.set_at(x, 0, 1.0)"),
    "x.detach().cpu()": ("leave that out", "x"),
    "np.zeros(x[2])": ("int(x)", "np.zeros(int(x[2]))"),
    "int(x)": ("x.astype(int)", "x.astype(int) * 1.0"),
    "math.sqrt(x[0])": ("np.sqrt", "np.sqrt(x[0])"),
    "{x[0]: 1}": ("primad.value(x)", "x * {float(primad.value(x[0])): 1}[0.3]"),
    "x.sort()": ("np.sort(x)", "np.sort(x)"),
    "x.fill(0.0)": ("primad.numpy.copy(x)", "(lambda y: (y.fill(0.0), y)[1])(primad.numpy.copy(x))"),
    "list(x[0])": ("x[None]", "list(x[0][None])[0]"),
    "json.dumps(x[0])": ("primad.value(x)", "len(json.dumps(float(primad.value(x[0])))) * x"),
}  # fmt: skip


@pytest.mark.parametrize("expression", WAYS)
def test_the_way_out_that_is_named_works(expression: str) -> None:
    said, code = WAYS[expression]
    f, _ = defined(expression)
    with pytest.raises(primad.PrimadError) as caught:
        primad.jacobian(f)(X)
    assert said in str(caught.value)
    way, _ = defined(code)
    np.testing.assert_allclose(primad.value(way(X)), run(way))


def run(f: Callable[[Any], Any]) -> Any:
    """Return the value of a function, recorded where values are known."""
    return primad.jvp(f, (X,), (X,))[0]

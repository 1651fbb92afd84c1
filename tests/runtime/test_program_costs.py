"""What laws and planners make of many functions: counts of ops, flops, bytes and predicted seconds, never times.

The numbers are kept in `program_costs.json`. Each may fall and must not rise; where one is to rise on purpose, or to
stay lower, `python -m tests.runtime.test_program_costs` writes them anew. Of the same ops, predicted seconds and the
kinds of native instructions are the same: nothing else says when a digit of the model is another one, or when a loop
does more than it must.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.node import Leaf
from primad.ir.program import Program
from primad.native.llvm import vectors
from primad.native.module.outlined_text import text_of
from primad.numpy.special import logsumexp, softmax
from primad.runtime.cost_model import Machine, as_one_function, by_steps
from primad.runtime.plan.compiled_program import written_program
from primad.runtime.plan.interpreter import Plan
from primad.scipy.linalg import expm
from primad.simplify import simplify

KEPT = Path(__file__).with_name("program_costs.json")
SPEEDS = Machine(7.0e10, 4.0e10, 9.0e9, 3.0e-10, 6.0e-9, 4.0e-7, 1.5e-10, 1.1e-9)

Function = Callable[..., Any]


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


X, Y, S, M, W = normal(12), normal(12, seed=1), normal(6, 6), normal(20, 6), normal(6, 6, seed=2)
SPD = M.T @ M + np.eye(6)
STACK = np.stack([np.cov(normal(25, 60, seed=seed)) for seed in (0, 1)])
PLACES = np.array([3, 1, 1, 0, 7, 5])


def network(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(np.tanh(x @ w) @ w + 0.5) ** 2)


def steps(x: Any, w: Any) -> Any:
    return primad.scan(lambda h, row: (np.tanh(h @ w + row), np.sum(h)), x[0], x)[1][-1]


def newton(x: Any) -> Any:
    return primad.while_loop(lambda r: np.any(abs(r * r - x) > 1e-9), lambda r: 0.5 * (r + x / r), x, max_steps=60)


def exponentials(x: Any) -> Any:
    """A loop over an op that has no native code."""
    return primad.fori_loop(0, 2, lambda i, h: 0.1 * expm(h), x)


def energy(x: Any) -> Any:
    distances = np.sum((x[:, None] - x) ** 2, axis=-1) + 0.1
    return np.sum(1.0 / distances**3 - 1.0 / distances)


def attention(x: Any, w: Any) -> Any:
    return np.sum((softmax((x @ w) @ x.T, axis=-1) @ x) ** 2)


def unrolled(x: Any) -> Any:
    for _ in range(9):
        x = x + 0.1 * np.sin(x[::-1]) * np.cos(x)
    return np.sum(x)


VALUES: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "network": (network, (W, M)),
    "network in single precision": (network, (W.astype("f"), M.astype("f"))),
    "polynomial": (lambda x: np.sum(x**3 - 2.0 * x**2 + x / (1.0 + x * x) - x**2.5), (abs(X),)),
    "chain": (lambda x, y: np.sum(np.exp(np.sin(x * y) + np.sqrt(1.0 + x**2)) * np.log1p(y**2)), (X, Y)),
    "powers": (lambda x, y: np.sum(x**y + x**3.5 + x**7 + 2.0**y), (abs(X), Y)),
    "choices": (lambda x, y: np.sum(np.where(x > y, np.maximum(x, 0.0), np.minimum(y, x * y)) * abs(x)), (X, Y)),
    "sums of products": (lambda a, b: np.sum(np.einsum("ij,jk,kl->il", a, b, a) * (a @ b).T), (S, W)),
    "a sum of a product": (lambda a, b: np.sum(a @ b) + np.trace(a @ b) + np.sum((a @ b)[0]), (S, W)),
    "slices and joins": (
        lambda x: np.sum(np.concatenate([x[1:] - x[:-1], x[::2] * 2.0, np.pad(x, 2)[1:4]]) ** 2),
        (X,),
    ),
    "rows at indices": (lambda m: np.sum(np.tanh(m)[PLACES] @ m[2]), (M,)),
    "cumulative": (lambda x: np.sum(np.cumsum(x) * np.cumprod(np.cos(x))) + np.max(x), (X,)),
    "sorted": (lambda x: np.sum(np.sort(x)[:4] * np.arange(4.0)) + np.median(x), (X,)),
    "statistics": (lambda m: np.sum(np.var(m, axis=0) / (1.0 + np.mean(m, axis=0) ** 2)) + logsumexp(m), (M,)),
    "solve": (lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (SPD, X[:6])),
    "determinants": (lambda a: np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a)), (SPD,)),
    "a factor": (lambda a: np.sum(np.linalg.cholesky(a) @ X[:6]), (SPD,)),
    "eigenvalues": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), (SPD,)),
    "large factors": (lambda a: np.sum(np.linalg.inv(a)) + np.sum(np.linalg.cholesky(a)), (STACK,)),
    "least squares": (lambda a: np.sum(np.linalg.lstsq(a, M[:, 0])[0]), (M + 1.0,)),
    "a spectrum": (lambda x: np.sum(abs(np.fft.rfft(x)) ** 2), (X,)),
    "windows": (lambda x: np.sum(primad.nn.conv(x, normal(2, 1, 3, 3)) ** 2), (normal(1, 1, 8, 8),)),
    "loop": (steps, (M, W)),
    "loops in a loop": (lambda a: primad.fori_loop(0, 3, lambda i, h: np.sin(exponentials(h)), a), (0.1 * S,)),
    "loop until": (lambda x: np.sum(newton(x)), (abs(X) + 1.0,)),
    "branches": (lambda x: primad.cond(x[0] > 0, lambda: np.sum(np.sin(x)), lambda: np.sum(x**2)), (X,)),
    "checkpoint": (lambda w, x: primad.checkpoint(network)(w, np.tanh(x)), (W, M)),
    "pairs": (energy, (normal(15, 3),)),
    "attention": (attention, (M, W)),
    "unrolled steps": (unrolled, (X,)),
    "members": (lambda m: np.sum(primad.vmap(lambda r: np.prod(np.cos(r)) / np.linalg.norm(r))(m)), (M,)),
    "many": (lambda m: np.sum(np.exp(m) * m), (normal(90, 90),)),
}


def product_with(function: Function, arguments: tuple[Any, ...]) -> Function:
    tangents = tuple([np.cos(x) for x in arguments])
    gradient = primad.grad(function, tuple(range(len(arguments))))
    return lambda *xs: primad.jvp(gradient, xs, tangents)[1]


def laplacian_of(function: Function, arguments: tuple[Any, ...]) -> Function:
    """In the last argument, which is a vector."""
    return lambda *xs: np.trace(primad.hessian(lambda x: function(*xs[:-1], x))(xs[-1]))


FORMS: dict[str, Callable[[Function, tuple[Any, ...]], Function]] = {
    "value": lambda f, xs: f,
    "gradient": lambda f, xs: primad.grad(f, tuple(range(len(xs)))),
    "product": product_with,
    "laplacian": laplacian_of,
}
FORWARD = ("loop until", "loops in a loop")
"""Functions without a gradient."""
FEW = ("polynomial", "chain", "unrolled steps", "solve")
"""Functions of which a Laplacian is taken, too."""
CASES = [
    (name, form)
    for name in VALUES
    for form in FORMS
    if not (name in FORWARD and form != "value") and (form != "laplacian" or name in FEW)
]


def instructions(program: Program) -> str | None:
    """Count the instructions of a program as one native function, by their kinds; None where it is none."""
    text = text_of(written_program(program))
    if text is None:
        return None
    kinds = re.findall(r"^ +(?:%[\w.]+ = )?(\w+)", text.functions, re.MULTILINE)
    counts = sorted(Counter(kinds).items())
    return f"{' '.join(f'{count} {kind}' for kind, count in counts)}, {text.scratch} bytes"


def costs(name: str, form: str) -> dict[str, Any]:
    function, arguments = VALUES[name]
    program = simplify(primad.trace(FORMS[form](function, arguments))(*arguments).hoisted())
    cost, plan = program.cost(), Plan(program)
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    alone, together = by_steps(nodes, SPEEDS), as_one_function(program, SPEEDS)
    return {
        "ops": len(nodes), "flops": cost.flops, "matmul flops": cost.matmul_flops, "bytes": cost.bytes,
        "peak bytes": plan.peak_bytes, "steps": len(plan._units), "seconds": plan.predicted(SPEEDS).total,
        "seconds by steps": alone.total, "seconds in one function": together.total,
        "instructions": instructions(program),
    }  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "form"), CASES)
def test_costs_do_not_rise(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "WIDTH_BYTES", 32)
    found, kept = costs(name, form), json.loads(KEPT.read_text(encoding="utf-8"))[f"{name}, {form}"]
    counts = [what for what in found if not what.startswith(("seconds", "instructions"))]
    for what in counts:
        assert found[what] <= kept[what], what
    if all(found[what] == kept[what] for what in counts):
        assert found.pop("instructions") == kept.pop("instructions")
        assert found == pytest.approx(kept, rel=1e-3)


if __name__ == "__main__":
    vectors.WIDTH_BYTES = 32
    rows = [f"{json.dumps(f'{name}, {form}')}: {json.dumps(costs(name, form))}" for name, form in CASES]
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")

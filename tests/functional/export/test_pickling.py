"""What pickles, by name or as programs: sent to a spawned process, it computes there what it computes here."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import pickletools
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.functional.parsing import known_ops
from tests.sweeps import thinned

X = np.array([0.5, 1.0, 2.0])
LARGE = np.linspace(0.0, 1.0, 40)


@dataclass(frozen=True)
class State:
    a: Any
    b: Any


Pair = namedtuple("Pair", ["first", "second"])


def energy(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def step(x: Any, power: int, velocity: Any) -> Any:
    return {"x": x + velocity**power, "kept": State(x, velocity)}


@primad.jit
def decorated(x: Any) -> Any:
    return x * 2.0 + np.sum(x)


class Holder:
    @primad.jit
    def method(self) -> Any:
        return np.sum(X)


named_lambda = primad.jit(lambda x: np.exp(-x))
softened = primad.elementwise("softened", numpy=lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
table = primad.opaque(lambda x: np.interp(x, X, X**2), result=lambda x: x, vmap="vectorized")


@primad.custom_jvp
@primad.opaque(result=lambda x: x)
def looked_up(x: Any) -> Any:
    return np.interp(x, X, X**2)


@looked_up.defjvp
def _rule(primals: Any, tangents: Any) -> Any:
    return looked_up(*primals), 2 * primals[0] * tangents[0]


@primad.custom_vjp
def clipped(x: Any) -> Any:
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


def twice(x: Any) -> Any:
    return 2 * x


def same(x: Any) -> Any:
    return x


def called(function: Any, *arguments: Any) -> Any:
    """Return a jitted function without a name, after it was called."""
    for args in arguments:
        function(*args)
    return function


def weights(x: Any) -> Any:
    large = LARGE + 1.0
    return primad.jit(lambda x: np.sum(large[: x.size] * x) * 3.0)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "jit of a function": (lambda: primad.jit(energy), lambda f: f(X)),
    "a decorated function": (lambda: decorated, lambda f: f(X)),
    "a method": (lambda: Holder.method, lambda f: f.__qualname__),
    "a lambda with a name": (lambda: named_lambda, lambda f: f(X)),
    "jit with options": (
        lambda: primad.jit(step, 1, donate=0, threads=1),
        lambda f: [(found := f(x := X.copy(), 2, X)), found["x"] is x or found["kept"].a is x],
    ),
    "jit of a lambda": (lambda: called(primad.jit(lambda x: np.sum(x * 3.0)), (X,)), lambda f: f(X)),
    "jit of a lambda for several types": (
        lambda: called(primad.jit(lambda x, n=1: {"y": x * n}), (X,), (X.astype("f"), 2.0), (2, 3)),
        lambda f: [f(X), f(X.astype("f"), 2.0), f(2, 3)],
    ),
    "jit of a closure over a large array": (lambda: called(weights(X), (LARGE,)), lambda f: f(LARGE)),
    "jit of a lambda, differentiated": (
        lambda: called(primad.jit(lambda x: np.sum(softened(x))), (X,)),
        lambda f: primad.grad(f)(X),
    ),
    "grad": (lambda: primad.grad(energy), lambda f: f(X)),
    "value_and_grad": (lambda: primad.value_and_grad(function=energy, argnums=(0,)), lambda f: f(X)),
    "jit of vmap of grad": (lambda: primad.jit(primad.vmap(primad.grad(energy), 1, 1)), lambda f: f(np.outer(X, X))),
    "jit of grad of a lambda": (
        lambda: called(primad.jit(primad.grad(lambda x: np.sum(x**3))), (X,)),
        lambda f: f(X),
    ),
    "jacobian": (lambda: primad.jacobian(np.sin), lambda f: np.asarray(f(X))),
    "jacfwd and jacrev": (lambda: [primad.jacfwd(twice), primad.jacrev(twice)], lambda f: [f[0](X), f[1](X)]),
    "hessian": (lambda: primad.hessian(energy), lambda f: np.trace(f(X))),
    "laplacian": (lambda: primad.laplacian(energy), lambda f: f(X)),
    "derivative": (lambda: primad.derivative(np.sin, 3), lambda f: f(X)),
    "checkpoint": (lambda: primad.grad(primad.checkpoint(energy)), lambda f: f(X)),
    "jit of an op": (lambda: primad.jit(primad.ops.sin), lambda f: f(X)),
    "a user's op": (lambda: softened, lambda op: primad.grad(lambda x: np.sum(op(x)))(X)),
    "a program": (lambda: primad.trace(energy)(X), lambda p: [p(X), str(p)]),
    "a program of trees": (
        lambda: primad.trace(lambda s, p: {"z": s.a * 2.0, "a": Pair(s.b, [p.second])})(State(X, 1), Pair(2.0, X)),
        lambda p: p(State(X, 1), Pair(2.0, X)),
    ),
    "a program with arrays and ops": (
        lambda: primad.trace(lambda x: table(np.sum(LARGE) * softened(x) + np.array([1.0, np.nan, -0.0])))(X),
        lambda p: p(X),
    ),
    "a program that holds programs": (
        lambda: primad.trace(lambda x: primad.hessian(lambda y: np.sum(LARGE[:3] * y**3))(x) @ x)(X),
        lambda p: p(X),
    ),
    "a jitted program": (lambda: primad.jit(primad.trace(energy)(X)), lambda f: f(X)),
    "a lazy Jacobian": (lambda: primad.jacobian(lambda x: np.sin(x) * LARGE[:3])(X), lambda j: [j @ X, np.asarray(j)]),
    "a lazy Hessian": (lambda: primad.hessian(energy)(X), lambda h: [np.trace(h), h.shape]),
    "a transposed Jacobian": (lambda: primad.jacobian(np.outer)(X, X).T, lambda j: [j.shape, np.asarray(j), j.T[0, 0]]),
    "a computed Hessian": (lambda: computed(primad.hessian(energy)(X)), lambda h: [str(h), np.asarray(h)]),
    "an opaque function": (lambda: table, lambda f: primad.vmap(f)(X)),
    "an opaque function without a name": (lambda: primad.opaque(twice, result=same), lambda f: primad.jit(f)(X)),
    "a function with a JVP": (lambda: looked_up, lambda f: primad.grad(f)(1.5)),
    "a function with a VJP": (lambda: primad.grad(clipped), lambda f: f(1.5)),
    "types": (lambda: {primad.ArrayType((3,), float): 1}, lambda d: d[primad.ArrayType((3,), float)]),
}  # fmt: skip


def computed(lazy: Any) -> Any:
    np.asarray(lazy)
    return lazy


def outcome(use: Callable[[Any], Any], thing: Any) -> Any:
    return pickle.dumps(use(thing))


def work(names_and_bytes: list[tuple[str, bytes]]) -> list[Any]:
    """Run in the other process: read each thing and use it."""
    found: list[Any] = []
    for name, data in names_and_bytes:
        try:
            found.append(CASES[name][1](pickle.loads(data)))
        except Exception as error:  # told there, raised here
            found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, Any]:
    """What a spawned process makes of all cases."""
    sent = [(name, pickle.dumps(make())) for name, (make, _) in CASES.items()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return dict(zip(CASES, pool.apply(work, (sent,)), strict=True))


def equal(x: Any, y: Any) -> None:
    x_leaves, x_tree = primad.recording.tree.flatten(x)
    y_leaves, y_tree = primad.recording.tree.flatten(y)
    assert x_tree == y_tree
    for one, other in zip(x_leaves, y_leaves, strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", CASES)
def test_in_a_spawned_process(case: str, elsewhere: dict[str, Any]) -> None:
    make, use = CASES[case]
    expected = use(make())
    equal(elsewhere[case], expected)


COPIES: dict[str, Callable[[Any], Any]] = {
    "oldest protocol": lambda thing: pickle.loads(pickle.dumps(thing, 2)),
    "newest protocol": lambda thing: pickle.loads(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)),
    "twice": lambda thing: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(thing)))),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


@pytest.mark.one_in(4)
@thinned(3, case=list(CASES), way=list(COPIES))
def test_here_and_copied(case: str, way: str) -> None:
    make, use = CASES[case]
    expected = use(make())
    equal(use(COPIES[way](make())), expected)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", CASES)
def test_pickles_name_only_what_imports_find(case: str) -> None:
    """No code is in them, and what they call is primad's constructors, NumPy's, and what looks names up."""
    allowed = ("primad.", "numpy", "functools partial", "pkgutil resolve_name", "__builtin__ getattr", "_codecs encode")
    strings: list[str] = []
    for op, value, _ in pickletools.genops(pickle.dumps(CASES[case][0](), 2)):
        if op.name == "GLOBAL":
            strings.append(value)
    assert all(value.startswith((*allowed, __name__)) for value in strings), strings


def test_every_op_is_found_by_its_name() -> None:
    for op in known_ops().values():
        assert pickle.loads(pickle.dumps(op)) is op


def test_methods_stay_methods() -> None:
    assert primad.recording.tree.leaves(Holder().method) and repr(Holder.method) == "<primad.jit of Holder.method>"
    bound: Any = Holder().method
    with pytest.raises(primad.TracingError, match="argument of type Holder cannot be traced"):
        bound()


SCRIPT = """
import multiprocessing, numpy as np, primad
@primad.jit
def decorated(x): return np.sum(x * x)
named = primad.jit(primad.grad(lambda x: np.sum(x**3)))
def plain(x): return np.cos(x)
@primad.custom_jvp
@primad.opaque(result=lambda x: x)
def ruled(x): return 2 * x
def work(function): return function(np.arange(3.0))
if __name__ == "__main__":
    guarded = primad.jit(lambda x: x + 1)
    guarded(np.arange(3.0))
    sent = [decorated, named, primad.vmap(primad.grad(plain)), guarded, ruled]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([np.round(found, 3).tolist() for found in pool.map(work, sent)])
"""


def test_functions_of_a_script(tmp_path: Path) -> None:
    """Also those that the script gives a name only where it is not imported, if they were called."""
    (tmp_path / "script.py").write_text(SCRIPT)
    root = str(Path(primad.__file__).parent.parent)
    command = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": root}, check=False
    )
    assert done.stdout == "[5.0, [0.0, 3.0, 12.0], [-0.0, -0.841, -0.909], [1.0, 2.0, 3.0], [0.0, 2.0, 4.0]]\n", (
        done.stderr
    )


# -- what does not pickle ----------------------------------------------------------------------------------------------


def inside(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: primad.jit(lambda x: (pickle.dumps(make(x)), x)[1])(X)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a jitted lambda that was not called": (
        lambda: primad.jit(lambda x: x),
        r"primad.jit of \S*<lambda> cannot be pickled\n(.|\n)*after it was called, or a program: primad.trace\(f\)",
    ),
    "with static arguments": (
        lambda: called(primad.jit(lambda x, n: x * n, 1), (X, 2)),
        "programs, of calls without static arguments",
    ),
    "grad of a lambda": (lambda: primad.grad(lambda x: x), "primad.grad of .*define it at the top of a module"),
    "a rule inside a function": (
        lambda: primad.custom_jvp(lambda x: x),
        "the function <lambda>, which has a rule of its own, cannot be pickled",
    ),
    "an opaque lambda": (lambda: primad.opaque(lambda x: x, result=same), "the opaque function opaque cannot be"),
    "an opaque function with a lambda for its types": (
        lambda: primad.opaque(twice, result=lambda x: x),
        "the opaque function twice cannot be",
    ),
    "an op inside a function": (
        lambda: primad.elementwise("nameless", numpy=np.sin, partials=[lambda out, x: np.cos(x)]),
        "the op nameless cannot be pickled",
    ),
    "an op with the name of another": (
        lambda: primad.trace(primad.composite("sin", numpy=np.cos, lower=lambda x: np.cos(x)))(X),
        "applies your op sin cannot be pickled",
    ),
    "a program with a rule": (lambda: primad.trace(looked_up)(1.0), "applies custom_jvp with looked_up cannot be"),
    "a lazy matrix with a rule": (lambda: primad.jacobian(primad.vmap(looked_up))(X), "with looked_up cannot be"),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_pickled_says_why_and_the_way_out(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(primad.TracingError, match=f"(?s){message}") as caught:
        pickle.dumps(make())
    assert "Fix: " in str(caught.value)


def test_traced_arrays_and_programs_that_close_over_them_cannot_be_pickled() -> None:
    with pytest.raises(primad.TracingError, match="a traced array cannot be pickled"):
        inside(lambda x: x)()
    with pytest.raises(primad.TracingError, match="closes over an open trace cannot be pickled"):
        inside(lambda x: primad.trace(lambda y: x * y)(X))()


def test_the_ways_out_work() -> None:
    program = primad.lower(primad.trace(looked_up)(1.0))
    assert pickle.loads(pickle.dumps(program))(1.5) == looked_up(1.5)
    equal(pickle.loads(pickle.dumps(primad.trace(primad.grad(lambda x: np.sum(x**2)))(X)))(X), 2 * X)


def test_programs_sent_for_a_lambda_know_their_types_only() -> None:
    f = pickle.loads(pickle.dumps(called(primad.jit(lambda x, n: x * n), (X.astype("f"), 2.0))))
    assert f(X.astype("f"), 3.0).dtype == np.float32
    for x, n in ((X, 2.0), (X[:2].astype("f"), 2.0), (X.astype("f"), np.float64(2.0))):
        with pytest.raises(primad.ShapeError, match=r"read from a pickle got arguments of types(?s:.)*float32\[3\]"):
            f(x, n)
    wide = pickle.loads(pickle.dumps(called(primad.jit(lambda x, n: x * n), (X, 2.0))))
    equal(wide(X, np.float64(2.0)), 2 * X)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("a program")])
def test_programs_keep_their_lines(case: str) -> None:
    program = CASES[case][0]()
    again = pickle.loads(pickle.dumps(program))
    assert again.text(lines=True) == program.text(lines=True) and "# " in again.text(lines=True)


def test_values_taken_when_recorded_are_those_that_are_sent() -> None:
    w = LARGE.copy()
    f = called(primad.jit(lambda x: x * w), (LARGE,))
    w[:] = 0.0
    equal(pickle.loads(pickle.dumps(f))(LARGE), LARGE**2)


def test_a_name_that_means_another_function_now_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    f = primad.jit(twice)
    g = primad.jit(globals()["twice"])
    monkeypatch.setitem(globals(), "twice", same)
    for unnamed in (f, g):
        with pytest.raises(primad.TracingError, match="of twice cannot be pickled"):
            pickle.dumps(unnamed)


def test_names_in_other_modules_are_looked_at_without_running_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deprecated:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

    monkeypatch.setitem(globals(), "deprecated", Deprecated())
    with pytest.raises(primad.TracingError, match="cannot be pickled"):
        pickle.dumps(primad.jit(lambda x: x))


def test_errors_keep_their_words_in_another_process():
    with pytest.raises(primad.MatrixError) as raised:
        primad.jit(primad.numpy.linalg.cholesky)(-np.eye(2))
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is primad.MatrixError
    assert str(again) == str(raised.value) and again.what == raised.value.what

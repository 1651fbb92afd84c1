"""`import autograd` that finds primad for one process, and names that are missing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.compat import autograd
from primad.compat.autograd import core, extend, test_util, tracer, util, wrap_util

ROOT = Path(__file__).parents[2]


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "primad.compat.autograd", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


PROGRAM = """
import sys
import autograd.numpy as np
import autograd, autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam
from helper import double
assert autograd.numpy is np and np.__name__ == "primad.compat.autograd.numpy" and norm.cdf(0.0) == 0.5
print(sys.argv[1:], __name__, grad(lambda x: np.sin(double(x)))(0.0))
try:
    import autograd.scipy.ndimage
except ModuleNotFoundError as error:
    print(error)
"""


def test_a_script_runs_unchanged_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("from autograd import primitive\n\ndef double(x):\n    return 2.0 * x\n")
    found = run(str(tmp_path / "program.py"), "one", "-two")
    assert found.returncode == 0, found.stderr
    values, missing = found.stdout.splitlines()
    assert values == "['one', '-two'] __main__ 2.0"
    assert missing.startswith("No module named 'autograd.scipy.ndimage': primad.compat.autograd stands for autograd")


def test_the_command_says_how_it_is_used() -> None:
    from primad.compat.autograd.__main__ import main

    assert main([]) == main(["-m"]) == 2 and main(["--help"]) == 0


def test_install_is_refused_after_autograd_itself_and_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    finders = [x for x in sys.meta_path if not type(x).__module__.startswith("primad.")]  # of tests before this one
    monkeypatch.setattr(sys, "meta_path", finders)
    monkeypatch.setitem(sys.modules, "autograd", type(sys)("autograd"))
    with pytest.raises(primad.TracingError, match="imported before"):
        autograd.install()
    monkeypatch.delitem(sys.modules, "autograd")
    before = len(sys.meta_path)
    autograd.install()
    autograd.install()
    assert len(sys.meta_path) == before + 1


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        ("tracer", "sum_outgrads", "a part of autograd's tape"),
        ("core", "primitive_vjps", "a part of autograd's tape"),
        ("extend", "SparseObject", "a part of autograd's tape"),
        ("util", "topsort", "did you mean toposort"),
        ("numpy", "hypott", "did you mean hypot"),
        ("numpy.linalg", "choleski", "did you mean cholesky"),
        ("scipy.special", "gamaln", "did you mean gammaln"),
        ("scipy.stats", "nrom", "did you mean norm"),
        ("differential_operators", "hesian", "did you mean hessian"),
        ("builtins", "lst", "did you mean list"),
    ],
)
def test_a_missing_name_says_so(module: str, name: str, says: str) -> None:
    found = primad.compat.autograd
    for part in module.split("."):
        found = getattr(found, part)
    with pytest.raises(AttributeError, match=rf"(?s)primad.compat.autograd.*{name}.*{says}"):
        getattr(found, name)
    assert not hasattr(found, name) and hasattr(found, "__name__")


def test_special_functions_that_are_not_recorded_are_scipys() -> None:
    import scipy.special

    special = importlib.import_module("primad.compat.autograd.scipy.special")
    assert special.tklmbda is scipy.special.tklmbda and special.gammaln is primad.numpy.special.gammaln
    assert autograd.grad(lambda x: special.tklmbda(0.5, 0.3) * x)(1.0) == scipy.special.tklmbda(0.5, 0.3)
    assert autograd.grad(special.psi)(2.0) == scipy.special.polygamma(1, 2.0)
    with pytest.raises(primad.TracingError, match=r"scipy\.special\.tklmbda"):
        autograd.grad(lambda x: special.tklmbda(x, 0.3))(0.5)


def test_checks_find_a_wrong_rule_in_each_mode_and_order() -> None:
    anp = autograd.numpy
    x = np.array([0.4, 1.3])
    test_util.check_grads(lambda x, y: anp.sin(x) * y["a"] ** 2, (0, 1))(x, {"a": x})
    test_util.combo_check(anp.sum, (0,), order=1)([x, x[None]], axis=[0, -1], keepdims=[True, False])
    wrong = extend.primitive(np.sin)
    extend.defvjp(wrong, lambda ans, x: lambda g: 1.01 * g * anp.cos(x))
    extend.defjvp(wrong, lambda g, ans, x: g * anp.cos(x) * 1.01)
    late = extend.primitive(np.sin)
    slope = extend.primitive(np.cos)
    extend.defvjp(slope, lambda ans, x: lambda g: g * anp.sin(x))
    extend.defvjp(late, lambda ans, x: lambda g: g * slope(x))
    for modes in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            test_util.check_grads(wrong, modes=[modes], order=1)(x)
    test_util.check_grads(late, modes=["rev"], order=1)(x)
    with pytest.raises(AssertionError, match=r"\(VJP\) check of vjp_sin failed"):
        test_util.check_grads(late, modes=["rev"])(x)


# -- rules -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jit", "jacobian"])
def test_a_rule_is_called_once_for_a_cotangent_with_plain_arrays(transform: str) -> None:
    seen: list[Any] = []
    cube = extend.primitive(lambda x: x**3)
    extend.defvjp(cube, lambda ans, x: lambda g: seen.append((type(ans), type(x), type(g))) or 3.0 * g * x**2)
    derivative = {
        "grad": autograd.grad(lambda x: autograd.numpy.sum(cube(x))),
        "value_and_grad": lambda x: autograd.value_and_grad(lambda x: autograd.numpy.sum(cube(x)))(x)[1],
        "jit": primad.jit(primad.grad(lambda x: autograd.numpy.sum(cube(x)))),
        "jacobian": lambda x: np.diagonal(autograd.jacobian(cube)(x)),
    }[transform]
    for count in (1, 2, 3):
        x = np.array([0.5, 2.0]) * count
        np.testing.assert_allclose(derivative(x), 3.0 * x**2)
        assert seen == [(np.ndarray,) * 3] * count * (2 if transform == "jacobian" else 1)


def test_a_rule_is_recorded_where_its_own_derivative_is_taken() -> None:
    kinds: list[bool] = []
    cube = extend.primitive(lambda x: x**3)
    extend.defvjp(cube, lambda ans, x: lambda g: kinds.append(tracer.isbox(x)) or 3.0 * g * x**2)
    unboxed = extend.primitive(lambda x: x**3)
    extend.defvjp(unboxed, lambda ans, x: lambda g: 3.0 * g * float(x) ** 2)
    assert autograd.grad(autograd.grad(cube))(2.0) == 12.0 and True in kinds
    assert autograd.grad(unboxed)(2.0) == 12.0
    with pytest.raises(primad.TracingError, match="float"):  # an error, never a zero
        autograd.grad(autograd.grad(unboxed))(2.0)


@pytest.mark.parametrize("kind", ["defvjp", "defjvp"])
def test_rules_that_depend_on_more_than_their_arguments_are_not_taken_for_what_they_were(kind: str) -> None:
    factor = 1.0
    square = extend.primitive(lambda x: x**2)
    if kind == "defvjp":
        extend.defvjp(square, lambda ans, x: lambda g: g * factor * x)
    else:
        extend.defjvp(square, lambda g, ans, x: g * factor * x)
    first, second = autograd.grad(square), autograd.grad(autograd.grad(square))
    for factor in (2.0, 3.0, 4.0):
        assert first(5.0) == 5.0 * factor and second(5.0) == factor


def test_many_kinds_of_calls_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extend, "MOST_FORMS", 4)
    apply = extend.primitive(lambda x, f: f(x))
    extend.defvjp(apply, lambda ans, x, f: lambda g: 2.0 * g, None)
    for factor in range(extend.MOST_FORMS + 3):
        assert autograd.grad(lambda x, k=factor: apply(x, lambda x: x * 2.0 + k * 0.0))(1.0) == 2.0
    assert len(apply._made) <= extend.MOST_FORMS


def test_rules_are_for_primitives_and_a_missing_one_is_autograds_error() -> None:
    with pytest.raises(primad.TracingError, match="was not made by primitive"):
        extend.defvjp(np.sin, None)
    with pytest.raises(NotImplementedError, match="no rule for argument 0"):
        autograd.grad(extend.primitive(np.sin))(1.0)
    with pytest.raises(primad.TracingError, match="register"):
        core.VSpace.register(set)


def test_operators_of_one_argument_become_operators_of_several() -> None:
    @wrap_util.unary_to_nary
    def twice(fun: Any, x: Any, factor: float = 1.0) -> Any:
        return factor * fun(fun(x))

    f = lambda x, y, z=1.0: x + y * z  # noqa: E731
    assert twice(f, 0, 2.0)(1.0, 10.0) == 42.0 and twice(f, 1)(1.0, 10.0, z=3.0) == 94.0
    assert twice(f).__name__ == "twice_of_<lambda>_wrt_argnum_0" and twice.__name__ == "twice"
    assert util.subvals((1, 2, 3), [(0, 5), (2, 7)]) == (5, 2, 7) and util.subval([1, 2], 1, 0) == (1, 0)

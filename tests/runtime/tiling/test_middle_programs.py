"""Programs of middle size: which run as native functions of all steps, and that these compute the same."""

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.native.llvm import compiler as native
from primad.native.llvm.compile_limits import BUDGET
from primad.runtime.executors import native_executor
from primad.runtime.executors.dispatch import NATIVE
from primad.runtime.executors.executor import PLAIN, Options
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import Partition
from primad.runtime.plan.native_steps import NativePart
from primad.runtime.plan.workspaces import SPARE_WORKSPACES
from primad.runtime.tiling import middle_programs
from primad.runtime.tiling.middle_programs import middle_plan
from primad.scipy import ndimage
from primad.simplify import simplify
from primad.transforms.lowering import lower

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
RNG = np.random.default_rng(0)


@pytest.fixture
def small(monkeypatch):
    """Take programs for large from a few elements on: they compile and run faster."""
    for name in ("WORTHWHILE_BYTES", "ALONE_WORK", "CALL_ELEMENTS"):
        monkeypatch.setattr(middle_programs, name, 1)
    monkeypatch.setattr(native_executor, "WORTHWHILE_BYTES", 1)


def lowered(function, *args):
    types = [primad.ArrayType(x.shape, x.dtype) for x in args]
    return simplify(lower(primad.trace(function)(*types)))


def stencil(u):
    """The total variation of a picture: differences beside each other, which mix both axes."""
    across, down = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return np.sum(np.sqrt(across**2 + down**2 + 1e-3))


def padded(u):
    p = np.pad(u, 1)
    return np.sum(np.tanh(p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u) ** 2)


def rolled(u):
    return np.sum((np.roll(u, 1, 0) - u) ** 4 + np.roll(u, 2, 1) * u)


def summed(u):
    """Means over windows by cumulative sums."""
    c = np.cumsum(np.cumsum(u, 0), 1)
    return np.sum((c[4:, 4:] - c[:-4, 4:] - c[4:, :-4] + c[:-4, :-4]) ** 2)


def spectral(u):
    """A picture that is blurred in Fourier space, and the lengths of its gradients."""
    blurred = np.fft.irfft2(np.fft.rfft2(u) * np.exp(-np.arange(u.shape[1] // 2 + 1.0)), u.shape)
    return np.sum((blurred - u) ** 2) + stencil(u) + stencil(np.tanh(u) * u)


def blocks(x):
    """Residuals of pairs of rows, each coupled by sums over three coordinates."""
    a, b = np.reshape(x, (-1, 3))[::2], np.reshape(x, (-1, 3))[1::2]
    length = np.sqrt(np.sum((a - b) ** 2, axis=1, keepdims=True))
    return np.reshape(np.cross(a, b) / length + np.sum(a * b, axis=1, keepdims=True) * a, (-1,))


def normalised(w, x):
    for each in w:
        x = np.tanh(x @ each)
        x = (x - np.mean(x, 0)) / np.sqrt(np.var(x, 0) + 1e-3)
    return np.sum(x**3)


MIDDLE = {
    "stencil": (primad.grad(stencil), (RNG.normal(size=(40, 33)),)),
    "padded": (primad.grad(padded), (RNG.normal(size=(33, 40)),)),
    "rolled": (primad.value_and_grad(rolled), (RNG.normal(size=(32, 48)),)),
    "summed": (primad.grad(summed), (RNG.normal(size=(30, 40)),)),
    "spectral": (primad.grad(spectral), (RNG.normal(size=(130, 128)),)),
    "blocks": (primad.jacobian(blocks), (RNG.normal(size=60),)),
    "normalised": (primad.grad(normalised), (RNG.normal(size=(2, 12, 12)), RNG.normal(size=(40, 12)))),
}


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("which", MIDDLE)
def test_what_no_axis_holds_runs_as_native_functions(which, monkeypatch):
    """Its values are those of NumPy's definitions, and the same bits in each run."""
    monkeypatch.setattr(middle_programs, "SCRATCH_BYTES", 1000)  # a few rows do not fit
    function, args = MIDDLE[which]
    program = lowered(function, *args)
    plan = NATIVE.prepare(program, PLAIN)
    parts = [unit for unit in plan.units if isinstance(unit, NativePart)]
    alone = [unit for unit in plan.units if not isinstance(unit, NativePart) and not unit.op.memory.views]
    others = sum(unit.type.size for unit in alone if "fft" not in unit.op.name)
    assert parts and 10 * others < sum(part.work for part in parts)
    found, again = plan.run(args), plan.run(args)
    expected = primad.recording.tree.leaves(primad.jit(function, backend="reference")(*args))
    for x, y, z in zip(found, again, expected, strict=True):
        assert np.array_equal(x, y)
        np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-10 * np.max(np.abs(z)))


def coupled(x, times):
    """Rows of three numbers, each coupled by a sum and a product across."""
    for _ in range(times):
        x = np.sin(x) * (np.sum(x * x, axis=1, keepdims=True) + np.cross(x, x + 1.0))
    return x


def test_what_mixes_the_axis_of_tiles_may_come_last():
    """Nearly all is before it then: what comes after runs step by step."""
    points = RNG.normal(size=(20_000, 3))
    last = lowered(lambda x: np.cumsum(coupled(x, 12), axis=0), points)
    middle = lowered(lambda x: coupled(np.cumsum(coupled(x, 6), axis=0), 6), points)
    assert middle_plan(last) is None and middle_plan(middle) is not None


@pytest.mark.usefixtures("small")
def test_what_tiles_hold_stays_in_tiles():
    """An axis along which all lies, one that meets itself, a chain of pointwise ops; loops have plans of their own."""
    points, w = RNG.normal(size=(2000, 2)), RNG.normal(size=(2, 8))
    for function, args in (
        (primad.grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2)), (w, points)),
        (lambda x: np.sum(np.exp(-np.sum((x[:, None] - x[None]) ** 2, -1))), (points[:300],)),
        (lambda x: np.exp(np.sin(x)) * x, (points,)),
        (primad.grad(lambda x: np.sum(primad.scan(lambda c, _: (np.roll(c, 1) * c, None), x, length=9)[0])), (w[0],)),
        (lambda x: np.sum(np.exp(x - np.mean(x, axis=0))), (np.ones((200_000, 4)),)),
    ):
        assert middle_plan(lowered(function, *args)) is None


@pytest.mark.parametrize("length", [600, 4000])
def test_sums_over_neighbours_are_native_however_large(length):
    """BLAS would be given copies of all windows, many times as large as what is read: of one axis, of two, of each."""
    k = RNG.normal(size=(5, 5))
    for function in (
        lambda x: ndimage.convolve(x, k),
        lambda x: ndimage.gaussian_filter(x, 2.0),
        primad.grad(lambda x: np.sum(ndimage.uniform_filter(x, 5) ** 2)),
    ):
        plan = middle_plan(lowered(function, np.broadcast_to(0.0, (length, length))))
        assert plan is not None and all(isinstance(unit, NativePart) for unit in plan.units)


def test_the_size_of_middle_programs(monkeypatch):
    """They are larger than one function that Python calls, and their memory is kept between runs."""
    function = primad.grad(padded)
    program, tiny = lowered(function, np.ones((200, 200))), lowered(function, np.ones((20, 20)))
    assert middle_plan(program) is not None and middle_plan(tiny) is None
    assert middle_plan(lowered(function, np.ones((3000, 3000)))) is None
    for name in ("SHARED_FLOPS", "MOST_WORK"):
        with monkeypatch.context() as patch:
            patch.setattr(middle_programs, name, 1000)
            assert middle_plan(program) is None
    monkeypatch.setattr(SPARE_WORKSPACES, "_limit", 1000)
    assert middle_plan(program) is None


def test_what_is_asked_for_is_done_otherwise():
    """Tiles along an axis, less memory and streams are not for native functions of whole arrays."""
    program = lowered(primad.grad(padded), np.ones((200, 200)))
    for options in (Options(along=(0, 0)), Options(memory=10**9), Options(inner=1)):
        assert middle_plan(program, options) is None
    assert middle_plan(lowered(lambda x: np.sort(x, axis=0) + np.sort(x, axis=1), np.ones((600, 600)))) is None


def test_donated_memory_takes_the_result():
    step = primad.grad(padded)
    x = RNG.normal(size=(200, 200))
    expected = x - 0.1 * step(x)
    given = x.copy()
    found = primad.jit(lambda x: x - 0.1 * step(x), donate=0)(given)
    assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-12)
    assert found is given or np.shares_memory(found, given)


def variation(u):
    """Differences along both axes: of its gradient, zeros stand around values along either."""
    return np.sum(np.sqrt(np.diff(u, axis=0)[:, :-1] ** 2 + np.diff(u, axis=1)[:-1] ** 2 + 1e-6))


def slopes(u):
    return sum(np.sum(slope**2) for slope in np.gradient(u))


@pytest.mark.parametrize("function", [variation, slopes], ids=lambda f: f.__name__)
def test_gradients_of_differences_along_two_axes_are_in_boxes(function):
    """Pieces along both axes are computed of the picture, so that less lies in memory: with the same bits."""
    u = RNG.normal(size=(400, 500))
    program = lowered(primad.grad(function), u)
    plan = middle_plan(program)
    (part,) = [unit for unit in plan.units if isinstance(unit, NativePart)]
    assert part.scratch < Partition(program).scratch
    np.testing.assert_array_equal(plan.run([u])[0], middle_programs.Plan(program).run([u])[0])


ALONG = {
    "gradient": lambda u, axis: np.gradient(u, axis=axis),
    "of gradients": lambda u, axis: np.gradient(np.gradient(u, axis=axis), axis=axis),
    "diff": lambda u, axis: np.diff(u, axis=axis),
    "rolled": lambda u, axis: np.roll(u, 1, axis=axis) - u,
    "joined": lambda u, axis: np.concatenate([np.diff(u, axis=axis), np.diff(u, 2, axis=axis)], axis=axis),
    "in windows": lambda u, axis: np.swapaxes(np.swapaxes(u, 0, axis)[3:] - np.swapaxes(u, 0, axis)[:-3], 0, axis),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ALONG)
def test_gradients_of_differences_along_any_axis_are_one_pass(name, axis, dtype):
    """Nothing lies in memory between the picture and the gradient, which has the bits of the steps one by one."""
    u = RNG.normal(size=(60, 70, 80)).astype(dtype)
    program = lowered(primad.grad(lambda u: np.sum(ALONG[name](u, axis) ** 2)), u)
    plan = middle_plan(program)
    (part,) = [unit for unit in plan.units if isinstance(unit, NativePart)]
    assert part.scratch == 0
    np.testing.assert_array_equal(plan.run([u])[0], middle_programs.Plan(program).run([u])[0])


@pytest.mark.parametrize("axis", [0, 1])
def test_values_beside_gradients_are_sums_of_pieces(axis):
    """A sum of a joined value is one of its pieces' sums: of what is summed, nothing else lies in memory."""
    u = RNG.normal(size=(500, 600))
    program = lowered(primad.value_and_grad(lambda u: np.sum(np.gradient(u, axis=axis) ** 2)), u)
    plan = middle_plan(program)
    (part,) = [unit for unit in plan.units if isinstance(unit, NativePart)]
    assert part.scratch < 1.1 * u.nbytes
    value, slope = plan.run([u])
    expected = middle_programs.Plan(program).run([u])
    np.testing.assert_allclose(value, expected[0], rtol=1e-14)
    np.testing.assert_array_equal(slope, expected[1])


def test_functions_of_elements_stay_in_tiles():
    """Threads share them, as they do not share a pass."""
    u = RNG.normal(size=(800, 900))
    assert middle_plan(lowered(primad.grad(lambda u: np.sum(np.cos(u) * np.gradient(u, axis=0))), u)) is None


def test_boxes_that_save_no_memory_are_only_more_loops():
    program = lowered(primad.grad(rolled), RNG.normal(size=(300, 400)))
    assert middle_plan(program).program is program


def test_an_axis_that_comes_apart_holds_nothing_by_itself():
    """The gradient of steps on matrices, whose first part could be split but not cut, is one native function."""

    def best_path(weights, entries):
        best = entries[0]
        for entry in entries[1:]:
            best = np.max(best[:, None] + weights, axis=0) + entry
        return np.max(best)

    program = lowered(primad.grad(best_path), RNG.normal(size=(80, 80)), RNG.normal(size=(18, 80)))
    assert [type(unit) for unit in middle_plan(program).units] == [NativePart]


@pytest.mark.parametrize("unit", [1.0, 1j])
def test_many_ops_on_small_arrays_are_native_functions(unit, monkeypatch):
    """Tiles of a few elements would only be more calls: a long program of small arrays runs natively as it is."""
    monkeypatch.setattr(middle_programs, "WORTHWHILE_BYTES", 1000)

    def loss(x, numbers):
        a, b = x + 0.0 * unit, x * unit
        for i in range(6):  # steps of three kinds in no order
            a, b = a * np.cos(numbers[i] * b) + 0.1 * b, b - 0.1 * unit * a
            a, b = (a, b * b) if i in (1, 2) else (b, a) if i == 4 else (a / (1.0 + b * b), b)
        return np.sum(np.abs(a + b) ** 2)

    x, numbers = np.linspace(0.1, 1.0, 40), np.linspace(0.2, 0.4, 6)
    program = lowered(primad.value_and_grad(loss, 1), x, numbers)
    plan = middle_plan(program)
    assert plan is not None
    assert {type(unit) for unit in plan.units} >= {NativePart}
    for found, wanted in zip(plan.run([x, numbers]), Plan(program).run([x, numbers]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    monkeypatch.setattr(middle_programs, "CALL_ELEMENTS", 30)
    assert middle_plan(program) is None  # as the arrays are large, the axis holds all in tiles


@pytest.mark.usefixtures("small")
def test_differences_of_neighbours_are_native_however_large(monkeypatch):
    """In tiles every array that is shifted along them would be whole in memory; functions of elements stay there."""
    monkeypatch.setattr(middle_programs, "MOST_WORK", 1)

    def laplacian(u):
        return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]

    u = RNG.normal(size=(30, 40))
    program = lowered(primad.value_and_grad(lambda u: np.sum(laplacian(u) ** 2)), u)
    plan = middle_plan(program)
    assert plan is not None and all(isinstance(unit, NativePart) for unit in plan.units)
    for found, wanted in zip(plan.run([u]), Plan(program).run([u]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert middle_plan(lowered(primad.grad(lambda u: np.sum(np.exp(laplacian(u)))), u)) is None
    assert middle_plan(lowered(primad.grad(lambda u: np.sum((laplacian(u) @ laplacian(u).T) ** 2)), u)) is None
    turned = lowered(lambda u: np.sum((u[::-1] - u) ** 2 + u[:, ::-1] * u), u)
    assert middle_plan(turned) is None  # nothing is padded
    monkeypatch.setattr(
        middle_programs, "BUDGET", replace(BUDGET, uninterrupted=1)
    )  # it would not be interrupted in time
    assert middle_plan(program) is None


def scaled(x, steps):
    """Sinkhorn's scaling: a matrix of all pairs, steps on it, and passes over it and its transpose around them."""
    cost = np.sum((x[:, None] - x[None]) ** 2, 2)
    kernel = np.exp(-cost)
    v = primad.scan(lambda v, _: (1.0 / (kernel.T @ (1.0 / (kernel @ v))), None), x[:, 0] ** 2, length=steps)[0]
    return np.sum((1.0 / (kernel @ v))[:, None] * kernel * cost * v[None])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("dtype", "n"), [(np.float64, 160), (np.float32, 200), (np.float64, 240)])
def test_what_stands_around_loops_is_native(dtype, n):
    """Loops that make a program too long for one function run alone, and nothing else runs step by step on arrays."""
    x = np.random.default_rng(n).normal(size=(n, 2)).astype(dtype)
    f = primad.value_and_grad(lambda x: scaled(x, 60))
    program = lowered(f, x)
    plan = NATIVE.prepare(program, PLAIN)
    alone = [unit for unit in plan.units if not isinstance(unit, NativePart) and not unit.op.memory.views]
    assert {unit.op.name for unit in alone} <= {"scan", "project"} and len(plan.units) > len(alone)
    expected = Plan(program).run([x])
    for found, wanted in zip(plan.run([x]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype is np.float32 else 1e-10)


def test_loops_that_tiles_go_through_stay_in_them(monkeypatch):
    """A step apart for each point is cut along the points, and little beside a loop is not worth a part."""
    x = RNG.normal(size=(100_000, 4))

    def moved(x):
        def step(c, _):
            return np.sin(c) * np.sum(c, axis=1, keepdims=True), None

        return np.sum(primad.scan(step, np.cos(x) * x, length=4)[0] ** 2)

    through = lowered(primad.grad(moved), x)
    beside = lowered(primad.grad(lambda x: scaled(x, 60)), x[:240, :2])
    assert middle_plan(through) is None and middle_plan(beside) is not None
    assert middle_plan(lowered(primad.grad(lambda x: scaled(x, 60)), x[:40, :2])) is None
    for name, less in (("MOST_WORK", 1000), ("budget_of", lambda memory: 4000)):
        with monkeypatch.context() as patch:
            patch.setattr(middle_programs, name, less)
            assert middle_plan(beside) is None


def heated(u):
    """A step of heat on a cube whose sides are kept at 0."""
    c = u[1:-1, 1:-1, 1:-1]
    near = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:]
    return np.pad(c + 0.1 * (near + u[1:-1, 1:-1, :-2] - 6.0 * c), 1)


def test_loops_that_no_tiles_hold_run_as_the_same_steps_without_a_loop(monkeypatch):
    """Where tiles would go through the steps of a stencil, and each array that is shifted would be whole in memory."""
    monkeypatch.setattr(middle_programs, "MOST_WORK", 1 << 20)
    u = RNG.normal(size=(64, 64, 64))

    def looped(u):
        return np.sum(primad.scan(lambda u, _: (heated(u), None), u, length=6)[0] ** 2)

    def stepped(u):
        for _ in range(6):
            u = heated(u)
        return np.sum(u**2)

    plans = [NATIVE.prepare(lowered(primad.value_and_grad(f), u), PLAIN) for f in (looped, stepped)]
    assert [[type(unit) for unit in plan.units] for plan in plans] == [[NativePart]] * 2
    for found, wanted in zip(*[plan.run([u]) for plan in plans], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)

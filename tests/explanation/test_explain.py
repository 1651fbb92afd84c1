"""`primad.explain`: counts before and after the laws, plans in words, the picture. Times are shown, never tested."""

import itertools
import re
import threading
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

import primad
from primad.errors import TracingError
from primad.explanation.graph_layout import Layered
from primad.explanation.machine_speeds import machine
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.node import INPUT, LITERAL
from primad.native.module import outlined_text
from primad.runtime.cost_model import LAPACK_SECONDS, LATENCY_SECONDS, Machine, Prediction
from primad.runtime.executors.dispatch import NATIVE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.loops import row_streams
from primad.runtime.plan.interpreter import Plan
from primad.simplify import simplify
from primad.system.quantities import count, quantity, seconds, size

SVG = "{http://www.w3.org/2000/svg}"


def network(inputs, width, depth):
    rng = np.random.default_rng(0)
    widths = (inputs, *(width,) * depth, 1)
    pairs = list(itertools.pairwise(widths))
    return [(rng.normal(size=pair) / np.sqrt(pair[0]), rng.normal(size=pair[1])) for pair in pairs]


def u(parameters, x):
    for weights, bias in parameters[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return (x @ weights + bias)[..., 0]


def laplacian(parameters, x):
    return primad.vmap(lambda y: np.trace(primad.hessian(lambda z: u(parameters, z))(y)))(x)


@pytest.fixture(scope="module")
def explained():
    rng = np.random.default_rng(1)
    return primad.explain(laplacian, network(40, 48, 3), rng.normal(size=(32, 40)))


def named(explanation, name):
    return next(stage for stage in explanation.stages if stage.name == name)


def test_sums_over_directions_halve_the_laplacian(explained):
    """1 + 2d vectors become 2 + d: in the inner layers, since seeds need no product in the first one."""
    d, first, inner = 40, 40 * 48, 2 * 48 * 48
    nested, collapsed = [(first + inner * n) / (first + inner + 48) for n in (1 + 2 * d, 2 + d)]
    assert explained.passes(named(explained, LOCAL)) == pytest.approx(nested, rel=0.02)
    assert explained.passes(named(explained, DIRECTIONS)) == pytest.approx(collapsed, rel=0.02)


def test_each_family_only_saves_work(explained):
    flops = [stage.cost.flops for stage in explained.stages]
    assert flops == sorted(flops, reverse=True)
    assert explained.stages[0].program is None
    assert explained.stages[-1].program is explained.plan.program


def test_order_k_takes_k_plus_one_forward_passes():
    def fifth(parameters, x):
        f = lambda y: u(parameters, y)  # noqa: E731
        for _ in range(5):
            f = (lambda g: lambda y: primad.jvp(g, (y,), (np.ones_like(y),))[1])(f)
        return f(x)

    found = primad.explain(fifth, network(2, 32, 3), np.zeros((10, 2)))
    assert found.passes(found.stages[-1]) == pytest.approx(6, rel=0.1)
    assert found.passes(found.stages[0]) > 100


def test_the_forward_pass_is_that_of_the_function_inside(explained):
    weights = 40 * 48 + 2 * 48 * 48 + 48
    assert explained.forward_flops == 2 * 32 * weights


def test_functions_without_matrix_products():
    found = primad.explain(lambda x: primad.grad(lambda y: np.sum(np.sin(y)))(x), np.ones(5))
    assert found.forward_flops == 0
    assert all(found.passes(stage) is None for stage in found.stages)
    assert "forward pass" not in str(found) and "%" not in str(found)
    ElementTree.fromstring(found.svg())


def test_the_report_has_every_part(explained):
    text = str(explained)
    for part in ("primad.explain(laplacian)", "written out", DIRECTIONS, "passes", "plan: ", "peak memory"):
        assert part in text
    assert "predicted" in text and "measured" in text and "% of the machine's matrix-product speed" in text


def test_laws_are_left_out_only_inside_and_only_in_this_thread(explained):
    program = primad.trace(lambda x: np.trace(primad.hessian(lambda y: np.sum(np.sin(y)) ** 2)(x)))(np.ones(3))
    before = primad.simplify(program).cost()
    others = []
    with without(LOCAL, DIRECTIONS):
        plain = primad.simplify(program).cost()
        thread = threading.Thread(target=lambda: others.append(primad.simplify(program).cost()))
        thread.start()
        thread.join()
    assert plain.nodes > before.nodes
    assert others == [before]
    assert primad.simplify(program).cost() == before


def test_programs_without_laws_compute_the_same():
    program = primad.trace(lambda x: primad.grad(lambda y: np.sum(np.tanh(y) * y) ** 2)(x))(np.ones(4))
    with without(LOCAL, DIRECTIONS):
        plain = primad.simplify(program)
    x = np.linspace(0.1, 0.9, 4)
    np.testing.assert_allclose(plain(x), program(x), rtol=1e-13)


# -- plans -------------------------------------------------------------------------------------------------------------


def plan_text(function, *args):
    plan = primad.explain(function, *args).plan
    return plan.summary, [line.strip() for line in plan.details]


def test_plans_in_words():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20_000, 2))
    line, parts = plan_text(lambda p, x: np.mean(u(p, x) ** 2), network(2, 32, 2), points)
    assert "along an axis of 20000" in line and "chunk" in line
    assert any(part.startswith("each tile: ") and "matrix product" in part for part in parts)
    assert "a: float64[] = tiles" in parts[0]
    line, parts = plan_text(lambda x: np.sum(np.exp(x - np.mean(x, axis=0))), rng.normal(size=(200_000, 4)))
    assert "two stages" in line
    assert [part for part in parts if " = " in part] == [
        "a: float64[4] = stage x",
        "b: float64[] = stage x a",
        "a: float64[4] = steps x1",
        "b: float64[] = tiles a x0",
    ]
    line, parts = plan_text(lambda x: np.linalg.norm(x @ x), rng.normal(size=(400, 400)))
    assert line == "step by step, untiled"
    assert len(parts) == 1 and "1 matrix product" in parts[0]


def test_predictions_add_up():
    speeds = machine("float64")
    for function, args in (
        (lambda p, x: np.mean(u(p, x) ** 2), (network(2, 32, 2), np.zeros((20_000, 2)))),
        (lambda x: np.sum(np.tanh(x @ x)), (np.ones((300, 300)),)),
        (lambda x: np.sum(np.sin(x)), (np.ones(10),)),
    ):
        predicted = primad.explain(function, *args).plan.predicted(speeds)
        parts = (predicted.products, predicted.kernels, predicted.elements, predicted.calls)
        assert min(parts) >= 0 and predicted.total == pytest.approx(sum(parts)) and predicted.total > 0
    assert (Prediction(1, 2, 3, 4) + Prediction(1, 1, 1, 1)).times(2) == Prediction(4, 6, 8, 10)


def test_quantities():
    assert [count(x) for x in (0, 7, 999.9, 1234, 999_999, 5.678e9, 2e16, 3e19)] == [
        "0", "7", "1 k", "1.23 k", "1 M", "5.68 G", "20 P", "30 E",
    ]  # fmt: skip
    assert [quantity(x, "flop") for x in (7, 1234, 1.7e149)] == ["7 flop", "1.23 kflop", "1.7·10¹⁴⁹ flop"]
    assert [size(x) for x in (12, 4096)] == ["12 bytes", "4.1 kB"]
    times = (1490.0, 2.5, 0.99999, 0.0123, 4.5e-6, 3e-9)
    assert [seconds(x) for x in times] == ["1,490 s", "2.5 s", "1 s", "12.3 ms", "4.5 µs", "3 ns"]
    for exponent in range(-3, 200):
        for digits in (1.0, 1.7, 9.994, 9.996):
            text = quantity(digits * 10.0**exponent, "flop")
            assert re.fullmatch(
                r"[\d.]+ [kMGTPE]?flop|[\d.]+·10[⁰¹²³⁴⁵⁶⁷⁸⁹]+ flop|\de-0[1-6] flop|[\d.]+e-\d+ flop", text
            )
            assert float(text.split()[0].split("·")[0]) < 1000


def test_more_than_the_machines_speed_is_remarked_upon(explained):
    explained = replace(explained, load=0.0)
    assert "busy" not in str(replace(explained, machine=structs.replace(explained.machine, peak=1e15)))
    assert "busy: 9.0 programs" in str(replace(explained, load=9.0))
    assert "the machine was busy" in str(replace(explained, machine=structs.replace(explained.machine, peak=1e3)))


# -- the picture -------------------------------------------------------------------------------------------------------


def test_the_picture_has_a_dot_for_every_value(explained):
    root = ElementTree.fromstring(explained.svg())
    dots = [dot for dot in root.iter(f"{SVG}circle") if dot.find(f"{SVG}title") is not None]
    built = [stage.program for stage in explained.stages if stage.program is not None]
    shown = [node for program in (built[0], built[-1]) for node in program.nodes if node.op is not LITERAL]
    assert len(dots) == len(shown)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= width and 0 <= float(dot.attrib["cy"]) <= height
    assert "http" not in explained.svg().replace("http://www.w3.org/2000/svg", "")


def widths_of(root):
    """Return (element, left, right) of every text, measured in the widest of the fonts that the picture names."""
    paths = pytest.importorskip("matplotlib.textpath")
    sizes = {"t": (19, "bold"), "h": (14, "bold"), "s": (12, "normal"), "q": (12, "normal")}
    for text in root.iter(f"{SVG}text"):
        size, weight = sizes[text.attrib["class"]]
        font = {"family": "DejaVu Sans", "weight": weight}
        left = float(text.attrib["x"])
        yield (
            text,
            left,
            left + paths.TextPath((0, 0), text.text.replace("$", ""), size=size, prop=font).get_extents().width,
        )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("which", ["laplacian", "stages", "tiles", "long name", "enormous"])
def test_every_text_of_the_picture_is_inside_of_it_and_none_lies_on_another(explained, which):
    if which == "stages":
        points = np.random.default_rng(0).normal(size=(200_000, 4))
        found = primad.explain(lambda x: np.sum(np.exp(np.sin(x) - np.mean(np.sin(x), 0))), points)
        assert "two stages" in found.plan.summary
    elif which == "tiles":
        found = primad.explain(lambda p, x: np.mean(u(p, x) ** 2), network(2, 32, 2), np.zeros((20_000, 2)))
    else:
        names = {"laplacian": "laplacian", "long name": "the_residual_of_a_differential_equation_" * 3, "enormous": "f"}
        cost = structs.replace(explained.stages[0].cost, flops=17 * 10**148, nodes=17 * 10**148)
        stages = (replace(explained.stages[0], cost=cost), *explained.stages[1:])
        found = replace(explained, name=names[which], stages=stages if which == "enormous" else explained.stages)
    root = ElementTree.fromstring(found.svg())
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    placed = []
    for text, left, right in widths_of(root):
        bottom = float(text.attrib["y"])
        assert left >= 0 and right <= width and 0 < bottom < height, text.text
        for other, start, end, base in placed:
            assert abs(base - bottom) >= 12 or right < start or end < left, f"{text.text} lies on {other}"
        placed.append((text.text, left, right, bottom))


def test_layers_go_from_operands_to_results_without_overlap(explained):
    layout = Layered(explained.program)
    assert all(layout.layer[source] < layout.layer[target] for source, target in layout.edges)
    assert {node for node in layout.nodes if node.op is INPUT} <= set(explained.program.inputs)
    radius = dict.fromkeys(layout.nodes, 3.0)
    y = layout.heights(radius, 2.0)
    for place in range(layout.layers):
        column = sorted(y[node] for node in layout.nodes if layout.layer[node] == place)
        assert all(b - a >= 8.0 - 1e-9 for a, b in itertools.pairwise(column))


def test_saving(explained, tmp_path):
    for name in ("picture.svg", "page.html", "report.txt"):
        assert explained.save(tmp_path / name) == tmp_path / name
    assert ElementTree.parse(tmp_path / "picture.svg").getroot().tag == f"{SVG}svg"
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>") and "<svg" in html and "matrix products" in html
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == f"{explained}\n"
    assert explained._repr_html_().startswith("<svg")
    with pytest.raises(TracingError, match=r"end it in \.svg"):
        explained.save(tmp_path / "picture.png")


def test_names_are_escaped():
    def odd(x):
        return np.sum(x)

    odd.__name__ = "<a & b>"
    ElementTree.fromstring(primad.explain(odd, np.ones(3)).svg())


@pytest.mark.parametrize("static", [0, -2, (0, 2)])
def test_static_arguments_are_constants(static):
    """What may only be a number or a text is not traced; the program and its name are those that a call runs."""

    def powers(many, x, how):
        return sum(x**k for k in range(many)) if how == "sum" else None

    if isinstance(static, int):
        jitted = primad.jit(lambda many, x: powers(many, x, "sum"), static_argnums=static)
        args = 4, np.ones(3)
    else:
        jitted, args = primad.jit(powers, static_argnums=static), (4, np.ones(3), "sum")
    report = primad.explain(jitted, *args)
    assert report.program.in_types == [primad.ArrayType((3,), float)]
    assert report.name == jitted.__name__ and report.program.cost().nodes > 2
    np.testing.assert_array_equal(report.plan.run([args[1]])[0], jitted(*args))


def test_traced_arguments_are_refused():
    with pytest.raises(TracingError, match="traced"):
        primad.grad(lambda x: primad.explain(np.sum, x) and np.sum(x))(np.ones(3))
    with pytest.raises(TracingError, match="closes over"):
        primad.grad(lambda x: primad.explain(lambda y: np.sum(y * x), np.ones(3)) and np.sum(x))(np.ones(3))


@primad.opaque(result=lambda x: x)
def rounded(x):
    return np.round(x, 3)


def test_limits_of_native_code_are_named(monkeypatch):
    """What would take too long to compile says how long, and what computes too much for one function says so."""

    def f(x):
        for i in range(30):
            x = np.sin(x) * (1.5 + i) + x @ x
        return x

    assert primad.explain(f, np.eye(2)).causes == ()
    with monkeypatch.context() as patch:
        patch.setattr(outlined_text, "BUDGET", structs.replace(outlined_text.BUDGET, most=0.0, worth_cutting=0.0))
        (said,) = primad.explain(lambda x: f(x) * 1.25, np.eye(2)).causes
        assert "to compile" in said and "primad.scan" in said
    (said,) = primad.explain(lambda x: np.linalg.det(x), np.eye(800)).causes
    assert "elements of work" in said


def test_a_loop_is_predicted_by_its_steps():
    """Each step counts as much as every other: of any body, in loops of loops, in gradients."""
    speeds = Machine(1e10, 1e10, 1e10, 1e-10, 1e-9, 1e-6, 5e-11, 1e-9)

    def loop(x, length):
        return primad.scan(lambda c, _: (np.tanh(c) * 0.9 + np.linalg.solve(2 * np.eye(2), c), None), x, length=length)[
            0
        ]

    def inside(x, length):
        return primad.scan(lambda c, _: (loop(c, 5) * 0.5, None), x, length=length)[0]

    def matrices(x, length):
        return primad.scan(lambda c, _: (np.diag(c) @ c, None), x, length=length)[0]

    for f in (loop, inside, matrices):
        for g in (f, lambda x, length, f=f: primad.grad(lambda x: np.sum(f(x, length)))(x)):
            first, second, third = (
                NATIVE.prepare(simplify(primad.trace(lambda x, n=n, g=g: g(x, n))(np.ones(2))), PLAIN)
                .predicted(speeds)
                .total
                for n in (100, 200, 400)
            )
            assert second - first > 100 * LATENCY_SECONDS * (5 if f is inside else 1)
            assert third - second == pytest.approx(2 * (second - first), rel=1e-3)


def test_rows_at_indices_are_predicted_by_their_number():
    """What is read or added at an index costs more than arithmetic, however few elements the array has."""
    speeds = Machine(1e10, 1e10, 1e10, 2e-10, 1e-9, 1e-6, 1e-10, 1e-9)

    def seconds_of(f, count, width, prepare):
        x, indices = np.ones((10, width)), np.zeros(count, np.int64)
        program = simplify(primad.trace(f)(x, indices, np.ones((count, width))))
        return prepare(program).predicted(speeds).total

    def read(x, indices, rows):
        return x[indices]

    def added(x, indices, rows):
        return primad.grad(lambda x: np.sum(x[indices] * rows))(x)

    for prepare in (Plan, lambda program: NATIVE.as_function(program, None)):
        for f in (read, added):
            for width in (1, 4):
                few, many = (seconds_of(f, count, width, prepare) for count in (500, 1000))
                each = (many - few) / 500
                assert (5 + width) * 0.5 * speeds.arithmetic < each < 100 * (1 + width) * speeds.arithmetic


def test_predictions_count_what_costs():
    """Sums by what they add, functions by how slow they are, LAPACK by its calls, large matrices by their bytes."""
    speeds = Machine(1e10, 1e10, 1e10, 1e-10, 1e-8, 0.0, 5e-11, 1e-9)

    def spent(f, *args):
        program = simplify(primad.trace(f)(*args))
        return NATIVE.as_function(program, None).predicted(speeds).total

    x, many = np.full(1000, 0.5), np.full(5000, 0.5)
    assert 4 < spent(np.sum, many) / spent(np.sum, x) < 6
    assert spent(lambda x: x**2.5, x) > 10 * spent(lambda x: x**5.0, x)
    assert spent(lambda x: x**2.5, x) > 4 * spent(np.exp, x) > 8 * spent(lambda x: x + 1.0, x)
    pairs = np.tile(np.eye(3), (50, 1, 1))
    assert spent(lambda a: np.linalg.eigh(a)[0], pairs) > 50 * LAPACK_SECONDS
    assert spent(lambda a: np.linalg.inv(a), pairs) < 50 * LAPACK_SECONDS
    wide = np.ones((1000, 1000))
    slow = structs.replace(speeds, bandwidth=1e9)
    product = simplify(primad.trace(lambda a, v: a @ v)(wide, wide[0]))
    assert NATIVE.as_function(product, None).predicted(slow).total >= wide.nbytes / slow.bandwidth


def test_steps_that_are_taken_again_are_predicted(monkeypatch):
    """A loop whose rows are not all held is predicted to take its steps at least twice."""
    speeds = Machine(1e10, 1e10, 1e10, 1e-10, 1e-8, 1e-6, 5e-11, 1e-9)

    def loss(x):
        return np.sum(primad.scan(lambda c, _: (c + 0.1 * np.sin(c), None), x, length=1000)[0])

    def spent():
        program = simplify(primad.trace(primad.grad(loss))(np.ones(100)))
        return Plan(program).predicted(speeds).total

    held = spent()
    monkeypatch.setattr(row_streams, "SPARE_BYTES", 100_000)
    assert 1.5 * held < spent() < 3 * held


def test_tiles_wait_for_memory():
    """Where little is computed of arrays that are larger than a cache, a prediction is the time to move them."""
    slow, fast = (Machine(1e10, 1e10, speed, 1e-10, 1e-9, 1e-6, 5e-11, 1e-9) for speed in (1e6, 1e12))
    x = primad.ArrayType((400_000, 4), float)
    plan = NATIVE.prepare(simplify(primad.trace(lambda x: np.sum(x * x, axis=1))(x)), PLAIN)
    assert plan.tiles is not None
    assert plan.predicted(slow).total == pytest.approx((x.nbytes + x.nbytes / 4) / slow.bandwidth, rel=1e-3)
    assert plan.predicted(fast).total < 1e-3 * plan.predicted(slow).total


def test_a_loop_is_written_out_once_with_all_its_steps():
    """However many of its results are used, and how often: of twice as many steps twice as much is computed."""

    def loss(p, length):
        def step(c, _):
            x, y = c
            return (x + 0.1 * np.sin(y) * p[0], y - 0.1 * np.cos(x) * p[1]), x * y

        (x, y), ys = primad.scan(step, (p[0], p[1]), length=length)
        return x * x * y + np.sum(ys * ys) + np.sum(ys) * y

    for f in (loss, lambda p, length: primad.grad(loss)(p, length)):
        costs = []
        for length in (100, 200):
            stages = primad.explain(lambda p, f=f, n=length: f(p, n), np.array([0.7, 0.2])).stages
            assert stages[1].cost.flops <= stages[0].cost.flops <= 2 * stages[1].cost.flops
            costs.append(stages[0].cost.flops)
        assert costs[1] == pytest.approx(2 * costs[0], rel=0.05)


def test_what_has_no_native_code_is_named_with_its_reason():
    """Ops of one's own and ops without loops: which, why, how often, what to write instead."""

    def f(x):
        for _ in range(3):
            x = rounded(np.tanh(x) * 1.5 + np.cos(x) * x - 0.25)
        return np.sum(primad.hvp(np.linalg.det, np.outer(x, x) + np.eye(6), np.outer(x, x)))

    report = primad.explain(f, np.linspace(0.1, 0.4, 6))
    text = str(report)
    assert "rounded runs with NumPy" in text and "3 steps" in text and "would be native" in text
    assert "cofactors_along runs with NumPy: second derivatives of det for more than 4 rows" in text
    assert primad.explain(lambda x: np.sum(np.sin(x)), np.ones(4)).causes == ()


def test_what_is_made_anew_at_each_start_is_named() -> None:
    """Ops of the user's own, functions that are called back, and nothing else."""
    own = primad.elementwise("own", np.sin, [lambda out, x: np.cos(x)])
    back = primad.opaque(np.sort, result=np.ones(3))
    ruled = primad.custom_jvp(lambda x: x**2)
    ruled.defjvp(lambda primals, tangents: (primals[0] ** 2, 2.0 * primals[0] * tangents[0]))
    for f, name in ((own, "own"), (back, "sort"), (ruled, "custom_jvp")):
        (said,) = [x for x in primad.explain(lambda x, f=f: f(x) * 2.0, np.ones(3)).causes if "each start" in x]
        assert name in said
    assert not any("each start" in x for x in primad.explain(primad.grad(lambda x: np.sum(x**3)), np.ones(3)).causes)

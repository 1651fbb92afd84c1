"""Pictures: one call each, on a grid that knows the domain, as matplotlib's objects."""

from __future__ import annotations

import inspect
import io
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from primad import optimize, pde
from primad.errors import ProblemError
from primad.pde.report import coloured_maps, outlines, picture_grids, run_plots
from primad.pde.report.coloured_maps import colours
from primad.pde.solve.confidence import Confidence
from primad.recording import tree

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOM = (pde.Box(x=(0, 1), y=(0, 1)) - pde.Disk((0.5, 0.5), 0.2)) * pde.Time(0, 1)


@pytest.fixture(scope="module")
def flat(code: None) -> pde.Solution:
    x, t = np.linspace(-1, 1, 30), np.linspace(0, 1, 30)
    data = pde.Data(x=x, t=t, u=np.exp(-t) * np.sin(np.pi * x))
    conditions = [pde.Dirichlet(u=0), pde.Free("u", on="initial"), data]
    domain = pde.Interval(-1, 1) * pde.Time(0, 1)
    problem = pde.Problem(
        lambda u, k: u.t - k * u.xx, domain, conditions, coefficients={"k": 0.1}, network=pde.MLP(4, 1)
    )
    return problem.solve(steps=3, points=30, progress=False)


@pytest.fixture(scope="module")
def room(code: None) -> pde.Solution:
    problem = pde.Problem(
        {"heat": lambda u: u.t - u.xx - u.yy, "other": lambda u, v: u.x - v.value},
        ROOM,
        [pde.Dirichlet(u=0, hard=False), pde.Initial(u=1, hard=False), pde.Free("v")],
        unknowns="u v",
        network=pde.MLP(4, 1),
    )
    return problem.solve(steps=2, points=40, progress=False)


@pytest.fixture(autouse=True)
def coarse_and_closed(monkeypatch):
    monkeypatch.setattr(picture_grids, "POINTS", 41)
    yield
    plt.close("all")


def exact(x, t):
    return np.exp(-t) * np.sin(np.pi * x)


CALLS = {
    "map": lambda s: s.plot(),
    "line": lambda s: s.plot(along=["x"], t=0.5, exact=exact),
    "error": lambda s: s.plot_error(u=exact),
    "error of a line": lambda s: s.plot_error(u=exact, t=0.2, log=False),
    "residual": lambda s: s.plot_residual(),
    "slices": lambda s: s.plot_slices(at=[0, 0.5], exact=exact),
    "surface": lambda s: s.plot_surface(),
    "losses": lambda s: s.plot_losses(against="seconds"),
    "coefficients": lambda s: s.plot_coefficients(exact={"k": 0.1}),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CALLS)
def test_a_picture_is_axes_with_something_on_them(name: str, flat: pde.Solution) -> None:
    axes = CALLS[name](flat)
    assert axes.lines or axes.collections
    assert axes.get_xlabel() and axes.get_title()
    axes.figure.savefig(io.BytesIO(), format="png")
    _, own = plt.subplots()
    if name != "surface":
        assert flat.plot(axes=own) is own


OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "plot": ("flat", {"unknown": "u", "along": "t", "exact": exact, "data": False, "fixed": {"t": 0.3}}),
    "plot of two": ("room", {"unknown": "v", "along": "y", "fixed": {"t": 0.3}}),
    "plot_error": ("flat", {"along": "t", "log": False, "named": {"x": 0.4}}),
    "plot_error of a line": ("flat", {"log": False}),
    "plot_residual": ("room", {"label": "other", "along": "x", "log": False, "fixed": {"t": 0.3}}),
    "plot_residual of a line": ("flat", {"log": False}),
    "plot_slices": ("flat", {"across": "x", "at": [0.3], "along": "x", "exact": exact, "data": False}),
    "plot_slices of two": ("room", {"unknown": "v", "along": "x", "fixed": {"x": 0.2}}),
    "plot_surface": ("room", {"unknown": "v", "along": "x t", "fixed": {"t": 0.3}}),
    "plot_surface of data": ("flat", {"data": False}),
    "plot_losses": ("flat", {"against": "seconds"}),
    "plot_coefficients": ("flat", {"exact": {"k": 0.1}, "level": None}),
}
"""Of each function a value of each option that changes its picture; `fixed` and `named` are keywords of their own."""
ALWAYS: dict[str, dict[str, Any]] = {
    "plot of two": {"t": 0.5}, "plot_error": {"u": exact}, "plot_error of a line": {"u": exact, "t": 0.5},
    "plot_residual of a line": {"t": 0.5}, "plot": {"t": 0.5}, "plot_slices of two": {"x": 0.1},
}  # fmt: skip
SAME = {("plot", "unknown"), ("plot_slices", "along")}
"""What is the same by default."""


def shown(axes: Any) -> list[Any]:
    """Return what a picture shows: data, colours, scales and words."""
    found = [
        axes.get_title(),
        axes.get_xlabel(),
        axes.get_ylabel(),
        axes.get_yscale(),
        axes.get_legend_handles_labels()[1],
    ]
    found += [line.get_xydata().tolist() for line in axes.lines]
    for mesh in axes.collections:
        norm = None if mesh.get_array() is None else (type(mesh.norm).__name__, mesh.norm.vmin, mesh.norm.vmax)
        found += [np.ma.filled(mesh.get_array(), np.nan).tolist() if norm else [], mesh.get_cmap().name, norm]
    return [*found, len(axes.patches), len(axes.containers)]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_changes_the_picture(name: str, flat: pde.Solution, room: pde.Solution) -> None:
    function, (whose, options) = name.split(" ")[0], OPTIONS[name]
    solution, always = {"flat": flat, "room": room}[whose], ALWAYS.get(name, {})
    asked = {option for one, (_, given) in OPTIONS.items() if one.split(" ")[0] == function for option in given}
    parameters = set(inspect.signature(getattr(solution, function)).parameters) - {"solution", "axes"}
    assert asked == parameters
    draw = getattr(solution, function)
    before = shown(draw(**always))
    for option, value in options.items():
        given = value if option in ("fixed", "named") else {option: value}
        changed = {k: v for k, v in always.items() if not (option == "along" and k in value)}
        assert (repr(shown(draw(**{**changed, **given}))) == repr(before)) == ((name, option) in SAME), option


def test_lines_have_twice_as_many_points_and_maps_of_sizes_their_own_colours(flat: pde.Solution) -> None:
    assert len(flat.plot(t=0.5).lines[0].get_xdata()) == 2 * 41 == len(flat.plot_slices().lines[0].get_xdata())
    for log, norm in ((True, "LogNorm"), (False, "Normalize")):
        for axes in (flat.plot_error(u=exact, log=log), flat.plot_residual(log=log)):
            mesh = axes.collections[0]
            assert (mesh.get_cmap().name, type(mesh.norm).__name__) == ("magma", norm)
            top = float(np.max(mesh.get_array()))
            assert not log or (mesh.norm.vmin, mesh.norm.vmax) == (1e-4 * top, top)
            assert not log or np.min(mesh.get_array()) >= 1e-4 * top


def test_a_map_shows_the_solution_and_nothing_outside(room: pde.Solution) -> None:
    mesh = room.plot("u", t=0.25).collections[0]
    values = np.ma.filled(mesh.get_array(), np.nan).reshape(41, 41)
    assert np.isnan(values[20, 20]) and np.isfinite(values[1, 1])
    x = np.linspace(0, 1, 41)
    assert values[4, 30] == pytest.approx(room.u(x[4], x[30], 0.25), rel=1e-12)
    assert room.plot_residual("other", y=0.1).get_xlabel() == "x"
    assert room.plot_slices(unknown="v", along="y", x=0.1).get_ylabel() == "v"
    assert room.plot(along="y x").get_xlabel() == room.plot(along=["y", "x"]).get_xlabel() == "y"


EDGES = {
    "a room with a column": (pde.Box((0, 2), (0, 1)) - pde.Disk((1, 0.5), 0.3), 2),
    "a disk": (pde.Disk((1, 0), 2), 1),
    "pieces and a ring": ((pde.Disk((0, 0), 0.5) | pde.Disk((1, 1), 0.6)) - pde.Disk((1, 1), 0.3), 3),
    "an L": (pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]), 1),
    "disks that nearly touch": (pde.Disk((0, 0), 0.5) | pde.Disk((0.72, 0.72), 0.5), 2),
    "a triangle": (pde.Polygon([(0, 0), (1, 0), (0.3, 0.9)]), 1),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_of_domains_in_pictures_are_their_boundaries(name: str) -> None:
    """Curves around them with the domain at the left, on the boundary, and with its area."""
    domain, count = EDGES[name]
    lines = [np.linspace(low, high, 40) for low, high in domain.bounds]
    mesh = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    mask = domain.contains(mesh.reshape(-1, 2)).reshape(40, 40)
    curves = outlines.outline(domain.contains, lines, mask)
    assert len(curves) == count
    area = sum(0.5 * np.sum(c[:, 0] * np.roll(c[:, 1], -1) - np.roll(c[:, 0], -1) * c[:, 1]) for c in curves)
    assert area == pytest.approx(domain.measure, rel=0.02)
    for at in np.concatenate(curves):
        around = at + 1e-6 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 16)])
        assert 0 < np.sum(domain.contains(around)) < 16
    moved, shown = outlines.moved_to_edge(domain.contains, lines, mask)
    at = np.stack([column[shown] for column in moved], axis=1)
    assert np.all(domain.contains(at)) and np.sum(shown) >= np.sum(mask)
    np.testing.assert_array_equal(moved[0][mask], mesh[..., 0][mask])


def test_a_map_ends_at_the_edge_of_the_domain(room: pde.Solution) -> None:
    """To half of a pixel, though the grid is coarse."""
    axes = room.plot("u", t=0.25)
    axes.set_axis_off()
    axes.figure.set_layout_engine(None)
    axes.figure.delaxes(axes.figure.axes[1])
    axes.set_position([0, 0, 1, 1])
    axes.figure.set_size_inches(4, 4)
    axes.figure.canvas.draw()
    pixels = np.asarray(axes.figure.canvas.buffer_rgba())[..., :3].astype(float)
    white = np.all(pixels > 250, axis=2)
    assert np.mean(white) == pytest.approx(np.pi * 0.2**2, rel=0.03)
    middles = (np.arange(400) + 0.5) / 400
    far = np.hypot(*np.meshgrid(middles - 0.5, middles - 0.5))
    assert np.all(white[far < 0.2 - 0.006]) and not np.any(white[far > 0.2 + 0.006])


@pytest.mark.parametrize(
    ("values", "cmap", "limits"),
    [
        ([0, 1], "viridis", (0, 1)),
        ([-1e-12, 1], "viridis", (-1e-12, 1)),
        ([-0.2, 1], "viridis", (-0.2, 1)),
        ([-0.5, 1], "RdBu_r", (-1, 1)),
        ([-3, 2], "RdBu_r", (-3, 3)),
        ([-1, 1e-9], "viridis", (-1, 1e-9)),
        ([-5, -1], "viridis", (-5, -1)),
        ([np.nan, 2, np.nan, 3], "viridis", (2, 3)),
        ([np.nan, np.nan], "viridis", (0, 1)),
        ([0, 0], "viridis", (0, 0)),
        ([-1, 4], "viridis", (-1, 4)),
    ],
)
def test_colours_part_at_zero_only_where_both_signs_matter(values, cmap: str, limits) -> None:
    assert colours(np.array(values, float)) == {"cmap": cmap, "vmin": limits[0], "vmax": limits[1]}


def test_measured_values_are_drawn_where_they_are(flat: pde.Solution) -> None:
    """On maps in the same colours, beside lines only those that are near; with bars for noise; or not."""
    axes = flat.plot()
    mesh, dots = axes.collections
    assert len(dots.get_offsets()) == 30 and dots.norm is mesh.norm and dots.cmap.name == mesh.cmap.name
    assert len(flat.plot(data=False).collections) == 1
    (own,) = flat.problem.measured
    axes = flat.plot(t=0.5)
    near = np.abs(own.columns["t"] - 0.5) <= 0.02
    (found,) = axes.containers
    np.testing.assert_array_equal(found.lines[0].get_xydata(), np.stack([own.columns["x"], own.columns["u"]], 1)[near])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["u", "data"]
    assert not flat.plot(t=0.5, data=False).containers
    slices = flat.plot_slices(at=[0.0, 0.5])
    assert len(slices.containers) == 2 and "dots" in slices.get_title()
    assert not flat.plot_slices(at=[0.0], data=False).containers


def test_a_line_alone_has_no_legend(flat: pde.Solution) -> None:
    for data in (False, True):
        for truth in (None, exact):
            legend = flat.plot(t=0.5, data=data, exact=truth).get_legend()
            names = [] if legend is None else [text.get_text() for text in legend.get_texts()]
            beside = ["exact"] * (truth is not None), ["data"] * data
            assert names == [*beside[0], *["u"] * (data or truth is not None), *beside[1]]


def test_legends_and_bars_of_colours_stand_beside_what_they_explain(flat: pde.Solution) -> None:
    assert len(flat.plot_surface().figure.axes) == 2, "the surface and its bar"
    for axes in (flat.plot_coefficients(exact={"k": 0.1}), flat.plot_losses()):
        axes.figure.canvas.draw()
        legend, box = axes.get_legend().get_window_extent(), axes.get_window_extent()
        assert legend.x0 >= box.x1 and legend.x1 <= axes.figure.bbox.x1


def test_animations_have_frames(flat: pde.Solution, room: pde.Solution, tmp_path) -> None:
    for animation in (flat.animate(frames=2, exact=exact), room.animate(frames=2, unknown="v")):
        animation.save(tmp_path / "u.gif", writer="pillow")
        assert (tmp_path / "u.gif").stat().st_size > 1000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.plot("w"), "no unknown 'w'"),
        (lambda s: s.plot(z=0.1), "no coordinate 'z'"),
        (lambda s: s.plot(along=["x"], x=0.1), "no picture along x"),
        (lambda s: s.plot_error(x=0.1), "one unknown"),
        (lambda s: s.plot_error(u=lambda z: z), "asks for 'z'"),
        (lambda s: s.plot_residual("heat"), "no equation is called 'heat'"),
        (lambda s: s.plot_slices("z"), "no coordinate 'z'"),
        (lambda s: s.plot_losses(against="hours"), "step or seconds"),
        (lambda s: s.plot(t=2.0), "nothing to show at t = 2: the domain goes from 0 to 1"),
        (lambda s: s.plot(x=np.nan), "nothing to show at x = nan"),
        (lambda s: s.plot(t=[0, 1]), r'write plot_slices\("t", at=\[…\]\)'),
        (lambda s: s.plot_residual(x=5), "nothing to show at x = 5"),
        (lambda s: s.plot_error(u=exact, t=-0.1), "nothing to show at t = -0.1"),
        (lambda s: s.plot_slices(at=[0, 1.5]), "nothing to show at t = 1.5"),
        (lambda s: s.plot_slices(t=[0, 0.5]), r'write plot_slices\("t", at=\[…\]\)'),
        (lambda s: s.plot_slices(x=0.5), "no coordinate is left to draw along"),
        (lambda s: s.plot_surface(t=9), "nothing to show at t = 9"),
        (lambda s: s.plot(along=["t"], x=3), "nothing to show at x = 3"),
        (lambda s: s.animate("t", t=0.5), "t is what moves"),
    ],
)
def test_what_cannot_be_drawn_is_named(call, words: str, flat: pde.Solution) -> None:
    with pytest.raises(ProblemError, match=words):
        call(flat)


def test_a_gap_in_the_domain_and_what_a_file_does_not_keep_are_named(room: pde.Solution, tmp_path) -> None:
    with pytest.raises(ProblemError, match=r"nothing to show at x = 0.5, y = 0.5: .* has no point there"):
        room.plot(x=0.5, y=0.5, along=["t"])
    room.plot(x=0.5)
    room.plot(t=1 + 1e-12)
    room.save(tmp_path / "room")
    loaded = room.problem.load(tmp_path / "room")
    assert "nan" not in repr(loaded)
    for draw in (loaded.plot_losses, loaded.plot_coefficients):
        with pytest.raises(ProblemError, match=r"(?s)no steps to draw: the solution was loaded from.*draw before"):
            draw()


def test_a_title_says_why_there_are_no_intervals(flat: pde.Solution) -> None:
    with pytest.warns(UserWarning, match="no intervals"):
        flat.confidence()
    assert "no intervals: what is left" in flat.plot_coefficients().get_title().replace("\n", " ")


class Page(HTMLParser):
    """What a page shows, and what it would load from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href") and not value.startswith("data:")]

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text.append(data)


def test_a_report_is_one_page_that_needs_nothing_else(flat: pde.Solution, room: pde.Solution, tmp_path) -> None:
    _, own = plt.subplots()
    file = flat.report(tmp_path / "run.html", exact={"u": exact}, pictures={"mine & <yours>": own}, title="A <rod>")
    page = Page(file.read_text(encoding="utf-8"))
    assert not page.links
    assert page.tags.count("math") == 1 and page.tags.count("img") == 6
    shown = " ".join(page.text)
    for word in ("A <rod>", "mine & <yours>", "by construction", "LevenbergMarquardt", "relative error of u",
                 "95 % confidence", "numpy", "MLP(width=4, depth=1)", "all steps were made"):  # fmt: skip
        assert word in shown, word
    assert not [other for other in tmp_path.iterdir() if other != file]
    other = Page(room.report(tmp_path / "room.html").read_text(encoding="utf-8"))
    assert other.tags.count("img") == 5 and "u at the start" in " ".join(other.text)
    assert other.tags.count("math") == 2
    assert plt.get_fignums() == [own.figure.number]


def test_without_matplotlib_the_extra_is_named(flat: pde.Solution, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"primad\[plot\]"):
        flat.plot()


@pytest.mark.exhaustive  # intervals do in tests/pde/solve/test_confidence.py, of a problem that is solved faster
def test_bands_of_confidence_contain_the_truth_as_often_as_they_say() -> None:
    """Of eight draws of errors the intervals for 80 % contain the coefficient in most."""
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-1, 1, 100), rng.uniform(0, 1, 100)
    conditions = [pde.Dirichlet(u=0), pde.Initial(u=lambda x: np.sin(np.pi * x))]
    data = pde.Data(x=x, t=t, u=exact(x, t * 0.3 * np.pi**2))
    domain = pde.Interval(-1, 1) * pde.Time(0, 1)
    problem = pde.Problem(
        lambda u, k: u.t - k * u.xx, domain, [*conditions, data], coefficients={"k": 1.0}, network=pde.MLP(8, 2)
    )
    rule, points = optimize.LevenbergMarquardt(), problem.points(100)
    start, clean, inside, widths = problem.init(), points["data"]["of u"], 0, []
    for _ in range(8):
        points["data"]["of u"] = clean + 0.05 * rng.normal(size=100)
        found = optimize.solve(rule, problem.compiled(rule), start, (points,), steps=40)
        start = found.params
        solution = pde.Solution(problem, found.params, found.state, points, pde.History(()))
        low, high = solution.confidence(0.8)["k"]
        inside += int(low < 0.3 < high)
        widths.append(high - low)
    assert 4 <= inside <= 8
    assert 0.001 < np.mean(widths) < 0.05


@pytest.mark.parametrize(
    ("names", "size", "equal"),
    [
        ("x y", (1, 1), True),
        ("x y", (4, 1), True),
        ("x y", (5, 1), False),
        ("x y", (1, 5), False),
        ("x t", (1, 1), False),
    ],
)
def test_maps_of_space_have_equal_scales_unless_they_are_long(names: str, size, equal: bool) -> None:
    lines = tuple(np.linspace(0, length, 3) for length in size)
    where = picture_grids.Grid(tuple(names.split()), {}, np.ones((3, 3), bool), {}, lines, ())
    axes = plt.subplots()[1]
    coloured_maps.coloured(axes, where, np.eye(3))
    assert (axes.get_aspect() == 1) == equal


def still(**more: Any) -> pde.Solution:
    """Return a solution that is 0 everywhere, with a run of as many terms as asked for."""
    problem = pde.Problem(lambda u: u.xx + u.yy, pde.Box(x=(0, 1), y=(0, 1)), pde.Dirichlet(u=0), **more)
    params = {**problem.init(), "networks": tree.map(np.zeros_like, problem.init()["networks"])}
    return pde.Solution(problem, params, None, problem.points(9), pde.History(()))


def test_what_is_zero_everywhere_is_drawn() -> None:
    """Without logarithms, and with a frame that has a height; what is right is drawn beside lines alone."""
    solution = still(network=pde.MLP(2, 1))
    assert solution.plot_residual(y=0.5).get_yscale() == "linear"
    assert solution.plot_residual().collections[0].get_array().max() == 0
    assert solution.plot_error(u=lambda x, y: x, y=0.5).get_yscale() == "log"
    flat = solution.animate("x", frames=2)
    flat._draw_was_started = True  # nothing is to be written
    low, high = flat._fig.axes[0].get_ylim()
    assert low < 0 < high and len(flat._fig.axes[0].lines) == 1
    assert not solution.plot(exact=lambda x, y: x).lines


def test_lines_of_an_animation_move_together() -> None:
    animation = still(network=pde.MLP(2, 1)).animate("x", frames=3, exact=lambda x, y: x + 0 * y)
    animation._draw_was_started = True
    for frame, x in enumerate((0.0, 0.5, 1.0)):
        heights = [line.get_ydata() for line in animation._func(frame)]
        assert np.all(heights[0] == x) and np.all(heights[1] == 0)


@pytest.mark.parametrize("count", [12, 13])
def test_many_losses_have_no_legend(count: int) -> None:
    history = pde.History(tuple([f"term {i}" for i in range(count)]))
    history.add([1.0] * count, 1.0, 1.0, {"coefficients": {}})
    axes = run_plots.plot_losses(SimpleNamespace(history=history))
    assert (axes.get_legend() is not None) == (count == 12)


def test_bands_of_confidence_are_drawn_where_they_end(monkeypatch) -> None:
    history = pde.History(("equation",))
    for _ in range(2):
        history.add([1.0], 1.0, 1.0, {"coefficients": {"k": 1.0, "c": 2.0}})
    solution = SimpleNamespace(history=history, is_sure=True)
    found = Confidence({"k": 1.0, "c": 2.0}, {"k": np.float64(0.1), "c": np.float64(np.inf)}, 5.0, ())
    monkeypatch.setattr(run_plots, "confidence", lambda _: found)
    for level, exact, count in ((0.95, None, 1), (0.95, {"k": 1.0}, 1), (None, {"c": 1.0}, 0)):
        axes = run_plots.plot_coefficients(solution, level=level, exact=exact)
        assert len(axes.patches) == count and len(axes.lines) == 2 + len(exact or ())
        assert axes.get_title() == "Coefficients"


def test_a_parameter_is_shown_where_nothing_else_is_left() -> None:
    domain = pde.Interval(0, 1) * pde.Parameters(k=(1, 2))
    problem = pde.Problem(lambda u, k: u.xx - k, domain, pde.Dirichlet(u=0), network=pde.MLP(2, 1))
    solution = pde.Solution(problem, problem.init(), None, problem.points(9), pde.History(()))
    assert picture_grids.grid(solution, None, {}).axes == ("x",)
    assert picture_grids.grid(solution, None, {"x": 0.5}).axes == ("k",)


@pytest.mark.parametrize("name", ["u.x", "u.xt"])
def test_a_derivative_is_drawn_by_its_name(flat: pde.Solution, name: str) -> None:
    """Every picture that takes an unknown takes a derivative of one; measured values of the unknown are left out."""
    axes = flat.plot(name, along=["x"], t=0.5)
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(y, flat.u.d(name[2:])(x, 0.5))
    assert axes.get_ylabel() == name and len(axes.lines) == 1
    assert name in flat.plot(name).get_title() and flat.plot_surface(name).get_zlabel() == name
    assert flat.plot_slices(unknown=name, at=[0.5]).get_ylabel() == name
    movie = flat.animate("t", name, frames=2)
    movie._draw_was_started = True  # nothing is to be written
    np.testing.assert_allclose(movie._func(1)[0].get_ydata(), flat.u.d(name[2:])(x, 1.0))


@pytest.mark.parametrize("name", ["u.", "w.x", "v"])
def test_what_is_no_derivative_of_an_unknown_is_an_error(flat: pde.Solution, name: str) -> None:
    with pytest.raises(ProblemError, match=r"(?s)there is no unknown.*a derivative is written \"u\.x\""):
        flat.plot(name)


def test_measured_points_are_in_surfaces_and_in_the_pictures_of_animations_that_they_belong_to() -> None:
    x, y = np.array([0.1, 0.5, 0.5]), np.array([0.2, 0.4, 0.9])
    data = pde.Data(x=x, y=y, u=np.array([0.3, -0.2, 4.0]), noise=0.1)
    conditions = [pde.Dirichlet(u=0), data]
    problem = pde.Problem(lambda u: u.xx + u.yy, pde.Box(x=(0, 1), y=(0, 1)), conditions, network=pde.MLP(2, 1))
    solution = pde.Solution(problem, problem.init(), None, problem.points(9), pde.History(()))

    surface = solution.plot_surface()
    np.testing.assert_array_equal(surface.lines[-1].get_data_3d(), [x, y, [0.3, -0.2, 4.0]])
    assert not solution.plot_surface(data=False).lines

    movie = solution.animate("x", frames=3)
    movie._draw_was_started = True  # nothing is to be written
    axes = movie._fig.axes[0]
    for frame, heights in ((0, []), (1, [-0.2, 4.0]), (2, []), (1, [-0.2, 4.0])):
        movie._func(frame)
        dots = [line.get_ydata() for one in axes.containers for line in one.lines[:1]]
        np.testing.assert_array_equal(np.concatenate([[], *dots]), heights)
    assert axes.get_ylim()[1] > 4, "all of them are seen"


def test_measured_points_are_on_the_maps_of_animations(room: pde.Solution) -> None:
    t = np.array([0.0, 0.0, 1.0])
    data = pde.Data(x=[0.1, 0.2, 0.9], y=[0.1, 0.9, 0.9], t=t, u=[1.0, 1.0, 0.0])
    problem = pde.Problem(
        lambda u: u.t - u.xx - u.yy, ROOM, [pde.Dirichlet(u=0), pde.Initial(u=1, hard=False), data],
        network=pde.MLP(2, 1),
    )  # fmt: skip
    solution = pde.Solution(problem, problem.init(), None, problem.points(9), pde.History(()))
    movie = solution.animate(frames=3)
    movie._draw_was_started = True
    for frame, count in ((0, 2), (1, 0), (2, 1)):
        movie._func(frame)
        drawn = [
            one for one in movie._fig.axes[0].collections if isinstance(one, matplotlib.collections.PathCollection)
        ]
        assert sum(len(one.get_offsets()) for one in drawn) == count

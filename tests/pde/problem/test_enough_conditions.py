"""As many conditions as derivatives: fewer are refused or warned of, and a march hands on only what it can."""

import warnings

import numpy as np
import pytest

from primad import pde
from primad.errors import ProblemError
from primad.pde.solve import marching

NET = pde.MLP(4, 1)
START = pde.Initial(u=lambda x: np.sin(np.pi * x))
REST = pde.Initial(u=0, order=1)


def wave(*conditions):
    domain = pde.Interval(0, 1) * pde.Time(0, 1)
    return pde.Problem(lambda u: u.tt - u.xx, domain, [pde.Dirichlet(u=0), *conditions], network=NET)


@pytest.mark.parametrize(("given", "lacking"), [(START, r"Initial\(u=…, order=1\)"), (REST, r"Initial\(u=…\)")])
def test_a_wave_without_values_or_velocities_is_refused(given, lacking):
    with pytest.raises(ProblemError, match=lacking):
        wave(given)


@pytest.mark.parametrize(
    "more",
    [
        REST,
        pde.Condition(lambda u: u.t, on="initial"),
        pde.Free("u"),
        pde.Data(x=[0.5], t=[0.5], u=[0.0]),
    ],
)
def test_what_stands_for_a_velocity_is_taken(more):
    assert wave(START, more).unknowns == ("u",)


LINE = pde.Interval(0, 1)


@pytest.mark.parametrize(
    ("equation", "conditions", "said"),
    [
        (lambda u: u.xxxx - 1, [pde.Dirichlet(u=0)], "order 4 in x, and has 2 conditions"),
        (lambda u: u.xxx - 1, [pde.Dirichlet(u=0)], "order 3 in x, and has 2 conditions"),
        (lambda u: u.xx - np.pi, [pde.Neumann(u=1)], "a constant may be added to u"),
        (lambda u, x: u.xx - np.sin(2 * np.pi * x), [pde.Periodic("x")], "a constant may be added to u"),
    ],
)
def test_too_few_conditions_in_space_are_told(equation, conditions, said):
    with pytest.warns(UserWarning, match=said):
        pde.Problem(equation, LINE, conditions, network=NET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pde.Problem(equation, LINE, [*conditions, pde.Data(x=[0.5], u=[0.0])], network=NET)


TIMELY = pde.Interval(0, 6, "t")
PLATE, SIDES = pde.Box(x=(0, 1), y=(0, 1)), ["x-", "x+", "y-", "y+"]


def bent(u):
    return pde.biharmonic(u) - 1


FEW = {
    "a third derivative": (
        lambda u: u.xxx - 1, LINE, [pde.Dirichlet(u=0)], pde.Neumann(u=0, on="x+"),
    ),
    "a swing from its place alone": (
        lambda u: u.tt + u, TIMELY, [pde.Dirichlet(u=1, on="t-"), pde.Free("u")], pde.Neumann(u=0, on="t-"),
    ),
    "a wave in a box": (
        lambda u: u.tt - u.xx,
        pde.Box(x=(0, 1), t=(0, 1)),
        [pde.Dirichlet(u=0, on=["x-", "x+", "t-"]), pde.Free("u")],
        pde.Neumann(u=1, on="t-"),
    ),
    "a round plate": (bent, pde.Disk(), [pde.Dirichlet(u=0)], pde.Neumann(u=0)),
    "a triangle": (bent, pde.Polygon([(0, 0), (1, 0), (0, 1)]), [pde.Dirichlet(u=0)], pde.Condition(pde.laplacian)),
    "a plate in time": (
        lambda u: u.t + bent(u), pde.Disk() * pde.Time(0, 1), [pde.Dirichlet(u=0), pde.Initial(u=0)], pde.Neumann(u=0),
    ),
    "the edge of a hole": (
        bent,
        PLATE - pde.Disk((0.5, 0.5), 0.2),
        [pde.Dirichlet(u=0), pde.Neumann(u=0, on=SIDES)],
        pde.Neumann(u=0, on="boundary"),
    ),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FEW)
def test_what_is_advised_for_too_few_conditions_is_enough(name):
    equation, domain, few, another = FEW[name]
    with pytest.warns(UserWarning, match=r"is of order [234] in .*, and has [12] conditions? (at|on)") as told:
        pde.Problem(equation, domain, few, network=NET)
    meant = eval(str(told[0].message).split("it is meant: ")[1].rstrip("."), {"pde": pde})
    for more in (meant, another):
        pde.Problem(equation, domain, [*[one for one in few if more is not meant or one.kind != meant.kind], more])


UNUSED = {
    "a coefficient": (lambda u, k: u.x - 1, {"coefficients": {"k": 1.0}}, "the coefficient 'k' is in no"),
    "one that data would tell": (
        lambda u, k, c: u.x - k, {"coefficients": {"k": 1.0, "c": np.ones(2)}}, "the coefficient 'c' is in no"
    ),
    "an unknown": (lambda u, v: u.x - 1, {"unknowns": "u v"}, "the unknown 'v' is in no"),
    "an unknown with a network of its own": (
        lambda u, v: (u.x, 0 * u), {"unknowns": {"u": NET, "v": NET}}, "the unknown 'v' is in no"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSED)
def test_what_functions_take_and_do_not_use_is_refused(name):
    equation, more, said = UNUSED[name]
    conditions = [pde.Dirichlet(u=0, on="x-"), pde.Free(*("uv" if "unknowns" in more else "u"))]
    with pytest.raises(ProblemError, match=said):
        pde.Problem(equation, LINE, conditions, **{"network": NET, **more})


ROD = LINE * pde.Time(0, 1)
UNTOLD = {
    "a force": (lambda u, k: u.xx - k, LINE, [pde.Dirichlet(u=0)], pde.Neumann(u=0, on="x-")),
    "a rate": (
        lambda u, k: u.t + k * u, pde.Time(0, 1), [pde.Initial(u=1)], pde.Data(t=[1.0], u=[0.5]),
    ),
    "a diffusivity": (
        lambda u, k: u.t - k * u.xx, ROD, [pde.Dirichlet(u=0), START], pde.Neumann(u=0, on="x-"),
    ),
    "a speed": (
        lambda u, k: u.tt - k**2 * u.xx, ROD, [pde.Dirichlet(u=0), START, REST],
        pde.Condition(lambda u: u.xx, on="x+"),
    ),
    "a source in a disk": (
        lambda u, k: pde.laplacian(u) - k, pde.Disk(), [pde.Dirichlet(u=0)], pde.Neumann(u=1),
    ),
    "an eigenvalue": (
        lambda u, k: u.xx + k * u, LINE, [pde.Dirichlet(u=0)], pde.Integral(lambda u: u.value**2, 1.0),
    ),
    "a period": (
        lambda u, k: u.t - k * u.xx, ROD, [pde.Periodic("x"), pde.Initial(u=lambda x: np.sin(2 * np.pi * x))],
        pde.Dirichlet(u=0, on="x-"),
    ),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", UNTOLD)
def test_a_coefficient_that_nothing_tells_is_told_and_one_condition_more_is_enough(name):
    equation, domain, few, another = UNTOLD[name]
    more = {"coefficients": {"k": 1.5}, "network": NET}
    with pytest.warns(UserWarning, match=r"nothing tells the value of k: .*constants=\{\"k\": 1\.5\}"):
        pde.Problem(equation, domain, few, **more)
    for told in (another, pde.Free("u")):
        pde.Problem(equation, domain, [*few, told], **more)
    pde.Problem(equation, domain, few, constants={"k": 1.5}, network=NET)
    both = lambda u, k: (equation(u, k), u.value - 1)  # noqa: E731 - an equation more tells it as well
    pde.Problem(both, domain, few, **more)


LACKING = {
    "one for two": ({"a": lambda u, v: u.x - v}, "u v", "for v"),
    "two of the same": ({"a": lambda u, v: u.x - v, "b": lambda w: (w.x, w - 1)}, "u v w", "for v"),
    "three of two": ({"a": lambda u: (u.x, u - 1), "b": lambda v, w: v - w}, "u v w", "for w"),
}
ENOUGH = {
    "a tuple": (lambda u, v: (u.x - v, v.x + u), "u v"),
    "in another order": ({"a": lambda u, v: u.x - v, "b": lambda u: u.x}, "u v"),
    "a chain": ({"a": lambda u, v: u - v, "b": lambda v, w: v - w, "c": lambda u: u.x}, "u v w"),
}


@pytest.mark.parametrize("name", [*LACKING, *ENOUGH])
def test_fewer_equations_than_unknowns_are_told(name):
    equations, names, *said = {**LACKING, **ENOUGH}[name]
    conditions = [pde.Dirichlet(u=0, on="x-"), pde.Free(*names.split())]
    data = pde.Data(x=[0.5], u=[0.0])
    if said:
        with pytest.warns(UserWarning, match=f"no equation is left {said[0]}:"):
            pde.Problem(equations, LINE, conditions, unknowns=names, network=NET)
        conditions.append(data)
    pde.Problem(equations, LINE, conditions, unknowns=names, network=NET)


STARTS = {
    "by name": lambda start: pde.Initial(**start),
    "called": lambda start: pde.Initial(u=lambda x: start["u"](x)),
    "fitted": lambda start: pde.Initial(u=start["u"], hard=False),
    "in a condition": lambda start: pde.Condition(lambda u, x: u - start["u"](x), on="initial"),
    "as data": lambda start: pde.Data(x=[0.5], t=[0.0], u=start["u"](np.array([0.5]))),
}


@pytest.mark.parametrize("name", [*STARTS, "not used"])
def test_a_march_refuses_windows_that_do_not_begin_where_the_last_one_ended(name):
    start = {"u": lambda x: np.sin(np.pi * x)}

    def window(time, given):
        begin = STARTS[name](given) if name in STARTS else pde.Initial(**start)
        rest = [pde.Free("u", on="initial")] if isinstance(begin, pde.Data) else []
        return pde.Problem(lambda u: u.t - u.xx, LINE * time, [pde.Dirichlet(u=0), begin, *rest], network=NET)

    windows = marching._Windows(window, start, np.array([0.0, 0.4, 0.8]), 8)
    if name in STARTS:
        windows.next()
    else:
        with pytest.raises(ProblemError, match=r"(?s)no use of start\['u'\].*pde\.Initial\(\*\*start\)"):
            windows.next()


def test_a_march_refuses_velocities_and_times_of_its_own():
    def fixed(time, start):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**start)]
        return pde.Problem(lambda u: u.t - u.xx, LINE * pde.Time(0, 0.5), conditions, network=NET)

    def second(time, start):
        conditions = [pde.Dirichlet(u=0), pde.Initial(**start), REST]
        return pde.Problem(lambda u: u.tt - u.xx, LINE * time, conditions, network=NET)

    start = {"u": lambda x: np.sin(np.pi * x)}
    with pytest.raises(ProblemError, match="order 2 in t"):
        pde.march(second, start, [0, 0.4, 0.8], steps=1, points=20, progress=False)
    with pytest.raises(ProblemError, match=r"from 0 to 0\.4 goes from 0 to 0\.5"):
        pde.march(fixed, start, [0, 0.4, 0.8], steps=1, points=20, progress=False)


def learning(*conditions):
    return pde.Problem(lambda u, k: u.xx - k, LINE, conditions, coefficients={"k": 1.0}, network=NET)


def test_an_end_that_is_free_tells_nothing_of_a_coefficient():
    """Freedom of one end is one condition less; that of an unknown says that nothing is to be counted."""
    with pytest.warns(UserWarning, match="nothing tells the value of k"):
        learning(pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learning(pde.Dirichlet(u=0), pde.Free("u"))


def test_a_velocity_at_the_start_holds_no_constant():
    domain = pde.Interval(0, 1) * pde.Time(0, 1)
    sides = [pde.Neumann(u=0), pde.Condition(lambda u: u.x, on="initial"), REST]
    with pytest.warns(UserWarning, match="a constant may be added to u"):
        pde.Problem(lambda u: u.t - u.xx, domain, sides, network=NET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pde.Problem(lambda u: u.t - u.xx, domain, [*sides[:2], START], network=NET)


def test_a_named_piece_of_the_start_is_the_start():
    domain = (pde.Interval(0, 1) * pde.Time(0, 1)).named(beginning=lambda x, t: t == 0)
    conditions = [pde.Dirichlet(u=0, on=["x-", "x+"]), pde.Dirichlet(u=lambda x: np.sin(np.pi * x), on="beginning")]
    assert pde.Problem(lambda u: u.t - u.xx, domain, conditions, network=NET).unknowns == ("u",)
    with pytest.raises(ProblemError, match="u is of order 2 in t, and has 1 condition in t"):
        pde.Problem(lambda u: u.tt - u.xx, domain, conditions, network=NET)

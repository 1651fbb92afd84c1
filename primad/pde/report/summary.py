"""What a run will be, before it begins: parameters, points, streams, flops and time of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from primad.explanation.machine_speeds import machine
from primad.functional.derivatives.gradients import value_and_grad
from primad.ir.program import Cost
from primad.optimize.parameter_vectors import Space
from primad.pde.geometry.intervals import Parameters, factors_of
from primad.pde.problem.settings import Settings
from primad.recording.tracing import trace
from primad.simplify import simplify
from primad.system.live_display import console
from primad.system.quantities import count, seconds
from primad.transforms.lowering import lower, without_calls

if TYPE_CHECKING:
    from primad.pde.problem.conditions import Condition
    from primad.pde.problem.pde_problem import Problem

__all__: list[str] = []
TRIED = 1.3
"""How often a step computes the function beside its derivatives."""
PRODUCTS = 50
"""Products with the Jacobian that a step by conjugate gradients is taken to need."""
CALLS = 2e-3
"""Seconds of a step that are spent in Python."""
SAMPLE = 64
"""Points at which flops are counted."""


@dataclass(frozen=True)
class TermSummary:
    """A term of a problem.

    Attributes:
        name: of the term.
        points: how many.
        residuals: how many at a point.
        weight: of the mean square.
        streams: matrix products of its residuals, in forward passes of the networks: what its derivatives cost.
    """

    name: str
    points: int
    residuals: int
    weight: float
    streams: float


@dataclass(frozen=True)
class Summary:
    """What a run will be; `print` it, or `show` it on standard error.

    Attributes:
        unknowns: names of the unknowns, and their networks.
        held: what holds by construction, in words.
        left: what might have, is fitted, and why.
        parameters: how many are searched for.
        coefficients: how many of them are coefficients.
        optimizer: name of the optimiser.
        terms: what is minimised.
        flops: of a step, about.
        time: seconds of a step, about, on this machine.
        steps: how many at most.
    """

    unknowns: Mapping[str, str]
    held: tuple[str, ...]
    left: tuple[str, ...]
    parameters: int
    coefficients: int
    optimizer: str
    terms: tuple[TermSummary, ...]
    flops: float
    time: float
    steps: int

    def _facts(self) -> list[tuple[str, str]]:
        learned = f", {self.coefficients} of them coefficients" if self.coefficients else ""
        return [
            *[(names, network) for names, network in self.unknowns.items()],
            ("by construction", "; ".join(self.held) or "nothing"),
            *[("fitted", one) for one in self.left],
            ("parameters", f"{self.parameters:,}{learned}"),
            ("optimiser", self.optimizer),
            ("flops a step", f"about {count(self.flops)}"),
            (
                "predicted time",
                f"about {seconds(self.time)} a step, {seconds(self.time * self.steps)} for {self.steps}",
            ),
        ]

    def __str__(self) -> str:
        facts = self._facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:{width}}  {value}" for name, value in facts]
        names = max(len("term"), *[len(term.name) for term in self.terms])
        lines += ["", f"{'term':{names}} {'points':>8} {'residuals':>10} {'weight':>8} {'streams':>8}"]
        for t in self.terms:
            lines.append(f"{t.name:{names}} {t.points:>8} {t.residuals:>10} {t.weight:>8.3g} {t.streams:>8.3g}")
        return "\n".join(lines)

    def show(self) -> None:
        """Show it on standard error."""
        from rich.table import Table  # loads when there is something to show

        facts = Table(show_header=False, box=None, pad_edge=False)
        for name, value in self._facts():
            facts.add_row(f"[dim]{name}[/dim]", value)
        table = Table("term", box=None, pad_edge=False, header_style="dim")
        for column in ("points", "residuals", "weight", "streams"):
            table.add_column(column, justify="right")
        for t in self.terms:
            table.add_row(t.name, str(t.points), str(t.residuals), f"{t.weight:.3g}", f"{t.streams:.3g}")
        to = console()
        to.print(facts)
        to.print(table)


def _on_boundary(problem: Problem, settings: Settings) -> dict[str, int]:
    """Return how many points each condition will have."""
    given = settings.boundary_points
    many = max(20, settings.most_points // 5) if settings.drawn_on_boundary is None else settings.drawn_on_boundary
    found = dict.fromkeys(problem.terms, many)
    if given is not None and settings.drawn_on_boundary is None:
        drawn = problem.points(1, given, (settings.seed, 0))
        found |= {n: len(drawn[n]["at"]) for n in drawn if not isinstance(given, Mapping) or n in given}
    return found


def summary(problem: Problem, settings: Settings, rule: Any) -> Summary:
    """Count what a run will need; nothing is compiled."""
    params = problem.init(settings.seed)
    sample = problem.points(SAMPLE, SAMPLE, (settings.seed, 0))
    stated = {} if settings.weights is None or isinstance(settings.weights, str) else settings.weights
    weights = {**problem.weights, **stated}
    edge = _on_boundary(problem, settings)
    size, terms, one, total, rows = Space.of(params).size, [], Cost(), Cost(), 0
    for name, row in sample.items():
        have = len(row["at"])
        term = problem.terms[name]
        wanted = settings.points_for(name) if term.kind == "equation" else edge[name]
        points = have if term.fixed or have < SAMPLE else wanted
        single = {name: row}
        values, passed = _cost(problem.values, params, single), _cost(_networks(problem), params, row)
        slope = _cost(value_and_grad(problem.loss), params, single)
        total += _times(slope, points / have)
        one += _times(values, points / have)
        rows += points * len(problem.labels[name]) * problem.family.members(row)
        streams = values.matmul_flops / passed.matmul_flops if passed.matmul_flops else 0.0
        terms.append(TermSummary(name, points, len(problem.labels[name]), weights[name], streams))
    flops, elements = _of_a_step(rule, size, rows, one, total)
    speeds = machine("float64")
    return Summary(
        unknowns={" ".join(group.names): brief(group.network) for group in problem.groups},
        held=_held(problem),
        left=tuple([f"{_of(problem, one.condition, one.name)}: {one.why}" for one in problem.left]),
        parameters=size,
        coefficients=sum(getattr(value, "size", 1) for value in params["coefficients"].values()),
        optimizer=type(rule).__name__,
        terms=tuple(terms),
        flops=flops + elements,
        time=flops / speeds.peak + elements * speeds.arithmetic + CALLS,
        steps=settings.steps,
    )


def _held(problem: Problem) -> tuple[str, ...]:
    found = [_of(problem, condition, name) for condition, name in problem.held]
    found += [f"periodic in {name}" for name in sorted({n for g in problem.groups for n in g.inputs.periodic})]
    if any(isinstance(factor, Parameters) for factor in factors_of(problem.domain)):
        found.append("a family in its parameters")
    found += [f"a family in the function {name}" for name in problem.family.inputs]
    return tuple(found)


def _of(problem: Problem, condition: Condition, name: str) -> str:
    return condition.what if len(problem.unknowns) == 1 else f"{condition.what} for {name}"


def _of_a_step(rule: Any, size: int, rows: int, value: Cost, slope: Cost) -> tuple[float, float]:
    """Return flops in matrix products, and in other elements, of a step of an optimiser.

    Args:
        rule: the optimiser.
        size: number of parameters.
        rows: number of residuals.
        value: cost of the residuals.
        slope: cost of the loss with its gradient.
    """
    name = type(rule).__name__
    products, elements = slope.matmul_flops, slope.flops - slope.matmul_flops
    tried, others = TRIED * value.matmul_flops, TRIED * (value.flops - value.matmul_flops)
    if name == "LevenbergMarquardt":  # the Jacobian, JᵀJ and a factorization, and the acceleration
        small = min(size, rows)
        return 2.0 * products + tried + rows * size * small + small**3 / 3, 2.0 * elements + others
    if name in ("GaussNewtonCG", "NewtonCG"):
        return (1 + PRODUCTS) * products + tried, (1 + PRODUCTS) * elements + others
    if name == "SelfScaledBroyden":
        return TRIED * products, TRIED * elements + 8.0 * size**2
    return TRIED * products, TRIED * elements


def _networks(problem: Problem) -> Any:
    def unknowns(params: Any, row: Any) -> Any:
        return {name: field.value for name, field in problem.fields(params, row["at"], row).items()}

    return unknowns


def brief(value: Any) -> str:
    """Describe a record by the fields that differ from their defaults."""
    if not is_dataclass(value):
        return repr(value)
    told = [f for f in fields(value) if f.default is MISSING or getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(f'{f.name}={brief(getattr(value, f.name))}' for f in told)})"


def _cost(function: Any, *args: Any) -> Cost:
    return simplify(lower(without_calls(trace(function)(*args)))).cost()


def _times(cost: Cost, factor: float) -> Cost:
    def some(part: int) -> int:
        return round(factor * part)

    return Cost(some(cost.flops), some(cost.matmul_flops), some(cost.bytes), cost.nodes)

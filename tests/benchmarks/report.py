"""Rows as text, as JSON, and as the documentation's page on performance."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .gradbench import compare
from .limit import least_work
from .machine import description
from .measure import Row
from .workloads import DIMENSIONS, PARTS, WORKLOADS, Workload

HEAD = """\
# Performance

**All figures are of one machine and one day**: {machine}, {date}. Other processors, and versions of
primad since then, give others; run it on yours ([how](#how-to-run-it)).

Written by `python -m tests.benchmarks --report`, from these runs; every system ran in a process
of its own, on all cores, in turn with the others after a warm-up, and all agreed on values and gradients (relative
difference below 1e-6 in float64, 1e-2 in float32). Times are medians of the rounds. *Ratio* is the time of the best
form of the best peer over primad's, *share of the limit* the least time that the work of the best known method takes on
this machine ([what it counts](#what-the-limit-counts)) over primad's time, and *products alone* the same with nothing
but the matrix products (or, without any, the bytes of arguments and results). *First call* records, derives, plans and
runs. *Memory* is the peak above what the imported library holds.

"""
LIMIT = """\
## What the limit counts

The work is counted from formulas of the method that is known to need least, whatever runs; no system is asked. For each
network it is

- *products*: a multiply-add for each weight, point and stream. Streams are the value and the derivatives that the
  problem asks for: k + 1 for order k, 4 for burgers (u, u_x, u_t, u_xx), 6 for navier-stokes, d + 2 for a Laplacian
  in d dimensions (the forward Laplacian), 9 for the plate (u, ∇u, three second derivatives, ∇Δu, Δ²u). In the first
  layer only the value's counts, as derivatives of x·W are weights. A parameter gradient takes the same twice more, for
  weights and for units, the first layer once;
- *units*: the products of the formulas by which an activation mixes the streams of a unit, below. Sums are part of
  multiply-adds, constants of the next layer's weights, and a sum or product that is needed twice is counted once;
- *functions*: a tanh, or a sine (with its cosine at no cost), for each unit and point.

With s = f'(z), all streams of y = f(z) follow from ∂y = s ∂z, those of s from s' = −2 y y' for tanh and −y z' for the
sine. The gradient comes back through the transpose of δz ↦ s δz, which takes as many products as the map:

- order k, Taylor coefficients: i yᵢ = Σⱼ j zⱼ sᵢ₋ⱼ takes k (k + 1) / 2 products, sᵢ = −Σⱼ yⱼ yᵢ₋ⱼ with equal pairs once
  ⌊i / 2⌋ + 1 each, and (s δz)ᵢ = Σⱼ sᵢ₋ⱼ δzⱼ for the gradient (k + 1) (k + 2) / 2;
- d first derivatives, the second ones of e of them added up: yᵢ = s zᵢ, y_L = s z_L + Σ sᵢ zᵢ, and for the gradient
  s δz, s δzᵢ + sᵢ δz, s δz_L + 2 Σ sᵢ δzᵢ + s_L δz: together 4d + 3e + 6, or 3d + 2e + 12 with f'' before the sums,
  whichever is less;
- the plate: the same up to Δ²(s δz) = s Δ²δz + 4 ∇s·∇Δδz + 2 Δs Δδz + 4 ∇∇s : ∇∇δz + 4 ∇Δs·∇δz + δz Δ²s.

They are counted as `tests/benchmarks/streams.py` writes them. The same lines run on numbers, too, where tests compare
them with derivatives by other means. A Gauss–Newton step adds half of JᵀJ and a Cholesky factorization; one by products
adds ten times the forward products and those of the weights.

The least time is the sum of three: multiply-adds at the speed of matrix products (NumPy's or primad's own, whichever
are faster), those of units at the same speed, with both factors in registers, and functions at the speed of the fastest
at hand for arrays in cache. A sum, since on one core all three use the same units for multiply-adds, so that none hides
behind another; loads and stores do, and are not counted. It is at least the time that arguments and results take at
the speed of a copy. It is not known that no method needs less: with 100 inputs and 64 units in the first layer a
Laplacian would do with 64 directions, after a rotation of the inputs. No system does that, and it is not counted.

"""
COMPUTED = {
    "logdet": "gradient of log |det a|",
    "solve": "gradients of the square sum of a⁻¹b in both",
    "eigh": "gradient through eigenvalues and vectors",
    "svd": "gradient through singular values and vectors",
    "evidence": "value and Hessian of the evidence of a Gaussian process in 3 parameters",
    "mixture": f"value and gradient of the likelihood of {PARTS} Gaussian densities in {DIMENSIONS} dimensions",
}
"""What is computed of matrices, by kind."""
EVERYDAY = {
    "forces": "energy of {} atoms in pairs listed by indices, and forces",
    "logsumexp": "logarithm of the sum of exponentials of {} numbers, by hand, with gradient",
    "attention": "four heads of attention over {} rows of 64 numbers, value and gradient in the weights",
    "convolution": "two layers of 3×3 convolutions, 8 and 16 channels, {} pictures 28×28, value and gradient",
    "logistic": "logistic regression on 20 features, {} points, value, gradient and Hessian",
}
"""What everyday programs compute, by kind."""
WAVES = {
    "filtered": "convolution of {} numbers by Fourier transforms, value and gradient",
    "blurred": "convolution of pictures {0}×{0} by Fourier transforms, value and gradient",
    "schrodinger": "500 split steps of a nonlinear Schrödinger equation, {} points, value and gradient in the start",
    "pulses": "500 pulses on a quantum system of {} levels, value and gradient in the pulses",
    "pulses-hessian": "the same of {} levels, with the Hessian",
    "layers": "a product of 40 complex matrices {0}×{0}, value and gradient in a number of each",
    "gratings": "40 functions of complex matrices {0}×{0} by `eig`, multiplied, value and gradient in a number of each",
    "products": "a product of three complex matrices {0}×{0}, value and gradient",
    "sizes": "sizes, phases and logarithms of {} complex numbers, value and gradient",
}
"""What programs of complex numbers compute, by kind."""
SIMULATIONS = {
    "kalman": "a Kalman filter of 4 states over {} measurements, value and gradient in its matrices",
    "forward-pass": "a hidden Markov chain of 16 states over {} rows, value and gradient",
    "transport": "Sinkhorn's scaling in 50 rounds, {} points to as many, value and gradient in the points",
    "rollout": "a planar drone over {} steps, value and gradient in the controls",
    "bodies": "{} bodies over 50 leapfrog steps, value and gradient in their speeds",
    "option": "an American put by a binomial tree of {} steps, value and gradient in the market",
    "basket": "a call on a basket of 5 by {} draws, value and gradient in prices and spreads",
    "assembly": "forces on a mesh of {} corners, added up from triangles, value and gradient",
    "elastic": "energy of a neo-Hookean solid, {} matrices 3×3, value and gradient",
    "spline": "a natural cubic spline of 50 knots at {} points, value and gradient in its values",
    "picture": "total variation of a picture {0}×{0}, value and gradient",
}
"""What simulations compute, by kind."""
GRADBENCH = """\
## GradBench

The twelve evaluations of [GradBench](https://github.com/gradbench/gradbench), each system on one processor, as
[below](#gradbench-evaluations). *First* is the first call. A system without a time did not answer within a minute.

"""
SWEEP = """\
## From one size to the next

Programs of 10 to 100 000 nodes, and of arrays from one element to ten millions: the time of a call by node, or by
element. Where it grows more than three times from a size to the next there is a circle: a program of tens of thousands
of nodes that repeats nothing (*tangle*) would take more than ten seconds to compile, and is interpreted.

![Time by node over the number of nodes, and by element over the number of elements](pictures/sweep.svg)

It is drawn by `python -m tests.benchmarks.sweep --picture docs/pictures/sweep.svg`.

## What explain predicts

`primad.explain` predicts the time of a call from its costs and a few speeds that it measures of the machine.
`python -m tests.benchmarks.predictions` compares that with the time that a call takes, workload by workload, on an idle
machine, and marks where one is more than twice the other.

"""
COMMANDS = """\
## How to run it

The peers are found in an interpreter of your choice, which has some of `jax`, `folx`, `torch`, `autograd`, `casadi`:

```console
$ python -m tests.benchmarks burgers laplacian --peer-python /path/to/python --json rows.json
$ python -m tests.benchmarks --peer-python /path/to/python --report
```

### GradBench evaluations

[GradBench](https://github.com/gradbench/gradbench) sends evaluations to tools of automatic differentiation as lines of
JSON. All twelve of them are in `tests/benchmarks/gradbench`, a file each, written as a user of NumPy would write them.
The first command below is the tool, which answers on one processor; the second one sends the evaluations, at the sizes
of GradBench's own runs with inputs drawn here, to it and to the same in JAX and PyTorch, in turn. Before that, small
inputs are compared with definitions in other words and with differences.

```console
$ python -m tests.benchmarks.gradbench
$ python -m tests.benchmarks.gradbench.compare lse gmm --peer-python /path/to/python --json evaluations.json
```

Without names all run, for about a quarter of an hour; a system that takes more than `--patience` seconds (60) for an
answer is left out from there on. The last columns are times of C++ that GradBench publishes, of another machine. The
determinant by minors is another algorithm than that of the C++, which computes each minor as often as it is met.

"""


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text."""
    heads = ("workload", "dtype", "primad ms", "peer ms", "ratio", "first s", "JAX's", "of it")
    heads += ("MB", "peer MB", "limit", "best peer")
    lines = ["{:20} {:8} {:>10} {:>12} {:>6} {:>8} {:>8} {:>6} {:>6} {:>8} {:>6}  {}".format(*heads)]
    for row in rows:
        peer = number(row["best_peer_ms"])
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        memory = f"{row['peers'][row['best_peer']]['peak_mb']:.0f}" if row["best_peer"] else ""
        limit = _share(row.get("roofline_fraction"))
        lines.append(
            f"{row['workload']:20} {row['dtype']:8} {number(row['primad_ms']):>10} {peer:>12} {ratio:>6}"
            f" {row['first_call_s']:8.3f} {_first_of_jax(row)} {row['peak_mb']:6.0f} {memory:>8} {limit:>6}"
            f"  {row['best_peer'] or ''}"
        )
        lines.extend(f"{'':20} {note}" for note in row["notes"])
    return "\n".join(lines)


def _first_of_jax(row: Row) -> str:
    """Return JAX's shortest first call of all its forms, and primad's as a multiple of it."""
    calls = [found["first_call_s"] for form, found in row["peers"].items() if form.startswith("JAX")]
    return f"{min(calls):8.3f} {row['first_call_s'] / min(calls):6.2f}" if calls else f"{'':8} {'':6}"


def number(milliseconds: float | None) -> str:
    """Return a time with three digits."""
    if milliseconds is None:
        return ""
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def merged(earlier: Sequence[Row], later: Sequence[Row]) -> list[Row]:
    """Return the rows in the order of the workloads, later ones in the place of earlier ones."""
    found = {(row["workload"], row["dtype"]): row for row in (*earlier, *later)}
    names = list(WORKLOADS)
    return [found[key] for key in sorted(found, key=lambda key: (names.index(key[0]), key[1] != "float64"))]


def page(rows: Sequence[Row], date: str, evaluations: Sequence[Row] = ()) -> str:
    """Return the documentation's page: workloads, and GradBench's evaluations where they were timed."""
    said = description()
    machine = f"{said['cores']} cores of an {said['processor']} with {said['vectors']}"
    parts = [
        HEAD.format(date=date, machine=machine),
        *[f"{line}\n\n" for line in standing(rows)],
        "## The machine\n\n| | |\n|---|---|\n",
    ]
    versions = {name: version for row in rows for name, version in row["versions"].items()}
    parts += [f"| {name} | {value} |\n" for name, value in {**said, **versions, **_speeds(rows)}.items()]
    parts.append(
        "\n## Against the best peer\n\n"
        "| workload | dtype | primad ms | best peer ms | best peer | ratio | must | reach for | share of the limit"
        " | products alone | first call s | memory MB |\n|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    parts += [_line(row, WORKLOADS[row["workload"]]) for row in rows]
    parts += [f"\n{line}\n" for line in medians(rows)]
    asked = {row["workload"]: WORKLOADS[row["workload"]].note for row in rows}
    asked = {name: note for name, note in asked.items() if note}
    parts += ["\nOf single workloads:\n\n", *[f"- {name}: {note}\n" for name, note in asked.items()]] if asked else []
    parts += ["\nWhat is computed:\n\n", *dict.fromkeys(f"- {row['workload']}: {_definition(row)}\n" for row in rows)]
    parts += ["\n", _limits(rows)]
    parts.append(
        "\n## Every form of every peer\n\n"
        "A form that two rounds showed to be more than twice slower than the best ran no more.\n\n"
        "| workload | dtype | form | ms | first call s | memory MB | rounds |\n|---|---|---|--:|--:|--:|--:|\n"
    )
    for row in rows:
        own = {"ms": row["primad_ms"], "first_call_s": row["first_call_s"], "peak_mb": row["peak_mb"]}
        for form, found in {"primad": {**own, "rounds": row["rounds"]}, **row["peers"]}.items():
            parts.append(
                f"| {row['workload']} | {row['dtype']} | {form} | {number(found['ms'])} | {found['first_call_s']:.3f}"
                f" | {found['peak_mb']:.0f} | {found['rounds']} |\n"
            )
    notes = [f"- {row['workload']} {row['dtype']}: {note}\n" for row in rows for note in row["notes"]]
    parts += ["\nNot timed:\n\n", *notes] if notes else []
    if evaluations:
        parts += ["\n", GRADBENCH, compare.header(), "\n", *[compare.shown(found) + "\n" for found in evaluations]]
    return "".join(parts) + "\n" + SWEEP + COMMANDS.rstrip() + "\n"


def _definition(row: Row) -> str:
    workload = WORKLOADS[row["workload"]]
    if workload.kind in COMPUTED:
        size = f"{workload.points} points" if workload.kind in ("evidence", "mixture") else f"{workload.points} rows"
        return f"{COMPUTED[workload.kind]}, {size}{f', {workload.stack} matrices' if workload.stack else ''}"
    if workload.kind in WAVES:
        return WAVES[workload.kind].format(workload.points)
    if workload.kind in SIMULATIONS:
        return SIMULATIONS[workload.kind].format(workload.points) + (", its loop in plain Python" * workload.looped)
    if workload.kind in EVERYDAY:
        return EVERYDAY[workload.kind].format(workload.points)
    if workload.group == "plain":
        return f"plain gradient of a function of {workload.points} numbers, call by call"
    if not workload.sizes:
        return f"{workload.points or workload.order} {'unknowns' if workload.points else 'operations'}"
    widths = "-".join(map(str, workload.sizes))
    result = "value and parameter gradient" if workload.gradient else "value"
    kind = f"derivatives to order {workload.order}" if workload.order else workload.kind
    return f"{kind}, network {widths} with {workload.activation}, {workload.points} points, {result}"


def _line(row: Row, workload: Workload) -> str:
    ratio = target_ratio(row, workload)
    met = "" if workload.must is None or ratio is None else " ✓" if ratio >= workload.must else " ✗"
    against = f" ({workload.against})" if workload.against else ""
    cells = (
        row["workload"], row["dtype"], number(row["primad_ms"]), number(row["best_peer_ms"]), row["best_peer"] or "–",
        ("–" if ratio is None else f"{ratio:.2f}{against}"),
        ("" if workload.must is None else f"{workload.must:.2g}{met}"),
        ("" if workload.reach is None else f"{workload.reach:.2g}"),
        _share(row.get("roofline_fraction")), _share(row["limit_fraction"]),
        f"{row['first_call_s']:.3f}", f"{row['peak_mb']:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |\n"


def _share(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.0f} %"


def _speeds(rows: Sequence[Row]) -> dict[str, str]:
    """Return the speeds that limits were counted with, in words: the best of all rows."""
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        for name, speed in row.get("speeds", {}).items():
            key = name, "" if name == "bandwidth" else row["dtype"]
            best[key] = max(best.get(key, 0.0), speed)
    units = {"products": "GFLOP/s", "bandwidth": "GB/s"}
    return {
        f"{name} {dtype}".strip(): f"{speed / 1e9:.3g} {units.get(name, '10⁹/s')}"
        for (name, dtype), speed in sorted(best.items())
    }


def _limits(rows: Sequence[Row]) -> str:
    """Return the table of what the limits count."""
    lines = [LIMIT, "| workload | products, 10⁶ | units, 10⁶ | a unit | functions, 10⁶ |\n|---|--:|--:|--:|--:|\n"]
    for workload in dict.fromkeys(WORKLOADS[row["workload"]] for row in rows):
        work = least_work(workload)
        if work.functions:
            counts = [f"{count / 1e6:.4g}" for count in (work.products, work.pointwise)]
            counts += [f"{work.pointwise / work.functions:.3g}", f"{work.functions / 1e6:.3g}"]
            lines.append(f"| {workload.name} | {' | '.join(counts)} |\n")
    return "".join(lines)


def medians(rows: Sequence[Row]) -> list[str]:
    """Say how fast plain gradients of the small functions are at the median, if any were timed beside a peer."""
    found = [(WORKLOADS[row["workload"]], row) for row in rows]
    ratios = [target_ratio(row, workload) for workload, row in found if workload.group == "plain"]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return []
    at = f"{statistics.median(known):.2f} times as fast as HIPS autograd"
    return [f"Plain gradients of {len(known)} small functions are, at the median, {at}."]


def standing(rows: Sequence[Row]) -> list[str]:
    """Say how many programs are ahead of the best peer, how far at the mean, and which are the least."""
    known = sorted([(row["ratio"], row["workload"], row["dtype"]) for row in rows if row["ratio"] is not None])
    if not known:
        return []
    mean = statistics.geometric_mean([ratio for ratio, *_ in known])
    ahead = sum(ratio > 1.0 for ratio, *_ in known)
    least = ", ".join(f"{name} {ratio:.2f}" for ratio, name, _ in known[:3])
    return [
        f"Of {len(known)} programs with a peer {ahead} are ahead of the best one, {mean:.1f} times in the geometric "
        f"mean; least are {least}. The machine was left alone meanwhile."
    ]


def target_ratio(row: Row, workload: Workload) -> float | None:
    """Return the ratio that the targets are about: to the best peer, or to the best form of one."""
    times = [found["ms"] for form, found in row["peers"].items() if form.startswith(workload.against)]
    return min(times) / row["primad_ms"] if times else None


def write(path: Path, text: str) -> None:
    """Write a file, all of it or nothing."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def write_json(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as JSON."""
    write(path, json.dumps(rows, indent=1) + "\n")

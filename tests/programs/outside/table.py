"""Which packages run: their versions, what of them runs, and what is known to fail, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field

CONSTRAINTS = ("numpy==2.4.6", "scipy==1.17.1", "pandas==2.3.3", "autograd==1.9.1")
"""Versions that all programs share."""


@dataclass(frozen=True)
class Program:
    """One package of other people's, or one part of it.

    Attributes:
        name: what the command calls it.
        packages: what pip installs, with versions; the first is the package itself.
        what: what runs, in words.
        written_for: 'autograd' or 'numpy'.
        suite: files of the package's own tests in its source archive, with options of pytest; none runs the script of
            the program's name in `scripts`.
        rtol: the largest relative difference of results that count as equal: the tolerance of an optimiser in the
            package, where there is one.
        known: what is known to fail: the reason by the name of a case, or by the beginning of names of tests.
        within: how long one run may take, in seconds.
    """

    name: str
    packages: tuple[str, ...]
    what: str
    written_for: str = "autograd"
    suite: tuple[str, ...] = ()
    rtol: float = 1e-8
    known: dict[str, str] = field(default_factory=dict)
    within: int = 600


PROGRAMS = (
    Program("pymanopt", ("pymanopt==2.2.1",), "15 problems on manifolds: gradients, Hessians, optima", rtol=1e-5),
    Program("lifelines", ("lifelines==0.30.3",), "parametric fitters, regressions, a mixture cure model", rtol=1e-5),
    Program("surpyval", ("surpyval==0.25",), "distributions fitted to censored data", rtol=1e-5),
    Program("ceviche", ("ceviche==0.1.3",), "Maxwell's equations: gradients through sparse solves"),
    Program("grcwa", ("grcwa==0.1.2",), "layered gratings: gradients through eigenvectors"),
    Program("celerite", ("celerite==0.4.3",), "kernels: Jacobians of their coefficients"),
)

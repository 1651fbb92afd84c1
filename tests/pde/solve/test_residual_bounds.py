"""Certified residuals hold at every point, and say what is not proven."""

from __future__ import annotations

import numpy as np

from primad import pde


def test_a_certified_residual_is_above_all_that_is_taken_and_not_far() -> None:
    problem = pde.Problem(
        [lambda x, u, v: u.xx + v - np.sin(3.0 * x), lambda u, v: v.x - u],
        pde.Interval(0, 1),
        [pde.Dirichlet(u=0), pde.Dirichlet(v=0, on="x-", hard=False), pde.Free("v", on="x+")],
        unknowns="u v",
        network=pde.MLP(5, 1),
    )
    solution = problem.solve(steps=30, points=100, progress=False)
    certificate = solution.certify(factor=1.0)
    points = {
        name: {"at": np.linspace(0, 1, 999)[:, None]} for name, x in problem.terms.items() if x.kind == "equation"
    }
    rows = np.concatenate(list(problem.values(solution.params, points).values()), axis=1)
    assert len(certificate.residuals) == 2
    for one, column in zip(certificate.residuals, rows.T, strict=True):
        assert one.range.finished and np.max(np.abs(column)) <= one.most <= 2.2 * one.sampled
    assert certificate.fitted and "nothing is proven" in str(certificate)
    early = solution.certify(factor=1e-3, most=40)
    assert not early.residuals[0].range.finished and early.residuals[0].most >= certificate.residuals[0].sampled

"""Updates of the inverse Hessian against the formulas of their papers, which speak of the Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from primad.optimize import SelfScaledBroyden


def papers(form: str, hessian: Any, s: Any, y: Any, first: bool) -> Any:
    """B⁺ = τ(B − B s sᵀB/sᵀBs + θ w wᵀ) + y yᵀ/sᵀy, with θ and τ of Urbán, Stefanou & Pons (2025), section 3."""
    image, product = hessian @ s, s @ y
    stiffness = s @ image
    b, h = stiffness / product, y @ np.linalg.solve(hessian, y) / product
    theta, sigma, tau = 0.0, 1.0, min(1.0, 1 / b)
    if form == "broyden":
        a = b * h - 1
        low = min(1.0, h * (1 - np.sqrt(a / (1 + a))))
        theta = max((low - 1) / a, min(1 / low, (1 - b) / b))
        sigma = 1 + a * theta
        spread = sigma ** (1 / (1 - len(s)))
        tau = tau * min(spread, 1 / theta) if theta > 0 else min(tau * spread, sigma)
    if first:
        tau = h / sigma
    elif form == "unscaled":
        tau = 1.0
    w = np.sqrt(stiffness) * (y / product - image / stiffness)
    return tau * (hessian - np.outer(image, image) / stiffness + theta * np.outer(w, w)) + np.outer(y, y) / product


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("form", ["broyden", "bfgs", "unscaled"])
def test_updates_are_those_of_the_papers(form: Any, size: int) -> None:
    rng = np.random.default_rng(size)
    for first in [True, False] * 10:
        rows = rng.normal(size=(size, size))
        hessian = np.eye(size) if first else rows @ rows.T + 0.1 * np.eye(size)
        s, y = rng.normal(size=(2, size)) * rng.lognormal(size=(2, 1))
        y = y if s @ y > 0 else -y
        found = SelfScaledBroyden(form)._learnt(np.linalg.inv(hessian), s, y, float(s @ hessian @ s), first)
        np.testing.assert_allclose(found, np.linalg.inv(papers(form, hessian, s, y, first)), rtol=1e-6, atol=1e-9)


def test_of_one_parameter_the_inverse_is_the_secant() -> None:
    found = SelfScaledBroyden()._learnt(np.array([[2.0]]), np.array([3.0]), np.array([5.0]), 4.5, False)
    np.testing.assert_allclose(found, [[0.6]], rtol=1e-14)

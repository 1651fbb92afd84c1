"""Special functions of complex numbers: SciPy's values and dtypes, and their derivatives, on every backend."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import scipy.special

import primad
import primad.scipy.special

Z = np.array([0.3 + 0.4j, 1.2 - 0.7j, -0.8 + 0.5j, 2.5 + 0.1j, -2.3 - 1.1j, -1 + 1e-3j, complex(-1.5, 0.0), 3j])
OF_ONE = (
    "erf", "erfc", "erfi", "erfcx", "wofz", "exp1", "expi", "lambertw", "softmax", "log_softmax", "logsumexp",
)  # fmt: skip
X = np.array([0.0, 1.5, 0j, -2.0, 1j, 0.0, 2 - 1j, 0.5])
OF_TWO: dict[str, Any] = {
    "xlogy": lambda s, z: s.xlogy(X, z),
    "xlog1py": lambda s, z: s.xlog1py(X, z),
    "logsumexp": lambda s, z: s.logsumexp(z, b=np.array([1.0, 0, -2, 0.5, 1, 0, 3, 1])),
}
FUNCTIONS: dict[str, Any] = {name: lambda s, z, name=name: getattr(s, name)(z) for name in OF_ONE} | {
    f"{name} of two": function for name, function in OF_TWO.items()
}


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["native", "reference", *(["jax"] if find_spec("jax") else [])])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str, backend: str) -> None:
    """At 0 and at singular points too, as SciPy says, the derivative is that of differences of fourth order."""
    function = FUNCTIONS[name]
    ours = lambda z: function(primad.scipy.special, z)  # noqa: E731
    for dtype, rtol in ((np.complex128, 1e-12), (np.complex64, 2e-5)):
        expected, found = function(scipy.special, Z.astype(dtype)), primad.jit(ours, backend=backend)(Z.astype(dtype))
        assert backend == "jax" or np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=rtol)
    along = np.array([1.0, 1j, -1, 0.5, 1 + 1j, 1, 1, 1j])
    near = [function(scipy.special, Z + k * 1e-4 * along) for k in (-2, -1, 1, 2)]
    slope = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * 1e-4)
    found = primad.jit(lambda z: primad.jvp(ours, (z,), (along,))[1], backend=backend)(Z)
    np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-9)


def test_derivatives_of_xlogy_by_its_factor() -> None:
    """It is the logarithm, but 0 where there is none: beside a factor of 0."""
    z = np.array([1j, 0j, np.inf + 0j])
    x = np.array([1.0 + 0j, 0, 0])
    found = primad.jvp(lambda x: primad.scipy.special.xlogy(x, z), (x,), (np.ones(3, complex),))
    np.testing.assert_allclose(found[0], scipy.special.xlogy(x, z))
    np.testing.assert_allclose(found[1], [0.5j * np.pi, 0, 0])

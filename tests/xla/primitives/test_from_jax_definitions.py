"""Which of JAX's primitives are read, and those that JAX defines by others: sparse arrays, gamma distributions."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad.functional.export.jaxpr_calls import CALLS
from primad.xla.primitives.table import FUNCTIONS, REFUSED
from tests.sweeps import chosen

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
sparse = importlib.import_module("jax.experimental.sparse")
jnp, lax = jax.numpy, jax.lax
X = np.arange(1.0, 7.0) / 4
PLACES = np.array([[0, 1], [2, 2]] * 3)
STARTS = np.arange(7)
OTHER_MACHINES = ("test", "tpu", "triton", "gpu", "clusters", "internal")
"""Words in the names of modules that need another machine, or nothing of a program's."""


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def primitives() -> set[str]:
    """Return the names of all primitives that the modules of the installed JAX hold."""
    kind = importlib.import_module("jax.extend.core").Primitive
    importlib.import_module("jax.experimental.multihost_utils")
    for root in ("jax._src", "jax.experimental.sparse"):
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            if not any(word in module.name for word in OTHER_MACHINES):
                try:
                    importlib.import_module(module.name)
                except Exception as error:
                    print(f"{module.name} cannot be imported: {error}")
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("jax")]
    return {each.name for module in modules for each in vars(module).values() if isinstance(each, kind)}


def test_every_primitive_of_the_installed_jax_is_read_or_has_a_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = primitives()
    assert len(found) > 300
    assert sorted(found - {*FUNCTIONS, *CALLS, *REFUSED}) == []
    for one, other in ((FUNCTIONS, CALLS), (FUNCTIONS, REFUSED), (CALLS, REFUSED)):
        assert not set(one) & set(other)


def entries(x: Any) -> Any:
    return sparse.BCOO((x, PLACES), shape=(6, 6))


def rows(x: Any) -> Any:
    return sparse.BCSR((x, PLACES[:, 1], STARTS), shape=(6, 6))


SPARSE = {
    "entries times a vector": lambda x: entries(x) @ jnp.sin(x),
    "entries times a matrix": lambda x: entries(x) @ jnp.outer(x, x),
    "a vector times entries": lambda x: jnp.asarray(x) @ entries(x),
    "transposed": lambda x: entries(x).T @ x,
    "entries times entries": lambda x: (entries(x) @ entries(x)).todense(),
    "dense": lambda x: entries(x).todense() ** 2,
    "equal places": lambda x: entries(x).sum_duplicates(nse=6).todense(),
    "of dense": lambda x: sparse.BCOO.fromdense(jnp.outer(x, x), nse=36) @ x,
    "some of a product": lambda x: sparse.bcoo_dot_general_sampled(
        jnp.outer(x, x), jnp.outer(x, x), PLACES, dimension_numbers=(((1,), (0,)), ((), ()))
    ),
    "some of a dense one": lambda x: sparse.bcoo_extract(entries(x), jnp.outer(x, x)).data,
    "rows": lambda x: rows(x) @ x,
    "dense of rows": lambda x: rows(x).todense(),
    "COO": lambda x: sparse.COO((x, PLACES[:, 0], PLACES[:, 1]), shape=(6, 6)) @ x,
    "CSR": lambda x: sparse.CSR((x, PLACES[:, 1], STARTS), shape=(6, 6)) @ jnp.outer(x, x),
    "CSR times a vector": lambda x: sparse.CSR((x, PLACES[:, 1], STARTS), shape=(6, 6)) @ x,
    "dense of CSR": lambda x: sparse.CSR((x, PLACES[:, 1], STARTS), shape=(6, 6)).todense(),
    "another platform": lambda x: lax.platform_dependent(x, tpu=jnp.cos, default=jnp.sin),
    "this platform": lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos),
    "a function with a rule for vmap": lambda x: by_rows(x) ** 2,
    "memory": lambda x: lax.empty((6,), float) * 0 + x,
}


@jax.custom_batching.custom_vmap
def by_rows(x: Any) -> Any:
    return jnp.sin(x)


@by_rows.def_vmap
def _mapped(size: int, batched: Any, x: Any) -> Any:
    return by_rows(x), True


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", chosen(SPARSE, ("entries times a vector", "transposed", "equal places", "dense")))
def test_what_jax_defines_by_other_primitives(name: str) -> None:
    """Values are JAX's; derivatives are those of differences, since JAX has none of some of these."""
    f = SPARSE[name]
    own = primad.from_jax(f)
    np.testing.assert_allclose(own(X), f(X), rtol=1e-13)
    weights = np.cos(np.arange(np.size(f(X)))).reshape(np.shape(f(X)))

    def total(x: Any) -> Any:
        return np.sum(weights * np.asarray(f(x)))

    wanted = [(total(X + 1e-5 * unit) - total(X - 1e-5 * unit)) / 2e-5 for unit in np.eye(X.size)]
    gradient = primad.jit(primad.grad(lambda x: np.sum(weights * own(x))))
    np.testing.assert_allclose(gradient(X), wanted, rtol=1e-7, atol=1e-8)
    assert np.isfinite(np.asarray(primad.hessian(lambda x: np.sum(weights * own(x)))(X))).all()


DRAWS = {
    "gamma": lambda key, a: jax.random.gamma(key, a),
    "loggamma": lambda key, a: jax.random.loggamma(key, a),
    "beta": lambda key, a: jax.random.beta(key, a, a[::-1]),
    "dirichlet": lambda key, a: jax.random.dirichlet(key, a),
    "chisquare": lambda key, a: jax.random.chisquare(key, a),
    "t": lambda key, a: jax.random.t(key, a),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", chosen(DRAWS, ("gamma", "dirichlet")))
def test_draws_of_gamma_distributions_have_the_derivative_that_jax_states(name: str) -> None:
    """What is refused on the way to a draw has no part in it."""
    key, a = jax.random.key(3), np.array([0.3, 1.5, 4.0])
    own = primad.from_jax(lambda a: DRAWS[name](key, a))
    for run in (own, primad.jit(own)):
        np.testing.assert_allclose(run(a), DRAWS[name](key, a), rtol=1e-12)
    wanted = jax.grad(lambda a: jnp.sum(jnp.sin(DRAWS[name](key, a))))(a)
    np.testing.assert_allclose(primad.grad(lambda a: np.sum(np.sin(own(a))))(a), wanted, rtol=1e-12, atol=1e-14)

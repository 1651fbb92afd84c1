"""Sweeps over all combinations, of which the suite takes some and `pytest -m exhaustive` the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

import pytest

from primad.native.llvm import vectors

WIDTHS = sorted({32, vectors.WIDTH_BYTES})
"""Bytes of vectors, every width that the host allows."""
ANY_WIDTHS = sorted({16, *WIDTHS})
"""Every width for which there is code; short ones run on every host."""


def is_swept(config: pytest.Config) -> bool:
    """Say whether cases of sweeps may be run: making what is left out takes each process a third of a second."""
    return str(config.getoption("markexpr")) != "not exhaustive"


def thinned(every: int, **parameters: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrize a test by all combinations, of which the suite runs one in so many.

    These are the ones whose places in the sequences add up to a multiple: each value is among them, and so is each pair
    of values wherever a third parameter has `every` values or more. The fixtures of widths may be parameters, too.
    """
    return pytest.mark.thinned(every, **parameters)


def chosen(cases: Iterable[str], suite: Collection[str]) -> list[Any]:
    """Return names of cases, of which the suite runs those that are chosen for it and the sweep the others."""
    every = list(cases)
    assert set(suite) <= set(every), f"no such case: {set(suite) - set(every)}"
    return [case if case in suite else pytest.param(case, marks=pytest.mark.exhaustive) for case in every]


PARTS = {
    "accuracy/test_regions.py::test_scaled_bessel_functions_far_out_have_derivatives": 2,
    "accuracy/test_stored_tables.py::test_errors_are_within_bounds_but_where_the_page_says": 3,
    "cli/test_gallery.py::test_toy_runs_reach_what_they_declare": 2,
    "functional/test_from_jax.py::test_values_and_derivatives_are_those_of_jax": 2,
    "functional/test_lazy_at_size.py::test_all_that_a_matrix_is_asked_is_that_of_the_dense_one": 2,
    "functional/test_lazy_at_size.py::test_nothing_of_the_size_of_the_matrix_is_made": 2,
    "functional/test_to_jax.py::test_spectra_are_those_of_the_native_executor": 2,
    "native/test_unrolled.py::test_small_arrays_are_indexed_and_ordered_in_registers": 2,
    "numpy/test_numpy_keywords.py::test_no_option_is_dropped": 2,
    "numpy/test_numpy_surface.py::test_value_and_derivative": 2,
    "numpy/test_numpy_values.py::test_function_in_every_dtype": 2,
    "numpy/test_numpy_values.py::test_ufunc_in_native_code": 2,
    "numpy/test_numpy_values.py::test_ufunc_of_python_numbers": 2,
    "ops/test_accuracy.py::test_derivatives_are_accurate": 2,
    "ops/test_undefined.py::test_a_derivative_of_what_is_not_defined_is_nan": 2,
    "programs/test_compression.py::test_values_and_slopes_are_those_of_the_definition": 2,
    "programs/test_gauss_newton.py::test_products_are_those_of_the_jacobian": 2,
    "programs/test_growth.py::test_ops_that_hold_programs": 2,
    "programs/test_residual_jacobians.py::test_rows_are_those_of_forward_mode": 2,
    "project/test_docs.py::test_examples_run": 2,
    "project/test_gradbench.py::test_values_and_derivatives": 3,
    "runtime/test_executors.py::test_xla_runs_every_op": 3,
    "runtime/test_plan_cache.py::test_plans_beyond_the_bound_are_freed": 2,
    "scipy/test_scipy_interpolate.py::test_functions_of_one_variable": 2,
    "scipy/test_scipy_linalg.py::test_traced_arrays_give_what_scipy_gives": 2,
    "scipy/test_scipy_ndimage.py::test_coordinates": 2,
    "scipy/test_scipy_stats.py::test_values_and_derivatives": 2,
    "verify/test_fuzz.py::test_random_programs": 2,
    "verify/test_special_verification.py::test_laws_at_special_values": 2,
    "verify/test_verify.py::test_laws": 2,
    "verify/test_verify.py::test_second_derivatives_that_are_seen_otherwise": 2,
}
"""Tests of which the suite runs one case in so many, and the sweep the others. Their cases are functions, ops or pages
that other tests ask as well: what is asked of all of them twice has no place in five minutes."""
WHOLE = {
    "programs/test_calls.py::test_derivatives_through_calls_are_those_in_place",
    "recording/test_threads_and_size.py::test_a_chain_of_100_000_ops",
    "runtime/test_distribute.py::test_a_problem_is_solved_with_the_same_bits_on_any_number_of_processes_"
    "and_goes_on_on_another",
    "simplify/test_like_terms.py::test_derivatives_of_a_unit_take_a_square_of_the_order",
    "system/test_first_use.py::test_nothing_in_a_cache_minds_being_made_twice",
}
"""Tests that take seconds and are the sweep's as a whole."""


def leave_to_the_sweep(items: Iterable[pytest.Item]) -> None:
    """Mark the cases that the tables above leave to the sweep."""
    seen: Counter[str] = Counter()
    for item in [item for item in items if not item.get_closest_marker("exhaustive")]:
        name = item.nodeid.partition("tests/")[2].partition("[")[0]
        seen[name] += 1
        if name in WHOLE or (seen[name] - 1) % PARTS.get(name, 1):
            item.add_marker(pytest.mark.exhaustive)


def generate(metafunc: pytest.Metafunc) -> None:
    """Mark a test that is thinned with its cases; by the mark pytest knows that fixtures bring none of their own."""
    for mark in metafunc.definition.iter_markers("thinned"):
        (every,), parameters = mark.args, mark.kwargs
        cases = []
        for case in product(*map(enumerate, parameters.values())):
            places, values = zip(*case, strict=True)
            is_left_out = bool(sum(places) % every)
            if not is_left_out or is_swept(metafunc.config):
                cases.append(pytest.param(*values, marks=[pytest.mark.exhaustive] * is_left_out))
        fixtures = [name for name in parameters if name in ("width", "any_width")]
        metafunc.definition.add_marker(pytest.mark.parametrize(",".join(parameters), cases, indirect=fixtures))

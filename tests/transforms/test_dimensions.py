"""Which axes of a program are one index, and what happens along them: by dependence, never by equal lengths."""

import itertools
import math

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.axes import is_name
from primad.ir.node import Leaf
from primad.runtime.plan.interpreter import Plan
from primad.transforms import lower, vjp
from primad.transforms.dimensions import Dimensions, axis_map, couplings, result_axes
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from primad.verify.random_programs import draw_program
from tests.cases import CASES

POINTS = np.linspace(-1.0, 1.0, 5)
SQUARE = np.linspace(-1.0, 1.0, 25).reshape(5, 5)


def axes_of(function, *args):
    """Return what the axes of a function's result are, for what depends on its first argument."""
    program = lower(primad.trace(function)(*args))
    return result_axes(program, [i == 0 for i in range(len(program.inputs))])[0]


def test_the_points_of_residuals_are_an_axis_along_which_nothing_happens():
    def residuals(weights, points):
        return np.tanh(points[:, None] * weights[None, :] + (points - np.mean(points))[:, None]) @ weights

    (axis,) = axes_of(residuals, np.ones(5), POINTS)
    assert axis.inputs == {1: 0}
    assert not axis.happens


@pytest.mark.parametrize(
    ("residuals", "happens"),
    [
        (lambda w, points: points * np.sum(w * points), {"summed"}),
        (lambda w, points: np.cumsum(w * points), {"mixed"}),
        (lambda w, points: np.sort(w * points) + points, {"mixed"}),
        (lambda w, points: SQUARE @ (w * points) + points, {"summed"}),
        (lambda w, points: (w * points)[::-1] + points, {"mixed"}),
        (lambda w, points: np.sum(w * SQUARE, axis=1) + points, set()),
        (lambda w, points: w * np.cumsum(points), set()),
        (lambda w, points: np.concatenate([w * points[:2], points[2:]]), {"mixed"}),
        (lambda w, points: w * np.concatenate([points[:2], points[2:]]), set()),
        (lambda w, points: np.reshape(np.reshape(w * points, (5, 1)), (1, 5))[0], set()),
    ],
)
def test_what_happens_to_values_that_depend_on_the_parameter(residuals, happens):
    (axis,) = axes_of(residuals, 2.0, POINTS)
    assert axis.happens == happens


def test_an_index_that_stands_for_two_axes_of_a_value_is_mixed():
    (axis,) = axes_of(lambda w, x: np.sum(w * x, axis=0) + np.sum(w * x, axis=1), 2.0, SQUARE)
    assert axis.happens == {"summed", "mixed"}


def test_axes_are_not_one_for_being_equally_long():
    first, second = axes_of(lambda w, x, y: w * x[:, None] * y[None, :], 2.0, POINTS, POINTS)
    assert first.inputs == {1: 0} and second.inputs == {2: 0}
    program = primad.trace(lambda x: x[:, None] * x[None, :])(POINTS)
    dimensions = Dimensions(program)
    assert dimensions.of(program.outputs[0], 0) is dimensions.of(program.outputs[0], 1)
    assert program.outputs[0] in dimensions.of(program.outputs[0], 0).twice


def test_merged_axes_are_those_that_they_are_made_of():
    x = primad.ArrayType((2, 3, 4), float)
    merged = ops.reshape.axes.map(x, shape=(6, 4))
    first, second = merged.operands[0][:2]
    assert merged.results[0][0].names == (first, second)
    assert merged.results[0][0].lengths == (2, 3)
    assert merged.role(merged.results[0][1]) == "mapped"
    assert ops.reshape.axes.map(primad.ArrayType((4, 6), float), shape=(6, 4)).results == ((None, None),)
    both = ops.reshape.axes.map(primad.ArrayType((2, 6), float), shape=(4, 3))
    assert both.operands[0][1].names[1:] == both.results[0][1:]  # the 6 is 2 outer times 3 inner


SHAPES = [
    shape for n in (1, 2, 3, 4) for shape in itertools.product((1, 2, 3, 4, 6), repeat=n) if math.prod(shape) == 24
]


def test_axes_that_a_reshape_leaves_alone_are_the_same_index():
    """And no others: seen from where each element goes."""
    for before, after in itertools.product(SHAPES[::3], SHAPES[::2]):
        map = ops.reshape.axes.map(primad.ArrayType(before, np.dtype(float)), shape=after)
        old, new = (np.indices(shape).reshape(len(shape), -1) for shape in (before, after))
        for i, j in itertools.product(range(len(before)), range(len(after))):
            if before[i] > 1 and after[j] > 1:
                named = map.operands[0][i] == map.results[0][j] and is_name(map.results[0][j])
                assert named == np.array_equal(old[i], new[j]), (before, after, i, j)


@pytest.mark.parametrize("name", CASES)
def test_no_index_is_two_axes_of_one_array(name):
    case = CASES[name]
    for node in one_op(case.op, case.draw(Seeded(name)), case.through).nodes:
        if not isinstance(node.op, Leaf):
            for labels in (*axis_map(node).operands, *axis_map(node).results):
                names = [label for label in labels if is_name(label)]
                assert len({*names}) == len(names)


def test_what_is_left_of_merged_axes():
    """One of two merged indices is dropped, or both."""
    map = ops.reshape.axes.map(x := primad.ArrayType((2, 3, 4), np.dtype(float)), shape=(6, 4))
    first, second = map.operands[0][:2]
    merged = primad.ArrayType((6, 4), x.dtype)
    for dropped, shape in [({first}, (3, 4)), ({second}, (2, 4)), ({first, second}, (4,)), (set(), (6, 4))]:
        assert map.change(dict.fromkeys(dropped), [x], [merged]).results[0].shape == shape


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_depend_on_inputs_as_their_axes_say(seed):
    program = lower(draw_program(Seeded(seed)))
    if seed % 2 and any(type.is_float for type in program.out_types):
        program = lower(vjp(program))
    rng = np.random.default_rng(seed)
    values = [rng.uniform(0.25, 0.75, type.shape) for type in program.in_types]
    plan = Plan(program)
    with np.errstate(all="ignore"):
        expected = plan.run(values)
        for place, type in enumerate(program.in_types):
            found = result_axes(program, [i == place for i in range(len(values))])
            for output, axes in enumerate(found):
                for axis, known in enumerate(axes):
                    if place not in known.inputs or known.happens:
                        continue
                    index = int(rng.integers(type.shape[known.inputs[place]]))
                    changed = np.moveaxis(rng.uniform(0.25, 0.75, type.shape), known.inputs[place], 0)
                    changed[index] = np.moveaxis(values[place], known.inputs[place], 0)[index]
                    others = list(values)
                    others[place] = np.moveaxis(changed, 0, known.inputs[place])
                    got = plan.run(others)[output]
                    np.testing.assert_array_equal(np.take(got, index, axis), np.take(expected[output], index, axis))


def test_each_of_several_results_has_its_axes():
    def factors(x):
        q, r = ops.qr(x)
        return q, np.sum(r, axis=(1, 2))

    program = lower(primad.trace(factors)(primad.ArrayType((5, 3, 2), float)))
    of_q, of_r = result_axes(program, [True])
    assert [axis.inputs for axis in of_q] == [{0: 0}, {}, {}]
    assert of_r[0].inputs == {0: 0} and not of_r[0].happens
    assert of_q[1].happens == {"mixed"}


def test_every_node_has_an_axis_map():
    """Also one that takes a result of an op with several, which has no axes itself."""
    program = lower(primad.trace(lambda a: np.linalg.eigh(a))(np.ones((3, 3))))
    maps = [axis_map(node) for node in program.nodes if not isinstance(node.op, Leaf)]
    assert [found.operands for found in maps] == [((None, None),), ((),), ((),)]


COUPLED = {
    "sum": lambda x: x + np.sum(x),
    "sum of what is taken apart": lambda x: x + np.sum(np.reshape(x, (2, 3))),
    "sum over one of its axes": lambda x: np.reshape(np.reshape(x, (2, 3)) + np.sum(np.reshape(x, (2, 3)), axis=0), 6),
    "norm": lambda x: x * np.linalg.norm(np.reshape(x, (2, 3))),
    "sum of some": lambda x: x + np.sum(x[::2]),
    "sum of joined ones": lambda x: x + np.sum(np.concatenate([x, x])),
    "sum of repeated ones": lambda x: x + np.sum(np.repeat(x, 2)),
    "one of them": lambda x: x + x[0],
    "a row of them": lambda x: x + np.sum(np.reshape(x, (2, 3)), axis=1)[0],
    "running sum": np.cumsum,
    "sorted": lambda x: x + np.sort(x),
    "system": lambda x: np.linalg.solve(np.tri(6), x),
}
APART = {
    "each": lambda x: np.sin(x) * x,
    "there and back": lambda x: np.reshape(np.reshape(x, (2, 3)) * np.ones((2, 3)), 6),
    "beside others": lambda x: x * np.sum(np.arange(6.0)),
    "sum of one": lambda x: np.sum(x[:, None] * np.ones((6, 3)), axis=1),
}


@pytest.mark.parametrize("name", [*COUPLED, *APART])
def test_couplings_are_found_where_the_jacobian_is_not_diagonal(name):
    function, x = {**COUPLED, **APART}[name], np.array([0.3, 0.9, 0.2, 0.8, 0.1, 0.5])
    matrix = np.asarray(primad.jacobian(function)(x))
    found = couplings(lower(primad.trace(function)(x)), [True])
    assert bool(found) == bool(np.any(matrix[~np.eye(6, dtype=bool)])), found
    if name in COUPLED:
        (axis,) = axes_of(function, x)
        assert axis.happens or 0 not in axis.inputs


def test_rows_that_are_taken_couple_none_but_systems_do():
    def taken(x):
        return x[np.array([2, 0, 1])] * x[np.array([1, 1, 0])]

    program = lower(primad.trace(taken)(POINTS))
    assert couplings(program, [True]) and not couplings(program, [True], taken=True)
    program = lower(primad.trace(lambda x: np.linalg.solve(SQUARE + np.diag(x), SQUARE))(POINTS))
    for rows in (False, True):
        assert ("mixes", "solve_triangular") in {
            (what, node.op.name) for what, node in couplings(program, [True], taken=rows)
        }


def test_an_input_with_an_index_along_two_axes_mixes_nothing_by_itself():
    (axis,) = axes_of(lambda w: np.sum(w, axis=0) + np.sum(w, axis=1), SQUARE)
    assert axis.happens == {"summed"}


def test_labels_of_built_in_ops_are_as_their_readers_take_them():
    for name, case in CASES.items():
        program = one_op(case.op, case.draw(Seeded(0)), case.through)
        for node in program.nodes:
            if isinstance(node.op, Leaf):
                continue
            found = axis_map(node)
            (after, *_) = found.results
            for labels in found.operands:
                beside = [label for label in after if is_name(label) and label not in labels]
                rows = None in labels and len(beside) > 0
                assert not rows or node.op.indexing.takes_rows is not None, f"{name}: an index of rows"
            for label in filter(is_name, after):
                assert after.count(label) == 1, f"{name}: an index along two axes of a result"
                in_operands = any(label in labels for labels in found.operands)
                assert not in_operands or found.role(label) == "mapped", f"{name}: an index that is whole and in parts"

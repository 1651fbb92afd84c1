"""Pictures of sparse matrices of derivatives show their entries, in the colours of directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def axes() -> Any:
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def arrow(x: Any) -> Any:
    return np.append(np.sum(x**2), x[1:] * x[0])


def shown(axes: Any) -> Any:
    (image,) = axes.images
    return np.ma.filled(image.get_array(), np.nan)


def test_entries_have_the_colours_of_their_directions(axes: Any) -> None:
    J = primad.jacobian(arrow)(np.arange(1.0, 8.0))
    assert J.plot(axes) is axes
    found, coloring = shown(axes), J.coloring()
    np.testing.assert_array_equal(np.isfinite(found), J.pattern().toarray())
    assert {*found[0, 1:]} == {coloring.directions - 1}  # the row that is pulled back
    np.testing.assert_array_equal(np.diag(found)[1:], coloring.columns[1:])
    assert axes.get_title() == "7 × 7, 19 entries, 3 directions"


def test_entries_at_a_point_and_in_one_colour(axes: Any) -> None:
    J = primad.jacobian(lambda x: np.maximum(x, x[::-1]))(np.arange(6.0))
    J.plot(axes, local=True, colored=False)
    np.testing.assert_array_equal(np.isfinite(shown(axes)), J.pattern(local=True).toarray())
    assert axes.get_title() == "6 × 6, 6 entries"


def test_large_matrices_take_few_points(axes: Any) -> None:
    primad.hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))(np.ones(30_000)).plot(axes)
    found = shown(axes)
    box = axes.get_window_extent()
    assert 100 < len(found) == len(found[0]) <= min(box.width, box.height) / 2  # a point is two pixels, at least
    assert np.isfinite(np.diag(found)).all()


def test_a_matrix_without_entries(axes: Any) -> None:
    primad.jacobian(lambda x: np.sign(x[:0]))(np.ones(3)).plot(axes)
    assert not np.isfinite(shown(axes)).any()


def test_a_matrix_that_is_shown_turned(axes: Any) -> None:
    J = primad.jacobian(arrow)(np.arange(1.0, 8.0))
    J.T.plot(axes)
    found = shown(axes)
    np.testing.assert_array_equal(np.isfinite(found), J.pattern().toarray().T)
    assert len({*found[1:, 0]}) == len({*np.diag(found)[1:]}) == 1 and found[1, 0] != found[1, 1]
    np.testing.assert_array_equal(J.T.coloring().rows, J.coloring().columns)


@pytest.mark.parametrize(("width", "name"), [(19, "tab20"), (20, "tab20"), (21, "nipy_spectral")])
def test_colours_as_far_as_they_go(axes: Any, width: int, name: str) -> None:
    J = primad.jacobian(lambda x: sum(x[k : k + 30] ** 2 for k in range(width)))(np.ones(60))
    J.plot(axes)
    assert J.coloring().directions == width and axes.images[0].get_cmap().name == name


@pytest.mark.parametrize(
    ("height", "width", "equal"),
    [(4, 4, True), (4, 19, True), (19, 4, True), (4, 20, False), (20, 4, False), (0, 3, False), (1, 30, False)],
)
def test_points_are_squares_unless_the_picture_is_long(axes: Any, height: int, width: int, equal: bool) -> None:
    x = np.ones(width)
    primad.jacobian(lambda x: np.resize(x, height) if height else np.sign(x[:0]))(x).plot(axes, colored=False)
    assert (axes.get_aspect() == 1) == equal

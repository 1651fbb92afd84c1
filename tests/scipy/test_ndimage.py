"""primad.scipy.ndimage: SciPy's values under every transform, and derivatives in images, weights and coordinates."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import primad
import primad.scipy.ndimage as mirror
from primad.recording.scipy_names import RECORDED
from tests.mirrored import check_mirror
from tests.sweeps import thinned

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(6, 5))
CUBE = RNG.normal(size=(4, 3, 5))
ODD, EVEN = RNG.normal(size=3), RNG.normal(size=4)
FILTER_MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")
MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-constant", "grid-wrap")

FILTERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"correlate1d {mode}": (lambda of, x, w, mode=mode: of.correlate1d(x, w, 0, mode=mode, cval=1.5), (IMAGE, EVEN))
       for mode in FILTER_MODES},
    **{f"convolve1d {origin}": (lambda of, x, w, origin=origin: of.convolve1d(x, w, origin=origin), (IMAGE, w))
       for origin in (0, 1, -1) for w in (ODD, EVEN)},
    "correlate1d, moved": (lambda of, x, w: of.correlate1d(x, w, origin=-1), (IMAGE, EVEN)),
    **{f"correlate {mode}": (lambda of, x, w, mode=mode: of.correlate(x, w, mode=mode, cval=-2.0),
                             (IMAGE, RNG.normal(size=(3, 2)))) for mode in FILTER_MODES},
    "correlate, moved": (lambda of, x, w: of.correlate(x, w, origin=(1, -1)), (IMAGE, RNG.normal(size=(3, 2)))),
    "convolve": (lambda of, x, w: of.convolve(x, w), (CUBE, RNG.normal(size=(3, 2, 2)))),
    "convolve, moved": (lambda of, x, w: of.convolve(x, w, origin=(-1, 0)), (IMAGE, RNG.normal(size=(3, 3)))),
    "uniform": (lambda of, x: of.uniform_filter(x, 3), (CUBE,)),
    "uniform, options": (lambda of, x: of.uniform_filter(x, (4, 1), mode=("wrap", "mirror"), origin=(1, 0)), (IMAGE,)),
    "uniform1d": (lambda of, x: of.uniform_filter1d(x, 4, 0, mode="constant", cval=1.0, origin=-1), (IMAGE,)),
    "gaussian": (lambda of, x, s: of.gaussian_filter(x, s, radius=3), (IMAGE, np.array(0.8))),
    "gaussian, as far as it reaches": (lambda of, x: of.gaussian_filter(x, (0.7, 1.1), mode="wrap"), (IMAGE,)),
    "gaussian, one axis": (lambda of, x: of.gaussian_filter(x, (0.0, 1.1), truncate=2.0), (IMAGE,)),
    **{f"gaussian slope {order}": (
        lambda of, x, s, order=order: of.gaussian_filter1d(x, s, 0, order, mode="nearest", radius=4),
        (IMAGE, np.array(1.2)))
       for order in (0, 1, 2, 3)},
    "gaussian slopes": (lambda of, x: of.gaussian_filter(x, 1.2, (1, 2), cval=0.5, mode="constant"), (IMAGE,)),
    "gaussian_laplace": (lambda of, x: of.gaussian_laplace(x, (0.8, 1.2), mode="mirror"), (IMAGE,)),
    "gaussian_gradient_magnitude": (lambda of, x: of.gaussian_gradient_magnitude(x, 0.8, truncate=3.0), (IMAGE,)),
    "laplace": (lambda of, x: of.laplace(x, mode=("constant", "wrap")), (IMAGE,)),
    "laplace of a cube": (lambda of, x: of.laplace(x), (CUBE,)),
    "sobel": (lambda of, x: of.sobel(x, 0), (CUBE,)),
    "prewitt": (lambda of, x: of.prewitt(x, mode="constant", cval=2.0), (IMAGE,)),
    "outside": (lambda of, x, c: of.correlate1d(x, ODD, mode="constant", cval=c), (IMAGE, np.array(0.7))),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FILTERS)
def test_filters(name: str) -> None:
    call, args = FILTERS[name]
    check_mirror(call, mirror, ndimage, *args)


POINTS = np.array([[0.3, 4.2, 2.3, -0.4, 5.3, 7.4, -6.8], [3.7, 1.1, 0.2, 2.2, -0.7, 9.3, -5.4]])
INNER = np.array([[0.3, 4.2, 2.1, 4.9], [3.7, 1.1, 0.2, 2.2]])


@pytest.mark.one_in(12)
@pytest.mark.one_in(3)
@thinned(6, order=range(6), mode=MODES)
def test_coordinates(order: int, mode: str) -> None:
    call = lambda of, x, p: of.map_coordinates(x, p, order=order, mode=mode, cval=1.5)  # noqa: E731
    smooth = (0,) if order == 0 or mode in ("wrap", "constant") else None
    wide = order > 1 and mode in ("reflect", "grid-mirror", "nearest")  # SciPy's are off by what decays with the length
    image = RNG.normal(size=(24, 20)) if wide else IMAGE
    far = np.where(np.arange(7) > 3, np.array(image.shape)[:, None] - np.array(IMAGE.shape)[:, None], 0)
    check_mirror(call, mirror, ndimage, image, POINTS + far, smooth=smooth, rtol=1e-10)
    if order:
        check_mirror(call, mirror, ndimage, image, INNER, rtol=1e-10)
    if order > 1:
        filtered = lambda of, x: of.spline_filter(x, order, mode=mode)  # noqa: E731
        check_mirror(filtered, mirror, ndimage, image, rtol=1e-10)
        there = primad.jit(lambda x: mirror.map_coordinates(x, np.indices(x.shape), order=order, mode=mode))(IMAGE)
        np.testing.assert_allclose(
            there, IMAGE, rtol=0, atol=1e-12 if mode not in ("nearest", "grid-constant") else 1e-5
        )
        unfiltered = lambda of, x: of.map_coordinates(x, POINTS, order=order, mode=mode, prefilter=False)  # noqa: E731
        check_mirror(unfiltered, mirror, ndimage, IMAGE, rtol=1e-10)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", MODES)
def test_short_images(mode: str) -> None:
    """One and two elements, at and beyond the ends; whole multiples of the period are ends too."""
    for n in (1, 2, 3):
        x, points = (
            RNG.normal(size=(n, 2)),
            np.array([[0.0, -1.0, -2.0, 2.0, 3.0, 4.0, 0.4], [0, 1, 0.5, -1, 2, 1, 0.2]]),
        )
        for order in (1, 3):
            call = lambda of, x, order=order, points=points: of.map_coordinates(  # noqa: E731
                x, points, order=order, mode=mode, cval=1.5)  # fmt: skip
            found = primad.jit(partial(call, mirror), backend="reference")(x)
            exact = order == 1 or mode not in ("reflect", "grid-mirror")
            np.testing.assert_allclose(found, call(ndimage, x), rtol=0, atol=1e-10 if exact else 0.1)


MOVES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "shift": (lambda of, x, d: of.shift(x, d), (IMAGE, np.array([0.3, -1.2]))),
    "shift all": (lambda of, x, d: of.shift(x, d, mode="grid-wrap"), (CUBE, np.array(0.3))),
    "zoom": (lambda of, x: of.zoom(x, (1.5, 0.7)), (IMAGE,)),
    "zoom elements": (lambda of, x: of.zoom(x, 2, order=2, mode="mirror", grid_mode=True), (IMAGE,)),
    "zoom nothing": (lambda of, x: of.zoom(x, 1.0), (IMAGE,)),
    "zoom to one": (lambda of, x: of.zoom(x, (1, 0.2), order=1), (IMAGE,)),
    "affine": (lambda of, x, m, o: of.affine_transform(x, m, o, mode="mirror"),
               (IMAGE, np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, -0.2]))),
    "affine, diagonal": (lambda of, x, m: of.affine_transform(x, m, 0.3, (4, 7), order=2, mode="grid-wrap"),
                         (IMAGE, np.array([0.9, 0.6]))),
    "affine, homogeneous": (lambda of, x, m: of.affine_transform(x, m, order=1, mode="reflect"),
                            (IMAGE, np.array([[0.9, 0.2, 0.31], [-0.1, 1.1, 0.27]]))),
    "affine, from a plane": (lambda of, x, m: of.affine_transform(x, m, output_shape=(5,), order=1, mode="mirror"),
                             (IMAGE, np.array([[0.7], [0.3]]))),
    "rotate": (lambda of, x: of.rotate(x, 30.0, order=1, cval=0.7), (IMAGE,)),
    "rotate in place": (lambda of, x, a: of.rotate(x, a, reshape=False, mode="mirror"), (IMAGE, np.array(33.0))),
    "rotate a cube": (lambda of, x, a: of.rotate(x, a, (2, 0), False, mode="mirror", order=2), (CUBE, np.array(13.0))),
    "rotate planes": (lambda of, x: of.rotate(x, 20.0, (1, 2), order=3), (CUBE,)),
    "a right angle": (lambda of, x: of.rotate(x, 90.0), (IMAGE,)),
}  # fmt: skip


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", MOVES)
def test_moved_turned_and_zoomed(name: str) -> None:
    call, args = MOVES[name]
    smooth = (0,) if name == "shift" else None  # elements that come in from outside
    check_mirror(call, mirror, ndimage, *args, smooth=smooth, rtol=1e-10)


def test_other_numbers() -> None:
    x = IMAGE + 1j * IMAGE[::-1]
    for call in (
        lambda of, x: of.correlate1d(x, ODD), lambda of, x: of.spline_filter(x, output=complex),
        lambda of, x: of.correlate(x, x[:2, :2]),
        lambda of, x: of.map_coordinates(x, INNER), lambda of, x: of.convolve1d(x, x[0, :3]),
    ):  # fmt: skip
        check_mirror(call, mirror, ndimage, x, smooth=())
    single = IMAGE.astype(np.float32)
    for call in (lambda of, x: of.gaussian_filter(x, 1.0), lambda of, x: of.map_coordinates(x, INNER)):
        check_mirror(call, mirror, ndimage, single, smooth=(), rtol=1e-6)
    check_mirror(lambda of, x: of.sobel(x, output=float), mirror, ndimage, np.arange(12).reshape(3, 4), smooth=())


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
def test_an_image_goes_on_by_slices_of_itself(mode: str) -> None:
    """They are copied as vectors, and transposed as such; by an index it would be one element at a time."""
    names = {node.op.name for node in primad.trace(lambda x: mirror.convolve1d(x, ODD, 0, mode=mode))(IMAGE).nodes}
    assert not names & {"gather", "take"}, names


def test_an_image_of_any_size_has_as_many_ops() -> None:
    for call in (
        lambda x: mirror.map_coordinates(x, INNER), lambda x: mirror.gaussian_filter(x, 1.0),
        lambda x: mirror.zoom(x, 2),
    ):  # fmt: skip
        few, many = (primad.trace(call)(np.ones((n, n))) for n in (12, 40))
        assert len(many.nodes) == len(few.nodes)


def test_what_is_plain_is_scipys_own() -> None:
    assert set(mirror.__all__) == RECORDED["scipy.ndimage"]
    for name in mirror.__all__:
        ours, scipys = (list(inspect.signature(getattr(of, name)).parameters) for of in (mirror, ndimage))
        assert ours == scipys, name
    with pytest.raises(AttributeError, match="map_coordinates at the coordinates"):
        getattr(mirror, "geometric_transform")  # noqa: B009
    for call, name in (
        (lambda x: ndimage.gaussian_filter(x, 1.0), "gaussian_filter"), (lambda x: ndimage.shift(x, 0.5), "shift"),
        (lambda x: ndimage.map_coordinates(IMAGE, x), "map_coordinates"),
    ):  # fmt: skip
        with pytest.raises(primad.PrimadError, match=rf"call primad\.scipy\.ndimage\.{name}"):
            primad.trace(call)(IMAGE)


REFUSED = [
    lambda x: mirror.correlate1d(x, IMAGE), lambda x: mirror.correlate1d(x, ODD, mode="odd"),
    lambda x: mirror.correlate1d(x, ODD, origin=2), lambda x: mirror.correlate(x, ODD),
    lambda x: mirror.zoom(x, x[0, 0]),
    lambda x: mirror.gaussian_filter1d(x, 1.0, order=-1), lambda x: mirror.gaussian_filter(x, (1.0, 1.0, 1.0)),
    lambda x: mirror.gaussian_filter1d(x, x[0, 0]), lambda x: mirror.uniform_filter1d(x, 0),
    lambda x: mirror.sobel(x, 2),
    lambda x: mirror.sobel(x, output=int), lambda x: mirror.sobel(x, output=np.zeros((6, 5))),
    lambda x: mirror.map_coordinates(x, INNER, order=6), lambda x: mirror.map_coordinates(x, INNER, mode="odd"),
    lambda x: mirror.map_coordinates(x, INNER[:1]), lambda x: mirror.map_coordinates(np.arange(9), x[:1]),
    lambda x: mirror.spline_filter(x, 1), lambda x: mirror.affine_transform(x, np.eye(3)[:2, :1]),
    lambda x: mirror.sobel(x[0, 0]),
    lambda x: mirror.rotate(x, 30, (1, 1)), lambda x: mirror.rotate(x, x[0, 0]),
    lambda x: mirror.spline_filter1d(x, mode="odd"),
]  # fmt: skip


def test_what_needs_values_says_what_to_pass() -> None:
    for call, fix in (
        (lambda x: mirror.gaussian_filter(x, x[0, 0]), "pass radius="),
        (lambda x: mirror.gaussian_filter1d(x, x[0, 0]), "pass radius="),
        (lambda x: mirror.rotate(x, x[0, 0]), "pass reshape=False"),
    ):
        with pytest.raises(primad.TracingError, match=fix):
            primad.trace(call)(IMAGE)
    for call in (
        lambda s: np.sum(mirror.gaussian_filter(IMAGE, s) ** 2),
        lambda s: np.sum(mirror.rotate(IMAGE, 9 * s)[2:5] ** 2),
    ):  # fmt: skip
        assert np.isfinite(primad.grad(call)(1.1))


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number: int) -> None:
    with pytest.raises(primad.PrimadError):
        primad.trace(REFUSED[number])(IMAGE)

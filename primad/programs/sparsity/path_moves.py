"""What an op does to a path: its axis map says which axes are the same index, cut, repeated, merged or split."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Factors, Label, Slide, Strided
from primad.ir.node import Node
from primad.programs.sparsity.listed_places import Listed
from primad.programs.sparsity.paths import AffinePath, AffinePlace

MOST_SPREAD = 64
"""Elements of an axis that is mixed and merged with others, up to which the places are told apart. Chosen: as few as
the units of a layer or the points of a cell."""


MOST_WINDOW = 600
"""Elements of a window, above which it is taken to reach everything. Chosen: as many as paths are followed."""


Result = tuple[Sequence[Label], ArrayType]
"""The labels of a result's axes, and its type."""


def moved(node: Node, map: AxisMap, before: Sequence[Label], result: Result, path: AffinePath) -> Iterable[AffinePath]:
    """Return the paths to a result of an op that go on from a path to an operand with labels `before`."""
    after, _ = result
    found = _slid(node, path)
    if found is not None:
        return found
    if isinstance(path.places[0], Listed):
        return [path._replace(places=(_moved_list(path.places[0], before, result),))]
    paths = [path]
    for axis, label in enumerate(before):
        paths = [_labelled(x, axis, label) if not isinstance(label, Factors) else x for x in paths]
        if isinstance(label, Factors):
            paths = [y for x in paths for y in _split(x, axis, label)]
    for label in after:
        if isinstance(label, Factors):
            paths = [y for x in paths for y in _merged(x, label)]
    places = {label: axis for axis, label in reversed(list(enumerate(after)))}
    shifted = {label.name: (axis, label) for axis, label in enumerate(after) if isinstance(label, Strided)}
    arrived = [_arrived(x, map, places, shifted) for x in paths]
    return [x for x in arrived if x is not None]


def _moved_list(place: Listed, before: Sequence[Label], result: Result) -> Listed | None:
    """Return a listed place of a result; None for any."""
    after, type = result
    label = before[place.axis]
    name = label.name if isinstance(label, Strided) else label
    if name is None:
        return None
    for axis, new in enumerate(after):
        indices = np.arange(type.shape[axis])
        if new == label:
            return place.along(axis)
        if isinstance(label, Strided) and new == name:
            indices, rest = np.divmod(indices - label.start, label.step)
            return place.taken(axis, np.where(rest == 0, indices, -1))
        if isinstance(new, Strided) and new.name == name:
            return place.taken(axis, new.start + new.step * indices)
        if isinstance(new, Factors) and name in new.names:
            number = new.names.index(name)
            inner = math.prod(new.lengths[number + 1 :])
            return place.taken(axis, indices // inner % new.lengths[number])
    return None


class _Label(NamedTuple):
    """An index of an op, as the axis of a place between its operands and its results."""

    name: Hashable


def _labelled(path: AffinePath, axis: int, label: Label) -> AffinePath:
    """Return a path to an axis of an operand as one to its index."""

    def change(given: AffinePlace | Listed | None) -> AffinePlace | Listed | None:
        if given is None or given.axis != axis:
            return given
        place = _affine(given)
        if label is None:
            return None
        if isinstance(label, Strided):
            shift = place.shift * label.step + label.start * place.divisor
            return AffinePlace(_Label(label.name), place.factor * label.step, shift, place.divisor)
        return place._replace(axis=_Label(label))

    return path._replace(places=tuple([change(place) for place in path.places]))


def _arrived(
    path: AffinePath, map: AxisMap, places: Mapping[Label, int], shifted: Mapping[Label, tuple[int, Strided]]
) -> AffinePath | None:
    """Return a path to indices as one to axes of the result; None if it goes to none of the elements that there are."""
    found: list[AffinePlace | Listed | None] = []
    for given in path.places:
        if given is None:
            found.append(None)
            continue
        assert isinstance(given.axis, _Label)
        name = given.axis.name
        if isinstance(given, Listed):
            found.append(given.along(places[name]) if name in places else None)
            continue
        place: AffinePlace = given
        new: AffinePlace | None
        if name in places:
            new = _reduced(place.along(places[name]))
        elif name in shifted:
            axis, label = shifted[name]
            divisor = place.divisor * label.step
            sign = int(np.sign(divisor))
            shift = place.shift - label.start * place.divisor
            new = _reduced(AffinePlace(axis, sign * place.factor, sign * shift, sign * divisor))
        else:
            found.append(None)
            continue
        if new is None:
            return None
        found.append(new)
    return path._replace(places=tuple(found))


def _affine(place: AffinePlace | Listed | None) -> AffinePlace:
    """Return a place that is known to be no list."""
    assert isinstance(place, AffinePlace)
    return place


def _reduced(place: AffinePlace) -> AffinePlace | None:
    """Return a place with the least divisor; None if it is nowhere."""
    common = math.gcd(place.factor, place.divisor)
    if place.shift % common:
        return None
    return AffinePlace(place.axis, place.factor // common, place.shift // common, place.divisor // common)


def _split(path: AffinePath, axis: int, label: Factors) -> list[AffinePath]:
    """Return the paths to the indices that an axis is made of, the digit that goes there being several then."""
    digit = next((i for i, place in enumerate(path.places) if place is not None and place.axis == axis), None)
    if digit is None:
        return [path]
    place, length = _affine(path.places[digit]), path.lengths[digit]
    Digits = tuple[tuple[int, ...], tuple[AffinePlace, ...], int, int]
    found: list[Digits] = [((), (), length, place.shift)]  # lengths and places so far; what is left of the number
    inner = math.prod(label.lengths)
    if abs(place.factor) != 1 or place.divisor != 1 or length % (inner // label.lengths[0]):
        return [_with_digits(path, digit, (length,), (None,))]
    for name, n in zip(label.names, label.lengths, strict=True):
        inner //= n
        more: list[Digits] = []
        for lengths, places, rest, shift in found:
            high, low = divmod(shift, inner)
            for carry in (0,) if inner == 1 or (low == 0 and place.factor == 1) else (0, place.factor):
                own = AffinePlace(_Label(name), place.factor, high + carry)
                more.append(((*lengths, rest // inner), (*places, own), inner, low - carry * inner))
        found = more
    return [_with_digits(path, digit, lengths, places) for lengths, places, _, _ in found]


def _with_digits(
    path: AffinePath, digit: int, lengths: Sequence[int], places: Sequence[AffinePlace | None], count: int = 1
) -> AffinePath:
    """Return a path with other digits for some."""
    end = digit + count
    return AffinePath(
        (*path.lengths[:digit], *lengths, *path.lengths[end:]), (*path.places[:digit], *places, *path.places[end:])
    )


def _merged(path: AffinePath, label: Factors) -> list[AffinePath]:
    """Return the paths to an index that several become, from the innermost on."""
    paths = [path]
    merged: Hashable = label.names[-1]
    inner = label.lengths[-1]
    for name, n in zip(label.names[-2::-1], label.lengths[-2::-1], strict=True):
        both = (name, merged)
        paths = [y for x in paths for y in _merged_pair(x, name, n, merged, inner, both)]
        merged, inner = both, inner * n
    own = _Label(label)
    return [x.along(lambda axis: own if axis == _Label(merged) else axis) for x in paths]


def _merged_pair(
    path: AffinePath, outer: Hashable, n: int, inner: Hashable, m: int, both: Hashable
) -> list[AffinePath]:
    """Return the paths to the index that an outer one of length n and an inner one of length m become."""
    first = _digit_of(path, outer)
    second = _digit_of(path, inner)
    if first is None and second is None:
        return [path]
    if first is not None and second is not None:
        x, y = _affine(path.places[first]), _affine(path.places[second])
        alike = second == first + 1 and path.lengths[second] == m and x.factor == y.factor and abs(x.factor) == 1
        if not alike or (x.divisor, y.divisor) != (1, 1):
            return [_merged_list(path, (first, second), (n, m), both)]
        place = AffinePlace(_Label(both), x.factor, x.shift * m + y.shift)
        return [_with_digits(path, first, (path.lengths[first] * m,), (place,), 2)]
    if first is not None:
        return _beside(path, first, both, m, range(m), scaled=True)
    assert second is not None
    return _beside(path, second, both, m, range(n), scaled=False)


def _merged_list(path: AffinePath, digits: tuple[int, int], lengths: tuple[int, int], both: Hashable) -> AffinePath:
    """List where two digits go together, where they are not one number that goes there: cut rows, or a transpose."""
    if len(path.lengths) > 2:
        return _forgotten(path, *digits)
    first, second = digits
    unit = (path.lengths[1], 1)
    outer = _affine(path.places[first]).columns(lengths[0], path.lengths[first])[:, None]
    inner = _affine(path.places[second]).columns(lengths[1], path.lengths[second])
    element = outer * unit[first] + inner * unit[second]
    listed = Listed(_Label(both), np.where((outer < 0) | (inner < 0), -1, element).ravel())
    return AffinePath((math.prod(path.lengths),), (listed,))


def _digit_of(path: AffinePath, name: Hashable) -> int | None:
    return next((i for i, x in enumerate(path.places) if x is not None and x.axis == _Label(name)), None)


def _forgotten(path: AffinePath, *digits: int) -> AffinePath:
    return path._replace(places=tuple([None if i in digits else place for i, place in enumerate(path.places)]))


def _beside(path: AffinePath, digit: int, both: Hashable, m: int, others: range, scaled: bool) -> list[AffinePath]:
    """Merge an index that a digit goes to with one of which everything is reached.

    Args:
        path: a path.
        digit: the digit.
        both: the index that the two become.
        m: the length of the inner one.
        others: the indices of which everything is reached.
        scaled: whether the digit goes to the outer one.
    """
    if isinstance(listed := path.places[digit], Listed):  # two digits were listed, which are the inner index now
        return [path._replace(places=(listed.taken(_Label(both), np.arange(m * len(others)) % m),))]
    place = _affine(path.places[digit])
    if len(others) > MOST_SPREAD:
        return [_forgotten(path, digit)]
    unit = m if scaled else 1
    step = 1 if scaled else m
    beside = digit + 1 if scaled else digit - 1
    lost = 0 <= beside < len(path.places) and path.places[beside] is None
    whole = abs(place.factor) == place.divisor == 1
    if lost and whole and path.lengths[max(digit, beside)] == m and path.lengths[beside] <= MOST_SPREAD:
        # The digit beside this one goes anywhere: together they are one number, which moves by less than all of it.
        reach = path.lengths[beside] - 1
        spread = range(-reach, len(others)) if place.factor == 1 else range(len(others) + reach)
        places = [AffinePlace(_Label(both), place.factor, place.shift * unit + e * step) for e in spread]
        lengths = (path.lengths[digit] * path.lengths[beside],)
        return [_with_digits(path, min(digit, beside), lengths, (x,), 2) for x in places]
    shifts = [place.shift * unit + e * step * place.divisor for e in others]
    own = [_reduced(AffinePlace(_Label(both), place.factor * unit, shift, place.divisor)) for shift in shifts]
    return [_with_digits(path, digit, (path.lengths[digit],), (x,)) for x in own if x is not None]


def _slid(node: Node, path: AffinePath) -> list[AffinePath] | None:
    """Return the paths through an op that moves windows along axes; None for other ops."""
    if node.op.indexing.slides is None:
        return None
    paths = [path]
    for axis, slide in node.op.indexing.slides(*[x.type for x in node.inputs], **dict(node.params)).items():
        paths = [y for x in paths for y in _slid_axis(x, axis, slide, node.type.shape[axis])]
    kept = node.type.ndim
    return [x.along(lambda axis: axis if axis < kept else None) for x in paths]


def _slid_axis(path: AffinePath, axis: int, slide: Slide, length: int) -> list[AffinePath]:
    digit = next((i for i, place in enumerate(path.places) if place is not None and place.axis == axis), None)
    if digit is None:
        return [path]
    place = path.places[digit]
    if len(slide.offsets) > MOST_WINDOW:
        return [_forgotten(path, digit)]
    if isinstance(place, Listed):
        return [path._replace(places=(_slid_list(place, slide, offset, length),)) for offset in slide.offsets]
    place = _affine(place)
    factor, divisor = place.factor * slide.factor, place.divisor * slide.divisor
    shift = place.shift * slide.factor
    moved = [_reduced(AffinePlace(axis, factor, shift + offset * place.divisor, divisor)) for offset in slide.offsets]
    return [_with_digits(path, digit, (path.lengths[digit],), (x,)) for x in moved if x is not None]


def _slid_list(place: Listed, slide: Slide, offset: int, length: int) -> Listed:
    indices, rest = np.divmod(np.arange(length) * slide.divisor - offset, slide.factor)
    return place.taken(place.axis, np.where(rest == 0, indices, -1))

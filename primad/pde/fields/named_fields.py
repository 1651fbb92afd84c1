"""Functions of named coordinates, and their derivatives by name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError, no_attribute, suggestion
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.higher_order import laplacian
from primad.functional.derived_calls import Call
from primad.pde.fields import field_display
from primad.pde.fields.coordinate_names import Coordinates, coordinates, derivative_text
from primad.pde.fields.field_recording import recorded
from primad.pde.fields.field_refusals import axes_taken, likely, no_component, written
from primad.pde.fields.values_elsewhere import KnownPlaces, elsewhere
from primad.pde.written_names import names_in
from primad.programs.jacobians.differential_operators import Term, grouped, partial_
from primad.recording.traced_array import is_traced
from primad.recording.tracing import check_function

TIME = "t"
"""What time is called, unless a field says otherwise."""


class Field:
    """A function of named coordinates, whose derivatives have names.

    `u(x, t)`, or `u.on(points)`, is the field at points. There, `u.xx` and `u.d("xxt")` are derivatives, components
    have names, and in arithmetic it stands for its values. Derivatives are recorded, so what those of one field have in
    common is computed once, whatever way an expression is written. At other points the field is another one.

    Args:
        function: a function of the coordinates, with a number as its result, or an array of components.
        coordinates: names of the arguments: `"x t"` for f(x, t); `"(x y) t"` where an argument is an array of x and y;
            `"x[5]"` where it is an array of five, x0 to x4.
        components: names of the result's components, `"u v p"` say, where it is an array.
        batched: whether the function takes all points at once: arrays with a leading axis of points. It must treat each
            point alone.
        family: whether the result's first axis is one of many functions, which at points comes first, too.
        space: names of the coordinates that operators (`laplacian`, `gradient`, …) are about; by default all but time.
        time: name of the time, along which `material_derivative` differentiates.

    Example:
        >>> import numpy as np, primad.pde
        >>> u = primad.pde.Field(lambda x, t: np.exp(-t) * np.sin(2 * x), "x t")
        >>> at = u(np.array([0.5, 1.0]), 0.0)
        >>> at.t - 0.25 * at.xx
        array([0., 0.])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        coordinates: str | Sequence[str],
        components: str | Sequence[str] | None = None,
        *,
        batched: bool = False,
        family: bool = False,
        space: str | Sequence[str] | None = None,
        time: str = TIME,
    ) -> None:
        check_function(function, "Field: ")
        self.function = function
        self.coordinates, self.components = _coordinates(coordinates), names_in(components or ())
        self.batched, self.family, self.time = batched, family, time
        self.places: KnownPlaces | None = None
        self.space = names_in([n for n in self.coordinates.names if n != time] if space is None else space)
        taken = [name for name in self.components if name in self.coordinates.directions]
        taken += [name for name in (*self.coordinates.names, *self.components) if hasattr(FieldAt, name)]
        if taken:
            raise ShapeError(
                f"Field: the name {taken[0]!r} is taken", fix="call the coordinate or the component something else."
            )
        for name in self.space:
            if name not in self.coordinates.directions:
                raise ShapeError(
                    f"Field: {name!r} of space is no coordinate; they are {self.coordinates.text}",
                    fix="name coordinates of the field in space=.",
                )

    def __call__(self, *arguments: Any) -> FieldAt:
        """Return the field at points.

        Args:
            arguments: an array for each argument of the function. They broadcast; an argument that is an array of
                coordinates has them along its last axis.

        Raises:
            ShapeError: if an argument is missing, or they do not fit together.
            NotDifferentiableError: if a batched function couples points.
        """
        groups = self.coordinates.arguments
        if len(arguments) != len(groups):
            raise ShapeError(
                f"a field of {self.coordinates.text} takes {len(groups)} arguments, got {len(arguments)}",
                fix="pass an array for each argument, or all coordinates along the last axis of one: u.on(points).",
            )
        arrays = [_as_floats(argument) for argument in arguments]
        shapes = []
        for array, group in zip(arrays, groups, strict=True):
            shape = pnp.shape(array)
            if not isinstance(group, str):
                if not shape or shape[-1] != len(group):
                    raise ShapeError(
                        f"the last axis of {shape} must be {', '.join(group)}",
                        fix="pass np.stack(…, axis=-1) of the coordinates.",
                    )
                shape = shape[:-1]
            shapes.append(shape)
        try:
            points = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ShapeError(
                f"coordinates of shapes {', '.join(map(str, shapes))} do not fit together",
                fix="pass arrays of one shape, or arrays that broadcast.",
            ) from None
        count = int(np.prod(points, dtype=int))
        flat = []
        for array, group in zip(arrays, groups, strict=True):
            own = () if isinstance(group, str) else (len(group),)
            flat.append(_reshaped(_spread(array, (*points, *own)), (count, *own)))
        return FieldAt(self, recorded(self, flat), points)

    def on(self, points: Any) -> FieldAt:
        """Return the field at points whose coordinates, all in order, are the last axis of one array.

        Raises:
            ShapeError: if there are other than the field's coordinates.
            NotDifferentiableError: if a batched function couples points.
        """
        points = _as_floats(points)
        names = self.coordinates.names
        if not pnp.ndim(points) or pnp.shape(points)[-1] != len(names):
            raise ShapeError(
                f"points of shape {pnp.shape(points)} for a field of {self.coordinates.text}",
                why=f"Their last axis must be the {len(names)} coordinates.",
                fix="pass coordinates in arrays of their own to the field itself: u(x, t).",
            )
        found, start = [], 0
        for group in self.coordinates.arguments:
            if isinstance(group, str):
                found.append(points[..., start])
                start += 1
            else:
                found.append(points[..., start : start + len(group)])
                start += len(group)
        return self(*found)

    def _repr_latex_(self) -> str | None:
        return field_display.latex(self)

    def _repr_html_(self) -> str:
        return field_display.html(self)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        parts = f" -> {' '.join(self.components)}" if self.components else ""
        return f"Field({name}: {self.coordinates.text}{parts})"


def _operator(function: Callable[[Any, Any], Any], reflected: bool = False) -> Any:
    def apply(self: FieldAt, other: Any) -> Any:
        other = other.value if isinstance(other, FieldAt) else other
        return function(other, self.value) if reflected else function(self.value, other)

    return apply


class FieldAt:
    """A field at points: derivatives and components by name; in arithmetic, its values.

    Attributes:
        field: the field.
        shape_of_points: the shape that the coordinates have together.
        component: the component that this is; None for the field itself.
        asked: the derivatives that were asked for, each as the names of coordinates; () is the value.
    """

    __array_priority__ = 1100

    def __init__(self, field: Field, call: Call, points: tuple[int, ...], component: int | None = None) -> None:
        self.field, self.shape_of_points, self.component, self._call = field, points, component, call
        self._known: dict[tuple[str, ...], Any] = {}
        self.asked: set[tuple[str, ...]] = set()

    def __call__(self, *arguments: Any, **named: Any) -> FieldAt:
        """Return the field at other points: `u(x, t - 1)`, or `u(t=t - 1)` where other coordinates stay as they are."""
        return elsewhere(self, arguments, named)

    @property
    def value(self) -> Any:
        """The values at the points."""
        return self._derivative(())

    def d(self, *derivative: str) -> Any:
        """Return a derivative: `d("xxt")` is ∂³/∂x²∂t. Longer names are put apart: `d("x1 x1 t")`, `d("x1", "t")`.

        Raises:
            ShapeError: if it is not written with the field's coordinates.
        """
        return self._derivative(self.field.coordinates.split(derivative_text(derivative, self.field.coordinates.names)))

    @property
    def components(self) -> tuple[FieldAt, ...]:
        """The components, each a field at the same points."""
        return tuple([self[i] for i in range(self._count("components"))])

    def __getitem__(self, index: Any) -> Any:
        """Return a component by its number or name; of a field without components, elements of its values."""
        if self.component is not None or not self._has_components:
            if isinstance(index, str) or axes_taken(index) > self.ndim:
                raise no_component(index, self.field.coordinates)
            return self.value[index]
        if isinstance(index, str):
            return getattr(self, index)
        count = self._count(f"component {index}")
        if not isinstance(index, (int, np.integer)) or not -count <= index < count:
            raise ShapeError(
                f"there is no component {index!r}, the field has {count}", fix="write u[0], or a component by its name."
            )
        return FieldAt(self.field, self._call, self.shape_of_points, int(index) % count)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.field.components and self.component is None:
            found = self[self.field.components.index(name)]
            self.__dict__[name] = found
            return found
        try:
            return self.d(name)
        except ShapeError as error:
            known = (*self.field.components, *dir(self))
            fix = written(name, self.field.coordinates)
            if not likely(name, self.field.coordinates):
                fix = suggestion(name, known) or f"{error.what}: {fix}"
            raise no_attribute("a field", name, (), fix) from None

    @property
    def _has_components(self) -> bool:
        return len(self._call.program.out_types[0].shape) > 1 + self.field.family

    def _count(self, what: str) -> int:
        if self.component is not None or not self._has_components:
            raise ShapeError(
                f"the field has no {what}: its result is a number at each point",
                fix="write the field itself; components have names: Field(f, 'x y', 'u v').",
            )
        return self._call.program.out_types[0].shape[-1]

    def _derivative(self, names: tuple[str, ...]) -> Any:
        if names not in self._known:
            self.asked.add(names)
            self._known[names] = self._combined([(1.0, self.field.coordinates.directions_of(names))])
        return self._known[names]

    def combination(self, terms: Sequence[tuple[float, Sequence[str]]]) -> Any:
        """Return a sum of derivatives, each times a number, as one differential operator.

        Args:
            terms: numbers, and names of the coordinates along which is differentiated.
        """
        known = self.field.coordinates
        self.asked |= {tuple(names) for _, names in terms}
        return self._combined([(number, known.directions_of(names)) for number, names in terms])

    def laplacian(self, argument: int) -> Any:
        """Return the sum of the second derivatives by all coordinates in an argument that is an array, however many."""
        function, directions = self.field.function, self.field.coordinates.directions
        self.asked |= {(name, name) for name, (place, _) in directions.items() if place == argument}

        def single(*point: Any) -> Any:
            return function(*[x[None] for x in point])[0] if self.field.batched else function(*point)

        (found,) = Call(vmap(laplacian(single, argument)), self._call.leaves, known=False).evaluate()
        return self._arranged(found if self.component is None else found[..., self.component])

    def coordinate(self, name: str) -> Any:
        """Return the values of a coordinate at the points."""
        argument, index = self.field.coordinates.directions[self.field.coordinates.split(name)[0]]
        values = self._call.leaves[argument]
        return _reshaped(values if index is None else values[:, index], self.shape_of_points)

    def _combined(self, terms: Sequence[tuple[float, Term]]) -> Any:
        groups, weights = grouped(terms, None, self._call.program.out_types[0])
        (found,) = self._call.run(partial_, weights, output=0, component=self.component, groups=groups, points=1)
        return self._arranged(found)

    def _arranged(self, found: Any) -> Any:
        """Return an array with a leading axis of points as it is handed out."""
        apart = pnp.swapaxes(found, 0, 1) if self.field.family else found
        return _reshaped(apart, self._shaped(pnp.shape(found)[1:]))

    def _shaped(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an array whose shape at a point is given: functions of a family come first."""
        return (*own[: self.field.family], *self.shape_of_points, *own[self.field.family :])

    # -- as an array ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self._shaped(self._call.program.out_types[0].shape[1 : None if self.component is None else -1])

    @property
    def dtype(self) -> Any:
        """Dtype of the values."""
        return self._call.program.out_types[0].dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the values."""
        return len(self.shape)

    @property
    def real(self) -> Any:
        """The real parts of the values."""
        return np.real(self.value)

    @property
    def imag(self) -> Any:
        """The imaginary parts of the values."""
        return np.imag(self.value)

    def conj(self) -> Any:
        """Return the conjugates of the values."""
        return np.conj(self.value)

    __add__, __radd__ = _operator(operator.add), _operator(operator.add, True)
    __sub__, __rsub__ = _operator(operator.sub), _operator(operator.sub, True)
    __mul__, __rmul__ = _operator(operator.mul), _operator(operator.mul, True)
    __truediv__, __rtruediv__ = _operator(operator.truediv), _operator(operator.truediv, True)
    __pow__, __rpow__ = _operator(operator.pow), _operator(operator.pow, True)
    __lt__, __le__ = _operator(operator.lt), _operator(operator.le)
    __gt__, __ge__ = _operator(operator.gt), _operator(operator.ge)

    def __neg__(self) -> Any:
        return -self.value

    def __abs__(self) -> Any:
        return abs(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return iter(self.components if self._has_components and self.component is None else self.value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*[_value(x) for x in inputs], **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*[_value(x) for x in args], **{key: _value(x) for key, x in kwargs.items()})

    def __traced__(self) -> Any:
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if is_traced(self.value):
            raise TracingError("a field stands among traced arrays in a function of arrays", fix="write u.value.")
        return np.array(self.value, dtype) if copy else np.asarray(self.value, dtype)

    def _repr_html_(self) -> str:
        return field_display.html_at(self, None if is_traced(self.value) else np.asarray(self.value))

    def __repr__(self) -> str:
        part = "" if self.component is None else f", component {self.component}"
        return f"<{self.field!r} at points of shape {self.shape_of_points}{part}>"


def _coordinates(given: Any) -> Coordinates:
    return given if isinstance(given, Coordinates) else coordinates(given)


def _value(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_value(item) for item in x])
    return x.value if isinstance(x, FieldAt) else x


def _as_floats(x: Any) -> Any:
    if isinstance(x, FieldAt):
        return x.value
    if not is_traced(x):
        x = np.array(x)  # a copy: derivatives that are asked for later are those at the same points
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    return x if pnp.shape(x) == shape else pnp.broadcast_to(x, shape)


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    found = x if pnp.shape(x) == shape else pnp.reshape(x, shape)
    return found[()] if isinstance(found, np.ndarray) and not shape else found

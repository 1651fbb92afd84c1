"""Plain functions of trees as SciPy wants them: of one vector, with derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import PACKAGE, NotFiniteError, ShapeError, TracingError, is_users
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM, SPARSE_SHARE, jacobian_of
from primad.functional.jit import jit
from primad.ir.array_types import check_dtype, check_real
from primad.numpy.shapes.shaping import concatenate, reshape
from primad.optimize.nan_origin import first_not_finite
from primad.optimize.parameter_vectors import Space, Tree, Vector, check_plain, first_bad
from primad.optimize.real_coordinates import RealCoordinates, real_parts
from primad.recording import tree
from primad.recording.foreign import plain
from primad.recording.tracing import check_function, trace, type_of

Function = Callable[..., Any]


def recorded_once(function: Function) -> Function:
    """Return a function compiled (see `naming_compiled`)."""
    return naming_compiled(jit(function))


def naming_compiled(function: Function) -> Function:
    """Return a function whose error, where it branches on a value, names the solvers' option `compiled`."""

    def found(*values: Any) -> Any:
        try:
            return function(*values)
        except TracingError as error:
            if not error.only_types:
                raise
            raise error.with_fix(
                "compiled=False: the function is recorded at each call then, and may branch on values; or choose with "
                "primad.numpy.where."
            ) from None

    return found


class Plain:
    """A function of a tree as a function of one vector, for solvers that know vectors only.

    Args:
        function: of the tree and other arguments.
        start: a tree like its argument, or what SciPy takes for one (see `parameters`).
        args: the other arguments, which stay as they are.
        what: the solver, for messages.
        compiled: whether functions are recorded once; otherwise at each call, and may branch on values.
        kwargs: the other arguments that have names.
        parts: whether complex results are their parts, as of residuals; otherwise they are refused.

    Methods take and return vectors and trees of `coordinates`, real arrays, of which `point` makes the user's tree.
    """

    def __init__(
        self,
        function: Function,
        start: Tree,
        args: Sequence[Any],
        what: str,
        compiled: bool,
        kwargs: Mapping[str, Any] | None = None,
        parts: bool = False,
    ) -> None:
        check_function(function, f"{what}: ")
        check_args(what, args)
        check_plain(what, (args, kwargs))
        start = parameters(start, what)
        self.coordinates = RealCoordinates.of(start)
        start = self.coordinates.split(start)
        self.space, self.what, self._function, self._parts = Space.of(start), what, function, parts
        self._args, self._kwargs = tuple(args), dict(kwargs or {})
        self.start = self.space.vector(start)
        self._compiled = compiled

    def call(self, x: Tree) -> Any:
        """Return the function of a tree."""
        return self._function(self.coordinates.joined(x), *self._args, **self._kwargs)

    def number(self, x: Tree) -> Any:
        """Return the function of a tree whose result is one number; an array of one element is one, as in SciPy."""
        return self._number(self.call(x))

    def number_at(self, point: Tree) -> Any:
        """Return the same of the user's tree."""
        return self._number(self._function(point, *self._args, **self._kwargs))

    def _number(self, found: Any) -> Any:
        leaves = tree.leaves(found)
        if len(leaves) != 1 or np.size(leaves[0]) != 1:
            kind = f"the shape {np.shape(leaves[0])}" if len(leaves) == 1 else f"{len(leaves)} results"
            raise ShapeError(
                f"{self.what}: fun returns {kind}, not one number",
                fix="np.sum adds the terms of an array up; least_squares takes residuals as they are.",
            )
        number = reshape(leaves[0], ())
        if type_of(number).is_complex:
            raise ShapeError(
                f"{self.what}: fun returns a complex number, and complex numbers have no least one",
                fix="return a real number, as np.abs(z) ** 2 or z.real.",
            )
        return number

    def ready(self, function: Function) -> Function:
        """Return a function compiled, or as it is."""
        return self.plain(recorded_once(function) if self._compiled else function)

    def plain(self, function: Function) -> Function:
        """Return a function that raises where its result depends on a traced array, which SciPy cannot take."""

        def found(*values: Any) -> Any:
            try:
                result = function(*values)
            except TracingError as error:
                raise self._not_recorded() or error from None
            check_plain(self.what, result)
            return result

        return found

    def _not_recorded(self) -> TracingError | None:
        """Return the error where a function cannot be recorded that is not the user's, as `scipy.optimize.rosen`.

        None where it is the user's: the error of the recording names the line then.
        """
        code = getattr(inspect.unwrap(self._function), "__code__", None)
        if code is None or is_users(code.co_filename) or code.co_filename.startswith(PACKAGE):
            return None
        name = f"{self._function.__module__}.{self._function.__name__}"
        return TracingError(
            f"{self.what}: {name} cannot be recorded, so it has no exact derivative",
            why="It makes a plain array of its argument, or branches on it.",
            fix="write it again with NumPy, or pass its derivative as jac: it is called as it is then.",
        )

    def is_recordable(self, function: Function) -> bool:
        """Say whether a function of a tree can be recorded."""
        try:
            trace(function)(self.tree(self.start))
        except TracingError:
            return False
        return self._compiled

    def given(self, function: Function) -> Function:
        """Return a function that the user gives, of the tree and the other arguments, as a function of a vector."""
        self.coordinates.refuse(f"{self.what}: a derivative of your own")
        return self.plain(lambda x, *rest: function(self.tree(x), *rest, *self._args, **self._kwargs))

    def tree(self, vector: Any) -> Tree:
        """Return a vector as a tree."""
        return self.space.tree(np.asarray(vector, np.float64))

    def point(self, vector: Any) -> Tree:
        """Return a vector as the user's tree, in which numbers may be complex."""
        return self.coordinates.joined(self.tree(vector))

    def gradient(self, vector: Any) -> Tree:
        """Return slopes along the coordinates as the gradient by the user's tree."""
        return self.coordinates.gradient(self.tree(vector))

    def joined(self, x: Tree) -> Any:
        """Return the function's result as one vector."""
        leaves = tree.leaves(self.call(x))
        found = [reshape(real_parts(leaf) if self._parts else leaf, (-1,)) for leaf in leaves]
        return concatenate(found) if found else np.zeros(0)

    def values(self, as_it_is: bool = False) -> Callable[[Vector], Vector]:
        """Return the function of a vector whose result is a vector.

        Args:
            as_it_is: whether it is not recorded.
        """
        value = self.plain(self.joined) if as_it_is else self.ready(self.joined)
        return lambda x: _real(np.asarray(value(self.tree(x))))

    def result(self, x: Tree) -> Any:
        """Return the function's result as arrays; numbers, and lists of them, are an array."""
        return as_array(self.ready(self.call)(x))

    def matrix(self) -> Callable[[Vector], Any]:
        """Return the function that takes a vector to the Jacobian there."""

        def found(x: Tree) -> Any:
            parts = [leaf[...] for leaf in tree.leaves(jacobian(self.joined)(x))]
            return concatenate([reshape(part, (part.shape[0], -1)) for part in parts], axis=1)

        rows = self.ready(found)
        return lambda x: np.asarray(rows(self.tree(x)), np.float64)

    def large_matrix(self) -> Callable[[Vector], Any]:
        """Return the same; of many parameters the Jacobian is SciPy's sparse array where most of it is zero."""
        return self.matrix() if self.space.size < SPARSE_FROM else self.sparse_matrix(SPARSE_SHARE)

    def sparse_matrix(self, share: float = 1.0) -> Callable[[Vector], Any]:
        """Return the function that takes a vector to the Jacobian there, as SciPy's sparse array.

        Args:
            share: of the entries, up to which it is that, and not NumPy's.
        """
        kept: list[Function] = []

        def at(x: Vector) -> Any:
            if not kept or not self._compiled:
                kept[:] = [jacobian_of(lambda row: self.joined(self.space.tree(row)), x, not self._compiled)]
            return kept[0](x, share).astype(np.float64)

        return self.plain(naming_compiled(at))

    def not_finite(self, x: Vector, where: str, is_recorded: bool = True, rows: Any = None) -> NotFiniteError:
        """Return the error for residuals that are NaN or infinite at a vector: which, and the op that made it.

        Args:
            x: the vector.
            where: it is, in words.
            is_recorded: whether the function can be.
            rows: its Jacobian there, where the function is finite.
        """
        there = self.tree(x)
        named = [("args", self._args), ("kwargs", self._kwargs), ("the parameter ", there)]
        found = next((bad for bad in (first_bad(*one) for one in named) if bad), None)
        if found is None:
            found = first_bad("the residual ", as_array(self.call(there)))
        if found is None:
            row, column = np.argwhere(~np.isfinite(rows))[0]
            found = f"the derivative of residual {row} in parameter {column} is not finite"
        origin = first_not_finite(self.call, there) if self._compiled and is_recorded else None
        found = f"{found}: {origin}" if origin else found
        return NotFiniteError(
            f"{self.what}: the function is not finite {where}: {found}",
            why="The solver needs finite values there.",
            fix="start where the function is defined, keep parameters there by bounds, or mend the data.",
        )


def _real(found: Any) -> Vector:
    """Return numbers in double precision.

    Raises:
        TracingError: for complex ones, of which NumPy would drop the imaginary parts.
    """
    check_real(found.dtype)
    return np.asarray(found, np.float64)


def is_array(value: Any) -> bool:
    """Say whether SciPy makes an array of something that is no tree of arrays: numbers, and lists and tuples of them.

    A list or tuple with an array of one or more axes in it is a tree, and so is a named tuple.
    """
    if type(value) in (list, tuple):
        return bool(value) and all(is_array(item) for item in value)
    return isinstance(value, (int, float, complex, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0)


def as_array(value: Any) -> Any:
    """Return numbers, and lists of them, as an array; and a tree as it is."""
    return np.asarray(value) if type(value) in (list, tuple) and is_array(value) else value


def parameters(start: Tree, what: str) -> Tree:
    """Return where to start as a tree of float or complex arrays.

    Numbers, and lists and tuples that hold numbers only, are one array, with one axis at least, as in SciPy. Integers
    become floats.

    Args:
        start: what the user gives.
        what: the solver, for messages.

    Raises:
        ShapeError: for lists of different lengths.
        TracingError: for elements that are no numbers, and arrays that are more than their elements.
        NotDifferentiableError: for traced arrays.
    """
    check_plain(what, start)
    if is_array(start):
        try:
            start = np.atleast_1d(np.asarray(start))
        except ValueError:
            raise ShapeError(
                f"{what}: the lists in x0 have different lengths", fix="pass a dict or a list of arrays."
            ) from None
    return as_floats(start, what)


def as_floats(values: Tree, what: str) -> Tree:
    """Return a tree of arrays of which integers became floats.

    Raises:
        TracingError: for elements that are no numbers, and arrays that are more than their elements.
    """

    def leaf(given: Any) -> Any:
        found = plain(given)
        check_dtype(found.dtype)
        return found if found.dtype.kind in "fc" else found.astype(np.float64)

    return tree.map(leaf, values)


def check_args(what: str, args: Any) -> None:
    """Raise unless other arguments of a function are a tuple or a list.

    Raises:
        TracingError: if they are something else, as a number is.
    """
    if not isinstance(args, (tuple, list)):
        raise TracingError(f"{what}: args is a tuple, got {type(args).__name__}", fix="write args=(value,).")


def spread(space: Space, given: Any, what: str) -> Vector:
    """Return a number for all elements, or a tree like those of a space, as a vector.

    A leaf may be a number for all its elements. Where the space has one array, lists are arrays, and where it is a
    tree, an array with as many numbers as all its leaves will do.

    Args:
        space: of the elements.
        given: what the user gives.
        what: it is, for messages.

    Raises:
        ShapeError: if it does not fit.
    """
    if isinstance(given, (int, float, np.generic)) or (isinstance(given, np.ndarray) and given.size == 1):
        return np.full(space.size, np.asarray(given).item(), np.float64)
    single = space.structure.is_leaf()
    if single or isinstance(given, np.ndarray):
        try:
            vector: Vector = plain(given, np.float64)
        except ValueError:
            raise ShapeError(
                f"{what}: expected numbers, got {given!r}", fix="give one number, or an array of them."
            ) from None
        if vector.shape == (space.size,):
            return vector
        given = vector
    leaves = [given] if single else tree.flatten_as(space.structure, given, what)
    found = []
    for leaf, type in zip(leaves, space.types, strict=True):
        if np.shape(leaf) not in ((), type.shape):
            raise ShapeError(
                f"{what} of shape {np.shape(leaf)} for a leaf of shape {type.shape}",
                fix="give one number for all of a leaf, or an array of its shape.",
            )
        found.append(np.ravel(np.broadcast_to(plain(leaf, np.float64), type.shape)))
    return np.concatenate(found)

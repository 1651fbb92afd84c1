"""Jacobians and Hessians that are computed only where they are looked at."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, ParamSpec

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from primad.errors import MemoryLimitError, PrimadError, TracingError, no_attribute
from primad.functional.derivatives.listed_entries import entries, listed
from primad.functional.derivatives.sparse_matrices import ComputedForm, HasSparseForm, ShownForm, SparseForm
from primad.functional.derived_calls import run_once
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive
from primad.programs.sparsity.listed_places import Known
from primad.recording.traced_array import is_traced
from primad.system.machine import SPARE_DOUBLES

Function = Callable[..., Any]
P = ParamSpec("P")

_SHOWING = (np.reshape,)
_DIAGONALS = (np.trace, np.diagonal, np.diag, np.einsum)
_LAZY_FUNCTIONS = (
    np.trace, np.diagonal, np.diag, np.dot, np.einsum, np.tensordot, np.inner, np.vdot, np.take, np.sum, np.mean,
)  # fmt: skip
_KEYWORDS = frozenset(
    ("axis", "axis1", "axis2", "axes", "k", "keepdims", "newshape", "offset", "optimize", "order", "shape")
)
"""What a function may be given by name to be lazy; with others (`out`, `where`, `dtype`) it takes the whole array."""
_LAZY_METHODS = ("trace", "diagonal", "dot", "take", "sum", "mean")
_IN_PLACE = ("byteswap", "fill", "partition", "put", "resize", "setfield", "setflags", "sort", "view")
"""Methods of an array that would change it, or its memory."""
_WHOLE_METHODS = frozenset(
    name
    for name in dir(np.ndarray)
    if not name.startswith("_") and callable(getattr(np.ndarray, name)) and name not in (*_LAZY_METHODS, *_IN_PLACE)
)
"""Methods of an array that are called on the whole, computed when they are called and not when they are looked up."""


class LazyMatrix(HasSparseForm, NDArrayOperatorsMixin):
    """A derivative array that behaves as a NumPy array and computes only what is asked of it.

    Indexing computes entries, rows, columns or blocks, in memory for these; `@`, `np.dot`, `np.sum`, `np.trace`,
    `np.diagonal` and `np.einsum` use derivative products, and so do SciPy's iterative solvers (`cg`, `eigsh`, `svds`,
    `lsqr`), which take a matrix as a linear operator. `J.T` and `J.reshape(…)` are as lazy. A diagonal takes few
    products where the function has a structure, and one for each element, in blocks, where it has none. Looking up an
    attribute, copying it, and showing it unless it is small, compute nothing. Anything else (`np.asarray(J)`,
    arithmetic) computes the whole array, once, and shares it read-only; `np.array(J)` is a copy.
    """

    __array_priority__ = 900

    def __init__(
        self, of: Program, operands: Sequence[Any], primitive: Primitive, options: dict[str, Any], array: Any = None
    ) -> None:
        closed = ClosedProgram(of)
        self._parts = closed, primitive, options
        self._operands = [np.array(value) for value in operands]
        self._record: Function = lambda *operands: primitive(*operands, of=closed, **options)
        self._type: ArrayType = primitive.infer(of=closed, **options)
        self._array: np.ndarray[Any, Any] | None = None if array is None else _read_only(array)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        return self._type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._type.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._type.size

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return self._type.nbytes

    @property
    def T(self) -> Any:
        """The array with its axes reversed, as lazy as this one."""
        return _Shown(self, "transpose")

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the array in another shape: as lazy as this one, if the elements stay in row-major order."""
        if order != "C":
            return np.reshape(np.asarray(self), *shape, order=order)  # type: ignore[call-overload]
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        rest = math.prod([n for n in wanted if n != -1])
        found = tuple([self.size // max(1, rest) if n == -1 else operator.index(n) for n in wanted])
        if math.prod(found) != self.size or list(wanted).count(-1) > 1:
            raise ValueError(f"cannot reshape a derivative array of shape {self.shape} into shape {tuple(wanted)}")
        return _Shown(self, "reshape", found)

    def apply(self, function: Function, *others: Any, record: Function | None = None) -> Any:
        """Compute a function of this array and others, through the laws that avoid building it.

        Args:
            function: of this array and the others.
            others: arrays.
            record: what gives this array when it is recorded, if not as it was defined.
        """
        record = self._record if record is None else record
        if self._array is not None:
            found = function(self._array, *others)
            return np.array(found) if isinstance(found, np.ndarray) else found
        n = len(self._operands)
        return run_once(lambda *values: function(record(*values[:n]), *values[n:]), [*self._operands, *others])

    @property
    def _column_axes(self) -> int:
        """How many of the last axes are those of the argument that columns stand for; 0 where this is not known."""
        options = self._parts[2]
        return len(options["right"] if "right" in options else options["columns"])

    @property
    def _as_matrix(self) -> tuple[int, int]:
        """How many elements the axes of rows have, and those of columns."""
        split = self.ndim - self._column_axes
        return math.prod(self.shape[:split]), math.prod(self.shape[split:])

    @cached_property
    def _form(self) -> SparseForm:
        return ComputedForm(*self._parts, self._operands)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._array is None:
            self._array = self._computed()
        if copy:
            return np.array(self._array, dtype)
        return np.asarray(self._array, dtype, copy=copy)

    def _computed(self) -> np.ndarray[Any, Any]:
        """Compute the whole array."""
        try:
            return _read_only(run_once(self._record, self._operands))
        except MemoryLimitError as error:
            name = self._title[0]
            rows = f"{name} @ v and v @ {name} are its products, {name}[i] a row"
            raise error.with_fix(
                f"ask for the parts that are needed, which are computed alone: {rows}, np.diag({name}) its diagonal, "
                f"{name}.sparse() the entries that may not be zero; scipy.sparse.linalg's solvers take {name} as it is."
            ) from None

    # -- as a linear operator ------------------------------------------------------------------------------------------

    def matvec(self, v: Any) -> Any:
        """Return the matrix times a vector (or a column), by a derivative product."""
        return self @ np.ravel(v)

    def rmatvec(self, v: Any) -> Any:
        """Return the transposed matrix times a vector (or a column), by a derivative product."""
        return np.ravel(v) @ self

    def matmat(self, columns: Any) -> Any:
        """Return the matrix times others' columns, by one derivative product for all."""
        return self @ columns

    def rmatmat(self, columns: Any) -> Any:
        """Return the transposed matrix times others' columns, by one derivative product for all."""
        return (np.transpose(columns) @ self).T

    # -- as an array ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d derivative")
        return self.shape[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TracingError("a derivative array is read-only", fix="change a copy: np.array(H).")

    def __getitem__(self, index: Any) -> Any:
        if self._array is None and type(index) is tuple:
            wanted = listed(index, self.shape, self._column_axes)
            found = None if wanted is None else entries(self, self._form, wanted, self._as_matrix)
            if found is not None:
                return found
        return self.apply(lambda matrix: matrix[index])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TracingError("a derivative array is read-only", fix="change a copy: np.array(H).")
        if ufunc is np.matmul and not kwargs and not is_traced(*inputs):  # which has no other method
            return self._products(np.matmul, inputs)
        return getattr(ufunc, method)(*[_whole(x) for x in inputs], **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        given = any(arg is self for arg in args) and not is_traced(*args) and _KEYWORDS.issuperset(kwargs)
        if function in _SHOWING and given:
            by_name = [kwargs[name] for name in ("shape", "newshape") if name in kwargs]
            return self.reshape(*args[1:], *by_name, order=kwargs.get("order", "C"))
        if function in _LAZY_FUNCTIONS and given:
            return self._products(function, args, **kwargs)
        return function(*[_whole_in(x) for x in args], **{key: _whole_in(x) for key, x in kwargs.items()})

    def _products(self, function: Any, args: Any, **kwargs: Any) -> Any:
        place = next(i for i, arg in enumerate(args) if arg is self)
        values = [i for i, arg in enumerate(args) if i != place and isinstance(arg, (np.ndarray, LazyMatrix, list))]

        def compute(matrix: Any, *others: Any) -> Any:
            full = list(args)
            full[place] = matrix
            for i, other in zip(values, others, strict=True):
                full[i] = other
            return function(*full, **kwargs)

        record = self._with_indices() if function in _DIAGONALS else None
        return self.apply(compute, *[np.asarray(args[i]) for i in values], record=record)

    def _with_indices(self) -> Function:
        """Return what gives this array, recorded with the values of integers, which say where its zeros are."""
        closed, primitive, options = self._parts
        known = {i: x for i, x in enumerate(self._operands) if x.ndim and x.dtype.kind == "i"}
        more = {"known": Known(known)} if known else {}
        return lambda *operands: primitive(*operands, of=closed, **options, **more)

    def __getattr__(self, name: str) -> Any:
        if name in _LAZY_METHODS:
            return partial(getattr(np, name), self)
        if name in _WHOLE_METHODS:
            return lambda *args, **kwargs: getattr(np.asarray(self), name)(*args, **kwargs)
        if name.startswith("_"):  # what notebooks, copy and NumPy look for
            raise AttributeError(name)
        fix = "change a copy: np.array(H)." if name in _IN_PLACE else ""
        if hasattr(np.ndarray, name):
            fix = fix or f"compute the array: np.asarray(H).{name}."
        raise no_attribute(f"a lazy {self._title}", name, dir(self), fix)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *_LAZY_METHODS, *_WHOLE_METHODS]

    def __copy__(self) -> LazyMatrix:
        return self

    def __deepcopy__(self, memo: Any) -> LazyMatrix:
        return self

    def __reduce__(self) -> Any:
        closed, primitive, options = self._parts
        return type(self), (closed.hoisted, self._operands, primitive, options, self._array)

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __iter__(self) -> Any:
        """Give the rows: one by one where all of them are many, since they may not fit into memory together."""
        if self._array is None and self.size > SPARE_DOUBLES:
            return (self[i] for i in range(len(self)))
        return iter(np.asarray(self))

    @property
    def _title(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Show the numbers of a matrix that NumPy shows in full, and say of others only whether they are computed."""
        if self.size <= np.get_printoptions()["threshold"]:
            with contextlib.suppress(PrimadError):  # looking at an object fails nowhere
                return f"<{self._title} {self._type}\n{np.asarray(self)}>"
        state = "computed" if self._array is not None else "not computed"
        return f"<{self._title} {self._type}, {state}>"

    __hash__ = None  # type: ignore[assignment]


class _Shown(LazyMatrix):
    """A derivative array in another shape, or with its axes reversed; the whole is computed once for both.

    Args:
        of: the array.
        how: NumPy's function that shows it so.
        params: arguments of that function.
    """

    def __init__(self, of: LazyMatrix, how: str, *params: Any) -> None:
        self._of = of
        self._how, self._params = how, params
        self._operands = of._operands
        self._record = lambda *operands: self._show(of._record(*operands))
        self._type = ArrayType(of.shape[::-1] if how == "transpose" else params[0], of.dtype)
        self._array = None if of._array is None else self._show(of._array)

    def _show(self, array: Any) -> Any:
        return getattr(np, self._how)(array, *self._params)

    @property
    def T(self) -> Any:
        """The array with its axes reversed."""
        return self._of if self._how == "transpose" else _Shown(self, "transpose")

    @property
    def _title(self) -> str:
        return f"{self._of._title}.T" if self._how == "transpose" else self._of._title

    @property
    def _column_axes(self) -> int:
        return int(self.ndim == 2)

    @cached_property
    def _form(self) -> SparseForm:
        return ShownForm(self._of._form, self._how == "transpose", self.shape)

    def _with_indices(self) -> Function:
        record = self._of._with_indices()
        return lambda *operands: self._show(record(*operands))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._array is None:
            self._array = _read_only(self._show(np.asarray(self._of)))
        return super().__array__(dtype, copy)

    def __reduce__(self) -> Any:
        return _Shown, (self._of, self._how, *self._params)


class Jacobian(LazyMatrix):
    """The Jacobian of one result with respect to one argument: axes of the result, then of the argument."""


class Hessian(LazyMatrix):
    """Second derivatives of one result: axes of the result, then of the two arguments."""


def _read_only(array: Any) -> np.ndarray[Any, Any]:
    """Return an array that whoever asks may share: a copy would need the memory once more."""
    found = np.asarray(array)
    found.flags.writeable = False
    return found


def _whole(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, LazyMatrix) else x


def _whole_in(x: Any) -> Any:
    return type(x)([_whole(item) for item in x]) if isinstance(x, (list, tuple)) else _whole(x)

"""Jacobians and Hessians that are computed only where they are looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from primad.errors import PrimadError, ShapeError, TracingError, no_attribute
from primad.functional.derived_calls import Call, Selected, check_differentiable, run_once
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.jacobian_laws import hessian_, jacobian_
from primad.programs.jacobians.jacobian_programs import whole
from primad.recording import tree
from primad.recording.protocols import FUNCTIONS
from primad.recording.traced_array import is_traced

Function = Callable[..., Any]
P = ParamSpec("P")

_LAZY_FUNCTIONS = (np.trace, np.diagonal, np.diag, np.dot, np.einsum, np.tensordot, np.inner, np.vdot)
SHOWN = 100
"""The `repr` of a matrix of at most this number of elements computes and shows them. Chosen: they fill one screen."""
_LAZY_METHODS = ("trace", "diagonal", "dot")
_IN_PLACE = ("byteswap", "fill", "partition", "put", "resize", "setfield", "setflags", "sort", "view")
"""Methods of an array that would change it, or its memory."""
_WHOLE_METHODS = frozenset(
    name
    for name in dir(np.ndarray)
    if not name.startswith("_") and callable(getattr(np.ndarray, name)) and name not in (*_LAZY_METHODS, *_IN_PLACE)
)
"""Methods of an array that are called on the whole, computed when they are called and not when they are looked up."""


class LazyMatrix(NDArrayOperatorsMixin):
    """A derivative array that behaves as a NumPy array and computes only what is asked of it.

    Indexing computes rows, columns or blocks; `@`, `np.dot`, `np.trace`, `np.diagonal` and `np.einsum` use derivative
    products, and so do SciPy's iterative solvers (`cg`, `eigsh`, `svds`, `lsqr`), which take a matrix as a linear
    operator. Looking up an attribute, copying it, and showing it unless it is small, compute nothing. Anything else
    (`np.asarray(J)`, arithmetic) computes the whole array, once, and shares it read-only; `np.array(J)` is a copy.
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
        return _Transposed(self)

    def apply(self, function: Function, *others: Any) -> Any:
        """Compute a function of this array and others, through the laws that avoid building it."""
        if self._array is not None:
            found = function(self._array, *others)
            return np.array(found) if isinstance(found, np.ndarray) else found
        n = len(self._operands)
        return run_once(lambda *values: function(self._record(*values[:n]), *values[n:]), [*self._operands, *others])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._array is None:
            self._array = _read_only(run_once(self._record, self._operands))
        if copy:
            return np.array(self._array, dtype)
        return np.asarray(self._array, dtype, copy=copy)

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
        return self.apply(lambda matrix: matrix[index])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TracingError("a derivative array is read-only", fix="change a copy: np.array(H).")
        if ufunc is np.matmul and method == "__call__" and not kwargs and not is_traced(*inputs):
            return self._products(np.matmul, inputs)
        return getattr(ufunc, method)(*[_whole(x) for x in inputs], **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _LAZY_FUNCTIONS and function in FUNCTIONS and not is_traced(*args):
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

        return self.apply(compute, *[np.asarray(args[i]) for i in values])

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
        return iter(np.asarray(self))

    @property
    def _title(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Show the numbers where they are few, and say of others only whether they are computed."""
        if self.size <= SHOWN:
            with contextlib.suppress(PrimadError):  # looking at an object fails nowhere
                return f"<{self._title} {self._type}\n{np.asarray(self)}>"
        state = "computed" if self._array is not None else "not computed"
        return f"<{self._title} {self._type}, {state}>"

    __hash__ = None  # type: ignore[assignment]


class _Transposed(LazyMatrix):
    """A derivative array with its axes reversed; the whole is computed once for both."""

    def __init__(self, of: LazyMatrix) -> None:
        self._of = of
        self._operands = of._operands
        self._record = lambda *operands: np.transpose(of._record(*operands))
        self._type = ArrayType(of.shape[::-1], of.dtype)
        self._array = None if of._array is None else of._array.T

    @property
    def T(self) -> Any:
        """The array itself."""
        return self._of

    @property
    def _title(self) -> str:
        return f"{self._of._title}.T"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._array is None:
            self._array = np.asarray(self._of).T
        return super().__array__(dtype, copy)

    def __reduce__(self) -> Any:
        return _Transposed, (self._of,)


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


def _matrix(cls: type[LazyMatrix], call: Call, primitive: Primitive, options: dict[str, Any], lazy: bool) -> Any:
    if call.nested or not lazy:
        return call.run(primitive, **options)[0]
    return cls(call.program, [*map(np.asarray, call.leaves), *call.program.source_values], primitive, options)


@transform
def jacobian(function: Callable[P, Any], argnums: Any = 0, mode: str = "auto") -> Callable[P, Jacobian]:
    """Return the function that computes the Jacobian, as a lazy matrix.

    Args:
        function: a function of arrays and pytrees, with float results.
        argnums: the argument, or tuple of arguments, to differentiate.
        mode: 'forward' (a direction per element of the argument), 'reverse' (one per element of the result), or 'auto',
            which takes the fewer.

    Returns:
        a function of the same arguments. For one result and one argument it gives a `Jacobian`, which behaves as a
        NumPy array of shape result + argument and computes only the parts that are used; trees give trees, results
        outside.

    Raises:
        NotDifferentiableError: for integer arguments, or an op without a rule.
        ShapeError: for another mode.

    Example:
        >>> import numpy as np, primad
        >>> J = primad.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        >>> J[0, 0], J @ np.ones(2)
        (np.float64(2.0), array([2., 4.]))
    """
    return _jacobian(function, argnums, mode, lazy=True, name="jacobian")


@transform
def jacfwd(function: Callable[P, Any], argnums: Any = 0) -> Callable[P, np.ndarray[Any, Any]]:
    """Return the function that computes the Jacobian in forward mode, as plain arrays (see `jacobian`).

    Example:
        >>> import numpy as np, primad
        >>> primad.jacfwd(np.sin)(np.zeros(2))
        array([[1., 0.],
               [0., 1.]])
    """
    return _jacobian(function, argnums, "forward", lazy=False, name="jacfwd")


@transform
def jacrev(function: Callable[P, Any], argnums: Any = 0) -> Callable[P, np.ndarray[Any, Any]]:
    """Return the function that computes the Jacobian in reverse mode, as plain arrays (see `jacobian`).

    Example:
        >>> import numpy as np, primad
        >>> primad.jacrev(lambda x: np.sum(x**2))(np.ones(2))
        array([2., 2.])
    """
    return _jacobian(function, argnums, "reverse", lazy=False, name="jacrev")


def _jacobian(function: Function, argnums: Any, mode: str, lazy: bool, name: str) -> Function:
    if mode not in ("auto", "forward", "reverse"):
        raise ShapeError(f"jacobian: mode must be 'auto', 'forward' or 'reverse', got {mode!r}")

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(function, args, kwargs, argnums, name)
        call = selected.call
        rows = []
        for output, y in enumerate(call.program.out_types):
            check_differentiable(y, "the result", name)
            blocks = {}
            for argument in [i for i, on in enumerate(selected.active) if on]:
                x = call.program.in_types[argument]
                options = {
                    "output": output, "argument": argument, "mode": mode, "rows": whole(y.shape), "columns":
                    whole(x.shape),
                }  # fmt: skip
                blocks[argument] = _matrix(Jacobian, call, jacobian_, options, lazy)
            rows.append(selected.pack(blocks))
        return tree.unflatten(call.out_tree, rows)

    return jacobian_of


@transform
def hessian(function: Callable[P, Any], argnums: Any = 0) -> Callable[P, Hessian]:
    """Return the function that computes the Hessian, as a lazy matrix.

    Args:
        function: a function of arrays and pytrees, with float results (usually a scalar).
        argnums: the argument, or tuple of arguments, to differentiate.

    Returns:
        a function of the same arguments. For one argument it gives a `Hessian`, which behaves as a NumPy array of shape
        result + argument + argument and computes only what is used: `H @ v` is a Hessian-vector product, `H[i, j]` two
        forward passes, `np.trace(H)` a forward Laplacian. Trees give trees of blocks.

    Raises:
        NotDifferentiableError: for integer arguments, or an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> H = primad.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        >>> np.trace(H), H @ np.array([1.0, 1.0])
        (np.float64(18.0), array([ 6., 12.]))
    """

    def hessian_of(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(function, args, kwargs, argnums, "hessian")
        call = selected.call
        active = [i for i, on in enumerate(selected.active) if on]
        types = call.program.in_types
        rows = []
        for output, y in enumerate(call.program.out_types):
            check_differentiable(y, "the result", "hessian")

            def block(first: int, second: int, output: int = output, y: ArrayType = y) -> Any:
                options = {
                    "output": output, "first": first, "second": second, "rows": whole(y.shape),
                    "left": whole(types[first].shape), "right": whole(types[second].shape),
                }  # fmt: skip
                return _matrix(Hessian, call, hessian_, options, True)

            rows.append(selected.pack({i: selected.pack({j: block(i, j) for j in active}) for i in active}))
        return tree.unflatten(call.out_tree, rows)

    return hessian_of

"""The transforms that give matrices of derivatives: jacobian, jacfwd, jacrev, hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from primad.errors import ShapeError
from primad.functional.complex_checks import check_holomorphic, check_mode, check_real
from primad.functional.derivatives import recorded_forms
from primad.functional.derivatives.lazy_arrays import Hessian, Jacobian, LazyMatrix
from primad.functional.derived_calls import Call
from primad.functional.selected_arguments import Selected, check_differentiable
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.node import named
from primad.ir.program import ClosedProgram, Program
from primad.numpy.linalg.sparse_places import HasPlaces
from primad.ops.record.primitive import Primitive
from primad.programs.jacobians.blocks import whole
from primad.programs.jacobians.hessian_laws import hessian_
from primad.programs.jacobians.jacobian_laws import jacobian_
from primad.recording import tree
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepared
from primad.transforms.lowering import inline

Function = Callable[..., Any]
P = ParamSpec("P")

recorded_forms.register()


def _matrix(cls: type[LazyMatrix], call: Call, primitive: Primitive, options: dict[str, Any], lazy: bool) -> Any:
    if call.nested or not lazy:
        return call.run(primitive, **options)[0]
    return cls(call.program, [*map(np.asarray, call.leaves), *call.program.source_values], primitive, options)


@transform
def jacobian(
    function: Callable[P, Any], argnums: Any = 0, mode: str = "auto", holomorphic: bool = False, has_aux: bool = False
) -> Callable[P, Jacobian]:
    """Return the function that computes the Jacobian, as a lazy matrix.

    Args:
        function: a function of arrays and pytrees, with float results.
        argnums: the argument, or tuple of arguments, to differentiate.
        mode: 'forward' (a direction per element of the argument), 'reverse' (one per element of the result), or 'auto',
            which takes the fewer.
        holomorphic: whether it is a holomorphic function of complex arguments. Complex functions of real arguments and
            real ones of complex arguments need no word: the one has complex derivatives, the other ∂f/∂x − i ∂f/∂y.
        has_aux: whether the function returns (value, aux); then the result is (Jacobian, aux).

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
    return _jacobian(function, argnums, mode, holomorphic, has_aux, lazy=True, name="jacobian")


@transform
def jacfwd(
    function: Callable[P, Any], argnums: Any = 0, holomorphic: bool = False, has_aux: bool = False
) -> Callable[P, np.ndarray[Any, Any]]:
    """Return the function that computes the Jacobian in forward mode, as plain arrays (see `jacobian`).

    Example:
        >>> import numpy as np, primad
        >>> primad.jacfwd(np.sin)(np.zeros(2))
        array([[1., 0.],
               [0., 1.]])
    """
    return _jacobian(function, argnums, "forward", holomorphic, has_aux, lazy=False, name="jacfwd")


@transform
def jacrev(
    function: Callable[P, Any], argnums: Any = 0, holomorphic: bool = False, has_aux: bool = False
) -> Callable[P, np.ndarray[Any, Any]]:
    """Return the function that computes the Jacobian in reverse mode, as plain arrays (see `jacobian`).

    Example:
        >>> import numpy as np, primad
        >>> primad.jacrev(lambda x: np.sum(x**2))(np.ones(2))
        array([2., 2.])
    """
    return _jacobian(function, argnums, "reverse", holomorphic, has_aux, lazy=False, name="jacrev")


def _jacobian(
    function: Function, argnums: Any, mode: str, holomorphic: bool, has_aux: bool, lazy: bool, name: str
) -> Function:
    if mode not in ("auto", "forward", "reverse"):
        raise ShapeError(
            f"jacobian: mode must be 'auto', 'forward' or 'reverse', got {mode!r}",
            fix="leave it out: it is chosen by the numbers of rows and columns then.",
        )

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(function, args, kwargs, argnums, name, has_aux)
        call, structure = selected.call, selected.value_tree
        _check_dense(structure, name)
        options: list[dict[str, Any]] = []
        for output, y in enumerate(call.program.out_types[: structure.num_leaves]):
            check_differentiable(y, "the result", name)
            for argument in [i for i, on in enumerate(selected.active) if on]:
                x = call.program.in_types[argument]
                check_holomorphic([x], y, holomorphic, name)
                check_mode(x, y, mode, name)
                options.append({
                    "output": output, "argument": argument, "mode": mode, "rows": whole(y.shape), "columns":
                    whole(x.shape),
                })  # fmt: skip
        if has_aux and not lazy and not call.nested and options:
            found, aux = _together(selected, options)
        else:
            found, aux = [_matrix(Jacobian, call, jacobian_, each, lazy) for each in options], selected.aux()
        rows: list[dict[int, Any]] = [{} for _ in range(structure.num_leaves)]
        for each, matrix in zip(options, found, strict=True):
            rows[each["output"]][each["argument"]] = matrix
        derivative = tree.unflatten(structure, list(map(selected.pack, rows)))
        return (derivative, aux) if has_aux else derivative

    return jacobian_of


class BesideKey(NamedTuple):
    """What Jacobians and what a function returns beside its value, computed together, depend on."""

    of: Key
    options: tuple[Any, ...]
    kind: str = "Jacobians and results"


def _together(selected: Selected, options: Sequence[dict[str, Any]]) -> tuple[list[np.ndarray[Any, Any]], Any]:
    """Return Jacobians of a value, at least one of each result, and what comes beside it, by one program for all."""
    call = selected.call
    of = ClosedProgram(call.program)
    build = jacobian_.programs.build
    assert build is not None

    def derive() -> Program:
        matrices = [build(of.hoisted, **each) for each in options]

        def body(*given: Any) -> list[Any]:
            found = [inline(matrix, given)[0] for matrix in matrices]
            return found + inline(of.hoisted, given)[options[-1]["output"] + 1 :]

        return program_of(of.hoisted.in_types, body)

    executable = prepared(BesideKey(of.key, tuple(map(named, options))), derive)
    found = executable.run([*map(np.asarray, call.leaves), *call.program.source_values])
    aux = tree.unflatten(call.out_tree.children()[1], found[len(options) :])
    return found[: len(options)], aux


def _check_dense(structure: Any, name: str) -> None:
    """Raise if a result is a sparse array: rows of derivatives are no entries of one."""
    if isinstance(structure.type, type) and issubclass(structure.type, HasPlaces):
        raise ShapeError(
            f"{name} of a function that returns a sparse array",
            why="A sparse array has two axes, and its derivative has more.",
            fix="return its entries, A.data (their places are A.rows and A.columns), or A.toarray().",
        )
    for child in structure.children():
        _check_dense(child, name)


@transform
def hessian(function: Callable[P, Any], argnums: Any = 0, has_aux: bool = False) -> Callable[P, Hessian]:
    """Return the function that computes the Hessian, as a lazy matrix.

    Args:
        function: a function of arrays and pytrees, with float results (usually a scalar).
        argnums: the argument, or tuple of arguments, to differentiate.
        has_aux: whether the function returns (value, aux); then the result is (Hessian, aux).

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
        selected = Selected(function, args, kwargs, argnums, "hessian", has_aux)
        call, structure = selected.call, selected.value_tree
        active = [i for i, on in enumerate(selected.active) if on]
        types = call.program.in_types
        _check_dense(structure, "hessian")
        rows = []
        for output, y in enumerate(call.program.out_types[: structure.num_leaves]):
            check_differentiable(y, "the result", "hessian")
            check_real([types[i] for i in active], "hessian")

            def block(first: int, second: int, output: int = output, y: ArrayType = y) -> Any:
                options = {
                    "output": output, "first": first, "second": second, "rows": whole(y.shape),
                    "left": whole(types[first].shape), "right": whole(types[second].shape),
                }  # fmt: skip
                return _matrix(Hessian, call, hessian_, options, True)

            rows.append(selected.pack({i: selected.pack({j: block(i, j) for j in active}) for i in active}))
        derivative = tree.unflatten(structure, rows)
        return (derivative, selected.aux()) if has_aux else derivative

    return hessian_of

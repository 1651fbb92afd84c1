"""Higher derivatives of functions: Hessian products, Laplacians, k-th derivatives, Taylor coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from primad.errors import NotDifferentiableError, ShapeError
from primad.functional.complex_checks import check_holomorphic, check_real
from primad.functional.derivatives.first_order import function_name, jvp, matching_leaves
from primad.functional.derivatives.gradients import grad
from primad.functional.derived_calls import Call, run_once
from primad.functional.selected_arguments import Selected, check_differentiable, choose_arguments
from primad.functional.transformed import transform
from primad.ir.node import Leaf
from primad.programs.jacobians.diagonal_ops import hessian_diagonal_
from primad.recording import tree
from primad.recording.tracing import check_function, type_of
from primad.system.tracebacks import entrance
from primad.transforms.lowering import active_nodes, lower, without_calls

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


@entrance
def hvp(function: Function, x: A, v: Any) -> A:
    """Return the product of the Hessian of a scalar function with a vector; no Hessian is formed.

    Args:
        function: a scalar function of one argument (an array or a pytree).
        x: the point.
        v: the vector, like x.

    Returns:
        H(x)·v, like x: the derivative of the gradient along v, at the cost of about two gradients.

    Raises:
        ShapeError, NotDifferentiableError: as `grad` and `jvp`.

    Example:
        >>> import numpy as np, primad
        >>> primad.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([6., 0.])
    """
    return cast(A, jvp(grad(function), (x,), (v,))[1])


@transform
def laplacian(function: Callable[P, R], argnums: int = 0) -> Callable[P, R]:
    """Return the function that computes Σᵢ ∂²f/∂xᵢ², the sum over all elements of an array argument.

    The second derivatives are summed while they are propagated (the forward Laplacian): for d directions through a
    network, 2 + d forward passes instead of 1 + 2d.

    Args:
        function: a function of arrays, with a float result of any shape.
        argnums: the argument, an array.

    Returns:
        a function of the same arguments, with the shape of the function's result.

    Raises:
        NotDifferentiableError: for integer arguments, or an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> primad.laplacian(lambda x: np.sum(x**4))(np.array([1.0, 2.0]))
        np.float64(60.0)
    """

    def laplacian_of(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(function, args, kwargs, argnums, "laplacian")
        call = selected.call
        check_real([call.types[i] for i in selected.positions[0]], "laplacian")
        results = []
        for output, type in enumerate(call.program.out_types):
            check_differentiable(type, "the result", "laplacian")
            terms = [
                call.run(hessian_diagonal_, output=output, argument=position, total=True)[0]
                for position in selected.positions[0]
            ]
            results.append(sum(terms[1:], terms[0]))
        return tree.unflatten(call.out_tree, results)

    return laplacian_of


@transform
def derivative(function: Callable[P, R], order: int = 1, holomorphic: bool = False, argnums: int = 0) -> Callable[P, R]:
    """Return the order-th derivative of an elementwise function in one of its arguments.

    Args:
        function: a function whose result at an index depends on that argument at that index only.
        order: how often to differentiate, 0 or more.
        holomorphic: whether it is a holomorphic function of a complex array.
        argnums: the argument, an array or number.

    Returns:
        a function of the same arguments, with a result of the shape of that argument.

    Raises:
        NotDifferentiableError: if the function couples elements (sums, products of matrices, indexing, …).
        ShapeError: for a negative order.
        TracingError: where the call has no such argument.

    Example:
        >>> import numpy as np, primad
        >>> primad.derivative(np.exp, 5)(np.array([0.0, 1.0]))
        array([1.        , 2.71828183])
        >>> primad.derivative(lambda t, rate: np.exp(-rate * t), 2)(0.0, 3.0)
        np.float64(9.0)
    """
    if not isinstance(order, (int, np.integer)) or order < 0:
        raise ShapeError(
            f"derivative: the order must be an integer ≥ 0, got {order!r}",
            fix="write a whole number, as 2 for the second derivative.",
        )

    def derivative_of(*args: Any, **kwargs: Any) -> Any:
        if order == 0:
            return function(*args, **kwargs)
        (place,) = choose_arguments(function, args, argnums, "derivative")
        before, x, after = args[:place], args[place], args[place + 1 :]
        of_all: Function = function

        def of_one(y: Any) -> Any:
            return of_all(*before, y, *after, **kwargs)

        of_x = of_one if len(args) > 1 or kwargs else of_all
        call = Call(of_x, (x,))
        _check_elementwise(call, function_name(function))
        check_holomorphic(call.program.in_types, call.program.out_types[0], holomorphic, "derivative")
        if call.program.in_types[0].is_complex and not holomorphic:
            check_real(call.program.in_types, "derivative of a real function")
        ones = np.ones(call.program.in_types[0].shape, call.program.in_types[0].dtype)

        def once(g: Function) -> Function:
            return lambda y: jvp(g, (y,), (ones,))[1]

        g = of_x
        for _ in range(order):
            g = once(g)
        return g(x)

    return derivative_of


def _check_elementwise(call: Call, name: str) -> None:
    program = lower(without_calls(call.recorded))
    shape = program.in_types[0].shape
    if len(program.outputs) != 1 or len(program.inputs) != 1 or program.out_types[0].shape != shape:
        raise NotDifferentiableError(
            f"derivative({name}) needs an elementwise function, "
            f"got one from {program.in_types[0]} to {', '.join(map(str, program.out_types))}",
            fix="use primad.grad or primad.jacobian.",
        )
    check_differentiable(program.in_types[0], "the argument", "derivative")
    active = active_nodes(program, [True])
    for node in program.nodes if shape else []:  # a function from a number to a number cannot couple elements
        if node in active and not isinstance(node.op, Leaf) and not node.op.axes.pointwise:
            raise NotDifferentiableError(
                f"derivative({name}): the function couples elements through {node.op.name}",
                why="The derivative of a coupled function is a matrix, not an array of the same shape.",
                fix="use primad.jacobian, or primad.grad of a sum.",
                where=program.lines.get(node),
            )


@entrance
def taylor(function: Callable[[A], R], x: A, direction: Any, order: int) -> tuple[R, ...]:
    """Return the Taylor coefficients of t ↦ f(x + t·direction) at 0.

    Args:
        function: a function of one argument (an array or a pytree).
        x: the point.
        direction: like x.
        order: the highest power of t.

    Returns:
        (c₀, …, c_order), with c_k = (d/dt)ᵏ f / k!, each like the function's result: f(x + t·v) = Σ c_k tᵏ.

    Raises:
        ShapeError, NotDifferentiableError: as `jvp`.

    Example:
        >>> import numpy as np, primad
        >>> [float(c) for c in primad.taylor(np.exp, 0.0, 1.0, 3)]
        [1.0, 1.0, 0.5, 0.16666666666666666]
    """
    check_function(function)
    if not isinstance(order, (int, np.integer)) or order < 0:
        raise ShapeError(
            f"taylor: the order must be an integer ≥ 0, got {order!r}",
            fix="write a whole number: that of the last coefficient.",
        )

    def all_orders(point: Any, along: Any, k: int) -> tuple[Any, ...]:
        if k == 0:
            return (function(point),)
        lower_orders, tangents = jvp(lambda y: all_orders(y, along, k - 1), (point,), (along,))
        return (*lower_orders, tangents[-1])

    leaves, structure = tree.flatten(x)
    types = [type_of(leaf) for leaf in leaves]
    matched = matching_leaves(structure, types, direction, f"direction of taylor({function_name(function)})")
    direction = tree.unflatten(structure, matched)
    derivatives = run_once(lambda point, along: all_orders(point, along, int(order)), (x, direction))
    return tuple(
        [tree.map(lambda d, k=k: d if k < 2 else d / float(math.factorial(k)), d) for k, d in enumerate(derivatives)]
    )

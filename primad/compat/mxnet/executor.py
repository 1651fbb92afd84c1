"""Executors: symbols bound to arrays, whose values and gradients they compute in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.compat.mxnet.context import Context
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.node_keys import draw_key
from primad.compat.mxnet.graph.shape_rules import written
from primad.compat.mxnet.graph.symbol_graph import Node
from primad.compat.mxnet.graph.symbol_lowering import ForwardPlan, GradientPlan, Graph, Linearized
from primad.compat.mxnet.graph.type_inference import infer_shapes, infer_types
from primad.compat.mxnet.imperative.tape_recording import Memory
from primad.compat.mxnet.ndarray import NDArray
from primad.compat.mxnet.symbol import Symbol
from primad.errors import PrimadError
from primad.ir.array_types import ArrayType

Monitor = Callable[[str, NDArray], None]

HEAD_REQUIRED = (
    "Because the last operator is not Loss function, head_gradient is required when calling backward. If you are "
    "attempting to minimize the output as an objective, please modify your network and pass it through the make_loss "
    "symbol."
)


class Executor:
    """A symbol bound to arrays; made by `Symbol.bind` and `Symbol.simple_bind`.

    The arrays are the user's own: what is written into them is what the next `forward` computes with, and `backward`
    writes into the gradient arrays in place. So are the outputs: each `forward` writes into the same arrays.

    Attributes:
        arg_arrays: the arguments, in the order of `list_arguments`.
        grad_arrays: their gradients, None where there is none.
        aux_arrays: the auxiliary states.
        outputs: the outputs.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        >>> args = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])}
        >>> grads = {"a": mx.nd.zeros(2), "b": mx.nd.zeros(2)}
        >>> executor = (2 * a + b).bind(mx.cpu(), args, grads)
        >>> out = executor.forward(is_train=True)[0].copy()
        >>> executor.backward(out)
        >>> executor.grad_dict["a"].asnumpy()
        array([ 8., 14.], dtype=float32)
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        args: Sequence[NDArray],
        grads: Sequence[NDArray | None],
        requests: Sequence[str],
        states: Sequence[NDArray],
        outputs: Sequence[NDArray] | None = None,
    ) -> None:
        self._symbol = symbol
        self._ctx = ctx
        self.arg_arrays = list(args)
        self.grad_arrays = list(grads)
        self.aux_arrays = list(states)
        self._requests = ["null" if grad is None else request for grad, request in zip(grads, requests, strict=True)]
        self._graph = Graph(symbol.entries, symbol.arguments(), symbol.states())
        self._plans: dict[bool, ForwardPlan] = {}
        self._gradient_plans: dict[bool, GradientPlan] = {}
        self._keys = np.zeros(len(self._graph.random), np.int64)
        self._point: tuple[bool, list[int], Linearized] | None = None
        self._monitor: tuple[Monitor, bool] | None = None
        self._check()
        self.outputs = self._output_arrays(outputs)

    def _check(self) -> None:
        """Let the graph's own rules object to shapes and dtypes of the arrays."""
        arrays = [*self.arg_arrays, *self.aux_arrays]
        leaves = [*self._graph.arguments, *self._graph.states]
        shapes = infer_shapes(self._graph.nodes, {n: a.shape for n, a in zip(leaves, arrays, strict=True)})
        self._graph.complete(shapes)
        types = infer_types(self._graph.nodes, {n: np.dtype(a.dtype) for n, a in zip(leaves, arrays, strict=True)})
        self._output_types = [
            ArrayType(shapes[entry] or (), types[entry] or np.float32) for entry in self._graph.entries
        ]
        for node, array, grad, request in zip(
            self._graph.arguments, self.arg_arrays, self.grad_arrays, self._requests, strict=True
        ):
            if grad is not None and request != "null":
                if grad.shape != array.shape:
                    raise MXNetError(
                        f"the gradient array of {node.name} has shape {written(grad.shape)}, "
                        f"the argument {written(array.shape)}"
                    )
                if array.values.dtype.kind != "f":
                    raise MXNetError(
                        f"a gradient of {node.name} was asked for, which has dtype {array.values.dtype}",
                        why="An integer cannot change by a little.",
                        fix="give it grad_req 'null', or make it a float array.",
                    )

    def _output_arrays(self, storage: Sequence[NDArray] | None) -> list[NDArray]:
        """Return arrays for the outputs: views on the first elements of given ones, where they are large enough."""
        made = []
        for i, type in enumerate(self._output_types):
            if storage is not None and storage[i].size >= type.size and storage[i].values.dtype == type.dtype:
                made.append(_view(storage[i], type.shape))
            else:
                made.append(NDArray(np.zeros(type.shape, type.dtype), self._ctx))
        return made

    # -- by name -------------------------------------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return _by_name(self._symbol.list_arguments(), self.arg_arrays)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The gradients by name; None where there is none."""
        return _by_name(self._symbol.list_arguments(), self.grad_arrays)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """The auxiliary states by name."""
        return _by_name(self._symbol.list_auxiliary_states(), self.aux_arrays)

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return _by_name(self._symbol.list_outputs(), self.outputs)

    # -- running -------------------------------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs.

        Args:
            is_train: whether dropout drops and batch normalization uses the batch; what `backward` needs is then kept.
            kwargs: new values of arguments, copied into the bound arrays.

        Returns:
            the outputs: the same arrays at every call.

        Raises:
            ValueError: for a value that is no array, or of another shape.
            TypeError: for an argument that does not exist.
        """
        bound = self.arg_dict if kwargs else {}
        for name, array in kwargs.items():
            if not isinstance(array, (NDArray, np.ndarray)):
                raise ValueError("only accept keyword argument of NDArrays and numpy.ndarray")
            if name not in bound:
                raise TypeError(f"Unknown argument {name}")
            if bound[name].shape != array.shape:
                raise ValueError(
                    f"Shape not match! Argument {name}, need: {bound[name].shape}, received: {array.shape}"
                )
            bound[name][:] = array
        is_train = bool(is_train)
        if is_train:
            self._keys = np.array([draw_key() for _ in self._graph.random], np.int64)
        self._point = None
        if is_train and any(self._active):
            self._write_outputs(self._linearize(True).outputs)
        else:
            if is_train not in self._plans:
                self._plans[is_train] = self._planned(lambda: ForwardPlan(self._graph, self._types, is_train))
            self._write_outputs(self._plans[is_train].run(self._values, self._keys))
        if self._monitor is not None or self._graph.checked:
            self._run_by_steps(is_train)
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Write the gradients of the arguments into their arrays, as `grad_req` says.

        They are gradients at the values that the arguments have now.

        Args:
            out_grads: gradients of the outputs: an array, a list, or a dict by name. Loss heads need none.
            is_train: the mode; after `forward(is_train=True)`, what it computed is used.

        Raises:
            TypeError: for a head gradient that is no array.
            KeyError: if a dict lacks an output.
            MXNetError: if a head gradient is missing that a gradient depends on, or has another shape.
        """
        if out_grads is None:
            out_grads = []
        elif isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        elif isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in self._symbol.list_outputs()]
        for head in out_grads:
            if not isinstance(head, NDArray):
                raise TypeError("inputs must be NDArray")
        if not any(self._active):
            return
        is_train = bool(is_train)
        point = self._linearize(is_train)
        plan = self._gradient_plans[is_train]
        heads = [self._head(i, out_grads, needed) for i, needed in enumerate(plan.needs_head)]
        found = plan.pull_back(point, heads)
        chosen = [i for i, on in enumerate(self._active) if on]
        if is_train:
            for state, value in zip(self.aux_arrays, point.states, strict=True):
                state.memory.store(value)
            self._point = (is_train, self._versions(), point)
        for i, gradient in zip(chosen, found, strict=True):  # all were computed before the first is written
            array = self.grad_arrays[i]
            assert array is not None
            array.memory.store(array.values + gradient if self._requests[i] == "add" else gradient)

    def _head(self, i: int, given: Sequence[NDArray], needed: bool) -> Any:
        type = self._output_types[i]
        if i >= len(given) or not needed:
            if needed:
                raise MXNetError(f"Check failed: i < head_grads.size() && !head_grads[i].is_none(): {HEAD_REQUIRED}")
            return np.broadcast_to(np.zeros((), type.dtype), type.shape)
        head = given[i].values
        if head.shape != type.shape:
            raise MXNetError(
                f"operands shape mismatch from.shape = {written(head.shape)} to.shape={written(type.shape)}"
            )
        return head.astype(type.dtype, copy=False)

    @property
    def _active(self) -> list[bool]:
        return [request != "null" for request in self._requests]

    @property
    def _values(self) -> list[Any]:
        return [array.values for array in (*self.arg_arrays, *self.aux_arrays)]

    @property
    def _types(self) -> list[ArrayType]:
        return [ArrayType(value.shape, value.dtype) for value in self._values]

    def _versions(self) -> list[int]:
        """How often each argument was written; states change in `backward` itself."""
        return [array.memory.version for array in self.arg_arrays]

    def _linearize(self, is_train: bool) -> Linearized:
        """Return what `forward` left for `backward`, computed again if an argument was written since."""
        versions = self._versions()
        if self._point is not None and self._point[:2] == (is_train, versions):
            return self._point[2]
        if is_train not in self._gradient_plans:
            self._gradient_plans[is_train] = self._planned(
                lambda: GradientPlan(self._graph, self._types, self._active, is_train)
            )
        point = self._gradient_plans[is_train].linearize(self._values, self._keys)
        self._point = (is_train, versions, point)
        return point

    def _planned(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except MXNetError:
            raise
        except PrimadError as error:
            raise MXNetError(f"the symbol cannot be planned: {error}") from error

    def _write_outputs(self, values: Sequence[Any]) -> None:
        for array, value in zip(self.outputs, values, strict=True):
            array.memory.store(value)

    # -- parameters, shapes --------------------------------------------------------------------------------------------

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into the bound arrays, converting them.

        Raises:
            ValueError: for a name that does not exist, unless extra ones are allowed.
            MXNetError: for another shape.
        """
        bound, states = self.arg_dict, self.aux_dict
        for params, target, what in ((arg_params, bound, "arguments"), (aux_params or {}, states, "auxiliary states")):
            for name, array in params.items():
                if name in target:
                    array.copyto(target[name])
                elif not allow_extra_params:
                    raise ValueError(f'Find name "{name}" that is not in the {what}')

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """Return an executor of the same symbol for other shapes, which shares memory with this one.

        Args:
            partial_shaping: whether arguments that are not named may change their shape.
            allow_up_sizing: whether arrays may grow; those that do are new.
            kwargs: new shapes by name.

        Raises:
            MXNetError: for shapes that do not fit, grow, or change without being named.
        """
        given = {name: shape for name, shape in kwargs.items() if isinstance(shape, tuple)}
        with_shapes, _, state_shapes = self._symbol.infer_shape(**given)
        if with_shapes is None:
            raise MXNetError("Insufficient argument shapes provided.")
        names = self._symbol.list_arguments()
        args, grads = [], []
        for name, array, grad, shape in zip(names, self.arg_arrays, self.grad_arrays, with_shapes, strict=True):
            _check_reshaped(name, array, shape, partial_shaping or name in given, allow_up_sizing)
            args.append(_resized(array, shape))
            grads.append(None if grad is None else _resized(grad, shape))
        states = []
        for name, array, shape in zip(self._symbol.list_auxiliary_states(), self.aux_arrays, state_shapes, strict=True):
            _check_reshaped(name, array, shape, partial_shaping, allow_up_sizing)
            states.append(_resized(array, shape))
        made = Executor(self._symbol, self._ctx, args, grads, self._requests, states, self.outputs)
        made._monitor = self._monitor
        return made

    # -- looking inside ------------------------------------------------------------------------------------------------

    def set_monitor_callback(self, callback: Monitor, monitor_all: bool = False) -> None:
        """Let a function see every operator's outputs at each `forward`, and with `monitor_all` its inputs.

        Args:
            callback: called with a name and an array.
            monitor_all: whether it sees inputs too.
        """
        self._monitor = (callback, monitor_all)

    def _run_by_steps(self, is_train: bool) -> None:
        """Compute the graph again, operator by operator, for the monitor and for operators that check values."""
        with np.errstate(all="ignore"):
            self._graph.evaluate(self._values, self._keys, is_train, self._watch)

    def _watch(self, node: Node, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        assert node.operator is not None
        if node.operator.check is not None:
            node.operator.check(node.settings, *inputs)
        if self._monitor is None:
            return
        callback, everything = self._monitor
        if everything:
            names = node.operator.input_names(node.settings, len(inputs))
            for name, value, (source, index) in zip(names, inputs, node.inputs, strict=True):
                if source.operator is None:
                    callback(source.output_name(index), NDArray(np.array(value)))
                callback(f"{node.name}_{name}", NDArray(np.array(value)))
        for i, value in enumerate(results):
            callback(node.output_name(i), NDArray(np.array(value)))

    def debug_str(self) -> str:
        """Return the graph, and how much memory the arrays take, as a text."""
        kept = [*self.arg_arrays, *self.aux_arrays, *self.outputs, *[g for g in self.grad_arrays if g is not None]]
        size = sum(array.values.nbytes for array in kept) / 2**20
        return f"{self._symbol.debug_str()}Total {math.ceil(size)} MB allocated\n"


def _by_name(names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    if len(set(names)) < len(names):
        raise ValueError(f"Duplicate names detected, {names}")
    return dict(zip(names, arrays, strict=True))


def _view(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Return an array on the first elements of another one's memory."""
    if array.shape == shape:
        return array
    flat = array.values.reshape(-1)[: math.prod(shape)].reshape(shape)
    return NDArray(Memory(flat, array.memory.counter), array.context)


def _check_reshaped(name: str, array: NDArray, shape: tuple[int, ...], named: bool, may_grow: bool) -> None:
    if shape == array.shape:
        return
    if not named:
        raise MXNetError(
            f"Shape of unspecifie arg: {name} changed. This can cause the new executor to not share parameters with "
            "the old one. Please check for error in network.If this is intended, set partial_shaping=True to suppress "
            "this warning."
        )
    if math.prod(shape) > array.size and not may_grow:
        raise MXNetError(
            f"New shape of arg: {name} is larger than original.First making a big executor and then down sizing it is "
            "more efficient than the reverse.If you really want to up size, set allow_up_sizing=True to enable "
            "allocation of new arrays."
        )


def _resized(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    if math.prod(shape) <= array.size:
        return _view(array, shape)
    return NDArray(np.zeros(shape, array.values.dtype), array.context)

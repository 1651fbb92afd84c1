"""`mx.autograd`: recording what is computed on arrays, and differentiating it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.compat.mxnet.errors import MXNetError, unsupported
from primad.compat.mxnet.graph.symbol_graph import Entry as GraphEntry
from primad.compat.mxnet.graph.symbol_graph import Node
from primad.compat.mxnet.imperative import tape_recording as recording
from primad.compat.mxnet.imperative.operator_parameters import Settings
from primad.compat.mxnet.imperative.tape_recording import Applied, Memory, modes
from primad.compat.mxnet.ndarray import NDArray
from primad.compat.mxnet.operators import TABLE
from primad.compat.mxnet.symbol import Symbol
from primad.compat.tape import TapeCall, TapeValue, free


def is_recording() -> bool:
    """Say whether this thread records."""
    return modes.recording


def is_training() -> bool:
    """Say whether this thread trains (dropout drops, batch normalization uses the batch)."""
    return modes.training


def set_recording(is_record: bool) -> bool:
    """Set whether this thread records; return what was set before."""
    before, modes.recording = modes.recording, bool(is_record)
    return before


def set_training(train_mode: bool) -> bool:
    """Set whether this thread trains; return what was set before."""
    before, modes.training = modes.training, bool(train_mode)
    return before


class _Scope:
    """Modes that hold inside `with`; None leaves one as it is."""

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._wanted = (recording, training)
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((modes.recording, modes.training))
        record, train = self._wanted
        modes.recording = modes.recording if record is None else record
        modes.training = modes.training if train is None else train

    def __exit__(self, *exception: object) -> None:
        modes.recording, modes.training = self._before.pop()


def record(train_mode: bool = True) -> _Scope:
    """Return a scope in which operators on arrays are recorded, in training mode unless told otherwise.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> x = mx.nd.array([1, 2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        <BLANKLINE>
        [2. 4.]
        <NDArray 2 @cpu(0)>
    """
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """Return a scope in which nothing is recorded."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """Return a scope in training mode."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Return a scope in prediction mode."""
    return _Scope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Make arrays variables, whose gradients go into buffers of the user's.

    Args:
        variables: an array or a list of them.
        gradients: the buffers.
        grad_reqs: 'write', 'add' or 'null', or a list of them.

    Raises:
        KeyError: for another request.
    """
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    for variable, gradient, request in zip(variables, gradients, grad_reqs, strict=True):
        variable.mark(gradient, request)


def _heads(heads: Any, head_grads: Any) -> tuple[list[NDArray], list[NDArray | None]]:
    if isinstance(heads, NDArray):
        assert head_grads is None or isinstance(head_grads, NDArray), (
            f"The type of `head_grads` should be NDArray, got {type(head_grads)}"
        )
        return [heads], [head_grads]
    heads = list(heads)
    if head_grads is None:
        return heads, [None] * len(heads)
    if isinstance(head_grads, NDArray) or len(heads) != len(head_grads):
        raise AssertionError("heads and head_grads must be lists of the same length")
    return heads, list(head_grads)


def _memories(arrays: Sequence[NDArray | None]) -> list[Memory | None]:
    return [None if array is None else array.memory for array in arrays]


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Write the gradients of arrays into the buffers of the variables that they were computed from.

    Args:
        heads: an array or a list of them, recorded.
        head_grads: the gradient of each; None for ones.
        retain_graph: whether the same computation may be differentiated again.
        train_mode: accepted and not used: each operator keeps the mode that it was recorded in.

    Raises:
        AssertionError: if there are not as many head gradients as heads.
        MXNetError: if a head was not recorded, its graph was let go, or a value that is needed was overwritten.
    """
    arrays, seeds = _heads(heads, head_grads)
    recording.backward([array.memory for array in arrays], _memories(seeds), retain_graph)


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """Return the gradients of arrays with respect to variables; their buffers stay as they are.

    Args:
        heads: an array or a list of them, recorded.
        variables: an array or a list of them, marked by `attach_grad` or `mark_variables`.
        head_grads: the gradient of each head; None for ones.
        retain_graph: whether the same computation may be differentiated again; None for as `create_graph`.
        create_graph: whether the gradients are recorded, to be differentiated themselves.
        train_mode: accepted and not used.

    Returns:
        a list with one array for each variable, also for a single one.

    Raises:
        MXNetError: see `backward`; and for a variable that is none, or that the heads do not depend on.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> x = mx.nd.array([2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x * x
        ...     dy = mx.autograd.grad(y, x, create_graph=True)[0]
        >>> dy.backward()
        >>> x.grad
        <BLANKLINE>
        [12.]
        <NDArray 1 @cpu(0)>
    """
    arrays, seeds = _heads(heads, head_grads)
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    if not wanted:
        raise AssertionError("variables cannot be an empty list.")
    memories = [array.memory for array in arrays]
    if any(not memory.active for memory in memories):
        raise MXNetError(recording.NOT_RECORDED)
    calls = recording.steps_before(memories)
    met = {entry for call in calls for entry in call.operands or ()} | set(memories)
    places = {(entry.call, entry.index) for entry in met if entry.call is not None}
    for number, variable in enumerate(wanted):
        memory = variable.memory
        problem = f"Cannot differentiate with respect to the {number + 1}-th variable because it "
        if not memory.active:
            raise MXNetError(problem + "does not require gradient.")
        if memory not in met and (memory.call, memory.index) not in places:
            raise MXNetError(problem + "is unreachable from the outputs.")
    found = recording.differentiate(memories, _memories(seeds), [array.memory for array in wanted], create_graph)
    if not (create_graph if retain_graph is None else retain_graph):
        free(memories)
    made = [_as_memory(gradient, variable.memory) for gradient, variable in zip(found, wanted, strict=True)]
    if create_graph:
        made = [
            memory if memory.active else _constant_of(memory, array) for memory, array in zip(made, wanted, strict=True)
        ]
    return [NDArray(memory, variable.context) for memory, variable in zip(made, wanted, strict=True)]


def _constant_of(memory: Memory, variable: NDArray) -> Memory:
    """Record a gradient that depends on nothing as a constant function of the variable, so that it has a gradient."""
    with record(modes.training):
        return recording.invoke(TABLE["_identity_with_attr_like_rhs"], Settings({}), [memory, variable.memory])[0]


def _as_memory(gradient: TapeValue | None, like: Memory) -> Memory:
    if gradient is None:
        return recording.zeros_like(like)
    return Memory(gradient.array, None, gradient.active, gradient.call, gradient.index)


def get_symbol(x: NDArray) -> Symbol:
    """Return what an array was computed by, as a symbol; its variables are called var0, var1, ….

    Raises:
        MXNetError: if it was not recorded, or by something that is no operator of a symbol.
    """
    if not x.memory.active:
        raise MXNetError(recording.NOT_RECORDED)
    leaves: dict[TapeValue, Node] = {}
    nodes: dict[TapeCall, Node] = {}

    def entry(memory: TapeValue) -> GraphEntry:
        if memory.call is not None and memory.call in nodes:
            return GraphEntry(nodes[memory.call], memory.index)
        return GraphEntry(leaves.setdefault(memory, Node(None, f"var{len(leaves)}", {})), 0)

    for call in recording.steps_before([x.memory]):
        made = call.operator
        if not isinstance(made, Applied) or made.operator.name.startswith("_getitem"):
            raise MXNetError("the array was computed by a Function, a gradient or an index, which no symbol can name")
        operands = (call.operands or ())[: len(call.operands or ()) - made.operator.key]
        name = f"{made.operator.name.lower()}{len(nodes)}"
        nodes[call] = Node(
            made.operator, name, made.settings.texts(), [entry(memory) for memory in operands], made.settings
        )
    return Symbol([entry(x.memory)])


class Function:
    """A function with a gradient of its own: subclass it, and define `forward` and `backward` on arrays.

    An instance is called once. What `backward` computes with operators is recorded where `grad(create_graph=True)` asks
    for it.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> class Sigmoid(mx.autograd.Function):
        ...     def forward(self, x):
        ...         y = 1 / (1 + mx.nd.exp(-x))
        ...         self.save_for_backward(y)
        ...         return y
        ...
        ...     def backward(self, dy):
        ...         (y,) = self.saved_tensors
        ...         return dy * y * (1 - y)
        >>> x = mx.nd.zeros((1,))
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = Sigmoid()(x)
        >>> y.backward()
        >>> x.grad
        <BLANKLINE>
        [0.25]
        <NDArray 1 @cpu(0)>
    """

    _used = False
    _saved: tuple[NDArray, ...] = ()

    def save_for_backward(self, *arrays: NDArray) -> None:
        """Keep arrays for `backward`."""
        self._saved = arrays

    @property
    def saved_tensors(self) -> tuple[NDArray, ...]:
        """The arrays that were kept."""
        return self._saved

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the outputs: an array or a tuple of them."""
        raise NotImplementedError

    def backward(self, *output_grads: NDArray) -> Any:
        """Compute the gradients of the inputs, one for each, from those of the outputs."""
        raise NotImplementedError

    def __call__(self, *inputs: NDArray) -> Any:
        """Compute the outputs, and record the call.

        Raises:
            AssertionError: if the instance was called before.
        """
        assert not self._used, "Each Function instance can only be called once. Please create another instance."
        self._used = True
        with pause(modes.training):
            outputs = self.forward(*inputs)
        single = isinstance(outputs, NDArray)
        listed = [outputs] if single else list(outputs)
        if modes.recording and any(array.memory.active for array in inputs):
            listed = [NDArray(Memory(array.values), array.context) for array in listed]
            step = recording.note(self, [array.memory for array in inputs], [array.memory for array in listed])
            if step is not None:
                step.pullback = self._pullback(inputs, listed)
        return listed[0] if single else listed

    def compute(self, *values: Any) -> Any:
        """Raise: a Function is never replayed, its `backward` is called instead."""
        raise MXNetError("a Function was asked to compute inside a recorded program")

    def _pullback(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> Any:
        def pullback(arrived: list[TapeValue | None]) -> list[TapeValue | None]:
            padded = [*arrived, *[None] * (len(outputs) - len(arrived))]
            given = [
                NDArray(_as_memory(gradient, output.memory), output.context)
                for gradient, output in zip(padded, outputs, strict=True)
            ]
            found = self.backward(*given)
            found = [found] if isinstance(found, NDArray) else list(found)
            if len(found) != len(inputs):
                raise MXNetError(
                    f"{type(self).__name__}.backward must return exactly the same number of NDArrays as the number of "
                    f"NDArrays arguments to forward. Expecting {len(inputs)} got {len(found)}"
                )
            return [array.memory for array in found]

        return pullback


_PUBLIC = [
    "Function", "backward", "get_symbol", "grad", "is_recording", "is_training", "mark_variables", "pause",
    "predict_mode", "record", "set_recording", "set_training", "train_mode",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise unsupported("mx.autograd", name, _PUBLIC)

"""What `mx.autograd` records: operators applied to arrays, as calls on the shared tape.

Values are computed at once; `backward` hands the tape to the engine, which keeps the plan of every structure of calls.
Loss heads and the user's own `Function`s are calls with a pullback of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.compat.backward import gradients
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.node_keys import draw_key
from primad.compat.mxnet.graph.shape_rules import Clash, Shape
from primad.compat.mxnet.imperative.operator_parameters import Settings
from primad.compat.mxnet.operators import TABLE, Operator
from primad.compat.tape import FreedError, OverwrittenError, Pullback, TapeCall, TapeValue, computed, free, reached
from primad.errors import PrimadError
from primad.system.process import made_once

REQUESTS = ("null", "write", "add")
"""What can be asked of a gradient buffer."""

NOT_RECORDED = (
    "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or use "
    "autograd.record() to save computational graphs for backward. If you want to differentiate the same graph twice, "
    "you need to pass retain_graph=True to backward."
)


class _Modes(threading.local):
    """Whether this thread records, and whether it trains."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False


modes = _Modes()


class Memory(TapeValue):
    """A value on the tape whose writes are counted together with those of the arrays that share its memory.

    Attributes:
        counter: the number of writes, in a list that is shared.
    """

    __slots__ = ("counter",)

    def __init__(
        self,
        array: Any,
        counter: list[int] | None = None,
        active: bool = False,
        call: TapeCall | None = None,
        index: int = 0,
    ) -> None:
        self.counter = [0] if counter is None else counter
        super().__init__(array, active, call, index)

    @property
    def version(self) -> int:
        """How often the memory was written."""
        return self.counter[0]

    @version.setter
    def version(self, version: int) -> None:
        """Leave the counter as it is: a fresh entry may be of memory that was written before."""

    def store(self, values: Any) -> None:
        """Write values into the memory."""
        self.counter[0] += 1
        self.array[...] = values


@dataclass
class Buffer:
    """Where the gradient of a variable goes.

    Attributes:
        memory: the buffer.
        request: one of `REQUESTS`.
        fresh: whether `backward` has reached the variable.
    """

    memory: Memory
    request: str
    fresh: bool = False


class Applied:
    """An operator with its settings, in a mode: what calls on the tape share.

    Attributes:
        operator: its record.
        settings: the values of its parameters.
        training: the mode.
    """

    def __init__(self, operator: Operator, settings: Settings, training: bool) -> None:
        self.operator = operator
        self.settings = settings
        self.training = training

    def compute(self, *values: Any) -> Any:
        """Return the output, or a tuple of the outputs and new states; the last value is the key, if one is needed."""
        arrays, key = (values[:-1], values[-1]) if self.operator.key else (values, None)
        results = self.operator.apply(self.settings, arrays, self.training, key)
        return results if len(results) > 1 else results[0]

    @property
    def count(self) -> int:
        """The number of outputs."""
        return self.operator.output_count(self.settings)


applied = made_once(most=4096)(Applied)


class Override:
    """What a loss head sends back, as an operator on its inputs and outputs."""

    def __init__(self, operator: Operator, settings: Settings, inputs: int) -> None:
        self._operator = operator
        self._settings = settings
        self._inputs = inputs

    def compute(self, *values: Any) -> Any:
        """Return the gradient of the first input."""
        assert self._operator.override is not None
        return self._operator.override(self._settings, values[: self._inputs], values[self._inputs :])


override = made_once(most=256)(Override)


class Step(TapeCall):
    """A call of an operator.

    Attributes:
        states: memories of auxiliary states and their new values, which `backward` writes.
    """

    __slots__ = ("states",)

    def __init__(self, operator: Any, operands: Sequence[TapeValue], pullback: Pullback | None = None) -> None:
        super().__init__(operator, (-1,) * len(operands), (), tuple(operands), pullback)
        self.states: list[tuple[Memory, Any]] = []


def invoke(operator: Operator, settings: Settings, inputs: Sequence[Memory]) -> list[Memory]:
    """Apply an operator: compute its outputs, and record it if that is on and an input is recorded.

    Raises:
        MXNetError: if the inputs do not fit.
    """
    operands: list[TapeValue] = [*inputs, *([TapeValue(np.int64(draw_key()))] if operator.key else [])]
    made = applied(operator, settings, modes.training)
    arrays = [memory.array for memory in inputs]
    try:
        _check(operator, settings, arrays, made.count)
        results = computed(made, (-1,) * len(operands), (), [entry.array for entry in operands])
    except Clash as error:
        raise MXNetError(error.what.replace("{node}", "")) from None
    except (PrimadError, ValueError, IndexError) as error:
        what = error.what if isinstance(error, PrimadError) else str(error)
        raise MXNetError(f"Error in operator {operator.name}: {what}") from None
    results = results if isinstance(results, (tuple, list)) else [results]
    outputs = [_fresh(result, inputs) for result in results[: made.count]]
    step = note(made, operands, outputs)
    if step is not None:
        names = operator.input_names(settings, len(inputs))
        states = [memory for name, memory in zip(names, inputs, strict=True) if name in operator.auxiliary]
        step.states = list(zip(states, results[made.count :], strict=True))
        if operator.override is not None:
            step.pullback = _send_override(operator, settings, inputs, outputs)
    return outputs


def _fresh(result: Any, inputs: Sequence[Memory]) -> Memory:
    """Return an output as memory of its own: operators such as the identity return their input."""
    array = np.asarray(result)
    if not array.flags.writeable or any(np.may_share_memory(array, memory.array) for memory in inputs):
        array = np.array(array)
    return Memory(array)


def zeros_like(memory: Memory) -> Memory:
    """Return zeros."""
    return Memory(np.zeros_like(memory.array))


def _check(operator: Operator, settings: Settings, arrays: Sequence[Any], count: int) -> None:
    """Let the operator's own rules object to shapes, dtypes and values that NumPy would broadcast, promote or take."""
    shapes: list[Shape] = [array.shape for array in arrays]
    operator.shapes(settings, shapes, [None] * count)
    types: list[Any] = [array.dtype for array in arrays[:1]] + [None] * (len(arrays) - 1)
    operator.types(settings, types, [None] * count)
    for place, (expected, array) in enumerate(zip(types, arrays, strict=True)):
        if expected is not None and expected != array.dtype:
            raise MXNetError(
                f"Incompatible attr in node  at {place}-th input: expected {expected}, got {array.dtype}",
                fix="convert with .astype.",
            )
    if operator.check is not None:
        operator.check(settings, *arrays)


def note(operator: Any, operands: Sequence[TapeValue], outputs: Sequence[TapeValue]) -> Step | None:
    """Record that an operator made outputs from operands, if recording is on and an operand is recorded."""
    if not modes.recording or not any(entry.active for entry in operands):
        return None
    step = Step(operator, operands)
    for index, entry in enumerate(outputs):
        if entry.array.dtype.kind == "f":
            entry.active, entry.call, entry.index = True, step, index
    return step


def _send_override(
    operator: Operator, settings: Settings, inputs: Sequence[Memory], outputs: Sequence[Memory]
) -> Pullback:
    """Return the pullback of a loss head: whatever arrives, it sends its own gradient to its first input."""
    made = override(operator, settings, len(inputs))
    operands = [*inputs, *outputs]
    versions = [memory.version for memory in operands]

    def pullback(_: list[TapeValue | None]) -> Sequence[TapeValue | None]:
        for memory, version in zip(operands, versions, strict=True):
            if memory.version != version:
                raise OverwrittenError(memory.version, version)
        with np.errstate(all="ignore"):
            gradient = Memory(np.asarray(made.compute(*[entry.array for entry in operands])))
        note(made, operands, [gradient])
        return [gradient, *[None] * (len(inputs) - 1)]

    return pullback


def variable(memory: Memory, buffer: Memory, request: str) -> Memory:
    """Return memory as a variable whose gradient goes into a buffer; it is cut from what it was computed from.

    Raises:
        KeyError: for a request that does not exist.
        MXNetError: for memory of integers.
    """
    if request not in REQUESTS:
        raise KeyError(request)
    if request != "null" and memory.array.dtype.kind != "f":
        raise MXNetError(
            f"an array of dtype {memory.array.dtype} cannot have a gradient",
            why="An integer cannot change by a little.",
            fix="convert with .astype('float32').",
        )
    leaf = Memory(memory.array, memory.counter, active=request != "null")
    leaf.gradient = Buffer(buffer, request)
    return leaf


# -- differentiation ---------------------------------------------------------------------------------------------------


def differentiate(
    heads: Sequence[TapeValue], seeds: Sequence[TapeValue | None], wanted: Sequence[TapeValue], record: bool
) -> list[TapeValue | None]:
    """Return the gradients of heads with respect to wanted entries; None where nothing depends on one.

    Args:
        heads: what is differentiated.
        seeds: the gradient of each, None for ones.
        wanted: entries.
        record: whether the gradients are recorded themselves.

    Raises:
        MXNetError: if a head was not recorded, its graph was let go, or a value that is needed was overwritten.
    """
    if any(not head.active for head in heads):
        raise MXNetError(NOT_RECORDED)
    total: dict[TapeValue, TapeValue | None] = {}
    for head, seed in zip(heads, seeds, strict=True):
        if seed is not None and seed.array.shape != head.array.shape:
            raise MXNetError(
                f"operands shape mismatch from.shape = {list(seed.array.shape)} to.shape={list(head.array.shape)}"
            )
        if head in total:
            total[head] = _plus(_or_ones(total[head], head), _or_ones(seed, head))
        else:
            total[head] = seed
    before, modes.recording = modes.recording, record
    try:
        return gradients(list(total), list(total.values()), wanted, record=record, add=_plus)
    except FreedError:
        raise MXNetError(NOT_RECORDED) from None
    except OverwrittenError:
        raise MXNetError(
            "an array was written in place after a recorded computation had used it",
            why="Its gradient would be that of other values.",
            fix="call backward before writing, or record the computation again.",
        ) from None
    finally:
        modes.recording = before


def _or_ones(seed: TapeValue | None, head: TapeValue) -> TapeValue:
    return TapeValue(np.ones_like(head.array)) if seed is None else seed


def _plus(x: TapeValue, y: TapeValue) -> TapeValue:
    result = Memory(x.array + y.array)
    note(applied(TABLE["elemwise_add"], Settings({}), False), [x, y], [result])
    return result


def steps_before(heads: Sequence[TapeValue]) -> list[TapeCall]:
    """Return the calls that heads depend on, in order.

    Raises:
        MXNetError: if they were let go.
    """
    try:
        return reached(heads)
    except FreedError:
        raise MXNetError(NOT_RECORDED) from None


def leaves_before(heads: Sequence[TapeValue]) -> list[TapeValue]:
    """Return the variables that heads depend on."""
    operands = [entry for call in steps_before(heads) for entry in call.operands or ()]
    return list(dict.fromkeys(entry for entry in (*operands, *heads) if entry.active and entry.call is None))


def backward(heads: Sequence[TapeValue], seeds: Sequence[TapeValue | None], retain: bool) -> None:
    """Write the gradients of heads into the buffers of their variables, and the new auxiliary states.

    Args:
        heads: what is differentiated.
        seeds: the gradient of each, None for ones.
        retain: whether the same computation may be differentiated again.

    Raises:
        MXNetError: see `differentiate`.
    """
    wanted = leaves_before(heads)
    found = differentiate(heads, seeds, wanted, False)
    for call in steps_before(heads):
        if isinstance(call, Step):
            for memory, new in call.states:
                memory.store(new)
    for leaf, gradient in zip(wanted, found, strict=True):
        buffer: Buffer = leaf.gradient
        new = 0 if gradient is None else gradient.array
        buffer.memory.store(buffer.memory.array + new if buffer.request == "add" else new)
        buffer.fresh = True
    if not retain:
        free(heads)

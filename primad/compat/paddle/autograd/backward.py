"""`backward` and `grad`: Paddle's arguments, checks and errors around the tape's gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from primad.compat.backward import gradients, hooked
from primad.compat.paddle.eager.tensor import RECORDING, Tensor, accumulated
from primad.compat.paddle.functions.manipulation import reshape
from primad.compat.paddle.functions.math import add, cast
from primad.compat.paddle.settings.errors import FatalError, InvalidArgumentError, PreconditionError, check
from primad.compat.paddle.settings.flags import FLAGS
from primad.compat.tape import FreedError, OverwrittenError, TapeValue, free, reached


def run(
    outputs: Sequence[TapeValue],
    seeds: Sequence[TapeValue | None],
    wanted: Sequence[TapeValue],
    constants: Iterable[TapeValue] = (),
    record: bool = False,
    retained: bool = False,
) -> list[TapeValue | None]:
    """Return gradients, with the tape's errors in Paddle's words (see `primad.compat.backward.gradients`)."""
    RECORDING.append(record)
    try:
        plus = lambda x, y: add(Tensor(x), Tensor(y))._entry  # noqa: E731
        return gradients(outputs, seeds, wanted, constants, record, plus, retained)
    except FreedError:
        raise freed() from None
    except OverwrittenError as error:
        now, then = error.args
        raise PreconditionError(
            f"a tensor that the gradient needs was overwritten in place: received tensor_version:{now} != "
            f"wrapper_version_snapshot:{then}",
            why="The gradient is taken at the values that were there when the operation ran.",
            fix="write into a clone, or after the backward pass.",
        ) from None
    finally:
        RECORDING.pop()


def freed() -> FatalError:
    """Return the error for a graph that an earlier backward pass has freed."""
    return FatalError(
        "the graph of this tensor was freed by an earlier backward pass (the TensorWrappers of its GradNodes do not "
        "exist)",
        why="A backward pass lets go of what it went through, so that a training loop does not grow.",
        fix="Please set retain_graph=True in the first backward/grad call.",
    )


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Add the gradients of the tensors to `.grad` of the leaves that they were computed from.

    Args:
        tensors: what to differentiate, each once; those that stop gradients are passed over.
        grad_tensors: weights of the tensors' elements; None, as a whole or for one tensor, stands for ones.
        retain_graph: keep what the operations recorded, so that the same tensors can be differentiated again.

    Raises:
        ArgumentAssertionError: for wrong types and lengths, and tensors that occur twice.
        InvalidArgumentError: if a weight has another shape than its tensor.
        FatalError: if an earlier pass has freed the graph.
        PreconditionError: if a value that is needed was overwritten in place.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.backward([x * x], [paddle.to_tensor([1.0, 10.0])])
        >>> x.grad.tolist()
        [2.0, 40.0]
    """
    outputs = _tensors("tensors", tensors)
    name = "The argument 'tensors' of paddle.autograd.backward"
    check(len(set(map(id, outputs))) == len(outputs), f"{name} contains duplicate paddle.Tensor object.")
    seeds = _weights("grad_tensors", grad_tensors, outputs, "tensors")
    check(isinstance(retain_graph, bool), "retain_graph must be True or False")
    pairs = [(t._entry, seed) for t, seed in zip(outputs, seeds, strict=True) if t._entry.active]
    entries = [entry for entry, _ in pairs]
    try:
        calls = reached(entries)
    except FreedError:
        raise freed() from None
    met = dict.fromkeys(entry for call in calls for entry in call.operands or () if entry.active)
    met.update(dict.fromkeys(entries))
    wanted = [entry for entry in met if entry.array.dtype.kind == "f" and _keeps_gradient(entry)]
    found = run(entries, [seed for _, seed in pairs], wanted, retained=True)
    for entry, gradient in zip(wanted, found, strict=True):
        if gradient is not None:
            _accumulate(entry, hooked(entry, gradient) if entry.call is None else gradient)
    if not retain_graph:
        free(entries)


def _keeps_gradient(entry: TapeValue) -> bool:
    """Say whether a backward pass leaves a gradient: on leaves, and on tensors that the user still holds."""
    if entry.call is None or entry.retained is not None:
        return True
    return bool(FLAGS["FLAGS_retain_grad_for_all_tensor"]) and entry.owner is not None and entry.owner() is not None


def _accumulate(entry: TapeValue, gradient: TapeValue) -> None:
    if entry.gradient is None:
        entry.gradient = accumulated(gradient.array)
        return
    total: TapeValue = entry.gradient._entry
    total.array = total.array + gradient.array
    total.version += 1


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Return the gradient of the sum of outputs for each input; `.grad` of the leaves stays as it is.

    Args:
        outputs: what to differentiate.
        inputs: for what; leaves or results of operations.
        grad_outputs: weights of the outputs' elements; None, as a whole or for one output, stands for ones.
        retain_graph: accepted; the graph is always kept, until the tensors go or `backward` frees it.
        create_graph: record the gradients, so that they can be differentiated again, to any order.
        only_inputs: must be True.
        allow_unused: return None for inputs that the outputs do not depend on, instead of raising.
        no_grad_vars: tensors that count as constants in this call.

    Returns:
        a list with one tensor for each input. Where the dependence is through recorded gradients whose derivative
        vanishes, zeros.

    Raises:
        ArgumentAssertionError: for wrong types and lengths.
        PreconditionError: for outputs or inputs that occur twice, or a value that was overwritten in place.
        InvalidArgumentError: for inputs that the outputs do not depend on, unless allowed.
        FatalError: if a backward pass has freed the graph.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor(2.0, stop_gradient=False)
        >>> (first,) = paddle.grad(x**3, x, create_graph=True)
        >>> (second,) = paddle.grad(first, x)
        >>> float(first), float(second)
        (12.0, 12.0)
    """
    sources, targets = _tensors("outputs", outputs), _tensors("inputs", inputs)
    if isinstance(grad_outputs, (list, tuple)) and not grad_outputs:
        grad_outputs = None
    seeds = _weights("grad_outputs", grad_outputs, sources, "outputs")
    for name, flag in (("create_graph", create_graph), ("only_inputs", only_inputs), ("allow_unused", allow_unused)):
        check(isinstance(flag, bool), f"{name} must be True or False")
    check(retain_graph is None or isinstance(retain_graph, bool), "retain_graph must be None, True or False")
    check(only_inputs, "only_inputs=False is not supported yet")
    constants = _constants(no_grad_vars)
    for name, given in (("outputs", sources), ("inputs", targets)):
        _unique(name, given)
    pairs = [(t._entry, seed) for t, seed in zip(sources, seeds, strict=True) if t._entry.active]
    wanted = [target._entry for target in targets]
    found = run([entry for entry, _ in pairs], [seed for _, seed in pairs], wanted, constants, create_graph)
    calls = set(reached([entry for entry, _ in pairs], constants)) if None in found else set()
    results: list[Tensor | None] = []
    for i, gradient in enumerate(found):
        if wanted[i] in constants:
            gradient = None
        elif gradient is None and wanted[i].call in calls:  # one of several results, of which others are used
            gradient = TapeValue(np.zeros_like(wanted[i].array))
        if gradient is None and not allow_unused:
            raise InvalidArgumentError(
                f"The {i}-th input does not appear in the backward graph.",
                why="The outputs do not depend on it through operations that were recorded, or it stops gradients.",
                fix="Please check the input tensor or set allow_unused=True to get None result.",
            )
        if gradient is not None and wanted[i].call is None:
            gradient = hooked(wanted[i], gradient)
        results.append(None if gradient is None else _result(gradient, create_graph))
    return results


def _result(gradient: TapeValue, active: bool) -> Tensor:
    if gradient.active != active:
        gradient = TapeValue(gradient.array, active)
    return Tensor(gradient)


def _tensors(name: str, given: Any) -> list[Tensor]:
    check(given is not None, f"{name} should not be None")
    if isinstance(given, (list, tuple)):
        check(len(given) > 0, f"{name} cannot be empty")
        check(all(isinstance(item, Tensor) for item in given), f"Elements of {name} must be Tensor")
        return list(given)
    check(isinstance(given, Tensor), f"{name} must be Tensor or list of Tensor")
    return [given]


def _weights(name: str, given: Any, of: Sequence[Tensor], of_name: str) -> list[TapeValue | None]:
    if given is None:
        return [None] * len(of)
    what = f"The type of {name} must be 'None', 'paddle.Tensor' or 'list[None/paddle.Tensor]'."
    weights = list(given) if isinstance(given, (list, tuple)) else [given]
    check(all(weight is None or isinstance(weight, Tensor) for weight in weights), what)
    check(len(weights) == len(of), f"The length of {name} must be equal to {of_name}")
    for weight, tensor in zip(weights, of, strict=True):
        if weight is not None and weight.shape != tensor.shape and not weight.size == tensor.size == 1:
            raise InvalidArgumentError(
                f"{name}: a weight of shape {weight.shape} does not fit a tensor of shape {tensor.shape}"
            )
    return [None if weight is None else _like(weight, tensor) for weight, tensor in zip(weights, of, strict=True)]


def _like(weight: Tensor, tensor: Tensor) -> TapeValue:
    if weight.shape != tensor.shape:
        weight = reshape(weight, tensor.shape)
    if weight._entry.array.dtype != tensor._entry.array.dtype:
        weight = cast(weight, tensor.dtype)
    return weight._entry


def _constants(given: Any) -> list[TapeValue]:
    if given is None:
        return []
    if isinstance(given, Tensor):
        return [given._entry]
    check(isinstance(given, (list, tuple, set)), "no_grad_vars must be None, Tensor or list/tuple/set of Tensors")
    check(all(isinstance(item, Tensor) for item in given), "no_grad_vars can only contains Tensor")
    return [item._entry for item in given]


def _unique(name: str, tensors: Sequence[Tensor]) -> None:
    seen: set[TapeValue] = set()
    for tensor in tensors:
        if tensor._entry in seen:
            raise PreconditionError(f"{name} contain duplicate tensor {tensor.name}, please check {name} carefully.")
        seen.add(tensor._entry)


def backward_of(tensor: Tensor, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
    """Add the gradients of a tensor to `.grad` of the leaves that it was computed from (see `backward`).

    Args:
        tensor: what to differentiate; nothing happens if it stops gradients.
        grad_tensor: weights of the elements; None stands for ones.
        retain_graph: keep what the operations recorded.

    Raises:
        ArgumentAssertionError: if the weights are no tensor, or of another shape.
    """
    if grad_tensor is not None:
        check(isinstance(grad_tensor, Tensor), "The type of grad_tensor must be paddle.Tensor")
        check(
            grad_tensor.shape == tensor.shape,
            f"Tensor shape not match, Tensor of grad_tensor [ {grad_tensor.name} ] with shape {grad_tensor.shape} "
            f"mismatch Tensor [ {tensor.name} ] with shape {tensor.shape}",
        )
    backward([tensor], [grad_tensor], retain_graph)

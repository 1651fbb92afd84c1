"""Functions for PyTorch: programs of primad that tensors go through, with derivatives of primad's to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from primad.errors import TracingError
from primad.functional.control.mapping import vmap
from primad.functional.export.differentiated import Differentiated, Flat, FlatFunction, MixedKey, numbers_among
from primad.functional.jit import jit
from primad.functional.transformed import transform
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.tracing import check_function
from primad.runtime.cache import Cache
from primad.system.process import MOST_KEPT, made_once

Array = Any
Tensor = Any
ALONE = tree.flatten(0.0)[1]
"""The structure of a result that is one array."""


class TensorsKey(NamedTuple):
    """A call with so many tensors."""

    tensors: int
    kind: str = "tensors"


class MappedKey(NamedTuple):
    """A function that is mapped over axes of its arrays."""

    axes: tuple[int | None, ...]
    kind: str = "mapped"


@transform
def to_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTorch's tensors that computes what `function` does, on the CPU, without copies.

    It is compiled by `primad.jit`, once for each combination of shapes and dtypes. `backward`, `torch.autograd.grad`
    (with `create_graph` to any order), forward mode and the transforms of `torch.func` go through it: each derivative
    is a program of primad's again, compiled when it is first asked for. Tensors that need no gradient cost none.

    Args:
        function: a function of arrays and pytrees of arrays.

    Returns:
        a function of tensors, arrays, Python numbers and pytrees of them, whose result has tensors for arrays. Tensors
        of any shape and strides, of the dtypes that NumPy has, share their memory with primad. Gradients by complex
        tensors are PyTorch's, ∂f/∂x + i ∂f/∂y, the conjugates of `primad.grad`'s.

    Raises:
        TracingError: if PyTorch is not installed; for a tensor of another device or of a dtype that NumPy lacks.
        NotDifferentiableError: from `backward`, for an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> f = primad.to_torch(lambda x: np.sum(np.sin(x) ** 2))
        >>> torch = __import__("torch")  # doctest: +SKIP
        >>> x = torch.ones(2, requires_grad=True)  # doctest: +SKIP
        >>> torch.autograd.grad(f(x), x)  # doctest: +SKIP
        (tensor([0.9093, 0.9093]),)
    """
    check_function(function)
    kept = Cache(MOST_KEPT)
    compiled = jit(function)

    def converted(*args: Any) -> Any:
        arrays = _untracked(args)
        if arrays is not None:
            value = compiled(*arrays)
            if type(value) is np.ndarray or type(value) is np.float64:
                return torch_module().from_numpy(np.asarray(value))
            return tree.map(lambda leaf: torch_module().from_numpy(np.asarray(leaf)), value)
        if all(type(arg) is torch_module().Tensor for arg in args):
            alone: OfTensors = kept.get(
                TensorsKey(len(args)), lambda: OfTensors(lambda arrays, numbers: function(*arrays))
            )
            return alone.applied((), args)
        leaves, in_tree = tree.flatten(args)
        where = numbers_among(leaves)
        given: OfTensors = kept.get(
            MixedKey(where, in_tree, structure_key(in_tree)), lambda: OfTensors(FlatFunction(function, in_tree, where))
        )
        tensors = [_tensor(leaf) for leaf, number in zip(leaves, where, strict=True) if not number]
        numbers = tuple([leaf for leaf, number in zip(leaves, where, strict=True) if number])
        return given.applied(numbers, tensors)

    return converted


class Structure:
    """The structure of a result, for which PyTorch has only the tensors; `torch.func` copies lists, but not this."""

    tree: Any = None


class OfTensors(Differentiated):
    """A function of tensors' arrays with those that are its derivatives."""

    def __init__(self, function: Flat, made: tuple[Differentiated, str] | None = None) -> None:
        super().__init__(function, made)
        self._batched = Cache(MOST_KEPT)

    def applied(self, numbers: tuple[Any, ...], tensors: Sequence[Tensor]) -> Any:
        """Return the function's result for tensors, with tensors in it."""
        structure = Structure()
        applied, for_transforms = _applied()
        try:
            results = applied.apply(self, structure, numbers, *tensors)
        except RuntimeError as error:
            if "setup_context" not in str(error):
                raise
            results = for_transforms.apply(self, structure, numbers, *tensors)
        return results[0] if structure.tree is ALONE else tree.unflatten(structure.tree, results)

    def batched(self, axes: tuple[int | None, ...]) -> OfTensors:
        """Return the function mapped over an axis of its arrays, None for none; the results have it first."""
        function = self.function

        def mapped(arrays: tuple[Array, ...], numbers: tuple[Any, ...]) -> Any:
            return vmap(lambda *arrays: function(arrays, numbers), in_axes=axes)(*arrays)

        made: OfTensors = self._batched.get(MappedKey(axes), lambda: OfTensors(mapped))
        return made


def _moves(tensor: Tensor) -> bool:
    """Say whether a tensor has tangents: numbers with a fraction, real or complex."""
    found: bool = tensor.is_floating_point() or tensor.is_complex()
    return found


@made_once()
def _applied() -> tuple[Any, Any]:
    """Return the class whose `apply` PyTorch differentiates, and the one for `torch.func`.

    Both are functions of (function, structure, numbers, *tensors). `torch.func` wants what the tape keeps to be said
    apart from the computation, which costs PyTorch tens of microseconds a call; asked for the other one, it refuses.
    """
    torch = torch_module()

    def computed(function: OfTensors, structure: Structure, numbers: tuple[Any, ...], *tensors: Tensor) -> Any:
        function.n = len(tensors)
        value = function.run(tuple([_array(tensor) for tensor in tensors]), numbers)
        if type(value) is np.ndarray or type(value) is np.float64:
            structure.tree = ALONE
            return (torch.from_numpy(np.asarray(value)),)
        leaves, structure.tree = tree.flatten(value)
        return tuple([torch.from_numpy(np.asarray(leaf)) for leaf in leaves])

    def keep(ctx: Any, inputs: tuple[Any, ...], results: tuple[Tensor, ...]) -> None:
        ctx.function, _, ctx.numbers, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.floats = [_moves(result) for result in results]
        ctx.mark_non_differentiable(*[result for result in results if not _moves(result)])

    def forward(ctx: Any, *inputs: Any) -> Any:
        results = computed(*inputs)
        keep(ctx, inputs, results)
        return results

    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        tensors = ctx.saved_tensors
        given = [ct for ct, float_ in zip(cotangents, ctx.floats, strict=True) if float_]
        pulled = iter(ctx.function.pullback.applied(ctx.numbers, [*tensors, *given]))
        return None, None, None, *[next(pulled) if _moves(tensor) else None for tensor in tensors]

    def pushed(ctx: Any, *tangents: Tensor | None) -> Any:
        tensors = ctx.saved_tensors
        given = [
            torch.zeros_like(tensor) if tangent is None else tangent
            for tensor, tangent in zip(tensors, tangents[3:], strict=True)
            if _moves(tensor)
        ]
        results = iter(ctx.function.pushforward.applied(ctx.numbers, [*tensors, *given]))
        return tuple([next(results) if float_ else None for float_ in ctx.floats])

    def mapped(info: Any, in_dims: tuple[Any, ...], function: OfTensors, *inputs: Any) -> Any:
        results = for_transforms.apply(function.batched(tuple(in_dims[3:])), *inputs)
        return results, tuple([0] * len(results))

    rules = {"backward": staticmethod(backward), "jvp": staticmethod(pushed)}
    for_transforms: Any = type(
        "AppliedInTransforms",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(computed),
            "setup_context": staticmethod(keep),
            "vmap": staticmethod(mapped),
            **rules,
        },
    )
    return type("Applied", (torch.autograd.Function,), {"forward": staticmethod(forward), **rules}), for_transforms


@lru_cache(maxsize=1)
def torch_module() -> Any:
    """Import PyTorch.

    Raises:
        TracingError: if it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise TracingError(
            "functions for PyTorch need PyTorch, which is not installed",
            fix="pip install 'primad[torch]', or PyTorch's own package for your machine.",
        ) from None
    return torch


def _tensor(leaf: Any) -> Tensor:
    """Return a leaf of the arguments as a tensor."""
    torch = torch_module()
    return leaf if isinstance(leaf, torch.Tensor) else torch.as_tensor(leaf)


def _untracked(args: tuple[Any, ...]) -> list[Array] | None:
    """Return the arrays of tensors whose derivatives nobody asks for, or None: the way of few microseconds."""
    torch = torch_module()
    # In forward mode a tensor gives its numbers, and would silently lose its tangent. The level is not in PyTorch's
    # documentation: where it is missing, the long way is taken.
    if getattr(torch.autograd.forward_ad, "_current_level", 0) >= 0:
        return None
    arrays = []
    for arg in args:
        if type(arg) is not torch.Tensor or arg.requires_grad:
            return None
        try:
            arrays.append(arg.numpy())
        except (TypeError, RuntimeError):  # inside torch.func, or no array: the long way tells
            return None
    return arrays


def _array(tensor: Tensor) -> Array:
    """Return the array that shares a tensor's memory.

    Raises:
        TracingError: if there is none.
    """
    try:
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError) as error:
        raise TracingError(
            f"a tensor of type {tensor.dtype} on {tensor.device} cannot be an array of NumPy: {error}",
            fix="pass x.cpu(), or x.float() for a dtype that NumPy lacks; on a GPU use primad.to_jax.",
        ) from None

"""Optimisers: Paddle's interface around the update rules of `primad.nn`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from primad.compat.paddle.autograd.mode import no_grad
from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.optimizer.lr import LRScheduler
from primad.compat.paddle.regularizer import L2Decay
from primad.compat.paddle.settings.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    MissingParametersError,
    PreconditionError,
)
from primad.compat.paddle.static.optimization import minimize
from primad.compat.tape import TapeValue
from primad.functional.jit import jit
from primad.recording import tree
from primad.system.process import made_once


@made_once()
def _compiled(rule: Any) -> Callable[..., Any]:
    """Return one step of a rule, planned once for each type of parameter, which overwrites parameters and state."""
    return jit(rule.update, donate=(0, 2))


def _owned(entry: TapeValue) -> np.ndarray[Any, Any]:
    """Return the array of a parameter to be overwritten: a copy where something else refers to its memory."""
    array: np.ndarray[Any, Any] = entry.array
    shared = sys.getrefcount(array) > 3 or array.base is not None or not array.flags.c_contiguous
    return array.copy() if shared or not array.flags.writeable else array


class Optimizer:
    """What all optimisers share.

    Args:
        learning_rate: a number, or a scheduler of `paddle.optimizer.lr`.
        parameters: what to train: parameters, or dicts with "params" and options of that group.
        weight_decay: a number (its L2Decay), a regulariser, or None.
        grad_clip: one of `paddle.nn.ClipGradBy…`, or None.
        name: ignored.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """Names of the leaves of the rule's state."""
    _rule: Any
    """The update rule, as a kind of optimiser makes it."""

    def __init__(
        self,
        learning_rate: Any,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if isinstance(parameters, Tensor):
            raise ArgumentTypeError(
                "`parameters` argument given to the optimizer should be an iterable of paddle Tensors, but got one",
                fix="pass a list: [parameter], or layer.parameters().",
            )
        if not isinstance(learning_rate, (float, int, LRScheduler)):
            raise ArgumentTypeError(
                f"learning rate should be float or LRScheduler, got {type(learning_rate).__name__} here"
            )
        if parameters is None and Value.kind[-1] is Tensor:
            raise MissingParametersError(
                "parameters argument given to the Optimizer should not be None in dygraph mode.",
                fix="pass parameters=model.parameters().",
            )
        self._rate = learning_rate
        self._groups = _groups(parameters)
        self._decay = weight_decay
        self._clip = grad_clip
        self._states: dict[str, Any] = {}

    # -- what a kind of optimiser says ---------------------------------------------------------------------------------

    def rule(self, parameter: Any) -> Any:
        """Return the update rule of a parameter."""
        return self._rule

    # -- one step ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Change the parameters by their gradients; those without a gradient stay as they are.

        Raises:
            PreconditionError: if the optimiser was made without parameters.
        """
        for group in self._parameter_groups():
            pairs = [
                (parameter, Tensor(TapeValue(parameter.grad._entry.array)))
                for parameter in group["params"]
                if not parameter.stop_gradient and parameter.grad is not None
            ]
            with no_grad():
                self._apply(pairs, group)

    def _parameter_groups(self) -> list[dict[str, Any]]:
        if self._groups is None:
            raise PreconditionError(
                "the optimizer has no parameters to change", fix="pass parameters=model.parameters() when making it."
            )
        return self._groups

    def _apply(self, pairs: list[tuple[Any, Any]], group: dict[str, Any]) -> None:
        clip = group.get("grad_clip", self._clip)
        if clip is not None:
            pairs = clip(pairs)
        for parameter, gradient in pairs:
            rule = self.rule(parameter)
            decay = parameter_decay(parameter, group.get("weight_decay", self._decay))
            if decay is not None and not self._decays(rule):
                gradient = decay(parameter, gradient)
            rate = self.get_lr() * group.get("learning_rate", 1.0)
            self._update(rule, parameter, gradient, rate * getattr(parameter, "optimize_attr", _PLAIN)["learning_rate"])

    def _decays(self, rule: Any) -> bool:
        """Say whether the rule decays weights itself."""
        return False

    def _update(self, rule: Any, parameter: Tensor, gradient: Tensor, rate: float) -> None:
        entry = parameter._entry
        state = self._states.get(parameter.name)
        if state is None:
            state = rule.init(entry.array)
        array, self._states[parameter.name] = _compiled(rule)(
            _owned(entry), gradient._entry.array, state, learning_rate=np.float64(rate)
        )
        parameter._store(array)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the gradients of the parameters to zero, or let go of them."""
        for group in self._parameter_groups():
            for parameter in group["params"]:
                parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[Any, Any]:
        """Make one step with the gradients that are there; in static mode, append gradients and updates to the program.

        Args:
            loss: what is minimised; in eager mode call loss.backward() first.
            startup_program: in static mode, where the state is filled.
            parameters: which parameters, by default all.
            no_grad_set: which of them are left out.

        Returns:
            the update operators (none in eager mode), and the list of (parameter, gradient).
        """
        if isinstance(loss, Value) and not isinstance(loss, Tensor):
            return minimize(
                loss, self.rule, self.get_lr, startup_program, parameters, no_grad_set, self._clipped_and_decayed
            )  # fmt: skip
        left_out = {item if isinstance(item, str) else item.name for item in no_grad_set or ()}
        groups = self._parameter_groups() if parameters is None else [{"params": list(parameters)}]
        made = []
        for group in groups:
            pairs = [
                (p, Tensor(TapeValue(p.grad._entry.array)))
                for p in group["params"]
                if not p.stop_gradient and p.grad is not None and p.name not in left_out
            ]
            with no_grad():
                self._apply(pairs, group)
            made += pairs
        return [], made

    def _clipped_and_decayed(self, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Return parameters of a program with the gradients that their update takes."""
        result = []
        for parameter, gradient in pairs if self._clip is None else self._clip(pairs):
            decay = parameter_decay(parameter, self._decay)
            inside = decay is None or self._decays(self.rule(parameter))
            result.append((parameter, gradient if inside else decay(parameter, gradient)))
        return result

    # -- learning rate -------------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """Return the learning rate of the next step."""
        return float(self._rate() if isinstance(self._rate, LRScheduler) else self._rate)

    def set_lr(self, value: float) -> None:
        """Set the learning rate.

        Raises:
            PreconditionError: if a scheduler sets it.
        """
        if isinstance(self._rate, LRScheduler):
            raise PreconditionError(
                "optimizer's learning rate can't be LRScheduler when invoke this API", fix="change the scheduler."
            )
        self._rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler set the learning rate from now on."""
        self._rate = scheduler

    # -- state ---------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state by names (`linear_0.w_0_moment1_0`), and that of the scheduler as "LR_Scheduler"."""
        found: dict[str, Any] = {}
        for name, state in self._states.items():
            for part, leaf in zip(self.parts, tree.leaves(state), strict=True):
                found[f"{name}_{part}_0"] = Tensor(TapeValue(np.array(leaf)))
        if isinstance(self._rate, LRScheduler):
            found["LR_Scheduler"] = self._rate.state_dict()
        return found

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that `state_dict` gave, for parameters of the same names.

        Raises:
            InvalidArgumentError: if a part of a parameter's state is missing.
        """
        for group in self._parameter_groups():
            for parameter in group["params"]:
                keys = [f"{parameter.name}_{part}_0" for part in self.parts]
                held = [key in state_dict for key in keys]
                if not any(held):
                    continue
                if not all(held):
                    raise InvalidArgumentError(f"the state of {parameter.name} is not complete: expected {keys}")
                example = self.rule(parameter).init(parameter._entry.array)
                leaves, structure = tree.flatten(example)
                values = [np.array(state_dict[key]) for key in keys]
                typed = [np.asarray(v, np.asarray(leaf).dtype) for v, leaf in zip(values, leaves, strict=True)]
                self._states[parameter.name] = tree.unflatten(structure, typed)
        if isinstance(self._rate, LRScheduler) and "LR_Scheduler" in state_dict:
            self._rate.set_state_dict(state_dict["LR_Scheduler"])


_PLAIN = {"learning_rate": 1.0}


def parameter_decay(parameter: Any, general: Any) -> Any:
    """Return the regulariser of a parameter: its own, or the optimiser's; None where there is none."""
    own = getattr(parameter, "regularizer", None)
    found = general if own is None else own
    return L2Decay(float(found)) if isinstance(found, (int, float)) else found


def _groups(parameters: Any) -> list[dict[str, Any]] | None:
    if parameters is None:
        return None
    items = list(parameters)
    if items and isinstance(items[0], dict):
        return [{**group, "params": list(group["params"])} for group in items]
    return [{"params": items}]

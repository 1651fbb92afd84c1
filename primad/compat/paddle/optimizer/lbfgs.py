"""L-BFGS: Paddle's interface around the search of `primad.optimize`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from primad.compat.paddle.autograd.mode import enable_grad
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.optimizer.optimizer import Optimizer, parameter_decay
from primad.compat.paddle.settings.errors import InvalidArgumentError
from primad.compat.tape import TapeValue
from primad.optimize.quasi_newton import lbfgs as rules


class LBFGS(Optimizer):
    """L-BFGS with a line search for the strong Wolfe conditions (see `primad.optimize.LBFGS`).

    Args:
        learning_rate: length of the first step, as a change of the parameters in the 1-norm.
        max_iter: how many iterations a step makes.
        max_eval: how many times a step may call the closure; by default 1.25·max_iter.
        tolerance_grad: a step ends when no element of the gradient is larger.
        tolerance_change: a step ends when no parameter changes by more.
        history_size: how many changes of the gradient are remembered.
        line_search_fn: 'strong_wolfe' or None; the line search is made in any case.
        parameters: what to train.
        weight_decay: a number, a regulariser, or None.
        grad_clip: must be None: a search needs the gradient as it is.
        name: ignored.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> x = paddle.to_tensor([0.0, 0.0], dtype="float64", stop_gradient=False)
        >>> optimizer = paddle.optimizer.LBFGS(parameters=[x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        ...     optimizer.clear_grad()
        ...     loss.backward()
        ...     return loss
        >>> for _ in range(3):
        ...     loss = optimizer.step(closure)
        >>> bool(loss < 1e-10)
        True
    """

    parts = ("step", "evaluations", "value", "gradient", "moves", "changes", "kept", "stalled")

    def __init__(
        self,
        learning_rate: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if line_search_fn not in (None, "strong_wolfe"):
            raise InvalidArgumentError(f"only 'strong_wolfe' is supported as line_search_fn, got {line_search_fn!r}")
        if grad_clip is not None:
            raise InvalidArgumentError("LBFGS: grad_clip is not supported", "A search needs the gradient as it is.")
        self._rule = rules.LBFGS(memory=history_size, first_length=float(learning_rate))
        self._limits = (max_iter, max_iter * 5 // 4 if max_eval is None else max_eval)
        self._tolerances = (tolerance_grad, tolerance_change)

    def _trained(self) -> list[Tensor]:
        return [p for group in self._parameter_groups() for p in group["params"] if not p.stop_gradient]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Search for lower values, from where the parameters are now.

        Args:
            closure: a function that clears the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            the loss before the step, which is what the closure returns first.

        Raises:
            InvalidArgumentError: without a closure.
        """
        if closure is None:
            raise InvalidArgumentError("LBFGS.step needs a closure that computes the loss and its gradients")
        parameters = self._trained()
        losses: list[Any] = []

        def at(values: list[np.ndarray[Any, Any]]) -> tuple[float, list[np.ndarray[Any, Any]]]:
            _overwrite(parameters, values)
            with enable_grad():
                losses.append(closure())
            return float(losses[-1]), [self._gradient(parameter) for parameter in parameters]

        values = [parameter.numpy() for parameter in parameters]
        state = self._states.get("search")
        # Without a value the search looks first: the data or the parameters may have changed since the last step.
        state = self._rule.init(values) if state is None else replace(state, value=np.float64(np.nan))
        start = int(state.evaluations)
        iterations, evaluations = self._limits
        least, change = self._tolerances
        for _ in range(iterations):
            before = values
            values, state = self._rule.update(values, state, at)
            moved = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(values, before, strict=True))
            if bool(state.stalled) or moved <= change or float(np.max(np.abs(state.gradient), initial=0.0)) <= least:
                break
            if int(state.evaluations) - start >= evaluations:
                break
        self._states["search"] = state
        _overwrite(parameters, values)
        return losses[0]

    def _gradient(self, parameter: Tensor) -> np.ndarray[Any, Any]:
        if parameter.grad is None:
            return np.zeros(parameter.shape)
        decay = parameter_decay(parameter, self._decay)
        gradient = Tensor(TapeValue(parameter.grad._entry.array))
        return (gradient if decay is None else decay(parameter.detach(), gradient)).numpy()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the search by the names of its parts."""
        state = self._states.get("search")
        if state is None:
            return {}
        return {part: Tensor(TapeValue(np.array(getattr(state, part)))) for part in self.parts}

    def set_state_dict(self, state_dict: Any) -> None:
        """Take over a state that `state_dict` gave."""
        if state_dict:
            values = {part: np.array(state_dict[part]) for part in self.parts}
            self._states["search"] = rules.LBFGSState(
                **{part: value if value.ndim else value[()] for part, value in values.items()}
            )


def _overwrite(parameters: list[Tensor], values: list[np.ndarray[Any, Any]]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        parameter._store(np.asarray(value, parameter._entry.array.dtype))

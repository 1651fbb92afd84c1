"""Learning rates that change (`paddle.optimizer.lr`): call `step()` after each epoch, or each batch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primad.compat.paddle.settings.errors import ArgumentTypeError


class LRScheduler:
    """A learning rate as a function of the number of steps: subclass it and define `get_lr`.

    Args:
        learning_rate: the rate to start from.
        last_epoch: number of the step to start after.
        verbose: ignored.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(learning_rate, (float, int)):
            raise ArgumentTypeError(
                f"The type of learning rate must be float, but received {type(learning_rate).__name__}"
            )
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.step()

    def __call__(self) -> float:
        """Return the learning rate."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on by one step, or to a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = float(self.get_lr())

    def get_lr(self) -> float:
        """Return the rate at step `last_epoch`; to be defined."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on from here."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a state that `state_dict` gave."""
        for name in self.state_dict():
            setattr(self, name, state_dict[name])

    set_dict = set_state_dict


class _Formula(LRScheduler):
    """A rate that is a formula in the base rate and the step."""

    def __init__(self, learning_rate: float, formula: Callable[[float, int], float], last_epoch: int = -1) -> None:
        self._formula = formula
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """Return the formula's value."""
        return self._formula(self.base_lr, self.last_epoch)


class StepDecay(_Formula):
    """base · gamma^⌊step / step_size⌋."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        super().__init__(learning_rate, lambda base, n: float(base * gamma ** (n // step_size)), last_epoch)


class MultiStepDecay(_Formula):
    """base · gamma to the power of the number of milestones that were reached."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(learning_rate, lambda base, n: base * gamma ** bisect_right(milestones, n), last_epoch)


class ExponentialDecay(_Formula):
    """base · gamma^step."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        super().__init__(learning_rate, lambda base, n: base * gamma**n, last_epoch)


class NaturalExpDecay(_Formula):
    """base · exp(−gamma · step)."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        super().__init__(learning_rate, lambda base, n: base * math.exp(-gamma * n), last_epoch)


class InverseTimeDecay(_Formula):
    """base / (1 + gamma · step)."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        super().__init__(learning_rate, lambda base, n: base / (1.0 + gamma * n), last_epoch)


class PiecewiseDecay(_Formula):
    """values[i] between boundaries[i − 1] and boundaries[i]."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        super().__init__(values[0], lambda _, n: values[bisect_right(boundaries, n)], last_epoch)


class PolynomialDecay(_Formula):
    """(base − end_lr) · (1 − step/decay_steps)^power + end_lr, up to decay_steps; with cycle, again and again."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        def formula(base: float, n: int) -> float:
            span = decay_steps * max(1, math.ceil(n / decay_steps)) if cycle else decay_steps
            return float((base - end_lr) * (1.0 - min(n, span) / span) ** power + end_lr)

        super().__init__(learning_rate, formula, last_epoch)


class CosineAnnealingDecay(_Formula):
    """eta_min + (base − eta_min) · (1 + cos(π · step / T_max))/2 (Loshchilov & Hutter 2017)."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        super().__init__(
            learning_rate,
            lambda base, n: eta_min + (base - eta_min) * (1.0 + math.cos(math.pi * n / T_max)) / 2.0,
            last_epoch,
        )


class NoamDecay(_Formula):
    """base · d_model^−½ · min(step^−½, step · warmup_steps^(−3/2)) (Vaswani et al. 2017)."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        def formula(base: float, n: int) -> float:
            rise = 1.0 if n == 0 else n**-0.5
            return float(base * d_model**-0.5 * min(rise, warmup_steps**-1.5 * n))

        super().__init__(learning_rate, formula, last_epoch)


class LambdaDecay(_Formula):
    """base · lr_lambda(step)."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        super().__init__(learning_rate, lambda base, n: base * lr_lambda(n), last_epoch)


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then the given rate or scheduler."""

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self._then, self._span, self._ends = learning_rate, warmup_steps, (start_lr, end_lr)
        super().__init__(start_lr, last_epoch)

    def get_lr(self) -> float:
        """Return the rate at this step."""
        if self.last_epoch < self._span:
            start, end = self._ends
            return start + (end - start) * self.last_epoch / self._span
        if isinstance(self._then, LRScheduler):
            self._then.step(self.last_epoch - self._span)
            return self._then()
        return self._then


class ReduceOnPlateau(LRScheduler):
    """Multiply the rate by factor when a metric has not improved for more than `patience` steps.

    Args:
        learning_rate: the rate to start from.
        mode: 'min' or 'max': what improving means.
        factor: of the rate.
        patience: how many steps to wait.
        threshold: smallest change that counts.
        threshold_mode: whether the threshold is 'rel' (a share of the best value) or 'abs'.
        cooldown: how many steps to wait after a change.
        min_lr: the least rate.
        epsilon: least change of the rate.
        verbose: ignored.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        self._sign = 1.0 if mode == "min" else -1.0
        self._factor, self._patience, self._cooldown = factor, patience, cooldown
        self._threshold, self._relative = threshold, threshold_mode == "rel"
        self._least, self._epsilon = min_lr, epsilon
        self.best = math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of the metric after a step, and lower the rate if it is time."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        value = self._sign * float(metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        margin = abs(self.best) * self._threshold if self._relative else self._threshold
        if self.best == math.inf or value < self.best - margin:
            self.best, self.num_bad_epochs = value, 0
            return
        self.num_bad_epochs += 1
        if self.num_bad_epochs > self._patience:
            self.cooldown_counter, self.num_bad_epochs = self._cooldown, 0
            lower = max(self.last_lr * self._factor, self._least)
            if self.last_lr - lower > self._epsilon:
                self.last_lr = lower

    def get_lr(self) -> float:
        """Return the rate."""
        return self.last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on from here."""
        names = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")
        return {name: getattr(self, name) for name in names}

"""What an executor is: it takes a program and options and gives something to run."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from primad.errors import PrimadError
from primad.ir.node import Leaf
from primad.ir.program import ClosedProgram, Program
from primad.ir.signature import Signature
from primad.system.process import CollectorOff
from primad.transforms.lowering import repeated, runs_many

if TYPE_CHECKING:
    from primad.runtime.cost_model import Machine, Prediction

Donated = tuple[tuple[int, int], ...]
"""Pairs (position of an output, position of the input whose memory it takes), each position in one pair only."""
Hint = tuple[int, int]
"""The input, and the axis of it, that tiles are to cut."""


class Options(NamedTuple):
    """How a program is to run; a part of the key under which an executable is found again.

    Attributes:
        donated: outputs that take the memory of inputs.
        along: the input's axis that tiles are to cut; by default the largest that can be cut.
        memory: bytes that arrays may take at once, if that is limited.
        inner: how many of the outputs, the last ones, are for another executable only: these may be row streams.
    """

    donated: Donated = ()
    along: Hint | None = None
    memory: int | None = None
    inner: int = 0


PLAIN = Options()


class Executable(ABC):
    """A program, ready to run.

    Attributes:
        program: what it computes, after the rewritings that the executor made.
        is_tiled: whether something of it runs in tiles.
        tiles: what runs in tiles, if that is one op of it.
    """

    program: Program
    is_tiled: bool = False
    tiles: Executable | None = None

    @property
    @abstractmethod
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes, when it is most; the arguments not counted."""

    @property
    def parts(self) -> Sequence[tuple[Executable, int]]:
        """The executables that it runs, each with how often in a run."""
        return ()

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs (see `primad.runtime.cache`)."""
        return self.program, *[part for part, _ in self.parts]

    @property
    def flops(self) -> int:
        """Flops of a run."""
        return self.program.cost().flops

    @abstractmethod
    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs; each is an array of its own, sharing no memory with arguments or other outputs."""

    @abstractmethod
    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """How it runs, in a line."""

    @property
    def details(self) -> list[str]:
        """What it consists of, line by line."""
        return []

    def entry(self, constants: Sequence[Any]) -> Callable[..., Any] | None:
        """Return a function of Python's arguments that gives the result as its user wants it; None without one.

        It returns NotImplemented for arguments of other types than those that the program was recorded for.

        Args:
            constants: the program's further inputs.
        """
        return None


def tries(program: Program) -> bool:
    """Say whether a program, or one that it holds, has an op that tries (see `primad.ops.record.primitive`).

    What is held may run many times: where it is mapped, too.
    """
    waiting = [program]
    seen: set[ClosedProgram] = set()
    for each in waiting:
        if any(op.tries for op in each.ops):
            return True
        if any(op.holds_program or op.repeated is not None for op in each.ops):
            nodes = [node for node in each.nodes if not isinstance(node.op, Leaf)]
            within = each is not program or runs_many(each, twice=True)
            if any(repeated(node, within) is not None for node in nodes):
                return True
            new = {of for node in nodes for of in node.op.held(node.params)} - seen
            seen.update(new)
            waiting += [of.program for of in new]
    return False


class SecondWay(Executable):
    """What runs a program, and, where it fails, the program made executable without what it tries.

    Args:
        first: what runs it.
        other: makes the other.
    """

    def __init__(self, first: Executable, other: Callable[[], Executable]) -> None:
        self._first, self._make = first, other
        self._other: Executable | None = None
        self.program, self.is_tiled, self.tiles = first.program, first.is_tiled, first.tiles

    @property
    def peak_bytes(self) -> int:
        """Memory of the arrays that a run makes."""
        return self._first.peak_bytes

    @property
    def parts(self) -> Sequence[tuple[Executable, int]]:
        """The executables that it runs, each with how often in a run."""
        return self._first.parts

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory between runs."""
        return self._first.held if self._other is None else (*self._first.held, *self._other.held)

    @property
    def flops(self) -> int:
        """Flops of a run."""
        return self._first.flops

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Compute the outputs, the other way where the first fails: errors that are not due to it come again."""
        try:
            return self._first.run(arguments)
        except PrimadError:
            if self._other is None:
                self._other = self._make()
        return self._other.run(arguments)

    def predicted(self, machine: Machine) -> Prediction:
        """Predict how long a run takes."""
        return self._first.predicted(machine)

    @property
    def summary(self) -> str:
        """How it runs, in a line."""
        return self._first.summary

    @property
    def details(self) -> list[str]:
        """What it consists of, line by line."""
        return self._first.details

    def entry(self, constants: Sequence[Any]) -> Callable[..., Any] | None:
        """Return a function of Python's arguments, which declines those for which it fails."""
        return self._first.entry(constants)


class Executor(ABC):
    """Makes programs executable. It is given programs of primitives only.

    Attributes:
        name: what `jit(backend=)` calls it.
        compiles: the modules that bring all others which compiling needs.
    """

    name: str
    compiles: tuple[str, ...] = ()

    def load(self) -> None:
        """Import what compiling takes, so that the first call need not."""
        missing = [module for module in self.compiles if module not in sys.modules]
        if missing:
            with CollectorOff():
                for module in missing:
                    import_module(module)

    @abstractmethod
    def prepare(self, program: Program, options: Options) -> Executable:
        """Return what runs a program.

        Raises:
            PrimadError: if it cannot be run so: `along` names an axis that cannot be cut, its arrays do not fit.
        """

    def as_function(self, program: Program, signature: Signature | None, options: Options = PLAIN) -> Executable | None:
        """Return what runs a small program that is called again and again; None where `prepare` is as good.

        Args:
            program: what to compute.
            signature: how Python calls it, if it does.
            options: how it is to run; outputs take no memory of inputs then.
        """
        return None


class DeferredExecutor(Executor):
    """An executor whose module is imported when a function is given to `jit`, or a program is first made executable.

    That loads planners, LLVM's text or JAX.

    Args:
        name: what `jit(backend=)` calls it.
        module: the module whose `EXECUTOR` it is.
    """

    def __init__(self, name: str, module: str) -> None:
        self.name = name
        self._module = module

    @cached_property
    def _executor(self) -> Executor:
        found: Executor = import_module(self._module).EXECUTOR
        return found

    def load(self) -> None:
        """Import what compiling takes, so that the first call need not."""
        self._executor.load()

    def prepare(self, program: Program, options: Options) -> Executable:
        """Return what runs a program."""
        return self._executor.prepare(program, options)

    def as_function(self, program: Program, signature: Signature | None, options: Options = PLAIN) -> Executable | None:
        """Return what runs a small program that is called again and again; None where `prepare` is as good."""
        return self._executor.as_function(program, signature, options)

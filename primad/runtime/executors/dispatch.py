"""The executors, and the one door to them: programs are derived, prepared and found again here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from primad import ops
from primad.errors import TracingError, suggestion
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT, SOLVERS, without
from primad.ir.program import ClosedProgram, Program
from primad.ir.signature import Signature
from primad.runtime.cache import EXECUTABLES
from primad.runtime.executors.executor import (
    PLAIN,
    DeferredExecutor,
    Executable,
    Executor,
    Options,
    SecondWay,
    tries,
)
from primad.simplify import simplify

if TYPE_CHECKING:
    from primad.runtime.program_cache import Kept


class PlanKey(NamedTuple):
    """What the plan of a program depends on.

    Attributes:
        executor: the name of what runs it.
        program: what the program is: equal for equal programs only.
        options: how it is to run.
        left_out: the families of laws that do not apply while it is made.
    """

    executor: str
    program: Hashable
    options: Options
    left_out: frozenset[str]
    kind: str = "plan"


class PartsKey(NamedTuple):
    """What the plans of programs that are derived together depend on: see `PlanKey`."""

    programs: Hashable
    left_out: frozenset[str]
    kind: str = "parts"


class FunctionKey(NamedTuple):
    """What a native function depends on: as `PlanKey`, and on how Python calls it."""

    executor: str
    program: Hashable
    signature: Signature | None
    options: Options
    left_out: frozenset[str]
    kind: str = "function"


class CalledKey(NamedTuple):
    """A program that an op holds and calls."""

    of: Key
    kind: str = "called"


NATIVE: Executor = DeferredExecutor("native", "primad.runtime.executors.native_executor")
REFERENCE: Executor = DeferredExecutor("reference", "primad.runtime.executors.reference")
XLA: Executor = DeferredExecutor("jax", "primad.runtime.executors.xla_executor")
EXECUTORS = {executor.name: executor for executor in (NATIVE, REFERENCE, XLA)}
"""All executors. One for another array library is one more, made of a table of that library's functions."""


def executor(name: str) -> Executor:
    """Return an executor by its name.

    Raises:
        TracingError: if there is none of that name.
    """
    found = EXECUTORS.get(name) if isinstance(name, str) else None
    if found is None:
        near = suggestion(name, EXECUTORS) if isinstance(name, str) else ""
        raise TracingError(f"there is no backend {name!r}", fix=near or f"choose from {', '.join(EXECUTORS)}.")
    return found


def prepare(program: Program, options: Options = PLAIN, executor: Executor = NATIVE) -> Executable:
    """Simplify a program and make it executable; it is not kept."""
    if not tries(program):
        return executor.prepare(simplify(program), options)

    def other() -> Executable:
        return _without_trying(program, options, executor)

    if options.donated:  # what was given may be gone when the first way fails
        return other()
    return SecondWay(executor.prepare(simplify(program, many=True), options), other)


def _without_trying(program: Program, options: Options, executor: Executor) -> Executable:
    with without(*LEFT_OUT.get(), SOLVERS):
        return executor.prepare(simplify(program), options)


def prepared(
    key: Hashable, derive: Callable[[], Program], options: Options = PLAIN, executor: Executor = NATIVE
) -> Executable:
    """Return what runs a program, made if it is not there.

    Args:
        key: what the program is: equal for equal programs only.
        derive: makes the program.
        options: how it is to run.
        executor: what is to run it.
    """
    found: Executable = EXECUTABLES.get(
        PlanKey(executor.name, key, options, LEFT_OUT.get()), lambda: prepare(derive(), options, executor)
    )
    return found


def prepared_parts(
    key: Hashable, derive: Callable[[], Sequence[Program]], known: int | None = None
) -> Sequence[Executable]:
    """Return what runs several programs that are derived together, made if it is not there.

    Args:
        key: what the programs are: equal for equal programs only.
        derive: makes the programs.
        known: how many outputs of each are of use outside; the others are for those that run later.
    """

    def made() -> Sequence[Executable]:
        programs = derive()
        return tuple([prepare(x, Options(inner=inner(x, x is programs[-1]))) for x in programs])

    def inner(program: Program, last: bool) -> int:
        return 0 if known is None or last else max(0, len(program.outputs) - known)

    found: Sequence[Executable] = EXECUTABLES.get(PartsKey(key, LEFT_OUT.get()), made)
    return found


def prepared_for_calls(
    key: Hashable,
    derive: Callable[[], Program],
    options: Options = PLAIN,
    executor: Executor = NATIVE,
    signature: Signature | None = None,
    kept: Kept | None = None,
) -> Executable:
    """Return what runs a program that is called again and again, made if it is not there: a function where that pays.

    Args:
        key: what the program is: equal for equal programs only.
        derive: makes the program.
        options: how it is to run; of functions, only the memory matters.
        executor: what is to run it.
        signature: how Python calls it, if it does.
        kept: what other processes have left.
    """
    limited = Options(memory=options.memory)

    def found_or_made(make: Callable[[], Executable | None], is_function: bool) -> Executable | None:
        found = None if kept is None else kept.plan(signature)
        if found is not None:
            return found[1] if found[0] is is_function else None
        made = make()
        if kept is not None and made is not None:
            kept.keep(made, is_function)
        return made

    found: Executable | None = EXECUTABLES.get(
        FunctionKey(executor.name, key, signature, limited, LEFT_OUT.get()),
        lambda: found_or_made(lambda: _function(derive(), signature, limited, executor), True),
    )
    if found is None:
        plan = PlanKey(executor.name, key, options, LEFT_OUT.get())
        found = EXECUTABLES.get(plan, lambda: found_or_made(lambda: prepare(derive(), options, executor), False))
    assert found is not None
    return found


def _function(program: Program, signature: Signature | None, options: Options, executor: Executor) -> Executable | None:
    has_other = tries(program)
    made = executor.as_function(simplify(program, many=has_other, compiled=True), signature, options)
    if made is None or not has_other:
        return made
    return SecondWay(made, lambda: _without_trying(program, options, executor))


def prepared_call(of: ClosedProgram, memory: int | None = None) -> Executable:
    """Return what runs a program that an op holds.

    Args:
        of: the program.
        memory: bytes that its arrays may take, if that is limited.
    """
    from primad.runtime.program_cache import Kept

    options = Options(memory=memory)
    kept = Kept(lambda: of.hoisted, ops.BY_NAME, options)
    return prepared_for_calls(CalledKey(of.key), lambda: of.hoisted, options, kept=kept)

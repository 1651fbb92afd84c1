"""Loops inside of native functions: scans, loops that end by themselves, branches and calls, one inside the other.

A body of few instructions is written in its place, element by element, with what is carried in registers. Any other
is a function of its own, which a loop calls; what is carried lies in two places then, read and written in turn.
Stacked values are arrays in the memory of the whole. A call is a loop of one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.native.cpython.failure_places import FailurePlace
from primad.native.emit.copies import copy
from primad.native.emit.emit_context import Site, failure_record_of, interrupt, own_of
from primad.native.emit.op_table import length_of
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import Code, View, contiguous, row_major
from primad.native.loops.batched_while import member_of
from primad.native.loops.body_programs import counts_steps, form_of, has_body, most_work_of_step
from primad.native.loops.step_driver import DRIVER
from primad.native.loops.while_lanes import MemberRange, write_stack
from primad.native.schedule.layout import Layout, Unit, results_of
from primad.native.schedule.storage import Splat
from primad.native.unrolled.straight_line import Straight, write_steps
from primad.ops.record.primitive import application

BYTE = np.dtype(np.int8)
SPENT = "@KERNEL.spent"
"""Where a text counts what loops that end by themselves have done since it last asked Python for signals: these loops
may be parts of others, which do not ask. Threads may count at once, and lose some."""
SPENT_TEXT = f"{SPENT} = internal global i64 0"


def write_loop(code: Code, layout: Layout, unit: Unit) -> None:
    """Write a loop."""
    _Loop(code, layout, unit).write()


class _Loop:
    """A loop that is being written."""

    def __init__(self, code: Code, layout: Layout, unit: Unit) -> None:
        self.code, self.layout, self.node = code, layout, unit.nodes[0]
        self.form = form = form_of(self.node)
        self.body = layout.bodies[form.of]
        found = list(results_of(unit))
        self.values = found
        self.results = [None if value is None else layout.view(value) for value in found]
        wanted = layout.memory_of_loop(unit)
        self.copied = wanted.copied
        types, offsets = self.body.own_types(self.node, wanted), self.body.offsets(self.node, wanted)
        own = [self._own(type, offset) for type, offset in zip(types, offsets, strict=False)]
        self.free = offsets[-1]
        count = len(self.node.inputs) - form.lead
        self.in_order, rest = own[:count], own[count:]
        self.first, self.second, self.spare = (
            rest[: form.carry],
            rest[form.carry : 2 * form.carry],
            rest[2 * form.carry :],
        )

    def _own(self, type: ArrayType, offset: int) -> View:
        size = type.dtype.itemsize
        return row_major(type.shape, type.dtype, own_of(self.node), offset // size)

    def write(self) -> None:
        """Write all of it."""
        code, form = self.code, self.form
        if self.body.apart:
            self._few_at_a_time()
            return
        operands = self._operands()
        carried, stacks = self.results[form.ends : form.first_stack], self.results[form.first_stack :]
        homes = [own if view is None else view for own, view in zip(self.first, carried, strict=True)]
        steps, begins = self._steps()
        for start, home, view in zip(operands, homes, carried, strict=False):
            if self.body.text is not None or (form.lead and view is not None):
                copy(code, start, home)
        for k, view in enumerate(stacks):
            if view is not None and form.lead and self._is_read_beyond(k):
                copy(code, Splat(0, view.dtype), view)
        if form.ends and self.results[0] is not None:
            code.store("i64", 0, code.start(self.results[0]))
        if form.ends and not form.length:  # no step may be taken
            self._fail_endless(begins)
        if not form.length:
            return
        inside: AbstractContextManager[None] = code.when(begins) if begins else nullcontext()
        with inside:
            if self.body.text is None:
                self._in_registers(operands, carried, stacks, steps)
            else:
                self._by_calls(operands, homes, stacks, steps)

    def _operands(self) -> list[View]:
        """Return where the operands lie in order, but for the one that says how many steps are taken."""
        found = []
        for x, own, copied in zip(self.node.inputs[self.form.lead :], self.in_order, self.copied, strict=True):
            view = self.layout.view(x)
            if copied:
                copy(self.code, view, own)
            found.append(own if copied else view)
        return found

    def _steps(self) -> tuple[str, str]:
        """Return how many steps are taken at most, and whether any is, '' where that is sure."""
        code, most = self.code, self.form.length
        if not self.form.lead:
            return str(most), ""
        lead = code.start(self.layout.view(self.node.inputs[0]))
        if self.form.ends:
            return str(most), code.emit(f"icmp ne i8 {code.emit(f'load i8, ptr {lead}')}, 0")
        count = code.emit(f"load i64, ptr {lead}")
        count = code.call("i64", "llvm.smin.i64", ("i64", count), ("i64", str(most)))
        return count, code.emit(f"icmp sgt i64 {count}, 0")

    def _is_read_beyond(self, k: int) -> bool:
        """Say whether rows of a stacked result are read for which there was no step.

        A loop that takes as many steps does not: it is told how many there were, or its own number is the same.
        """
        value = self.values[self.form.first_stack + k]
        if value in self.layout.program.outputs:
            return True
        for user in self.layout.steps:
            form = form_of(user) if value in user.inputs and has_body(user) else None
            rows = form.row_operands if form is not None and form.lead and self._as_many(user) else ()
            if any(x is value and i not in rows for i, x in enumerate(user.inputs)):
                return True
        return False

    def _as_many(self, user: Node) -> bool:
        count = user.inputs[0]
        if self.form.ends:
            return application(count) == (self.node, 0)
        return count is self.node.inputs[0]

    # -- a stack of loops ----------------------------------------------------------------------------------------------

    def _few_at_a_time(self) -> None:
        code, form, targets = self.code, self.form, self.results[1:]
        member = member_of(form.of, tuple([view is not None for view in targets]))
        assert member is not None
        sources = [self._source(i, on) for i, on in zip(member.operands, member.stacked, strict=True)]
        steps, begins = self._steps()
        with code.when(code.emit(f"xor i1 {begins}, true")):
            if self.results[0] is not None:
                code.store("i64", 0, code.start(self.results[0]))
            for x, view in zip(self.node.inputs[form.lead :], targets, strict=False):
                if view is not None:
                    copy(code, self.layout.view(x), view)
        if not form.length:
            self._fail_endless(begins)
            return
        with code.when(begins):
            error, length = code.room("ptr"), length_of(member.program)
            assert length
            members = MemberRange("0", str(member.size), steps, length, SPENT, lambda: interrupt(code, error))
            out = [None if (view := targets[i]) is None else code.start(view) for i in member.results]
            taken, going, stopped = write_stack(code, member, members, sources, out)
            self._interrupted(stopped, error)
            self._ended(taken, going)

    def _source(self, i: int, stacked: bool) -> tuple[str, str]:
        """Return where an operand lies, of which members take one part each or all the same, and the way between."""
        view = self.layout.view(self.node.inputs[self.form.lead + i])
        own = view.shape[stacked:]
        if math.prod(own) != 1 and view.strides[stacked:] != contiguous(own):
            copy(self.code, view, self.in_order[i])
            view = self.in_order[i]
        return self.code.start(view), str(view.strides[0]) if stacked else "0"

    # -- in registers --------------------------------------------------------------------------------------------------

    def _first_row(self, view: View, steps: str) -> str:
        """Return the address of the row for the first step."""
        pointer = self.code.start(view)
        if not self.form.reverse:
            return pointer
        last = self.code.emit(f"mul i64 {self.code.emit(f'sub i64 {steps}, 1')}, {view.strides[0]}")
        return self.code.place(view.cell, pointer, last)

    def _in_registers(
        self, operands: Sequence[View], carried: Sequence[View | None], stacks: Sequence[View | None], steps: str
    ) -> None:
        code, form = self.code, self.form
        rows = range(form.carry, form.carry + form.stacked)
        tables = [self._first_row(view, steps) if i in rows else code.start(view) for i, view in enumerate(operands)]
        results = [None if view is None else code.start(view) for view in carried]
        results += [None if view is None else self._first_row(view, steps) for view in stacks]
        shape = form.carry, form.stacked, form.reverse, form.ends
        straight = Straight(code, record=lambda node: failure_record_of(code, node))
        at_once = self._steps_at_once()
        error = code.room("ptr") if at_once else ""

        def watch(index: str) -> str:
            """Ask for signals after each of so many steps, which is a power of two."""
            last = code.emit(f"icmp eq i64 {code.emit(f'and i64 {index}, {at_once - 1}')}, {at_once - 1}")
            return code.either("i1", last, lambda: self._spent(str(at_once), error), lambda: "false")

        stops = watch if at_once else None
        taken, going, stopped = write_steps(straight, self.body.program, shape, [*tables, *results], steps, stops)
        if stopped:
            rest = code.emit(f"and i64 {taken}, {at_once - 1}")
            self._interrupted(code.emit(f"or i1 {stopped}, {self._spent(rest, error, stopped)}"), error)
        if form.ends:
            self._ended(taken, going)

    # -- signals -------------------------------------------------------------------------------------------------------

    def _steps_at_once(self) -> int:
        """Return how many steps of a loop that counts them are taken until it asks for signals, a power of two.

        It is 0 for loops that take no notable time, however many steps they take.
        """
        if not counts_steps(self.form):
            return 0
        return 1 << max(0, (BUDGET.uninterrupted // most_work_of_step(self.form.of)).bit_length() - 1)

    def _spent(self, steps: str, error: str, already: str = "") -> str:
        """Count steps, and ask Python for signals if many were taken; return whether a handler raised.

        Args:
            steps: how many, an i64.
            error: where the address of what it raised is stored.
            already: whether one has raised before, so that none is asked.
        """
        code = self.code
        work = code.emit(f"mul i64 {steps}, {most_work_of_step(self.form.of)}")
        spent = code.emit(f"add i64 {code.emit(f'load i64, ptr {SPENT}')}, {work}")
        long = code.emit(f"icmp uge i64 {spent}, {BUDGET.uninterrupted}")
        code.store("i64", code.emit(f"select i1 {long}, i64 0, i64 {spent}"), SPENT)
        if already:
            long = code.emit(f"select i1 {already}, i1 false, i1 {long}")
        return code.either("i1", long, lambda: interrupt(code, error), lambda: "false")

    def _interrupted(self, stopped: str, error: str) -> None:
        """Say that a handler raised, where it did."""
        address = self.code.emit(f"ptrtoint ptr {self.code.emit(f'load ptr, ptr {error}')} to i64")
        Site(self.code, self.node, (), ()).fail(stopped, lambda: str(FailurePlace.INTERRUPTED - 1), address)

    def _ended(self, taken: str, going: str) -> None:
        """Say how many steps a loop took that ends by itself, or that it did not end."""
        if self.results[0] is not None:
            self.code.store("i64", taken, self.code.start(self.results[0]))
        self._fail_endless(going)

    def _fail_endless(self, going: str) -> None:
        Site(self.code, self.node, (), ()).fail(going, lambda: "0", str(self.form.length))

    # -- by calls ------------------------------------------------------------------------------------------------------

    def _by_calls(
        self, operands: Sequence[View], homes: Sequence[View], stacks: Sequence[View | None], steps: str
    ) -> None:
        code, form, text = self.code, self.form, self.body.text
        assert text is not None
        rows = range(form.carry, form.carry + form.stacked)
        entries = [code.start(view) for view in homes]
        moves = form.length > 1  # the results of a call have no rows
        moving = []
        for i, view in enumerate(operands[form.carry :], form.carry):
            if i in rows and moves:
                moving.append((len(entries), view))
            entries.append(self._first_row(view, steps) if i in rows else code.start(view))
        out = len(entries)
        entries += [code.start(view) for view in self.second]
        go = code.room("i8")
        code.store("i8", 1, go)
        entries += [go] * form.ends
        for stack, row in zip(stacks, self.spare, strict=True):
            if stack is not None and moves:
                moving.append((len(entries), stack))
            entries.append(code.start(row) if stack is None else self._first_row(stack, steps))
        table = self._array("ptr", entries)
        places = self._array("i64", [str(place) for place, _ in moving])
        sign = -1 if form.reverse else 1
        strides = self._array("i64", [str(sign * view.strides[0] * view.dtype.itemsize) for _, view in moving])
        scratch = code.start(View(own_of(self.node), self.free, (1,), (1,), BYTE))
        count = code.room("i64")

        def take(steps: str) -> str:
            return code.ask(
                "i64", DRIVER, ("ptr", self.body.name), ("ptr", table), ("ptr", scratch), ("ptr", places),
                ("ptr", strides), ("i64", str(len(moving))), ("i64", str(form.carry)), ("i64", str(out)),
                ("i64", steps), ("ptr", go), ("ptr", count),
            )  # fmt: skip

        if self._steps_at_once():
            status, taken = self._in_turns(take, steps, go, count)
        else:
            status = take(steps)
            taken = code.emit(f"load i64, ptr {count}")
        self._pass_on(status, scratch)
        odd = code.emit(f"trunc i64 {taken} to i1")
        with code.when(odd):
            for home, other in zip(homes, self.second, strict=True):
                copy(code, other, home)
        if form.ends:
            ended = code.emit(f"icmp ne i64 {status}, 0")
            more = code.emit(f"icmp ne i8 {code.emit(f'load i8, ptr {go}')}, 0")
            self._ended(taken, code.emit(f"select i1 {ended}, i1 false, i1 {more}"))

    def _in_turns(self, take: Callable[[str], str], steps: str, go: str, count: str) -> tuple[str, str]:
        """Take steps, some at once, and ask for signals in between.

        Args:
            take: takes so many steps, an i64, and returns what `DRIVER` does.
            steps: how many to take at most.
            go: the address of whether there is a further step.
            count: the address of how many were taken at once.

        Returns:
            the status of the last step, and how many were taken.
        """
        code, at_once = self.code, self._steps_at_once()
        error, last = code.room("ptr"), code.room("i64")
        raised: list[str] = []

        def turn(_: str, values: list[str]) -> tuple[list[str], str]:
            (done,) = values
            left = code.emit(f"sub i64 {steps}, {done}")
            status = take(code.call("i64", "llvm.smin.i64", ("i64", left), ("i64", str(at_once))))
            code.store("i64", status, last)
            own = code.emit(f"load i64, ptr {count}")
            done = code.emit(f"add i64 {done}, {own}")
            failed = code.emit(f"icmp ne i64 {status}, 0")
            raised.append(self._spent(own, error, failed))
            more = code.emit(f"icmp ne i8 {code.emit(f'load i8, ptr {go}')}, 0")
            more = code.emit(f"and i1 {more}, {code.emit(f'icmp slt i64 {done}, {steps}')}")
            ended = code.emit(f"or i1 {failed}, {raised[0]}")
            return [done], code.emit(f"select i1 {ended}, i1 false, i1 {more}")

        (done,), _ = code.turns(steps, turn, ["0"], ["i64"])
        self._interrupted(raised[0], error)
        return code.emit(f"load i64, ptr {last}"), done

    def _array(self, type: str, entries: Sequence[str]) -> str:
        """Return the address of an array of these."""
        code = self.code
        room = code.room(type, max(1, len(entries)))
        for i, entry in enumerate(entries):
            code.store(type, entry, code.place(type, room, i))
        return room

    def _pass_on(self, status: str, scratch: str) -> None:
        """Say of the op that failed inside, if one did, what the body says of it."""
        assert self.body.text is not None
        for i, node in enumerate(self.body.text.failing):
            record = failure_record_of(self.code, node)
            with self.code.when(self.code.emit(f"icmp eq i64 {status}, {i + 1}")):
                for k in (0, 1):
                    self.code.store("i64", self.code.load("i64", scratch, k), self.code.place("i64", record, k))

"""Loops for users: scan, fori_loop, map, associative_scan. Their bodies are recorded once.

Names, arguments and trees are those that users of `jax.lax` know. A body is plain NumPy; what it closes over, traced or
not, becomes an operand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.control.mapping import vmap
from primad.functional.derived_calls import run_once
from primad.ir.array_types import ArrayType
from primad.ir.node import LITERAL, leaf_value, literal_value
from primad.ir.program import ClosedProgram, Program
from primad.numpy.promotion import convert
from primad.numpy.reduce.scans import RowLoops
from primad.ops.record.primitive import as_tuple
from primad.programs.loops.carried_expressions import with_carried_expressions
from primad.programs.loops.closed_bodies import with_scalars
from primad.programs.loops.scan import Form
from primad.programs.loops.scan import scan as scan_
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function, is_number, record, type_of
from primad.runtime.calling import traced_operands
from primad.system.tracebacks import entrance
from primad.transforms.lowering import inline

Function = Callable[..., Any]


@entrance
def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Repeat a step that carries a state and takes the rows of arrays, one after the other.

    Args:
        f: `(carry, x) -> (carry, y)`. It is recorded once.
        init: the carry before the first step: a tree of arrays. Python numbers adopt the dtype that the carry has
            after a step.
        xs: a tree of arrays with equally many rows; each step gets a row of each. None if steps need none.
        length: the number of steps; needed where `xs` is None.
        reverse: whether to begin with the last row.
        unroll: for programs that were written for JAX. Results do not depend on it, and here neither does the time:
            native code chooses.

    Returns:
        the carry after the last step, and the tree of all y, stacked in the order of the rows.

    Raises:
        ShapeError: if the body changes the types of what it carries, or returns another structure; if arrays have
            different numbers of rows.
        TracingError: where the body needs a value (`if x > 0`).

    Example:
        >>> import numpy as np, primad
        >>> primad.scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))
        (np.float64(6.0), array([0., 2., 9.]))
    """
    check_function(f, "scan: ")
    if not is_any_traced((init, xs)):
        found: tuple[Any, Any] = run_once(lambda init, xs: _scanned(f, init, xs, length, reverse), (init, xs))
        return found
    return _scanned(f, init, xs, length, reverse)


RowLoops.scan = scan


def function_name(f: Function) -> str:
    """Return what messages call a function."""
    return str(getattr(f, "__qualname__", type(f).__name__))


def is_any_traced(args: Any) -> bool:
    """Say whether a tree has a traced leaf."""
    return any(type(leaf) is TracedArray for leaf in tree.leaves(args))


def _scanned(f: Function, init: Any, xs: Any, length: int | None, reverse: bool) -> tuple[Any, Any]:
    start, carry_tree = tree.flatten(init)
    rows, _ = tree.flatten(xs)
    length = _length(rows, length)
    types = [type_of(x) for x in start]
    row_types = [ArrayType(of.shape[1:], of.dtype) for of in [type_of(row) for row in rows]]
    step = LoopBody(f, function_name(f), "scan", carry_tree)
    program, types = step.recorded(types, [is_number(x) for x in start], row_types, xs)
    converted = [as_type(x, type) for x, type in zip(start, types, strict=True)]
    form = Form(len(types), len(rows), length, bool(reverse), False)
    of, sources = with_scalars(program)
    given: list[Any] = [*converted, *rows, *sources]
    if any(type(x) is TracedArray for x in given) or program.captured:
        given = traced_operands(given)
    else:  # a loop without operands in the function being recorded
        given = [*converted, *rows, *[leaf_value(source) for source in sources]]
    found = _applied(of, given, form) if program.outputs else ()
    carry = tree.unflatten(carry_tree, found[: len(types)])
    _, ys_tree = program.out_tree.children()
    return carry, tree.unflatten(ys_tree, found[len(types) :])


def _applied(of: ClosedProgram, given: Sequence[Any], form: Form) -> Sequence[Any]:
    """Return the results of a scan; one of at most one step is its definition, which laws see through."""
    if not is_any_traced(given):
        return as_tuple(scan_(*given, of=of, **form._asdict()))
    if form.length > 1:
        of, given, carry = with_carried_expressions(of, given, form.carry, form.stacked)
        found = as_tuple(scan_(*given, of=of, **form._replace(carry=carry)._asdict()))
        return *found[: form.carry], *found[carry:]
    assert scan_.programs.build is not None
    return inline(scan_.programs.build(of.hoisted, **form._asdict()), given)


def _length(rows: Sequence[Any], length: int | None) -> int:
    """Return how many steps there are."""
    found = {}
    for row in rows:
        shape = type_of(row).shape
        if not shape:
            raise ShapeError(
                "scan: xs has an array without axes, so without rows", fix="np.full(length, x) repeats it."
            )
        found[shape[0]] = shape
    if length is not None:
        try:
            length = operator.index(length)
        except TypeError:
            raise TracingError(
                f"scan: length must be an integer, got {type(length).__name__}",
                fix="write a whole number; of an array take x.shape[0].",
            ) from None
        if length < 0:
            raise ShapeError(
                f"scan: length must not be negative, got {length}", fix="write the number of steps, 0 or more."
            )
        found[length] = (length,)
    if len(found) != 1:
        if not found:
            raise ShapeError("scan: neither xs nor length says how many steps there are", fix="pass length=.")
        counts = " and ".join(str(count) for count in found)
        raise ShapeError(
            f"scan: xs and length do not have the same number of rows: {counts}",
            fix="cut them to one length, and leave length out.",
        )
    return next(iter(found))


def as_type(x: Any, type: ArrayType) -> Any:
    """Return a value with the dtype of a type."""
    if type_of(x).dtype == type.dtype:
        return x
    if not isinstance(x, TracedArray):
        return np.asarray(x, type.dtype)
    if type.dtype.kind in "iu" and (x.node.op is LITERAL or x.node.trace.evaluator is not None):
        value = literal_value(x.node) if x.node.op is LITERAL else int(x)
        np.array(value, type.dtype)  # a Python number out of range: an OverflowError, as in NumPy
    return convert(x, type.dtype)


class LoopBody:
    """A user's body, and how it is recorded.

    Args:
        f: the body.
        name: what messages call it.
        loop: the function of primad that it was given to.
        carry_tree: structure of what it carries.
    """

    def __init__(self, f: Function, name: str, loop: str, carry_tree: Any) -> None:
        self.f = f
        self.name = name
        self.loop = loop
        self.carry_tree = carry_tree

    def recorded(
        self, types: Sequence[ArrayType], weak: Sequence[bool], rows: Sequence[ArrayType], xs: Any
    ) -> tuple[Program, list[ArrayType]]:
        """Record the body on carried types that it keeps; return it and them.

        Carried Python numbers adopt the dtype that they have after a step, in two rounds at most.
        """
        types, weak = list(types), list(weak)
        for last in (False, False, True):
            _, in_tree = tree.flatten((tree.unflatten(self.carry_tree, [0.0] * len(types)), xs))
            program = record(self._checked(types, weak), [*types, *rows], in_tree, weak=[*weak, *[False] * len(rows)])
            after = program.out_types[: len(types)]
            changed = [i for i, (old, new) in enumerate(zip(types, after, strict=True)) if old != new]
            if not changed:
                return program, types
            if last or any(not weak[i] or types[i].shape != after[i].shape for i in changed):
                break
            for i in changed:
                types[i], weak[i] = after[i], False
        i = next((i for i in changed if not weak[i] or types[i].shape != after[i].shape), changed[0])
        place = "".join(f"[{key!r}]" for key in tree.paths(self.carry_tree)[i])
        raise ShapeError(
            f"{self.loop}: the carry{place} has type {types[i]} before a step of {self.name} and {after[i]} after it",
            why="All steps are one program, so what is carried keeps its types.",
            fix=f"make init {after[i]} from the start, or return {types[i]} from the body (np.reshape, x.astype).",
        )

    def _checked(self, types: Sequence[ArrayType], weak: Sequence[bool]) -> Function:
        """Return the body, which raises where what it returns is not what a loop takes."""

        def checked(*args: Any) -> Any:
            found = self.f(*args)
            if not isinstance(found, tuple) or len(found) != 2:
                raise ShapeError(
                    f"{self.loop}: {self.name} must return a pair (carry, y), got {_described(found)}",
                    fix="return carry, None where there is nothing to stack.",
                )
            leaves, structure = tree.flatten(found[0])
            if structure != self.carry_tree:
                raise ShapeError(
                    f"{self.loop}: {self.name} carries the tree {tree.shown(self.carry_tree)} "
                    f"and returns {tree.shown(structure)}",
                    why="What a step returns is what the next one gets.",
                    fix="return the carry with the structure that init has.",
                )
            kept = [
                np.asarray(leaf, type.dtype) if _adopts(leaf, type) else leaf
                for leaf, type in zip(leaves, types, strict=True)
            ]
            return tree.unflatten(structure, kept), found[1]

        checked.__qualname__ = self.name
        checked.__wrapped__ = self.f  # type: ignore[attr-defined]
        return checked


def _adopts(leaf: Any, type: ArrayType) -> bool:
    """Say whether what a body returns is a Python number that can have the carried dtype."""
    if leaf.__class__ is int:
        return type.dtype.kind in "fiu"
    return leaf.__class__ is float and type.is_float


def _described(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {type(value).__name__}"


@entrance
def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each row of arrays, one after the other, and stack the results.

    `vmap` computes all rows at once; this takes the memory of one, and differentiates the loop.

    Args:
        f: a function of a row of each array.
        xs: a tree of arrays with equally many rows.
        batch_size: how many rows are computed at once, as by `vmap`; by default one.

    Example:
        >>> import numpy as np, primad
        >>> primad.map(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
        array([1., 4., 9.])
    """
    check_function(f, "map: ")
    of_rows = f if batch_size is None else vmap(f)

    def step(_: Any, x: Any) -> Any:
        return (), of_rows(x)

    step.__qualname__ = function_name(f)
    if batch_size is None:
        return scan(step, (), xs)[1]
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ShapeError(f"map: batch_size must be an integer ≥ 1, got {batch_size!r}", fix="write a whole number.")
    return _in_batches(step, xs, int(batch_size))


def _in_batches(step: Function, xs: Any, size: int) -> Any:
    """Return what a step of a scan makes of the rows, so many at once, and of those that are left."""
    rows, structure = tree.flatten(xs)
    count = _length(rows, None)
    whole = count - count % size
    batches = [pnp.reshape(row[:whole], (whole // size, size, *row.shape[1:])) for row in rows]
    parts = []
    if whole:
        found = scan(step, (), tree.unflatten(structure, batches))[1]
        parts.append(tree.map(lambda y: pnp.reshape(y, (whole, *y.shape[2:])), found))
    if whole < count or not count:
        parts.append(step((), tree.unflatten(structure, [row[whole:] for row in rows]))[1])
    return parts[0] if len(parts) == 1 else tree.map(lambda *ys: pnp.concatenate(ys), *parts)


@entrance
def fori_loop(lower: int, upper: int, body_fun: Function, init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """Apply `value = body_fun(i, value)` for each i from `lower` up to `upper`, which is not included.

    Args:
        lower: an integer.
        upper: an integer.
        body_fun: `(i, value) -> value`. It is recorded once.
        init_val: the value before the first step: a tree of arrays.
        unroll: for programs that were written for JAX, as that of `scan`.

    Example:
        >>> import primad
        >>> primad.fori_loop(0, 5, lambda i, x: x + i, 0.0)
        np.float64(10.0)
    """
    check_function(body_fun, "fori_loop: ")
    try:
        lower, upper = operator.index(lower), operator.index(upper)
    except TypeError:
        raise TracingError(
            f"fori_loop: lower and upper must be integers, got {type(lower).__name__} and {type(upper).__name__}",
            fix="write whole numbers; primad.while_loop takes as many steps as a value says.",
        ) from None

    def step(value: Any, i: Any) -> Any:
        return body_fun(i, value), None

    step.__qualname__ = function_name(body_fun)
    return scan(step, init_val, np.arange(lower, max(lower, upper)))[0]


@entrance
def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Combine the elements of arrays along an axis from the first up to each, by an associative function.

    It takes about 2 log₂ n applications of `fn`, each to many elements at once.

    Args:
        fn: `(left, right) -> combined`, of trees like `elems`, along a whole axis at once.
        elems: a tree of arrays of equal lengths along the axis.
        reverse: whether to begin at the end: `left` is then what comes later in the arrays, as in JAX.
        axis: along which.

    Example:
        >>> import numpy as np, primad
        >>> primad.associative_scan(np.add, np.array([1.0, 2.0, 3.0, 4.0]))
        array([ 1.,  3.,  6., 10.])
    """
    check_function(fn, "associative_scan: ")
    leaves, structure = tree.flatten(elems)
    shapes = [type_of(leaf).shape for leaf in leaves]
    if not leaves or any(not -len(shape) <= axis < len(shape) for shape in shapes):
        raise ShapeError(
            f"associative_scan: the arrays have no axis {axis}: their shapes are {shapes}",
            fix="give arrays that all have the axis, such as np.stack makes.",
        )
    lengths = {shape[axis] for shape in shapes}
    if len(lengths) != 1:
        raise ShapeError(
            f"associative_scan: the arrays have different lengths along axis {axis}: {sorted(lengths)}",
            fix="cut them to one length.",
        )

    def combined(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        pair = [tree.unflatten(structure, part) for part in (left, right)]
        found, after = tree.flatten(fn(*pair))
        if after != structure:
            both = f"takes the tree {tree.shown(structure)} and returns {tree.shown(after)}"
            raise ShapeError(
                f"associative_scan: fn {both}",
                fix="return what it takes for one of its two arguments, in the same containers.",
            )
        return found

    def part(x: Any, start: int, step: int, stop: int | None = None) -> Any:
        return x[tuple([slice(None)] * (axis % len(x.shape)) + [slice(start, stop, step)])]

    def prefixes(items: list[Any], n: int) -> list[Any]:
        if n < 2:
            return items
        pairs = combined([part(x, 0, 2, n - n % 2) for x in items], [part(x, 1, 2) for x in items])
        odd = prefixes(pairs, n // 2)
        inner = [part(x, 0, 1, (n + 1) // 2 - 1) for x in odd]
        even = combined(inner, [part(x, 2, 2) for x in items]) if n > 2 else []
        return [_interleaved(x, o, e, n, axis) for x, o, e in zip(items, odd, even or [None] * len(items), strict=True)]

    arrays = [leaf if isinstance(leaf, TracedArray) else np.asarray(leaf) for leaf in leaves]
    given = [np.flip(x, axis) for x in arrays] if reverse else arrays
    found = prefixes(given, lengths.pop())
    return tree.unflatten(structure, [np.flip(x, axis) for x in found] if reverse else found)


def _interleaved(x: Any, odd: Any, even: Any, n: int, axis: int) -> Any:
    """Return the first element of x, then the elements of two arrays in turn."""
    axis %= len(x.shape)
    first = x[tuple([slice(None)] * axis + [slice(0, 1)])]
    evens = first if even is None else pnp.concatenate([first, even], axis)
    order = np.argsort(np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)]), kind="stable")
    return pnp.take(pnp.concatenate([evens, odd], axis), order, axis=axis)

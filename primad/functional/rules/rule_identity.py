"""What identifies a derivative rule that a user gave: what it records, with the values of all constants in it.

A rule is a Python function, and may close over values that change. Recording it says whether it still means what it
meant; then plans of earlier calls fit. It is recorded again only where what it reads has changed, or cannot be told.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from threading import local
from typing import Any, NamedTuple

from primad.functional.rules.readings import Readable, reading
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import CAPTURED, literal_value, param_key
from primad.ir.program import Program
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.tracing import record
from primad.runtime.cache import Cache

Function = Callable[..., Any]
DEEPEST = 4
"""Rules that use rules that use rules, … deeper than this, are equal only to themselves. Chosen to bound the work of a
key, which doubles with each where a rule uses two."""
_ACTIVE = local()
"""The rules whose identity this thread is finding: a rule may use its own function."""


class RuleKey(NamedTuple):
    """What a rule records depends on this."""

    values: Hashable
    states: tuple[Hashable, ...]
    types: tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]
    trees: tuple[Any, ...]
    left_out: frozenset[str]
    kind: str = "rule"


_KNOWN = Cache(256, 2**24)
"""What rules record, each as a tuple of one item, by what they read."""


class Rule:
    """A user's rule and the trees of the function it belongs to.

    Attributes:
        name: the function's name, which program texts show.
        jvp: (primals, tangents) -> (value, tangent), for custom_jvp.
        forward: (*args) -> (value, residuals), for custom_vjp.
        backward: (residuals, cotangent) -> tuple of cotangents, for custom_vjp; beside a jvp, how the tangent is pulled
            back, where the residuals are the arguments.
        by_forward: whether the value is that of `forward` once a derivative was taken, as in JAX; else the function
            keeps its rule at every order.
        closed: how many leaves of the arguments, which come first, are what the function closes over.
        types: types of the arguments and of the result, flattened; without them the rule is equal only to itself.
        owner: the function that has the rule, and its constant arguments.
    """

    def __init__(
        self,
        name: str,
        in_tree: Any,
        out_tree: Any,
        jvp: Function | None = None,
        forward: Function | None = None,
        backward: Function | None = None,
        types: tuple[Sequence[ArrayType], Sequence[ArrayType]] | None = None,
        owner: tuple[Any, ...] = (),
        by_forward: bool = False,
    ) -> None:
        self.name = name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.jvp = jvp
        self.forward = forward
        self.backward = backward
        self.types = types
        self.owner = owner
        self.by_forward = by_forward
        self.closed = 0

    @cached_property
    def key(self) -> Any:
        """A hashable value that is equal for rules that record the same; the rule itself where that is not known."""
        if self.types is None:
            return self
        active: list[Rule] = _ACTIVE.__dict__.setdefault("rules", [])
        for depth, rule in enumerate(reversed(active)):
            if rule._is_of(self):
                return "inside", depth
        if len(active) >= DEEPEST:
            return self
        key = None if active else self._reading_key()  # in another rule it may be called that it is inside of
        found = None if key is None else _KNOWN.find(key)
        if found is None:
            active.append(self)
            try:
                found = (self._recorded(),)
            except Exception:  # it is called again where its derivative is taken, and raises there
                found = (None,)
            finally:
                active.pop()
            if key is not None:
                _KNOWN.put(key, found)
        return self if found[0] is None else (self.name, self.in_tree, self.out_tree, self.by_forward, found[0])

    def _reading_key(self) -> RuleKey | None:
        """Return what tells what it records from what it would record otherwise; None where that is not known."""
        assert self.types is not None
        match self.owner:
            case (Readable() as owner,):
                read = owner.reading()
            case _:
                read = reading(self.owner, self.jvp, self.forward, self.backward)
        if read is None:
            return None
        inputs, outputs = self.types
        trees = self.in_tree, self.out_tree, structure_key(self.in_tree), structure_key(self.out_tree)
        return RuleKey(read.values, read.states, (tuple(inputs), tuple(outputs)), trees, LEFT_OUT.get())

    def _is_of(self, other: Rule) -> bool:
        """Say whether two rules belong to one function, with the same constants, on arguments of the same types."""
        return self._about() == other._about()

    def _about(self) -> tuple[Any, ...]:
        return tuple(map(id, self.owner)), self.in_tree, self.types

    def _recorded(self) -> Any:
        """Return the keys of the programs that the rule records; None if they depend on values being traced."""
        assert self.types is not None
        inputs, outputs = self.types
        arguments = tree.unflatten(self.in_tree, [0] * len(inputs))
        if self.jvp is not None:
            found = [_key_of(record(self.jvp, [*inputs, *inputs], tree.flatten((arguments, arguments))[1]))]
            if self.backward is not None:
                given = (arguments, tree.unflatten(self.out_tree, [0] * len(outputs)))
                found.append(_key_of(record(self.backward, [*inputs, *outputs], tree.flatten(given)[1])))
            return None if None in found else tuple(found)
        assert self.forward is not None and self.backward is not None
        forward = record(self.forward, inputs, self.in_tree)
        if len(forward.out_tree.children()) != 2:
            return None
        residuals = forward.out_tree.children()[1]
        held = forward.out_types[-residuals.num_leaves :] if residuals.num_leaves else []
        given = (tree.unflatten(residuals, [0] * len(held)), tree.unflatten(self.out_tree, [0] * len(outputs)))
        keys = _key_of(forward), _key_of(record(self.backward, [*held, *outputs], tree.flatten(given)[1]))
        return None if None in keys else (*keys, forward.out_tree)


def _key_of(program: Program) -> Any:
    """Return the canonical key of a program together with its constants; None if it closes over an open trace."""
    if program.captured:
        return None
    import hashlib  # a large library of C: only when a rule is first used

    constants = []
    for node in program.sources:
        if node.op is CAPTURED:
            array = node.params[0][1].array
            constants.append(hashlib.blake2b(array.tobytes()).digest())
        else:
            constants.append(param_key(literal_value(node)))
    return program.key, tuple(constants), program.out_tree

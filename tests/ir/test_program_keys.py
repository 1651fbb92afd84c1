"""What programs are found by: each part of each node, varied alone, is another key, in this process and in others."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.functional.parsing import known_ops
from primad.functional.rules.custom_ops import Pullback
from primad.functional.rules.rule_identity import Rule
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.json_form import digest, packed
from primad.ir.key import ByKey, Key, params_by_key
from primad.ir.node import (
    CAPTURED,
    INPUT,
    LITERAL,
    Constant,
    Leaf,
    Node,
    Trace,
    is_literal,
    literal_key,
    param_key,
    params_key,
)
from primad.ir.program import ClosedProgram, Program, subprogram
from primad.numpy.linalg.sparse_places import SparsePlaces
from primad.ops.record.primitive import project

X = np.array([[0.5, -0.25, 0.125], [1.5, 2.5, -3.5]])
PROGRAMS = {
    "elements": lambda x: np.sin(x) * 2.0 - x * np.array([1.0, -0.0, 3.0]) + 0.0,
    "axes": lambda x: np.sum(np.transpose(x) @ x[:, ::2], axis=0) * 1.5,
    "exponents": lambda x: x**3 + x**2.5,
    "zeros and ones": lambda x: np.arctan2(x, 0.0) + np.copysign(x, -1.0) * np.minimum(x, 1.0),
    "types": lambda x: x.astype("float32") * np.float32(0.5),
    "several results": lambda x: np.linalg.eigh(x @ x.T)[1] * 3.25,
    "joined": lambda x: np.concatenate([x, x * 2.0, 3.0 * np.ones((2, 3))]),
}
ABOUT = ("trace", "index")
"""What a node has that is no part of what it computes: where it belongs."""


def rebuilt(program: Program, change: Callable[[Node, list[Node]], dict[str, Any]], last: int = 0) -> Program:
    """Return a program of the same nodes, of which some have another part.

    Args:
        change: (node, operands) -> the parts that are others.
        last: how many of the outputs are left out.
    """
    trace = Trace()
    new: dict[Node, Node] = {}
    for node in dict.fromkeys([*program.inputs, *program.nodes]):
        parts = {"op": node.op, "inputs": tuple(new[x] for x in node.inputs), "params": node.params, "type": node.type}
        parts |= change(node, [new[x] for x in node.inputs])
        new[node] = Node(**parts, trace=trace, index=len(new))
    trace.several = program.trace.several
    outputs = [new[x] for x in program.outputs]
    return Program(trace, [new[x] for x in program.inputs], outputs[: len(outputs) - last])


def other_types(type: Any) -> Iterator[Any]:
    """Yield the types that differ in one field, and in nothing else."""
    if isinstance(type, TupleType):
        return
    wider = {"shape": (1, *type.shape), "dtype": np.dtype(np.float32 if type.dtype != np.float32 else np.float64)}
    assert wider.keys() == set(inspect.signature(ArrayType).parameters)
    for name, value in wider.items():
        yield ArrayType(**({"shape": type.shape, "dtype": type.dtype} | {name: value}))


def others(value: Any) -> Iterator[Any]:
    """Yield values like one that Python takes for equal, or that are near it."""
    if isinstance(value, bool):
        yield from (not value, int(value))
    elif isinstance(value, int):
        yield from (value + 1, float(value), *([bool(value)] if value in (0, 1) else []))
    elif isinstance(value, float):
        yield from (value + 1.0, -value, *([int(value)] if value.is_integer() else []))
    elif isinstance(value, tuple):
        yield (*value, 1)
        for i, item in enumerate(value):
            yield from ((*value[:i], other, *value[i + 1 :]) for other in others(item))
    elif isinstance(value, Constant):
        yield from map(Constant, (value.array + 1.0, -value.array, value.array.astype(np.float32), value.array[None]))
    elif isinstance(value, str):
        yield f"{value} "


def variations(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield programs that differ in one part of one node, or in an input or output, and say in which."""
    nodes = list(dict.fromkeys([*program.inputs, *program.nodes]))
    for place, node in enumerate(nodes):
        leaf = isinstance(node.op, Leaf)

        def changed(part: str, value: Any, place: int = place, **more: Any) -> Program:
            seen = iter(range(len(nodes)))
            return rebuilt(program, lambda _, xs: {part: value(xs), **more} if next(seen) == place else {})

        if not leaf and node.op is not project:
            yield f"op of {node}", changed("op", lambda _, op=node.op: ops.cos if op is not ops.cos else ops.sin)
        if len(set(node.inputs)) > 1:
            yield f"inputs of {node}", changed("inputs", lambda xs: tuple(xs[::-1]))
        if node.inputs and len(program.inputs) > 1:
            yield f"first input of {node}", changed("inputs", lambda xs: (xs[-1], *xs[1:]))
        for name, value in () if node.op is INPUT else node.params:
            for other in others(value):
                if node.op is LITERAL and type(other) is not type(value):
                    continue  # its value is one of its dtype
                params = tuple((key, other if key == name else own) for key, own in node.params)
                its = ArrayType(other.array.shape, other.array.dtype) if node.op is CAPTURED else node.type
                said = f"{name}={value!r} of {node}, {other!r}"
                yield said, changed("params", lambda _, params=params: params, type=its)
        for wanted in other_types(node.type) if node.op in (INPUT, LITERAL) else ():
            yield f"type of {node}, {wanted}", changed("type", lambda _, wanted=wanted: wanted)
    yield "no outputs", rebuilt(program, lambda *_: {}, last=1)
    yield "another input", _with_input(program)
    same = rebuilt(program, lambda *_: {})
    for node in same.nodes:
        if not isinstance(node.type, TupleType) and node not in same.outputs:
            yield f"output {node}", Program(same.trace, same.inputs, [node])
            yield f"also {node}", Program(same.trace, same.inputs, [*same.outputs, node])
            yield f"first {node}", Program(same.trace, same.inputs, [node, *same.outputs])


def _with_input(program: Program) -> Program:
    same = rebuilt(program, lambda *_: {})
    return Program(same.trace, [*same.inputs, same.trace.input(ArrayType((), float))], same.outputs)


def test_every_part_of_a_node_is_varied() -> None:
    assert set(Node.__slots__) == {"op", "inputs", "params", "type", *ABOUT}
    said = [said for name in PROGRAMS for said, _ in variations(traced(name))]
    for part in ("op of", "inputs of", "type of", "value=", "array=", "axes=", "step=", "dtype="):
        assert any(part in each for each in said), part


def traced(name: str) -> Program:
    return primad.trace(PROGRAMS[name])(X)


def whole(program: Program) -> Any:
    """Return the canonical key with all that it leaves out: the values of captured arrays and general scalars."""
    values = [(np.asarray(value).dtype.str, np.asarray(value).tobytes()) for value in program.source_values]
    return program.key, tuple(values)


KEYS: dict[str, Callable[[Program], Any]] = {
    "canonical": whole,
    "digest": lambda program: digest(program, known_ops()),
    "JSON": lambda program: repr(packed(program, known_ops())),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_part_of_a_node_is_part_of_the_key(name: str, kind: str) -> None:
    program, key = traced(name), KEYS[kind]
    own = key(rebuilt(program, lambda *_: {}))
    assert own is not None and own == key(rebuilt(traced(name), lambda *_: {}))
    found: dict[Any, str] = {}
    for said, other in variations(program):
        assert key(other) != own, said
        if said.startswith(("also", "first")):  # the same nodes, in another order
            assert found.setdefault(key(other), said) == said


VALUES = [0, 0.0, -0.0, 1, 1.0, True, False, 2, 2.0, (1, 2), (1.0, 2), ((0.0,), 1), ("a", True)]


@pytest.mark.parametrize("value", VALUES)
def test_keys_of_params_and_scalars(value: Any) -> None:
    key = params_key((("n", value),))
    for other in others(value):
        assert params_key((("n", other),)) != key and param_key(other) != param_key(value)
        assert params_by_key((("n", other),)) != params_by_key((("n", value),))
    assert params_key((("m", value),)) != key and params_key((("n", value), ("o", value))) != key
    assert params_by_key((("n", value),)) == ByKey(None, key) and hash(ByKey(None, key)) == hash(ByKey(1, key))


def test_types_of_several_results() -> None:
    """They carry derivatives if one of them does, and are told apart by each and by their order."""
    real, whole = ArrayType((2,), np.float64), ArrayType((2,), np.int64)
    some = [(real, whole), (whole, real), (real, real), (whole, whole), (real,), ()]
    found = [TupleType(types) for types in some]
    assert [each.is_float for each in found] == [any(type.is_float for type in types) for types in some]
    assert len({*found, *(TupleType(types) for types in some)}) == len(some)
    assert found[0].size == 4 and found[0].nbytes == 32


def test_keys_of_literals() -> None:
    types = [ArrayType((), np.float64), ArrayType((2,), np.float64), ArrayType((), np.float32), ArrayType((), np.int64)]
    values = [0.0, -0.0, 1.0, 0.5, float("nan"), -1.0]
    keys = {literal_key(value, type) for type in types[:3] for value in values}
    assert len(keys) == 3 * len(values)
    assert len({literal_key(1, type) for type in [*types, ArrayType((), np.bool_)]}) == 5
    trace = Trace()
    nodes = {trace.literal(value, type) for type in types[:3] for value in values for _ in range(2)}
    assert len(nodes) == 3 * len(values)


def test_captured_arrays_are_told_apart_by_type_and_bits() -> None:
    trace = Trace()
    arrays = [X, X + 1.0, X.reshape(3, 2), X.astype(np.float32), X[:1], np.zeros(2), -np.zeros(2), np.zeros(2, int)]
    large = [np.zeros(100_000) for _ in range(4)]
    for array, value in zip(large[1:], (1.0, -0.0, np.nan), strict=True):
        array[77_777] = value  # which a sum of some elements does not see
    nodes = [trace.capture(array) for array in [*arrays, *large]]
    assert len(set(nodes)) == len(nodes)
    assert [trace.capture(array.copy()) for array in [*arrays, *large]] == nodes
    assert all(node.op is CAPTURED for node in nodes)


def test_types_are_inferred_once_for_equal_operands_and_params():
    """Of each op, of each type, and again with other params."""
    asked = []

    def infer(x, *, factor):
        asked.append((x, factor))
        return x

    def made(name):
        scaled = primad.linear(
            name,
            lambda x, *, factor: x * factor,
            infer=infer,
            transpose=[lambda ct, x, *, factor: scaled(ct, factor=factor)],
        )
        return scaled

    ops = [made("scaled"), made("scaled")]
    for _ in range(3):
        primad.trace(lambda x, y: [op(z, factor=f) for op in ops for z in (x, y) for f in (1, 2)])(1.0, np.ones(3))
    assert len(asked) == len({*asked}) * len(ops) == 8


@pytest.mark.parametrize("first", [0.0, -0.0, 1.0, -1.0, 2.5])
@pytest.mark.parametrize("second", [0.0, -0.0, 1.0, -1.0, 2.5])
def test_literals_are_the_numbers_that_they_are_and_no_others(first, second):
    trace = Trace()
    for dtype in ("float64", "float32", "complex128"):
        same = first == second and math.copysign(1, first) == math.copysign(1, second)
        assert is_literal(trace.literal(first, ArrayType((2,), np.dtype(dtype))), second) is same
    assert is_literal(trace.literal(int(first), ArrayType((), np.dtype(int))), int(second)) is (
        int(first) == int(second)
    )
    assert not is_literal(trace.input(ArrayType((), np.dtype(float))), second)


def test_several_results_are_complex_where_one_of_them_is():
    real, pair = ArrayType((2,), np.dtype(float)), ArrayType((), np.dtype(complex))
    assert [TupleType(types).is_complex for types in ((real, real), (real, pair), (pair, pair))] == [False, True, True]


RULE = Rule("rule", None, None)
VALUES = {
    "type of several results": lambda n: TupleType((ArrayType((n,), float),)),
    "type": lambda n: ArrayType((n,), float),
    "by key": lambda n: ByKey(n, ("key", n)),
    "key": lambda n: Key(("key", n)),
    "closed program": lambda n: ClosedProgram(primad.trace(np.sin)(np.ones(n)).hoisted()),
    "sparse places": lambda n: SparsePlaces(range(n), range(n), (n, n)),
    "pullback": lambda n: Pullback(RULE, n, (), ()),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_things_are_found_by_equals_its_like_alone(name: str) -> None:
    """Whatever else may stand in the same dictionary."""
    made = VALUES[name]
    assert made(2) == made(2) and hash(made(2)) == hash(made(2)) and made(2) != made(3)
    others = [VALUES[other](2) for other in VALUES if other != name]
    for other in [*others, "key", ("key", 2), None, 2, object()]:
        assert made(2) != other and other != made(2)


def test_a_part_of_a_program_keeps_its_numbers_and_arrays() -> None:
    """Given as inputs of the part too, they are what they were."""
    program = primad.trace(lambda x: x * 2.5 + np.array([1.0, 2.0, 4.0]))(np.ones(3))
    leaves = [node for node in program.nodes if node.op in (LITERAL, CAPTURED)]
    part = subprogram(program, [*program.inputs, *leaves], program.outputs)
    assert len(leaves) == 2 and len(part.inputs) == 3
    assert [node.op for node in part.nodes if node.op in (LITERAL, CAPTURED)] == [node.op for node in leaves]
    assert part.inputs[1] not in part.nodes and part.inputs[2] not in part.nodes

"""Reading a program's text back into a program with the same canonical key.

Reading executes nothing: a regular expression cuts the text into tokens, and values are built from numbers, strings and
tuples only.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from primad.errors import ProgramError, TracingError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import LITERAL, Node, Trace
from primad.ir.program import ClosedProgram, Program
from primad.ir.text import RESERVED_NAMES, UNUSED

MAX_TEXT = 50_000_000
"""Longest text that `parse` reads, in characters."""
MAX_DEPTH = 50
"""Deepest nesting of programs and tuples that `parse` reads."""


_TOKEN = re.compile(
    r"\s*(?:#[^\n]*\n\s*)*(?:(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|-inf\b)|(?P<word>[A-Za-z_][\w.]*)"
    r'|(?P<string>"(?:[^"\\]|\\.)*")|(?P<sign>[(){}\[\]:,=]))'
)


class _Tokens:
    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise ProgramError(
                f"program text of {len(text)} characters is longer than {MAX_TEXT}",
                fix="pickle the program, or close over large arrays, whose numbers the text leaves out.",
            )
        self.items: list[tuple[str, str]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ProgramError(
                    f"program text cannot be read at character {position}: {text[position : position + 30]!r}",
                    fix="compare the text with what str(program) prints.",
                )
            self.items.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self.position = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self.items[index][1] if index < len(self.items) else ""

    def kind(self) -> str:
        return self.items[self.position][0] if self.position < len(self.items) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if expected is not None and token != expected:
            raise ProgramError(
                f"program text: expected {expected!r}, found {token!r} (token {self.position})",
                fix="compare the text with what str(program) prints.",
            )
        self.position += 1
        return token


def parse(text: str, ops: Mapping[str, Any], captured: Sequence[Any] = ()) -> Program:
    """Read a program's text.

    Args:
        text: what `str(program)` gave.
        ops: the primitives by name.
        captured: values for the captured arrays whose values the text does not show, in order.

    Raises:
        ProgramError: where the text is damaged, names an unknown op, or its types do not agree.
    """
    tokens = _Tokens(text)
    try:
        program = _program(tokens, ops, list(captured), depth=0)
        if tokens.peek():
            raise ProgramError(
                f"program text continues after its end: {tokens.peek()!r}", fix="parse one program at a time."
            )
        return program.check()
    except ProgramError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        near = " ".join(token for _, token in tokens.items[max(0, tokens.position - 8) : tokens.position])
        what = getattr(error, "what", None) or str(error) or type(error).__name__
        raise ProgramError(
            f"program text is not a well-formed program near {near!r}: {what}",
            fix="compare the text with what str(program) prints.",
        ) from None


def _program(tokens: _Tokens, ops: Mapping[str, Any], captured: list[Any], depth: int) -> Program:
    if depth > MAX_DEPTH:
        raise ProgramError(
            f"program text nests programs and tuples more than {MAX_DEPTH} deep",
            fix="call programs by turns instead of within each other.",
        )
    trace = Trace()
    names: dict[str, Node] = {}
    tokens.take("program")
    tokens.take("(")
    while tokens.peek() != ")":
        name = _new_name(tokens, names)
        tokens.take(":")
        names[name] = trace.input(_type(tokens))
        _comma(tokens, ")")
    inputs = list(names.values())
    input_names = list(names)
    tokens.take(")")
    tokens.take("{")
    while tokens.peek() != "return":
        left = [_result(tokens, names)]
        while tokens.peek() == ",":
            tokens.take()
            left.append(_result(tokens, names))
        tokens.take("=")
        node = _statement(tokens, ops, captured, names, trace, left[0][1], depth)
        for (name, type), part in zip(left, _parts(node, len(left), ops, trace), strict=True):
            if part.type != type:
                raise ProgramError(
                    f"program text says {name}: {type}, but its op gives {part.type}",
                    fix="write the type that the op gives, or other operands.",
                )
            if name != UNUSED and names.setdefault(name, part) is not part:
                raise ProgramError(f"program text defines {name!r} twice", fix="give every value a name of its own.")
    tokens.take("return")
    outputs: list[Node] = []
    while tokens.peek() != "}":
        outputs.append(_operand(tokens, names, trace, None))
        _comma(tokens, "}")
    tokens.take("}")
    program = Program(trace, inputs, outputs, names=input_names)
    trace.close()
    return program


def _result(tokens: _Tokens, names: Mapping[str, Node]) -> tuple[str, ArrayType]:
    """Read the name and the type of a result; of one that nothing uses, the name is `UNUSED`."""
    unused = tokens.peek() == UNUSED
    name = tokens.take() if unused else _new_name(tokens, names)
    tokens.take(":")
    return name, _type(tokens)


def _parts(node: Node, count: int, ops: Mapping[str, Any], trace: Trace) -> list[Node]:
    """Return the nodes of the results of a statement's op."""
    if not isinstance(node.type, TupleType):
        found = [node]
    else:
        found = [trace.place(ops["project"], (node,), (("index", i),)) for i in range(len(node.type.types))]
    if len(found) != count:
        raise ProgramError(
            f"program text: {node.op.name} has {len(found)} results, not {count}",
            fix="name as many values before the = as the op has results, _ for those that nobody needs.",
        )
    return found


def _comma(tokens: _Tokens, end: str) -> None:
    """Read what comes between two items; after the last one a comma may stand too."""
    if tokens.peek() != end:
        tokens.take(",")


def _new_name(tokens: _Tokens, names: Mapping[str, Node]) -> str:
    kind, name = tokens.kind(), tokens.take()
    if kind != "word" or name in RESERVED_NAMES:
        raise ProgramError(
            f"program text: {name!r} cannot be the name of a value (token {tokens.position - 1})",
            fix="choose letters, digits and _, beginning with no digit, and no word of the format's own.",
        )
    if name in names:
        raise ProgramError(f"program text defines {name!r} twice", fix="give every value a name of its own.")
    return name


def _statement(
    tokens: _Tokens,
    ops: Mapping[str, Any],
    captured: list[Any],
    names: dict[str, Node],
    trace: Trace,
    type: ArrayType,
    depth: int,
) -> Node:
    name = tokens.take()
    if name == "outer" and not _is_operand(tokens, names):  # an op has this name too
        raise ProgramError(
            "the text of a program that closes over an open trace cannot be read back",
            fix="take its text after the recording has ended.",
        )
    if name == "captured":
        return trace.capture(_captured(tokens, captured, type))
    op = ops.get(name)
    if op is None:
        raise ProgramError(f"program text uses the unknown op {name!r}", fix="pass your own primitives to parse().")
    operands: list[Any] = []
    while _is_operand(tokens, names):
        operands.append(_operand(tokens, names, trace, "bare"))
    like = next((item.type for item in operands if isinstance(item, Node) and item.op is not LITERAL), None)
    nodes = [item if isinstance(item, Node) else _fill(trace, item, like) for item in operands]
    params = []
    while tokens.peek(1) == "=":
        key = tokens.take()
        tokens.take("=")
        params.append((key, _value(tokens, ops, captured, depth)))
    _check_call(op, len(nodes), dict(params))
    kinds = _kinds(op)
    for key, value in params:
        if isinstance(value, ClosedProgram) != (key in op.programs.names) or not _fits(value, kinds.get(key)):
            raise ProgramError(
                f"program text: {op.name} takes no {key}={value!r}",
                fix="see the params of the op in what str(program) prints of such a node.",
            )
    return trace.place(op, tuple(nodes), tuple(params))


def _is_operand(tokens: _Tokens, names: Mapping[str, Node]) -> bool:
    """Say whether the next token is an operand, and neither a param nor the beginning of a statement."""
    word = tokens.peek()
    if tokens.peek(1) == "=" or (tokens.peek(1) == ":" and tokens.kind() == "word" and word in names):
        return False
    return word in names or tokens.kind() == "number" or word in ("nan", "inf", "True", "False", "complex")


def _check_call(op: Any, count: int, params: dict[str, Any]) -> None:
    """Raise unless the op's definition takes so many operands and these params."""
    arity = getattr(op.numpy, "nin", None)
    if arity is None:
        inspect.signature(op.numpy).bind(*[None] * count, **params)
    elif count != arity or params:
        raise ProgramError(
            f"program text: {op.name} takes {arity} operands and no params, got {count} and {list(params)}",
            fix="write the operands that the op takes, and no params.",
        )


@lru_cache(maxsize=1024)
def _kinds(op: Any) -> dict[str, Any]:
    """Return the types of an op's params, as far as one of its functions says them."""
    kinds: dict[str, Any] = {}
    for function in (op.programs.build, op.numpy, op.lower, op.infer):
        if inspect.isfunction(function):
            kinds.update(get_type_hints(function))
    return kinds


def _fits(value: Any, kind: Any) -> bool:
    """Say whether a param's value has exactly its type: True is no 1 and 2.0 no 2, though they are equal."""
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        return type(value) is tuple and all(_fits(item, get_args(kind)[0]) for item in value)
    if get_origin(kind) is tuple:
        return type(value) is tuple and list(map(type, value)) == list(get_args(kind))
    if kind in (int, str, bool):
        return type(value) is kind
    if kind is float:
        return type(value) in (int, float)
    if kind is None and type(value) is tuple:  # lengths, axes, flags
        return all(type(item) is not float and _fits(item, None) for item in value)
    return True


def _number(value: Any, type: ArrayType) -> Any:
    """Return the value of an element of an array, which must be one that the dtype has."""
    kinds = {"b": (bool,), "i": (int,), "u": (int,), "c": (complex,)}.get(type.dtype.kind, (int, float))
    if value.__class__ not in kinds:
        raise ProgramError(
            f"program text: {value!r} is no element of an array of {type.dtype}",
            fix=f"write an element that {type.dtype} holds.",
        )
    return value


def _fill(trace: Trace, value: Any, type: ArrayType | None) -> Node:
    if type is None:
        raise ProgramError(
            f"program text: the literal {value!r} needs a type", fix="write it after a colon, as in 1.0:float64[]."
        )
    return trace.literal(_number(value, type), type)


def _operand(tokens: _Tokens, names: Mapping[str, Node], trace: Trace, bare: str | None) -> Any:
    word = tokens.take()
    if word in names:
        return names[word]
    value = _parts_of_number(tokens) if word == "complex" else _scalar(word)
    if tokens.peek() == ":":
        tokens.take()
        type = _type(tokens)
        return trace.literal(_number(value, type), type)
    if bare is None:
        raise ProgramError(f"program text: unknown name {word!r}", fix="define it in a line above, or as an input.")
    return value


def _parts_of_number(tokens: _Tokens) -> complex:
    """Read the parts of a complex number, which follow its name."""
    tokens.take("(")
    real = _scalar(tokens.take())
    tokens.take(",")
    imaginary = _scalar(tokens.take())
    tokens.take(")")
    return complex(real, imaginary)


def _scalar(word: str) -> Any:
    special = {"True": True, "False": False, "None": None, "nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    if word in special:
        return special[word]
    try:
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
    except ValueError:
        raise ProgramError(
            f"program text: {word!r} is neither a name nor a number",
            fix="write a name from a line above, or a number with its type.",
        ) from None


def _type(tokens: _Tokens) -> ArrayType:
    dtype = tokens.take()
    tokens.take("[")
    shape = []
    while tokens.peek() != "]":
        item = tokens.take()
        if not item.isdigit():
            raise ProgramError(
                f"program text: {item!r} is not a length", fix="write lengths as whole numbers of 0 or more."
            )
        shape.append(int(item))
        _comma(tokens, "]")
    tokens.take("]")
    try:
        if not re.fullmatch(r"bool|u?int\d+|float\d+|complex\d+", dtype):
            raise ValueError(dtype)
        return ArrayType(tuple(shape), np.dtype(dtype))
    except (TracingError, TypeError, ValueError):
        raise ProgramError(
            f"program text: {dtype}{shape} is not an array type",
            fix="write a dtype and the lengths, as in float64[3, 4].",
        ) from None


def _captured(tokens: _Tokens, captured: list[Any], type: ArrayType) -> Any:
    if tokens.peek() == "[":
        tokens.take()
        items = []
        while tokens.peek() != "]":
            word = tokens.take()
            items.append(_number(_parts_of_number(tokens) if word == "complex" else _scalar(word), type))
            _comma(tokens, "]")
        tokens.take("]")
        return np.array(items, type.dtype).reshape(type.shape)
    if not captured:
        raise ProgramError(
            f"program text: no value was given for a captured array of type {type}",
            fix="pass the arrays that the text leaves out, in its order, as captured.",
        )
    array = np.asarray(captured.pop(0))
    if ArrayType(array.shape, array.dtype) != type:
        raise ProgramError(
            f"the captured array must have type {type}, got {array.dtype}{list(array.shape)}",
            fix="pass the arrays that the text leaves out, in its order.",
        )
    return array


def _value(tokens: _Tokens, ops: Mapping[str, Any], captured: list[Any], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ProgramError(
            f"program text nests programs and tuples more than {MAX_DEPTH} deep",
            fix="call programs by turns instead of within each other.",
        )
    token = tokens.peek()
    if token == "program":
        return ClosedProgram(_program(tokens, ops, captured, depth + 1))
    if token == "(":
        tokens.take()
        items = []
        while tokens.peek() != ")":
            items.append(_value(tokens, ops, captured, depth + 1))
            _comma(tokens, ")")
        tokens.take(")")
        return tuple(items)
    if tokens.kind() == "string":
        return json.loads(tokens.take())
    return _scalar(tokens.take())

"""Arrays that a package computes of plain numbers and writes into later: they are made to take traced values.

`np.zeros(3)` of a recorded package is an array that may be written to, but `2 * offsets` and `offsets.copy()` are
NumPy's own, which hold plain numbers only. So functions that write into elements are compiled anew, with one call
around what they assign to the names that they write into, and around what is given to functions that write into it. The
call returns an array that nothing else refers to as one that traced values can be written into, and all else as it is.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from inspect import getattr_static
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from primad.numpy.inplace.writable import writable
from primad.recording.tracing import RECORDING

Function = ast.FunctionDef | ast.AsyncFunctionDef
CALL = "__writable_while_recording__"
"""What the call is named in the modules of recorded packages."""
_WRITES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)
"""Instructions by which Python writes into elements."""
_BINARY, _IN_PLACE = dis.opmap["BINARY_OP"], range(13, 26)
"""The instruction of operators, and its numbers that stand for one in place (`+=`), of Python's `opcode.h`."""
_NEVER_NEW = (
    ast.Constant, ast.Dict, ast.DictComp, ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp, ast.Name, ast.Set,
    ast.Starred,
)  # fmt: skip
"""Expressions that make no array, or none that is new."""
_SHOWN = (ast.Attribute, ast.Call, ast.IfExp, ast.Name, ast.Starred, ast.Subscript, ast.Tuple)
"""Expressions that may give a view of what they name."""


def let_be_written(module: ModuleType, source: str) -> None:
    """Let traced values be written into arrays that the functions of a module make, however they make them.

    Args:
        module: the module; what is compiled or decorated beyond `functools.wraps` stays as it is.
        source: its text.
    """
    functions = list(_functions(module))
    if not source or not any(_writes(each.__code__) for each in functions):
        return
    tree = ast.parse(source)
    texts = [_Text(each) for each in _outermost(tree)]
    attributes = {name for each in texts for name in each.written if name[0] == "."}
    writers = {each.name for each in texts if each.parameters & each.written}
    for each in texts:
        each.put_calls(attributes, writers)
    filename = functions[0].__code__.co_filename
    found = dict(_codes(compile(tree, filename, "exec", dont_inherit=True)))
    for function in functions:
        own = function.__code__
        code = found.get((own.co_qualname, own.co_firstlineno), own)
        if _calls(code) and (code.co_varnames, code.co_freevars) == (own.co_varnames, own.co_freevars):
            function.__code__ = code
            function.__globals__[CALL] = made


def _outermost(node: ast.AST) -> Iterator[Function]:
    """Yield the functions in a text that are in no other function."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each
        elif isinstance(each, (ast.ClassDef, ast.If, ast.Try, ast.With)):
            yield from _outermost(each)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that a module defines."""
    for each in list(vars(module).values()):
        kept = vars(each).values() if isinstance(each, type) and each.__module__ == module.__name__ else [each]
        for function in kept:
            for part in (function.fget, function.fset) if isinstance(function, property) else (function,):
                own: Any = part.__func__ if isinstance(part, (staticmethod, classmethod)) else part
                while (inner := getattr_static(own, "__wrapped__", None)) is not None:  # asks no object
                    own = inner
                if isinstance(own, FunctionType) and own.__module__ == module.__name__:
                    yield own


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Yield the codes in one, by their names and first lines."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes(each)


def _writes(code: CodeType) -> bool:
    """Say whether a function, or one in it, writes into elements, or changes what a name holds in place."""
    instructions = code.co_code
    if any(each in _WRITES for each in instructions[::2]):
        return True
    pairs = zip(instructions[::2], instructions[1::2], strict=True)
    if any(each == _BINARY and how in _IN_PLACE for each, how in pairs):
        return True
    return any(
        _writes(each) if isinstance(each, CodeType) else isinstance(each, tuple) and "out" in each  # f(..., out=y)
        for each in code.co_consts
    )


def _calls(code: CodeType) -> bool:
    """Say whether the call is in a function, or in one in it."""
    return CALL in code.co_names or any(_calls(each) for each in code.co_consts if isinstance(each, CodeType))


class _Text:
    """One function, in a module's text.

    Args:
        node: its node.
    """

    def __init__(self, node: Function) -> None:
        every = list(ast.walk(node))
        given = node.args
        self.name = node.name
        self.parameters = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self", "cls"}
        self.assigned = [each for each in every if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value]
        self.calls = [each for each in every if isinstance(each, ast.Call)]
        self.written: set[str] = set()
        self._shown: list[tuple[ast.AST, ast.AST]] = []
        for each in every:
            self._look_at(each)
        self._add_what_is_shown()

    def _look_at(self, node: ast.AST) -> None:
        """Note what a statement writes into, and which names it gives to what others name."""
        if isinstance(node, ast.AugAssign):
            self.written |= _names(node.target.value if isinstance(node.target, ast.Subscript) else node.target)
        elif isinstance(node, ast.keyword) and node.arg == "out":
            self.written |= _names(node.value)
        elif isinstance(node, ast.For):
            self._shown.append((node.target, node.iter))
        elif isinstance(node, ast.Assign):
            self._shown += [(target, node.value) for target in node.targets]
            lists = [each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each] for each in node.targets]
            parts = [part.value for each in lists for part in each if isinstance(part, ast.Subscript)]
            self.written = self.written.union(*map(_names, parts))

    def _add_what_is_shown(self) -> None:
        """Add what the names that are written into may be views of."""
        pairs = [(_names(target), _names(value)) for target, value in self._shown if isinstance(value, _SHOWN)]
        before = -1
        while before != len(self.written):
            before = len(self.written)
            for targets, values in pairs:
                if targets & self.written:
                    self.written |= values

    def put_calls(self, attributes: set[str], writers: set[str]) -> None:
        """Put the call around what is assigned to what is written into, and given to functions that write into it.

        Args:
            attributes: those that functions of the module write into.
            writers: names of functions of the module that write into what they are given.
        """
        for each in self.calls:
            if getattr(each.func, "id", getattr(each.func, "attr", None)) in writers:
                each.args = [_called(part) for part in each.args]
                for option in each.keywords:
                    option.value = _called(option.value) if option.arg else option.value
        known = self.written | attributes
        for statement in self.assigned:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if statement.value is not None and any(_is_written(target, known) for target in targets):
                statement.value = _called(statement.value)


def _names(node: ast.AST) -> set[str]:
    """Return the names in an expression, and after a point each the attributes; those that are called are none."""
    if isinstance(node, ast.Call):
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return {name for part in parts for name in _names(part)}
    own = {node.id} if isinstance(node, ast.Name) else {f".{node.attr}"} if isinstance(node, ast.Attribute) else set()
    return own.union(*map(_names, ast.iter_child_nodes(node)))


def _is_written(target: ast.AST, known: set[str]) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_is_written(each, known) for each in target.elts)
    if isinstance(target, ast.Subscript):  # an entry of a dict
        key = target.slice
        return isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_written(target.value, known)
    if isinstance(target, ast.Attribute):
        return f".{target.attr}" in known
    return isinstance(target, ast.Name) and target.id in known


def _called(value: ast.expr) -> ast.expr:
    """Return an expression with the call around it, or around each part of a tuple or of a choice.

    What a choice gives may have a name, whose reference Python lends to whoever asks, from 3.14 on.
    """
    if isinstance(value, ast.Tuple):
        value.elts = [_called(each) for each in value.elts]
        return value
    if isinstance(value, ast.IfExp):
        value.body, value.orelse = _called(value.body), _called(value.orelse)
        return value
    if isinstance(value, ast.BoolOp):
        value.values = [_called(each) for each in value.values]
        return value
    if isinstance(value, ast.NamedExpr):
        value.value = _called(value.value)
        return value
    if isinstance(value, _NEVER_NEW):
        return value
    name = ast.copy_location(ast.Name(CALL, ast.Load()), value)
    return ast.copy_location(ast.Call(name, [value], []), value)


# -- while a function is recorded --------------------------------------------------------------------------------------


def made(value: Any) -> Any:
    """Return what a package assigns: a new array as one that traced values can be written into, all else as it is.

    Args:
        value: an expression; of a tuple that it makes, each array is looked at.
    """
    if RECORDING.get() is None:
        return value
    count = sys.getrefcount(value)  # on a line of its own: a call that waits for it would hold the array too
    if type(value) is np.ndarray:
        return writable(value) if _is_new(value, count, _ALONE) else value
    if isinstance(value, tuple) and count <= _ALONE and any(map(_is_plain, value)):
        parts = [_part(value, place) for place in range(len(value))]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def _is_plain(value: Any) -> bool:
    return type(value) is np.ndarray


def _part(values: tuple[Any, ...], place: int) -> Any:
    value = values[place]
    count = sys.getrefcount(value)
    return writable(value) if _is_plain(value) and _is_new(value, count, _IN_TUPLE) else value


def _is_new(value: Any, count: int, alone: int) -> bool:
    """Say whether nothing else refers to an array, nor to the one that it is a view of."""
    base = value.base
    if base is not None and (type(base) is not np.ndarray or base.base is not None):
        return False
    return count <= alone and (base is None or sys.getrefcount(base) <= _BEHIND)


def _count(value: Any) -> int:
    return sys.getrefcount(value)


def _count_in_tuple(values: Any, place: int) -> int:
    value = values[place]
    return sys.getrefcount(value)


def _count_behind(value: Any) -> int:
    base = value.base
    return sys.getrefcount(base)


_ALONE, _IN_TUPLE, _BEHIND = _count(np.zeros(2)), _count_in_tuple((np.zeros(2),), 0), _count_behind(np.zeros((2, 2)).T)
"""References to an array that has no name, to one in a tuple that has none, and to one that only its view holds: Python
counts those that its own calls hold too, and which these are differs from version to version."""

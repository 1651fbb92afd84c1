"""The slips that can be planted in a source: small changes of meaning, found in its syntax tree.

Each is what somebody may do by mistake and a reviewer may overlook. What says nothing when the program runs is left
alone: types, docstrings, assertions, texts of errors, sizes of caches, and constants that are tuned for speed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slip:
    """One change of a source.

    Attributes:
        path: the file, from the root.
        kind: which kind of slip it is.
        start, stop: where it changes the text, in characters.
        before, after: what stands there, and what will.
        line: the first line that changes, from 1.
        last: the last line of it.
        statement: the lines of the statement around it: what runs them runs it.
        names: the names that the statement at the top of the file gives, or its own, and those that are made of them:
            the op to whose record a function belongs.
    """

    path: str
    kind: str
    start: int
    stop: int
    before: str
    after: str
    line: int
    last: int
    statement: tuple[int, int]
    names: tuple[str, ...]

    def planted(self, text: str) -> str:
        """Return the source with the slip."""
        assert text[self.start : self.stop] == self.before
        return text[: self.start] + self.after + text[self.stop :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}"


COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}
NOT_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
OF_KEYS = re.compile(r"key|fingerprint|signature|about|said|known_as", re.IGNORECASE)
ASKED_BY_KEY = ("get", "find", "put", "derived", "prepared", "prepared_for_calls", "prepared_parts", "kept", "Key")
GENERIC = ("dict", "list", "set", "tuple", "frozenset", "Counter", "defaultdict")
QUIET = ("lru_cache", "made_once", "Cache", "TypeVar", "ParamSpec", "overload", "warn", "field")
TUNED = re.compile(r"\b(Measured|Fitted|Tuned|Estimated|Chosen)\b|\bThey are chosen so that\b")
"""How the docstring of a number, or of a class of numbers, says that it is tuned: with another digit results are the
same, or as good, and benchmarks are what judges it."""


def slips_in(path: str, text: str) -> list[Slip]:
    """Return all slips that can be planted in a source, in the order of its text."""
    found = list(Search(path, text).found())
    return sorted(found, key=lambda slip: (slip.start, slip.kind, slip.after))


def anchored(path: str, text: str, old: str, new: str, kind: str = "named") -> Slip | None:
    """Return the slip that writes something in the place of a text that stands once in a source; None if it does not.

    Raises:
        SyntaxError: if what comes out is no Python.
    """
    if text.count(old) != 1:
        return None
    start = text.index(old)
    # The lines that differ are what tests must run, not those that only say where it is.
    begun = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    line = text.count("\n", 0, start + begun) + 1
    search = Search(path, text)
    statement, names = search.around(line)
    slip = Slip(path, kind, start, start + len(old), old, new, line, line, statement, names)
    ast.parse(slip.planted(text))
    return slip


class Search:
    """A walk over the syntax tree of a source."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = ast.parse(text)
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.rows = text.splitlines()
        self._users = _users(self.tree)

    def found(self) -> Iterator[Slip]:
        yield from self._below(self.tree, (), (1, 1), ())

    def around(self, line: int) -> tuple[tuple[int, int], tuple[str, ...]]:
        """Return the lines of the innermost statement at a line, and the names that it belongs to."""
        found, names = (line, line), ()
        inside: list[ast.stmt] = list(self.tree.body)
        for node in inside:
            if node.lineno <= line <= (node.end_lineno or line):
                found, names = _lines_of(node), (*names, *names_of(node)) if found != (line, line) else names_of(node)
                inside.extend(part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node)
        return found, self._with_users(names)

    def _with_users(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names, and those of the statements at the top of the file that are made of private ones."""
        found = dict.fromkeys(names)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            more = [user for user in self._users.get(name, ()) if name.startswith("_") and user not in found]
            found.update(dict.fromkeys(more))
            waiting += more
        return tuple(found)

    def _below(
        self, node: ast.AST, parents: tuple[ast.AST, ...], statement: tuple[int, int], names: tuple[str, ...]
    ) -> Iterator[Slip]:
        for field, child in _children(node):
            if _is_quiet(node, field, child):
                continue
            inner, own = statement, names
            if isinstance(child, ast.stmt):
                inner = _lines_of(child)
                if isinstance(node, ast.Module) or isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                    own = (*(names if not isinstance(node, ast.Module) else ()), *names_of(child))
            for kind, at, after in self._at(child, (*parents, node)):
                yield self._slip(kind, at, after, inner, own)
            yield from self._below(child, (*parents, node), inner, own)

    def _slip(
        self, kind: str, at: tuple[int, int], after: str, statement: tuple[int, int], names: tuple[str, ...]
    ) -> Slip:
        start, stop = at
        line = self.text.count("\n", 0, start) + 1
        last = line + self.text.count("\n", start, stop)
        before = self.text[start:stop]
        return Slip(self.path, kind, start, stop, before, after, line, last, statement, self._with_users(names))

    def _at(self, node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        """Yield the slips of one node: kind, place, what to write there."""
        for kinds, changes in self._changes():
            if isinstance(node, kinds):
                yield from changes(node, parents)

    def _changes(self) -> list[tuple[Any, Callable[..., Iterator[tuple[str, tuple[int, int], str]]]]]:
        return [
            (ast.BoolOp, self.clauses),
            (ast.Compare, self.comparisons),
            (ast.Tuple, self._component),
            (ast.Call, self._field),
            (ast.Constant, self._number),
            (ast.BinOp, self.operands),
            (ast.Name, self._function),
            (ast.UnaryOp, self._negation),
        ]

    def clauses(
        self, node: ast.BoolOp, parents: tuple[ast.AST, ...] = ()
    ) -> Iterator[tuple[str, tuple[int, int], str]]:
        """Yield the slips that drop one clause of a condition, in the order of its clauses."""
        for i in range(len(node.values)):
            rest = [self.source(value) for k, value in enumerate(node.values) if k != i]
            word = " and " if isinstance(node.op, ast.And) else " or "
            yield "clause dropped", self.place(node), f"({word.join(rest)})" if len(rest) > 1 else f"({rest[0]})"

    def comparisons(
        self, node: ast.Compare, parents: tuple[ast.AST, ...] = ()
    ) -> Iterator[tuple[str, tuple[int, int], str]]:
        """Yield the slips that turn a comparison, in the order of a chain."""
        operands = [node.left, *node.comparators]
        for i, op in enumerate(node.ops):
            written, turned = COMPARED[type(op)]
            start, stop = self.place(operands[i])[1], self.place(operands[i + 1])[0]
            word = re.escape(written).replace("\\ ", r"\s+")
            between = re.search(rf"(?<![\w<>=!]){word}(?![\w<>=])", self.text[start:stop])
            if between is not None:
                at = start + between.start(), start + between.end()
                yield "comparison turned", at, turned

    def _component(self, node: ast.Tuple, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        if not isinstance(node.ctx, ast.Load) or len(node.elts) < 2 or not _is_key(node, parents):
            return
        for i in range(len(node.elts)):
            rest = [self.source(part) for k, part in enumerate(node.elts) if k != i]
            yield "component left out", self.place(node), f"({', '.join(rest)},)"

    def _field(self, node: ast.Call, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        if getattr(node.func, "id", "").endswith("Key"):
            for part in node.args:
                if not isinstance(part, ast.Starred):
                    yield "component left out", self.place(part), "None"

    def _number(self, node: ast.Constant, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        at = self.place(node)
        text = self.text[slice(*at)]
        if _is_of_shapes(node, parents):
            return
        if type(node.value) is int and re.fullmatch(r"\d+", text):
            yield "off by one", at, str(node.value + 1)
            if node.value > 1:
                yield "off by one", at, str(node.value - 1)
        elif type(node.value) is float and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", text):
            # The third digit that counts, or the last: a slip of the hand is seen less than another number.
            digits = [m.start() for m in re.finditer(r"\d", text.partition("e")[0])]
            leading = next((k for k, i in enumerate(digits) if text[i] != "0"), len(digits) - 1)
            i = digits[min(leading + 2, len(digits) - 1)]
            yield "digit", at, f"{text[:i]}{(int(text[i]) + 3) % 10}{text[i + 1 :]}"

    def operands(
        self, node: ast.BinOp, parents: tuple[ast.AST, ...] = ()
    ) -> Iterator[tuple[str, tuple[int, int], str]]:
        """Yield the slips that swap the operands of an operation, or turn its sign."""
        left, right = self.source(node.left), self.source(node.right)
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return
        start, stop = self.place(node.left)[1], self.place(node.right)[0]
        between = self.text[start:stop]
        if isinstance(node.op, NOT_COMMUTATIVE) and left != right:
            yield "operands swapped", self.place(node), f"({right}){between.replace('(', '').replace(')', '')}({left})"
        for op, written, other in ((ast.Add, "+", "-"), (ast.Sub, "-", "+")):
            if isinstance(node.op, op) and written in between and not _holds_text(node):
                at = start + between.index(written)
                yield "sign", (at, at + 1), other

    def _function(self, node: ast.Name, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        if node.id in SWAPPED and isinstance(parents[-1], ast.Call):
            yield f"{node.id} for {SWAPPED[node.id]}", self.place(node), SWAPPED[node.id]

    def _negation(self, node: ast.UnaryOp, parents: tuple[ast.AST, ...]) -> Iterator[tuple[str, tuple[int, int], str]]:
        if isinstance(node.op, ast.Not):
            yield "not dropped", self.place(node), f"({self.source(node.operand)})"

    def place(self, node: Any) -> tuple[int, int]:
        """Return where a node's text begins and ends, in characters."""
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """Return the place of a column, which the syntax tree counts in bytes of UTF-8."""
        row = self.rows[line - 1]
        return self.starts[line - 1] + (column if row.isascii() else len(row.encode()[:column].decode()))

    def source(self, node: ast.AST) -> str:
        """Return a node's text, in parentheses where it may fall apart."""
        text = self.text[slice(*self.place(node))]
        loose = isinstance(node, (ast.BinOp, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Compare))
        return f"({text})" if loose else text


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _is_quiet(node: ast.AST, field: str, child: ast.AST) -> bool:
    """Say whether what stands there says nothing when the program runs."""
    if field in ("annotation", "returns", "type_params", "bases") or isinstance(child, (ast.Assert, ast.Raise)):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
        return True
    if isinstance(child, ast.JoinedStr):
        return True
    if isinstance(child, ast.Call) and getattr(child.func, "id", getattr(child.func, "attr", "")) in QUIET:
        return True
    if isinstance(child, ast.Call) and str(getattr(child.func, "id", "")).endswith("Error"):
        return True
    if isinstance(child, (ast.Assign, ast.AnnAssign)) and isinstance(node, (ast.Module, ast.ClassDef)):
        return _is_tuned(node, child) or (isinstance(child, ast.AnnAssign) and child.value is None)
    return False


def _is_tuned(node: ast.Module | ast.ClassDef, child: ast.stmt) -> bool:
    """Say whether a constant's docstring says that it is tuned, or it is a type."""
    value = getattr(child, "value", None)
    if isinstance(value, ast.Subscript) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)):
        return True
    if "_CACHE.share(" in ast.unparse(child):  # a share of a cache, as tiles and blocks are
        return True
    after = node.body[node.body.index(child) + 1 :]
    said = after[0].value if after and isinstance(after[0], ast.Expr) else None
    own = str(said.value) if isinstance(said, ast.Constant) else ""
    return bool(TUNED.search(own or (ast.get_docstring(node) or "" if isinstance(node, ast.ClassDef) else "")))


def _is_of_shapes(node: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    """Say whether a number stands in a tuple of tuples of numbers: shapes on which a law is tried, no part of it."""
    if len(parents) < 2 or not isinstance(parents[-1], ast.Tuple) or not isinstance(parents[-2], ast.Tuple):
        return False
    return all(isinstance(part, (ast.Tuple, ast.Constant, ast.Load)) for part in ast.walk(parents[-2]))


def _is_key(node: ast.Tuple, parents: tuple[ast.AST, ...]) -> bool:
    """Say whether a tuple is, or is part of, what something is found by."""
    for parent in reversed(parents):
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return any(OF_KEYS.search(ast.unparse(target)) for target in targets)
        if isinstance(parent, ast.Call):
            name = getattr(parent.func, "id", getattr(parent.func, "attr", ""))
            if name in ASKED_BY_KEY:
                return True
            if name not in ("tuple", "Key", "append", "_Same", "frozenset"):
                return False
        if isinstance(parent, ast.Subscript):  # of a table by several things, or of an array by indices; no type
            of_type = getattr(parent.value, "id", "") in GENERIC
            return not of_type and all(isinstance(part, (ast.Name, ast.Attribute)) for part in node.elts)
        if isinstance(parent, (ast.FunctionDef, ast.Lambda)):
            return isinstance(parent, ast.FunctionDef) and bool(OF_KEYS.search(parent.name))
    return False


def _holds_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, (ast.JoinedStr, ast.List, ast.Tuple))
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in (node.left, node.right)
    )


def _lines_of(node: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, of one that has statements those of its head."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    return node.lineno, last


def _users(tree: ast.Module) -> dict[str, list[str]]:
    """Return, for each name, the names that statements at the top of the file give with its help."""
    found: dict[str, list[str]] = {}
    for statement in tree.body:
        for name in {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}:
            found.setdefault(name, []).extend(names_of(statement))
    return found


def names_of(node: ast.stmt) -> tuple[str, ...]:
    """Return the names that a statement gives."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return tuple(x.id for target in targets if target is not None for x in ast.walk(target) if isinstance(x, ast.Name))

"""A plugin of pytest that finds guards without a witness: `python -m pytest -p tests.mutations.witnesses`.

The engine is imported with every place noted at which a slip may change nothing: a clause of an `and` that was never
false, one of an `or` that was never true, operands of `<` that were never equal, an `any` that `all` would always have
answered alike, a `max` of what is always equal, a sum with what is always 0. No test could see a slip there. Each
process leaves what it saw in the folder that the environment variable `PRIMAD_WITNESSES` names;
`python -m tests.mutations --unwitnessed FOLDER` reads them all.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from tests.mutations.choosing import engine_files
from tests.mutations.covered_lines import ROOT
from tests.mutations.slips import SWAPPED, Search, Slip, slips_in

FALSE, TRUE, EQUAL, UNEQUAL = 1, 2, 4, 8
"""What a clause was, and what the operands of a comparison, or the answers of two functions, were to each other."""
SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
FUNCTIONS = tuple(f"{name} for {other}" for name, other in SWAPPED.items())
_NOTED = ("clause dropped", "operands swapped", "sign", *FUNCTIONS)
COMPARABLE = (int, float, str, tuple, np.integer)


class Witnesses:
    """What was seen at each place of the engine at which a slip may change nothing.

    Attributes:
        slips: what can be dropped, turned or swapped, in the order of files and lines.
        seen: for each, the marks of what its operands were.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.slips: list[Slip] = []
        self._number: dict[tuple[str, int, int, str], int] = {}
        for path in engine_files(root):
            for slip in slips_in(path, (root / path).read_text(encoding="utf-8")):
                if slip.before in ("<", "<=", ">", ">=") or slip.kind in _NOTED:
                    self._number[path, slip.start, slip.stop, slip.after] = len(self.slips)
                    self.slips.append(slip)
        self.seen = bytearray(len(self.slips))
        self._left: dict[int, Any] = {}

    def number(self, path: str, at: tuple[int, int], after: str) -> int | None:
        """Return the number of the slip at a place; None where there is none, as in types and assertions."""
        return self._number.get((path, *at, after))

    def code(self, path: str, text: str) -> ast.Module:
        """Return a source with the calls that note its conditions."""
        return ast.fix_missing_locations(_Noting(path, text, self.number).visit(ast.parse(text)))

    def notes(self) -> dict[str, Callable[[int, Any], Any]]:
        """Return the functions that such a source calls, by name."""
        kinds = {
            "": self._clause, "_value": self._value, "_left": self._keep, "_right": self._operands,
            "_term": self._term, "_function": self._function,
        }  # fmt: skip
        return {f"_noted{kind}": note for kind, note in kinds.items()}

    def _value(self, number: int, value: Any) -> Any:
        """Note the last clause of a condition whose value is used: whatever it is, without it there is another one."""
        if isinstance(value, (bool, np.bool_)):
            return self._clause(number, value)
        self.seen[number] |= TRUE | FALSE
        return value

    def _clause(self, number: int, value: Any) -> Any:
        """Note a clause, unless its truth is of no meaning outside of the condition, as that of a traced array is."""
        if type(value).__module__ in ("builtins", "numpy") and getattr(value, "ndim", 0) == 0:
            self.seen[number] |= TRUE if value else FALSE
        else:
            self.seen[number] |= TRUE | FALSE
        return value

    def _keep(self, number: int, value: Any) -> Any:
        self._left[number] = value
        return value

    def _operands(self, number: int, value: Any) -> Any:
        other = self._left.get(number)
        if isinstance(value, (int, float)) and isinstance(other, (int, float)):
            self.seen[number] |= EQUAL if value == other else UNEQUAL
        else:
            self.seen[number] |= EQUAL | UNEQUAL
        return value

    def _term(self, number: int, value: Any) -> Any:
        """Note what is added or taken away."""
        self._left[number] = 0
        return self._operands(number, value)

    def _function(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return one of the functions that slips swap; it notes whether the other one would have answered alike."""
        if self.seen[number] & UNEQUAL:
            return function
        if function in (any, all):
            return lambda items: self._quantified(number, items, function is any)
        return lambda *values, **named: self._extreme(number, function, values, named)

    def _quantified(self, number: int, items: Iterable[Any], wanted: bool) -> bool:
        """Answer `any` or `all`, and look on, after the answer, for what makes the other one's differ."""
        found, rest = [], iter(items)
        for item in rest:
            found.append(bool(item))
            if found[-1] == wanted:
                break
        answer = (wanted in found) == wanted
        self.seen[number] |= EQUAL
        with suppress(Exception):  # an answer may have been what made the rest safe to ask
            if not found or any(bool(item) != found[-1] for item in (*found, *rest)):
                self.seen[number] |= UNEQUAL
        return answer

    def _extreme(
        self, number: int, function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        values = values if len(values) > 1 else (list(values[0]),)
        answer = function(*values, **named)
        items = values if len(values) > 1 else values[0]
        if "key" in named:
            items = [named["key"](item) for item in items]
        alike = all(isinstance(item, COMPARABLE) and item == items[0] for item in items)
        self.seen[number] |= EQUAL if alike else UNEQUAL
        return answer

    def write(self, folder: Path) -> None:
        """Leave what this process saw."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{os.getpid()}.seen").write_bytes(bytes(self.seen))

    def read(self, folder: Path) -> None:
        """Add what all processes saw.

        Raises:
            ValueError: if they ran another source.
        """
        for path in folder.glob("*.seen"):
            marks = path.read_bytes()
            if len(marks) != len(self.seen):
                raise ValueError(f"{path} is of another source. Fix: run the tests again, into an empty folder.")
            for i, mark in enumerate(marks):
                self.seen[i] |= mark

    def unwitnessed(self) -> list[tuple[Slip, bool]]:
        """Return the slips that no test could see, and whether any ran there."""
        pairs = zip(self.slips, self.seen, strict=True)
        return [(slip, bool(marks)) for slip, marks in pairs if not marks & _wanted(slip)]


def _wanted(slip: Slip) -> int:
    """Return the mark without which a slip changes nothing."""
    if slip.kind in (*FUNCTIONS, "operands swapped", "sign"):
        return UNEQUAL
    if slip.kind != "clause dropped":
        return EQUAL
    node = ast.parse(f"({slip.before})", mode="eval").body
    assert isinstance(node, ast.BoolOp)
    return FALSE if isinstance(node.op, ast.And) else TRUE


class _Noting(ast.NodeTransformer):
    """Writes the calls that note what a source's conditions were."""

    def __init__(self, path: str, text: str, number: Callable[[str, tuple[int, int], str], int | None]) -> None:
        self._path, self._number, self._search = path, number, Search(path, text)
        self._asked: set[ast.expr] = set()

    def visit(self, node: ast.AST) -> Any:
        """Find out which conditions are asked for their truth alone, before what is inside is visited."""
        for field in ("test", "ifs"):
            inside = getattr(node, field, [])
            self._asked.update(inside if isinstance(inside, list) else [inside])
        if isinstance(node, ast.UnaryOp):
            self._asked.add(node.operand)
        if isinstance(node, ast.BoolOp) and node in self._asked:
            self._asked.update(node.values)
        return super().visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        found = [self._number(self._path, at, after) for _, at, after in self._search.clauses(node)]
        last = "_noted" if node in self._asked else "_noted_value"
        self.generic_visit(node)
        for i, number in enumerate(found):
            if number is not None:
                node.values[i] = _call(last if i == len(found) - 1 else "_noted", number, node.values[i])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        found = [(kind, self._number(self._path, at, after)) for kind, at, after in self._search.operands(node)]
        self.generic_visit(node)
        for kind, number in found:
            if number is not None and kind == "sign":
                node.right = _call("_noted_term", number, node.right)
            elif number is not None:
                node.left = _call("_noted_left", number, node.left)
                node.right = _call("_noted_right", number, node.right)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in SWAPPED:
            number = self._number(self._path, self._search.place(node), SWAPPED[node.id])
            if number is not None:
                return _call("_noted_function", number, node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands = [node.left, *node.comparators]
        found = {}
        for i, op in enumerate(node.ops):
            if isinstance(op, SIZES):
                one = ast.Compare(operands[i], [op], [operands[i + 1]])
                for _, at, after in self._search.comparisons(one):
                    found[i] = self._number(self._path, at, after)
        self.generic_visit(node)
        for i, number in found.items():
            if number is not None:
                if i == 0:
                    node.left = _call("_noted_left", number, node.left)
                else:
                    node.comparators[i - 1] = _call("_noted_left", number, node.comparators[i - 1])
                node.comparators[i] = _call("_noted_right", number, node.comparators[i])
        return node


def _call(name: str, number: int, value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), value], []), value)


class _Finder(MetaPathFinder):
    """Imports the engine's modules with their conditions noted."""

    def __init__(self, witnesses: Witnesses) -> None:
        self._witnesses = witnesses

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "primad":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            inside = Path(spec.loader.path).resolve()
            if inside.is_relative_to(self._witnesses.root):
                spec.loader = _Loader(spec.loader.name, spec.loader.path, self._witnesses)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, witnesses: Witnesses) -> None:
        super().__init__(name, path)
        self._witnesses = witnesses

    def get_code(self, fullname: str) -> CodeType | None:
        text = Path(self.path).read_text(encoding="utf-8")
        inside = Path(self.path).resolve().relative_to(self._witnesses.root).as_posix()
        return compile(self._witnesses.code(inside, text), self.path, "exec", dont_inherit=True)


def _install(folder: Path) -> None:
    """Note what this process sees, and leave it in a folder when it ends, but not when a fork of it does."""
    witnesses, owner = Witnesses(), os.getpid()
    for name, note in witnesses.notes().items():
        setattr(builtins, name, note)
    sys.meta_path.insert(0, _Finder(witnesses))

    def write() -> None:
        if os.getpid() == owner:
            witnesses.write(folder)

    atexit.register(write)


if "PRIMAD_WITNESSES" in os.environ and __name__ != "__main__":
    _install(Path(os.environ["PRIMAD_WITNESSES"]))

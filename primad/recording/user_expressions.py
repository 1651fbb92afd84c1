"""The expression of the user's that was running: its source, and what its names stand for.

Only errors come here, so it may be slow: it reads the source of the line, down to the expression.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from primad.errors import TracingError, shown_place

LONGEST = 60
"""Characters of an expression that are shown."""


def is_solver(frame: FrameType) -> bool:
    """Say whether a frame runs one of SciPy's solvers that are written in Python.

    It decides by values whether it has arrived: the derivative of its steps would be exact to its tolerance only.
    """
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("scipy.optimize.") and frame.f_code.co_name != _PASSING_ON


_PASSING_ON = "f_raise"
"""SciPy's function around those that its solvers in C call: it asks whether they are NaN, and these for the numbers."""


class CodePlace(NamedTuple):
    """An instruction of the user's code.

    Attributes:
        code: of the function.
        instruction: its offset there.
        names: the variables of its module.
        met: what it met there.
    """

    code: CodeType
    instruction: int
    names: Mapping[str, Any]
    met: object = None

    @property
    def shown_line(self) -> str:
        """The line, as messages show it."""
        positions = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        return shown_place(f"{self.code.co_filename}:{(positions and positions[0]) or self.code.co_firstlineno}")


def place_of(frame: FrameType, met: object = None) -> CodePlace:
    """Return the instruction that a frame is running, and what it meets."""
    return CodePlace(frame.f_code, frame.f_lasti, frame.f_globals, met)


class Doing(Struct, frozen=True):
    """The expression that a frame was running.

    Attributes:
        text: its source, shortened; "" where there is none.
        node: the same as a syntax tree.
        stores: whether it is an element that was assigned to.
        scopes: what its names stand for, the innermost first.
        line: the source of the line.
    """

    text: str = ""
    node: ast.expr | None = None
    stores: bool = False
    scopes: Sequence[Mapping[str, Any]] = ()
    line: str = ""

    @property
    def assigned(self) -> str:
        """What is assigned on the line; "" where the line alone does not tell."""
        try:
            statement = ast.parse(self.line.strip()).body[0]
        except (SyntaxError, IndexError):
            return ""
        return ast.unparse(statement.value) if isinstance(statement, ast.Assign) else ""

    @property
    def called(self) -> str:
        """The name of the function that it calls, as it is written; "" if it is no call."""
        return ast.unparse(self.node.func) if isinstance(self.node, ast.Call) else ""

    def name_of(self, function: ast.expr) -> str:
        """Return the name of a function that an expression stands for: its own, where a variable holds it."""
        written = ast.unparse(function).rpartition(".")[2]
        found = self.value(function) if isinstance(function, ast.Name) else None
        return str(getattr(found, "__name__", written)) if _module(found).startswith(_LIBRARIES) else written

    def value(self, node: ast.expr | None) -> Any:
        """Return what a name, or an attribute of a module, stands for; None where only running it would tell."""
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in self.scopes if node.id in scope), None)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return getattr(owner, node.attr, None) if type(owner) is type(sys) else None
        return None

    @property
    def module(self) -> str:
        """The module of the function that it calls, or of the operand that a product begins with."""
        if isinstance(self.node, ast.Call):
            return self.module_of(self.node)
        return _module(type(self.value(self.node.left)) if isinstance(self.node, ast.BinOp) else None)

    def module_of(self, call: ast.Call) -> str:
        """Return the module of the function that a call calls; of what a call made, that of what made it."""
        function = self.value(call.func)
        made_by = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        owner = self.value(made_by) if isinstance(call.func, ast.Attribute) else None
        if function is None and isinstance(made_by, ast.Call):
            return self.module_of(made_by)
        if function is None:
            return _module(type(owner))
        found = getattr(function, "__module__", None)  # which ufuncs may not have
        return str(owner.__name__) if found is None and type(owner) is type(sys) else _module(function)

    @property
    def gives_traced_away(self) -> bool:
        """Whether it calls a function of NumPy, SciPy or Python's library with something of a traced array, by name."""
        owner = self.module.partition(".")[0] if isinstance(self.node, ast.Call) else "builtins"
        if owner == "builtins" or owner not in (*_LIBRARIES, *sys.stdlib_module_names):
            return False
        given = [part for arg in self.node.args for part in ast.walk(arg)]  # type: ignore[union-attr]
        return any(isinstance(part, ast.Name) and hasattr(self.value(part), "node") for part in given)


_LIBRARIES = ("numpy", "scipy", "math", "cmath")


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__)


def doing(frame: FrameType | None, instruction: int = -1) -> Doing:
    """Return the expression that a frame is running, or was running at an instruction."""
    if frame is None:
        return Doing()
    instruction = frame.f_lasti if instruction < 0 else instruction
    return doing_at(CodePlace(frame.f_code, instruction, frame.f_globals), frame.f_locals)


def doing_at(place: CodePlace, local: Mapping[str, Any] | None = None) -> Doing:
    """Return the expression at an instruction.

    Args:
        place: the instruction.
        local: the variables of the function, where they are known.
    """
    code = place.code
    stores = dis.opname[code.co_code[place.instruction]] in ("STORE_SUBSCR", "STORE_SLICE")
    unseen = Doing("y[i]", ast.parse("y[i]", mode="eval").body, True) if stores else Doing()
    position = next(islice(code.co_positions(), place.instruction // 2, None), None)
    if position is None or None in position:
        return unseen
    first, last, start, end = position
    assert first is not None and last is not None
    whole = linecache.getlines(code.co_filename, dict(place.names))
    lines = [line.encode() for line in whole[first - 1 : last]]
    if not lines:
        return unseen
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    source = b"".join(lines).decode(errors="replace")
    try:
        node = ast.parse(f"({source})", mode="eval").body
    except SyntaxError:
        return unseen
    scopes = ({} if local is None else local, place.names, vars(sys.modules["builtins"]))
    now = Doing(shortened(node), node, stores, scopes, whole[first - 1])
    given = _given_to_a_transform(now)
    return now if given is None else replace(now, text=f"{ast.unparse(given.func)}(…)", node=given)


def _given_to_a_transform(now: Doing) -> ast.Call | None:
    """Return the call of a library's function that a transform was given, as in `grad(scipy.special.exp1)(x)`."""
    if not isinstance(now.node, ast.Call) or not isinstance(now.node.func, ast.Call):
        return None
    transform = now.node.func
    owner = transform.func.value if isinstance(transform.func, ast.Attribute) else None  # of a method: it is not given
    names = [part for part in ast.walk(transform) if isinstance(part, (ast.Name, ast.Attribute)) and part is not owner]
    given = [part for part in names if callable(now.value(part)) and _module_of(now, part).startswith(_LIBRARIES)]
    return ast.Call(given[0], now.node.args, now.node.keywords) if given else None


def _module_of(now: Doing, function: ast.expr) -> str:
    return now.module_of(ast.Call(function, [], []))


def shortened(node: ast.expr) -> str:
    """Return an expression's source, shortened if it is long."""
    text = ast.unparse(node)
    if len(text) > LONGEST and isinstance(node, ast.Call):
        text = f"{ast.unparse(node.func)}(…)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def handler_of(frame: FrameType, now: Doing) -> ast.ExceptHandler | None:
    """Return what catches a `TracingError` that a frame is to raise, in the same function; None if nothing does."""
    try:
        lines, first = inspect.getsourcelines(frame.f_code)
        function = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    line = frame.f_lineno - first + 1
    tries = [part for part in ast.walk(function) if isinstance(part, ast.Try)]
    around = [each for each in tries if each.body[0].lineno <= line <= (each.body[-1].end_lineno or 0)]
    handlers = [each for tried in sorted(around, key=lambda tried: -tried.lineno) for each in tried.handlers]
    return next((handler for handler in handlers if _catches(now, handler.type)), None)


def _catches(now: Doing, kind: ast.expr | None) -> bool:
    """Say whether a handler of some kinds of errors catches a `TracingError`."""
    if kind is None:
        return True
    found = [now.value(part) for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
    return any(isinstance(each, type) and issubclass(TracingError, each) for each in found)

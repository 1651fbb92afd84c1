"""What the user's line was doing when a traced array was refused, and what to write instead.

Only errors come here, so it may be slow: it reads the source of the line, down to the expression that was running.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from primad.errors import PACKAGE, IndexShapeError, PrimadError, ShapeError, TracingError, is_users, users_frame
from primad.recording.foreign import more_than_elements

LONGEST = 60
"""Characters of an expression that are shown."""
_READ = "primad.value(x) reads a plain number on purpose (its derivative is then zero)"
_JOIN = "primad.numpy.stack joins traced values to an array"
_ANYWHERE = (
    f"a traced array needs no np.asarray; arrays made by primad.numpy may be written to; {_JOIN}; for math.sin there "
    f"is np.sin; {_READ}."
)
"""Where there is no source to tell what was called."""
_OF_SCIPY_LINALG = frozenset((
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "det", "eigh", "eigvalsh", "expm", "expm_frechet",
    "hankel", "inv", "lu", "lu_factor", "lu_solve", "norm", "pinv", "qr", "solve", "solve_banded", "solve_circulant",
    "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester", "solve_toeplitz", "solve_triangular",
    "solveh_banded", "sqrtm", "svd", "svdvals", "toeplitz",
))  # fmt: skip
"""Functions of `scipy.linalg` that `primad.scipy.linalg` has."""
_OF_THE_SPECTRUM = {"logm": "np.log(w)", "fractional_matrix_power": "w**p"}
"""Functions of matrices whose values may be complex: what they do to the eigenvalues."""
_ROUNDING = {"floor": "np.floor", "ceil": "np.ceil", "trunc": "np.fix"}
_OTHER_NAMES = {
    "pow": "np.power", "fabs": "np.abs", "fsum": "np.sum", "sumprod": "np.dot", "dist": "np.linalg.norm",
    "gamma": "np.exp(primad.numpy.special.gammaln(x))", "lgamma": "primad.numpy.special.gammaln",
    "erf": "primad.numpy.special.erf", "erfc": "primad.numpy.special.erfc",
    "degrees": "x * (180 / np.pi)", "radians": "x * (np.pi / 180)", "fmod": "np.remainder",
    "isnan": "np.isnan", "isinf": "np.isinf", "isfinite": "np.isfinite", "remainder": "np.remainder",
    "asin": "np.arcsin", "acos": "np.arccos", "atan": "np.arctan", "atan2": "np.arctan2",
    "asinh": "np.arcsinh", "acosh": "np.arccosh", "atanh": "np.arctanh", "prod": "np.prod",
}  # fmt: skip
"""What functions of `math` are called where NumPy has no function of the same name, or another meaning."""


@dataclass(frozen=True)
class Doing:
    """The expression that a frame was running.

    Attributes:
        text: its source, shortened; "" where there is none.
        node: the same as a syntax tree.
        stores: whether it is an element that was assigned to.
        frame: where its names have their values.
    """

    text: str = ""
    node: ast.expr | None = None
    stores: bool = False
    frame: FrameType | None = None

    @property
    def assigned(self) -> str:
        """What is assigned on the line; "" where the line alone does not tell."""
        line = linecache.getline(self.frame.f_code.co_filename, self.frame.f_lineno).strip() if self.frame else ""
        try:
            statement = ast.parse(line).body[0]
        except (SyntaxError, IndexError):
            return ""
        return ast.unparse(statement.value) if isinstance(statement, ast.Assign) else ""

    @property
    def called(self) -> str:
        """The name of the function that it calls, as it is written; "" if it is no call."""
        return ast.unparse(self.node.func) if isinstance(self.node, ast.Call) else ""

    def value(self, node: ast.expr | None) -> Any:
        """Return what a name, or an attribute of a module, stands for; None where only running it would tell."""
        if isinstance(node, ast.Name) and self.frame is not None:
            scopes = (self.frame.f_locals, self.frame.f_globals, vars(sys.modules["builtins"]))
            return next((scope[node.id] for scope in scopes if node.id in scope), None)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return vars(owner).get(node.attr) if type(owner) is type(sys) else None
        return None

    @property
    def module(self) -> str:
        """The module of the function that it calls, or of the operand that a product begins with."""
        if isinstance(self.node, ast.Call):
            function = self.value(self.node.func)
            if function is None and isinstance(self.node.func, ast.Attribute):
                function = type(self.value(self.node.func.value))
        else:
            function = type(self.value(self.node.left)) if isinstance(self.node, ast.BinOp) else None
        return str(getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__)

    @property
    def gives_traced_to_numpy(self) -> bool:
        """Whether it calls a function of NumPy or SciPy with a traced array, by its name."""
        if not isinstance(self.node, ast.Call) or not self.module.startswith(("numpy", "scipy")):
            return False
        return any(hasattr(self.value(arg), "node") for arg in self.node.args)


def doing(frame: FrameType | None, instruction: int = -1) -> Doing:
    """Return the expression that a frame is running, or was running at an instruction."""
    if frame is None:
        return Doing()
    instruction = frame.f_lasti if instruction < 0 else instruction
    code = frame.f_code
    stores = dis.opname[code.co_code[instruction]] in ("STORE_SUBSCR", "STORE_SLICE")
    unseen = Doing("y[i]", ast.parse("y[i]", mode="eval").body, True) if stores else Doing()
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    if position is None or None in position:
        return unseen
    first, last, start, end = position
    assert first is not None and last is not None
    lines = [line.encode() for line in linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : last]]
    if not lines:
        return unseen
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    source = b"".join(lines).decode(errors="replace")
    try:
        node = ast.parse(f"({source})", mode="eval").body
    except SyntaxError:
        return unseen
    text = ast.unparse(node)
    if len(text) > LONGEST and isinstance(node, ast.Call):
        text = f"{ast.unparse(node.func)}(…)"
    return Doing(text if len(text) <= LONGEST else f"{text[:LONGEST]}…", node, stores, frame)


@dataclass(frozen=True)
class Refusal:
    """An answer to a question for numbers, and the instruction of the user's that led to it.

    C code may drop the exception, compute on and then raise another.
    """

    place: tuple[CodeType, int] | None
    message: tuple[str, str, str]
    where: str | None

    def error(self) -> TracingError:
        """Return the exception to raise."""
        return TracingError(*self.message, where=self.where)


def lost(what: str, type: object) -> Refusal:
    """Return the answer to who asks a traced array for its numbers, which have no derivative.

    Args:
        what: how it was asked.
        type: its array type.
    """
    frame = users_frame()
    now = doing(frame)
    where = None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    asking = _asking(frame, now.text)
    if asking is not None:
        return Refusal(None if frame is None else (frame.f_code, frame.f_lasti), asking, where)
    named = f"{now.text} = {now.assigned or '…'}" if now.stores else now.text or what
    message = (
        f"{named} needs the numbers of a traced array of type {type}",
        "A plain number would silently lose the derivative.",
        _way_out(now),
    )
    return Refusal(None if frame is None else (frame.f_code, frame.f_lasti), message, where)


def _asking(users: FrameType | None, text: str) -> tuple[str, str, str] | None:
    """Return the message for an array that is more than its elements, if one of its methods asks for the numbers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found = _met(frame, text)
        if found is not None or frame is users:
            return found
        frame = frame.f_back
    return None


def _met(frame: FrameType, text: str) -> tuple[str, str, str] | None:
    """Return the message for an array that is more than its elements, if a frame runs one of its methods.

    Args:
        frame: what runs.
        text: the user's expression.
    """
    owner = None if frame.f_code.co_filename.startswith(PACKAGE) else frame.f_locals.get("self")
    found = more_than_elements(owner)
    return found and (
        f"{text and text + ': '}a value of type {type(owner).__name__} cannot meet a traced array",
        *found,
    )


def _way_out(now: Doing) -> str:
    if now.stores:
        return _written(now)
    if now.node is None:
        return _ANYWHERE
    if not isinstance(now.node, ast.Call):
        return f"{_READ}; {_JOIN}."
    module, name = now.module, now.called.rpartition(".")[2]
    if module in ("math", "cmath"):
        return _of_math(name)
    if name in ("array", "asarray", "asanyarray", "ascontiguousarray", "fromiter", "float64", "float32", "require"):
        return _converted(now)
    if name in ("float", "int", "complex", "item", "tolist"):
        return f"leave the conversion out; {_READ}."
    if module.startswith("scipy.special"):
        return f"call primad.numpy.special.{name}, if dir(primad.numpy.special) lists it; {_READ}."
    if module.startswith("scipy.linalg") and name in _OF_SCIPY_LINALG:
        return f"call primad.scipy.linalg.{name}, which is recorded (import primad.scipy.linalg); {_READ}."
    if module.startswith("scipy.linalg") and name in _OF_THE_SPECTRUM:
        return (
            "its result may be complex, and primad's numbers are real; of a symmetric positive definite matrix without "
            f"equal eigenvalues, w, v = np.linalg.eigh(a) and (v * {_OF_THE_SPECTRUM[name]}) @ v.T."
        )
    if module.startswith("numpy.testing"):
        return "compare what the function returns, or primad.value(x), a plain array."
    if module == "statistics":
        return f"np.mean, np.median, np.std and np.var, of an array; {_JOIN}."
    listed = [ast.unparse(arg) for arg in now.node.args if _is_list(now, arg)]
    if listed and module.startswith("numpy"):
        mirror = f"primad.numpy{module.removeprefix('numpy')}.{name}"
        return f"call {mirror}, which takes lists of traced values; or pass an array: primad.numpy.array({listed[0]})."
    return (
        f"write {now.called} with functions that docs/numpy_functions.md lists, or have it called as it is: "
        f"primad.opaque, with a rule by primad.custom_jvp; {_READ}."
    )


def _written(now: Doing) -> str:
    """Say how to write into an array."""
    assert isinstance(now.node, ast.Subscript)
    owner, index = ast.unparse(now.node.value), ast.unparse(now.node.slice)
    index = f"np.s_[{index}]" if any(isinstance(part, ast.Slice) for part in ast.walk(now.node.slice)) else index
    changed = f"{owner} = primad.numpy.set_at({owner}, {index}, {now.assigned or 'value'})"
    made = f"{owner} = primad.numpy.array({owner}) before: arrays that primad.numpy makes may be written to"
    return f"{made}; or {changed}."


def _of_math(name: str) -> str:
    if name in _ROUNDING:
        return f"use {_ROUNDING[name]}(x), which is a float; int(x) is an integer that is known."
    if name in _OTHER_NAMES:
        return f"use {_OTHER_NAMES[name]}, which takes arrays and numbers."
    return f"use np.{name}, which takes arrays and numbers." if name in _IN_NUMPY else f"{_READ}."


_IN_NUMPY = (
    "acosh", "asinh", "atanh", "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "hypot", "log", "log10",
    "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _converted(now: Doing) -> str:
    assert isinstance(now.node, ast.Call)
    given = now.node.args[0] if now.node.args else None
    if given is not None and _is_list(now, given):
        text = ast.unparse(given)
        text = f"[{text.strip('()')}]" if isinstance(given, ast.GeneratorExp) else text
        return f"primad.numpy.stack({text}) joins traced values; of plain numbers it is np.stack."
    return f"a traced array is an array already: leave {now.called} out; {_READ}."


def _is_list(now: Doing, node: ast.expr) -> bool:
    literal = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
    return isinstance(node, literal) or isinstance(now.value(node), (list, tuple))


# -- errors that others raise ------------------------------------------------------------------------------------------


def explained(error: Exception, arguments: Any, refusal: Refusal | None) -> PrimadError | None:
    """Return ours for an error that a traced array led to, or None if it is the user's own.

    NumPy and SciPy replace exceptions that a conversion raises, Python raises its own where an operator is missing, and
    functions of primad let errors of NumPy through.

    Args:
        error: what left the user's function.
        arguments: those of the function.
        refusal: the last that the function met.
    """
    steps = list(_steps(error))
    place = max([i for i, (frame, _, _) in enumerate(steps) if is_users(frame.f_code.co_filename)], default=-1)
    frame, instruction, line = steps[place] if place >= 0 else (None, -1, 0)
    if frame is not None and place == len(steps) - 1 and _raises(frame, instruction):
        return None
    for cause in _causes(error):
        if isinstance(cause, PrimadError) and not isinstance(cause, AttributeError):  # those are often only probes
            return cause
    # At any step: C code that goes on with an error set makes Python's own lookups fail further in.
    if refusal is not None and any(refusal.place == (at.f_code, running) for at, running, _ in steps):
        return refusal.error()
    kind = next((ours for theirs, ours in _KINDS.items() if isinstance(error, theirs)), None)
    if kind is None:
        return None
    where = f"{frame.f_code.co_filename}:{line}" if frame is not None else None
    now = doing(frame, instruction) if frame is not None else Doing()
    for later, _, _ in steps[max(place, 0) :]:
        met = _met(later, now.text) if any(hasattr(value, "node") for value in later.f_locals.values()) else None
        if met is not None:
            return TracingError(*met, where=where)
    text = str(error) or type(error).__name__
    inside = any(later.f_code.co_filename.startswith(PACKAGE) for later, _, _ in steps[max(place, 0) + 1 :])
    listed = _listed(arguments)
    if listed and not inside and any(word in text for word in ("'list'", "'tuple'", "list", "sequence")):
        return TracingError(
            f"{now.text or 'the function'}: {text}",
            why=f"Argument {listed - 1} is a list of numbers: to primad a tree of numbers, not an array.",
            fix="pass an array: np.array([…]).",
            where=where,
        )
    if isinstance(error, ValueError) and text.endswith("read-only") and not inside:
        return ShapeError(f"{now.text or 'the function'}: {text}", _READ_ONLY[0], _READ_ONLY[1], where)
    if not (inside or "TracedArray" in text or now.gives_traced_to_numpy):
        return None
    text = text.replace("'TracedArray'", "a traced array").replace("TracedArray", "a traced array")
    return kind(
        f"{now.text or 'a function'}, on a traced array: {text}",
        fix=_way_out(now) if now.module in ("math", "cmath", "statistics") else "",
        where=where,
    )


_READ_ONLY = (
    "The numbers of an array that primad.numpy made in a recording (np.asarray(y), or what NumPy makes of it) are a "
    "copy: what is written there would not reach the array.",
    "write into the array itself, or into a copy: np.array(y), primad.numpy.copy(y).",
)
"""Why a plain array is read-only, and the way out."""
_KINDS: dict[type[Exception], type[PrimadError]] = {
    IndexError: IndexShapeError,
    ValueError: ShapeError,
    TypeError: TracingError,
    AttributeError: TracingError,
    KeyError: TracingError,
    SystemError: TracingError,
    NotImplementedError: TracingError,
    AssertionError: TracingError,
    ZeroDivisionError: ShapeError,
}


def _steps(error: BaseException) -> Iterator[tuple[FrameType, int, int]]:
    """Yield (frame, instruction, line) of a traceback, outermost first, without the one that caught it."""
    step = error.__traceback__.tb_next if error.__traceback__ is not None else None
    while step is not None:
        yield step.tb_frame, step.tb_lasti, step.tb_lineno
        step = step.tb_next


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__


def _raises(frame: FrameType, instruction: int) -> bool:
    return dis.opname[frame.f_code.co_code[instruction]] in ("RAISE_VARARGS", "RERAISE")


def _listed(arguments: Any) -> int:
    """Return 1 + the position of the first argument that is a list or tuple of numbers; 0 if there is none."""
    for i, argument in enumerate(arguments):
        if isinstance(argument, (list, tuple)) and argument and all(hasattr(item, "node") for item in argument):
            return i + 1
    return 0

"""What the user's line was doing when a traced array was refused, and what to write instead.

Only errors come here, so it may be slow: it reads the source of the line, down to the expression that was running.
"""

from __future__ import annotations

import ast
import re
import sys
from types import CodeType, FrameType

import numpy as np
from msgspec import Struct

from primad.errors import PACKAGE, TracingError, users_frame
from primad.recording.foreign import more_than_elements
from primad.recording.object_arrays import holds_traced
from primad.recording.plain_makers import instead_of_plain
from primad.recording.protocols import FUNCTIONS, UFUNCS, recorded_by
from primad.recording.scipy_names import LINEAR_SYSTEMS, READ, RECORDED, SOLVED, of_distribution, under_its_path
from primad.recording.user_expressions import LONGEST, CodePlace, Doing, doing, doing_at, handler_of

_JOIN = "primad.numpy.array joins traced values to an array"
_ANYWHERE = (
    f"a traced array needs no np.asarray; arrays made by primad.numpy may be written to; {_JOIN}; for math.sin there "
    f"is np.sin; {READ}."
)
"""Where there is no source to tell what was called."""
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


class Refusal(Struct, frozen=True):
    """An answer to a question for numbers, and the instruction of the user's that led to it.

    C code may drop the exception, compute on and then raise another.

    Attributes:
        place: the instruction.
        message: what, why, and the way out.
        where: file and line.
        computing: whether a function of Python's `math` asked: who catches the exception and goes on then has another
            number in place of the function's, and its derivative is lost, if it is not seen to compute the same.
    """

    place: tuple[CodeType, int] | None
    message: tuple[str, str, str]
    where: str | None
    computing: bool = False

    def error(self) -> TracingError:
        """Return the exception to raise."""
        return TracingError(*self.message, where=self.where)

    def caught(self) -> TracingError:
        """Return the exception to raise where a function caught that one and went on."""
        what, _, fix = self.message
        why = "The function caught this error and went on with something else, whose derivative may be another."
        return TracingError(what, why, fix, where=self.where)


def lost(what: str, type: object, objects: CodePlace | None = None) -> Refusal:
    """Return the answer to who asks a traced array for its numbers, which have no derivative.

    Args:
        what: how it was asked.
        type: its array type.
        objects: where NumPy last made an array of objects of traced numbers.
    """
    frame = users_frame()
    now = doing(frame)
    where = None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    asking = _asking(frame, now.text)
    if asking is not None:
        return Refusal(None if frame is None else (frame.f_code, frame.f_lasti), asking, where)
    message = needs_numbers(now, what, type, objects)
    if frame is None:
        return Refusal(None, message, where)
    computing = isinstance(now.node, ast.Call) and now.module in ("math", "cmath")
    computing = computing and not _is_computed_again(frame, now)
    return Refusal((frame.f_code, frame.f_lasti), message, where, computing)


def needs_numbers(now: Doing, what: str, type: object, objects: CodePlace | None) -> tuple[str, str, str]:
    """Return the message for an expression that needs the numbers of a traced array."""
    named = f"{now.text} = {now.assigned or '…'}" if now.stores else now.text or what
    return (
        f"{named} needs the numbers of a traced array of type {type}",
        "A plain number would silently lose the derivative.",
        way_out(now, objects),
    )


def _asking(users: FrameType | None, text: str) -> tuple[str, str, str] | None:
    """Return the message for an array that is more than its elements, if one of its methods asks for the numbers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found = met(frame, text)
        if found is not None or frame is users:
            return found
        frame = frame.f_back
    return None


def met(frame: FrameType, text: str) -> tuple[str, str, str] | None:
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


def written_to(what: str = "x[i] = …", instead: str = "") -> TracingError:
    """Return the error for a write into a traced array; where a function of SciPy's writes, it names ours."""
    frame = users_frame()
    now = doing(frame)
    if frame is not None and isinstance(now.node, ast.Call) and now.module.startswith("scipy"):
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        why = "Recorded values are immutable."
        return TracingError(f"{now.text} writes into a traced array", why, way_out(now), where=where)
    return TracingError(
        f"a traced array was written to in place ({what})",
        why="Arguments, single numbers and another function's values are immutable; copies are not.",
        fix=instead or "x = primad.numpy.copy(x) before, or x = primad.numpy.set_at(x, i, value), or add_at.",
    )


def way_out(now: Doing, objects: CodePlace | None = None) -> str:
    """Return what to write instead of an expression that asked for numbers.

    Args:
        now: the expression.
        objects: where NumPy last made an array of objects of traced numbers.
    """
    if now.stores:
        return _written(now)
    if now.node is None:
        return _ANYWHERE
    joined = in_primads_names(now) or made_again(now, objects)
    if joined:
        return joined
    if not isinstance(now.node, ast.Call):
        return f"{READ}; {_JOIN}."
    module, name = now.module, now.name_of(now.node.func)
    if module in ("math", "cmath"):
        return _of_math(name)
    known = instead_of_plain(now, module, name) or under_its_path(now, module, name)
    if known:
        return known
    if name in _CONVERSIONS or name in ("float64", "float32", "fromiter"):
        return f"a traced array is an array already: leave {now.called} out; {READ}."
    if name in ("float", "int", "complex", "item", "tolist"):
        return f"leave the conversion out; {READ}."
    return _by_module(now, module, name)


_OF_SERIES = re.compile(r"(val|der|int|vander|fit|grid)(2d|3d)?$")
"""How the names of functions of series end that `primad.numpy.polynomial` records."""


def _by_module(now: Doing, module: str, name: str) -> str:
    """Say what there is for functions of a module that are not recorded under their path."""
    if module.startswith("scipy.fft"):
        return (
            f"call primad.scipy.fft.{name}, which is recorded (import primad.scipy.fft); or once, before, "
            f"scipy.fft.register_backend(primad.scipy.fft), after which SciPy's own function records it; {READ}."
        )
    if module.startswith("scipy.optimize") and name in SOLVED:
        return (
            f"call primad.implicit.{SOLVED[name]}(f, x0), whose derivative is that of what it finds; its solver= may "
            f"call {now.called}; {READ}."
        )
    if module.startswith("scipy.sparse.linalg") and name in LINEAR_SYSTEMS:
        return (
            "call primad.implicit.linear_solve(lambda x: A @ x, b), whose derivative is that of the solution, by "
            f"sparse factors or by {now.called} as solver=; {READ}."
        )
    if module.startswith("numpy.testing"):
        return "compare what the function returns, or primad.value(x), a plain array."
    if module.startswith("numpy.polynomial"):
        assert isinstance(now.node, ast.Call)
        if isinstance(now.node.func, ast.Call) or hasattr(now.value(now.node.func), "coef"):
            return f"call primad.vmap({ast.unparse(now.node.func)}): at one number at a time it is recorded; {READ}."
        if _OF_SERIES.search(name):
            return f"call primad.{module}.{name} (import primad.numpy), which is recorded; {READ}."
        return f"primad.{module} sums (…val(x, c)), derives, integrates and fits series of traced coefficients; {READ}."
    if module == "statistics":
        return f"np.mean, np.median, np.std and np.var, of an array; {_JOIN}."
    if module.startswith("scipy.stats") and (known := of_distribution(now, name)):
        return f"{known}; {READ}."
    if module.startswith("scipy.special"):
        return f"{_special(now, name)}; {READ}."
    return f"write {now.called} with functions of primad.numpy, or {CALLED_AS_IT_IS}; {READ}."


CALLED_AS_IT_IS = "have it called as it is: primad.opaque, with a rule by primad.custom_jvp"
_CONVERSIONS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require")
"""Functions of NumPy's that make arrays of lists, and that primad.numpy has."""


def _special(now: Doing, name: str) -> str:
    assert isinstance(now.node, ast.Call)
    if recorded_by(UFUNCS, now.value(now.node.func)) or recorded_by(FUNCTIONS, now.value(now.node.func)):
        return f"call primad.numpy.special.{name}"
    return f"primad has no {name}: write it with functions of primad.numpy.special, or {CALLED_AS_IT_IS}"


def in_primads_names(now: Doing) -> str:
    """Return the expression with primad.numpy's functions for NumPy's that were given lists; "" if there are none."""
    if now.node is None:
        return ""
    renamed = _InPrimadsNames(now)
    text = ast.unparse(renamed.visit(ast.parse(ast.unparse(now.node), mode="eval").body))
    if not renamed.changed:
        return ""
    shown = text if len(text) <= 2 * LONGEST else f"{renamed.changed}(…)"
    return f"write {shown}: primad.numpy takes traced values in lists."


class _InPrimadsNames(ast.NodeTransformer):
    """Gives calls of NumPy's functions of lists the names of primad's that take lists with traced values.

    Attributes:
        changed: the last function of primad's that it named; "" if there is none.
    """

    def __init__(self, now: Doing) -> None:
        self.now = now
        self.changed = ""

    def visit_Call(self, call: ast.Call) -> ast.Call:
        """Rename one call."""
        self.generic_visit(call)
        function, module = self.now.value(call.func), self.now.module_of(call)
        name = self.now.name_of(call.func)
        if (
            module.startswith("scipy.linalg")
            and name in RECORDED["scipy.linalg"]
            and (self.changed or _has_list(self.now, call))
        ):
            self.changed = f"primad.scipy.linalg.{name}"
            call.func = ast.parse(self.changed, mode="eval").body
            return call
        if not module.startswith(("numpy", "scipy.special")) or not _has_list(self.now, call):
            return call
        if name == "fromiter" and isinstance(call.args[0], ast.GeneratorExp):
            items = ast.ListComp(call.args[0].elt, call.args[0].generators)
            call = ast.Call(call.func, [items, *call.args[1:2]], call.keywords)
            name = "array"
        if name in _CONVERSIONS or recorded_by(UFUNCS, function) or recorded_by(FUNCTIONS, function):
            inner = next((f"{part}." for part in module.split(".") if part in ("fft", "linalg", "special")), "")
            self.changed = f"primad.numpy.{inner}{name}"
            call.func = ast.parse(self.changed, mode="eval").body
        return call


def made_again(now: Doing, objects: CodePlace | None, always: bool = False) -> str:
    """Say how to make an array of objects as a traced array, if an expression has such an array; otherwise "".

    Args:
        now: the expression.
        objects: where NumPy last made an array of objects of traced numbers.
        always: whether it is known to have one.
    """
    if objects is None or now.node is None:
        return ""
    names = [node.id for node in ast.walk(now.node) if isinstance(node, ast.Name) and holds_traced(now.value(node))]
    if not names and not always:
        return ""
    again = in_primads_names(doing_at(objects)).removeprefix("write ").partition(": primad.numpy")[0]
    if not names and not again:
        return ""
    there = f"{f'{names[0]} = ' if names else ''}{again or 'primad.numpy.array([…])'}"
    return f"make the array with primad.numpy: {there}, in {objects.shown_line}."


def unknown(what: str, type: object, objects: CodePlace | None) -> TracingError:
    """Return the error for a question for a value where only types are known.

    Args:
        what: what was asked for.
        type: the type of the traced array.
        objects: where NumPy last made an array of objects of traced numbers.
    """
    now = doing(users_frame())
    fix = in_primads_names(now) or made_again(now, objects)
    if not fix and isinstance(now.node, ast.Call) and now.module.startswith("scipy"):
        fix = way_out(now)
    if not fix and isinstance(now.node, ast.Subscript):
        fix = _indexed(now)
    error = TracingError(
        f"Python asked for {what} of a traced array of type {type}",
        why="While primad records a function for jit, vmap or trace, arrays have a type but no value, so Python cannot "
        "branch on them.",
        fix=fix
        or "use primad.numpy.where to choose, primad.numpy.take to index a plain array with a traced one, or make the "
        "argument static: jit's static_argnums, or a variable that the function closes over.",
    )
    error.only_types = True
    return error


def _indexed(now: Doing) -> str:
    """Say how to take elements of a plain array, or of a list, at traced places; "" of anything else."""
    assert isinstance(now.node, ast.Subscript)
    owner = now.value(now.node.value)
    if not isinstance(owner, (np.ndarray, list, tuple)) or now.stores:
        return ""
    text = ast.unparse(now.node)
    name = ast.unparse(now.node.value)
    index = ast.unparse(now.node.slice)
    joined = f"primad.numpy.array({name})"
    taken = joined + text.removeprefix(name)
    if isinstance(owner, np.ndarray) and not isinstance(now.node.slice, (ast.Tuple, ast.Slice)):
        return f"primad.numpy.take({name}, {index}, axis=0), or {taken}, takes elements at traced places."
    return f"{taken} takes elements at traced places."


def _written(now: Doing) -> str:
    """Say how to write into an array."""
    assert isinstance(now.node, ast.Subscript)
    owner, index = ast.unparse(now.node.value), ast.unparse(now.node.slice)
    index = f"np.s_[{index}]" if any(isinstance(part, ast.Slice) for part in ast.walk(now.node.slice)) else index
    changed = f"{owner} = primad.numpy.set_at({owner}, {index}, {now.assigned or 'value'})"
    made = f"{owner} = primad.numpy.array({owner}) before: arrays that primad.numpy makes may be written to"
    return f"{made}; or {changed}."


def _is_computed_again(frame: FrameType, now: Doing) -> bool:
    """Say whether what catches the refusal calls a recorded function that computes the same of the same arguments.

    `try: y = math.log(x)`, `except TypeError: y = np.log(x)` has the derivative of the logarithm either way.
    """
    refused, handler = now.node, handler_of(frame, now)
    if handler is None or not isinstance(refused, ast.Call):
        return False
    name = now.name_of(refused.func)
    names = name, _OTHER_NAMES.get(name, "").rpartition(".")[2]
    given = [ast.dump(arg) for arg in refused.args]
    return any(
        now.name_of(call.func) in names and [ast.dump(arg) for arg in call.args] == given and _is_recorded(now, call)
        for call in ast.walk(handler)
        if isinstance(call, ast.Call) and not call.keywords
    )


def _is_recorded(now: Doing, call: ast.Call) -> bool:
    """Say whether a call is of a function that primad records under its path, or of one of primad's."""
    function = now.value(call.func)
    return now.module_of(call).startswith("primad.") or any(recorded_by(each, function) for each in (UFUNCS, FUNCTIONS))


def _of_math(name: str) -> str:
    if name in _ROUNDING:
        return f"use {_ROUNDING[name]}(x), which is a float; int(x) is an integer that is known."
    if name in _OTHER_NAMES:
        return f"use {_OTHER_NAMES[name]}, which takes arrays and numbers."
    return f"use np.{name}, which takes arrays and numbers." if name in _IN_NUMPY else f"{READ}."


_IN_NUMPY = (
    "acosh", "asinh", "atanh", "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "hypot", "log", "log10",
    "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def _has_list(now: Doing, call: ast.Call) -> bool:
    """Say whether an argument is a list that may hold traced values; one of written numbers does not."""
    return any(is_list(now, arg) and not _is_written(arg) for arg in call.args)


def _is_written(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def is_list(now: Doing, node: ast.expr) -> bool:
    """Say whether an expression is a list, a tuple, or what makes one."""
    literal = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
    return isinstance(node, literal) or isinstance(now.value(node), (list, tuple))

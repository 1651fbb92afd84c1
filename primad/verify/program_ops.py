"""Cases of the ops that hold a program (jacobian, hessian, jvp, vjp, vmap, …), against SymPy's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops, tree
from primad.backends.exact import Evaluator, Numbers
from primad.functional.custom import Pullback, custom_jvp_, custom_pullback, custom_vjp_
from primad.functional.rules import Rule
from primad.ir.program import ClosedProgram
from primad.numpy.products import diagonal_, trace_
from primad.primitive import Primitive, as_tuple, one_or_all
from primad.programs.call import call
from primad.programs.checkpoint import checkpoint as checkpoint_
from primad.programs.consumers import hessian_, hessian_diagonal_, jacobian_
from primad.programs.matrices import hvp_, pullback_, pushforward_, whole
from primad.programs.ops import jvp_, vjp_, vmap_
from primad.programs.partials import partial_
from primad.recording import trace
from primad.transforms.batching import mapped
from primad.transforms.lowering import lower
from primad.transforms.reverse import transposed
from primad.types import ArrayType
from primad.verify.cases import Case, Choices, Example, Operand, Seeded, floats
from primad.verify.report import Row
from primad.verify.trial import Trial, close, run_floats

Array = np.ndarray[Any, Any]


def _body(x: Any, p: Any) -> tuple[Any, Any]:
    y = ops.sin(x) * p + x * ops.flip(x, axes=(0,))
    return y, ops.sum(ops.exp(x * p) * ops.flip(x, axes=(0,)), axes=(0,))


def _program() -> ClosedProgram:
    return ClosedProgram(trace(_body)(ArrayType((2,), float), ArrayType((2,), float)))


# -- what they mean ----------------------------------------------------------------------------------------------------


def _values(n: Numbers, of: ClosedProgram, arrays: Sequence[Array]) -> list[Array]:
    return Evaluator(n).run(of.hoisted, arrays)


def partial(y: Array, x: Array) -> Array:
    """Return all partial derivatives of the expressions y by the symbols x."""
    import sympy  # only a proof needs it

    out = np.empty((*y.shape, *x.shape), object)
    for i in np.ndindex(y.shape):
        for j in np.ndindex(x.shape):
            out[(*i, *j)] = sympy.diff(y[i], x[j])
    return out


def _block(full: Array, *blocks: Any) -> Array:
    return full[tuple(slice(*bounds) for block in blocks for bounds in block)]


def _jacobian(n: Numbers, *xs: Array, of: Any, output: int, argument: int, mode: str, rows: Any, columns: Any) -> Array:
    return _block(partial(_values(n, of, xs)[output], xs[argument]), rows, columns)


def _hessian(
    n: Numbers, *xs: Array, of: Any, output: int, first: int, second: int, rows: Any, left: Any, right: Any
) -> Array:
    return _block(partial(partial(_values(n, of, xs)[output], xs[first]), xs[second]), rows, left, right)


def _hvp(n: Numbers, *xs: Array, of: Any, output: int, argument: int, along: int) -> Array:
    *inputs, v = xs
    slope = partial(partial(_values(n, of, inputs)[output], inputs[argument]), inputs[along])
    return np.tensordot(slope, v, v.ndim)


def _hessian_diagonal(n: Numbers, *xs: Array, of: Any, output: int, argument: int, total: bool) -> Array:
    x = xs[argument]
    full = partial(partial(_values(n, of, xs)[output], x), x)
    found = np.diagonal(full, 0, -2, -1)
    return np.asarray(np.sum(found, axis=-1), object) if total else found


def _partial(n: Numbers, *xs: Array, of: Any, output: int, component: Any, groups: Any, points: int) -> Array:
    """Element by element, since the coordinates of a point are axes of the arguments."""
    import sympy  # only a proof needs it

    count = len(of.hoisted.inputs)
    xs, given = xs[:count], iter(xs[count:])
    weighted = [(n.number(sign) if sign else next(given)[()], terms) for sign, terms in groups]
    y = _values(n, of, xs)[output]
    y = y if component is None else y[..., component]
    out = np.empty(y.shape, object)
    for place in np.ndindex(y.shape):
        at = place[:points]
        total: Any = 0
        for weight, directions in ((weight, term) for weight, terms in weighted for term in terms):
            along = [xs[argument][at if index is None else (*at, index)] for argument, index in directions]
            total += weight * (sympy.diff(y[place], *along) if along else y[place])
        out[place] = total
    return out


def _pushforward(n: Numbers, *xs: Array, of: Any, output: int, argument: int) -> Array:
    *inputs, t = xs
    return np.tensordot(partial(_values(n, of, inputs)[output], inputs[argument]), t, t.ndim)


def _pullback(n: Numbers, *xs: Array, of: Any, output: int, argument: int) -> Array:
    *inputs, w = xs
    return np.tensordot(w, partial(_values(n, of, inputs)[output], inputs[argument]), w.ndim)


def _total(terms: Sequence[Any]) -> Array:
    return np.asarray(sum(terms[1:], terms[0]), object)


def _jvp(n: Numbers, *xs: Array, of: Any, active: tuple[bool, ...]) -> Any:
    inputs, given = xs[: len(active)], iter(xs[len(active) :])
    out = _values(n, of, inputs)
    moving = [(x, next(given)) for x, on in zip(inputs, active, strict=True) if on]
    return (*out, *[_total([np.tensordot(partial(y, x), t, x.ndim) for x, t in moving]) for y in out])


def _vjp(n: Numbers, *xs: Array, of: Any, active: tuple[bool, ...]) -> Any:
    inputs, cotangents = xs[: len(active)], xs[len(active) :]
    out = _values(n, of, inputs)
    pairs = list(zip(out, cotangents, strict=True))
    chosen = [x for x, on in zip(inputs, active, strict=True) if on]
    return (*out, *[_total([np.tensordot(w, partial(y, x), w.ndim) for y, w in pairs]) for x in chosen])


def _vmap(n: Numbers, *xs: Array, of: Any, batched: tuple[bool, ...], size: int) -> Any:
    return _stacked([_values(n, of, row) for row in _rows(xs, batched, size)])


def _mapped(n: Numbers, *xs: Array, of: Any, batched: tuple[bool, ...], size: int) -> Any:
    program = lower(of.hoisted)
    return _stacked([Evaluator(n).run(program, row) for row in _rows(xs, batched, size)])


def _stacked(rows: Sequence[Sequence[Array]]) -> Any:
    return one_or_all([np.stack(found) for found in zip(*rows, strict=True)])


def _rows(xs: Sequence[Array], batched: Sequence[bool], size: int) -> list[list[Array]]:
    return [[x[i] if on else x for x, on in zip(xs, batched, strict=True)] for i in range(size)]


def _same(n: Numbers, *xs: Array, of: Any, rule: Any = None) -> Any:
    return one_or_all(_values(n, of, xs))


def _transposed(n: Numbers, *xs: Array, of: Any, linear: tuple[bool, ...]) -> Any:
    """Row by row, the matrix of the map from the operands that it is linear in, times the cotangents."""
    kept, cotangents = iter(xs[: linear.count(False)]), xs[linear.count(False) :]
    types = of.hoisted.in_types
    operands = [np.zeros(type.shape, object) if on else next(kept) for type, on in zip(types, linear, strict=True)]
    found = []
    for place, on in enumerate(linear):
        if on:
            pulled = np.empty(types[place].shape, object)
            for index in np.ndindex(pulled.shape):
                unit = np.zeros(pulled.shape, object)
                unit[index] = 1
                out = _values(n, of, [unit if i == place else x for i, x in enumerate(operands)])
                pulled[index] = sum(np.sum(y * w) for y, w in zip(out, cotangents, strict=True))
            found.append(pulled)
    return one_or_all(found)


def _pulled(n: Numbers, *xs: Array, pullback: Pullback) -> Any:
    """The derivative of the body at the residuals, which may be numbers, along the tangents."""
    import sympy  # only a proof needs it

    x, p, *tangents = xs
    inputs = [np.array(sympy.symbols(f"{name}:2", real=True), object) for name in "vw"]
    point = dict(zip([*inputs[0], *inputs[1]], [*x, *p], strict=True))
    found = []
    for y in _values(n, _program(), inputs):
        total = _total([np.tensordot(partial(y, v), t, 1) for v, t in zip(inputs, tangents, strict=True)])
        found.append(np.array([value.subs(point) for value in total.flat], object).reshape(total.shape))
    return tuple(found)


# -- examples ----------------------------------------------------------------------------------------------------------


def _part(choose: Choices, shape: tuple[int, ...]) -> Any:
    return tuple([choose.among(((0, n, 1), (0, 1, 1), (n - 1, n, 1))) for n in shape])


def _draw(options: Callable[[Choices, ClosedProgram], tuple[dict[str, Any], list[tuple[int, ...]]]]) -> Any:
    """Return a drawer of the two arguments, further float operands, and the options."""

    def draw(choose: Choices) -> Example:
        of = _program()
        chosen, extra = options(choose, of)
        shapes = chosen.pop("shapes", [(2,), (2,)])
        operands = [floats(shape, -1.5, 1.5) for shape in (*shapes, *extra)]
        return Example(tuple(operands), {"of": of, **chosen})

    return draw


def _jacobian_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    rows, columns = _part(choose, of.out_types[output].shape), _part(choose, (2,))
    mode = choose.among(("auto", "forward", "reverse"))
    place = {"output": output, "argument": choose.integer(0, 1), "mode": mode}
    return {**place, "rows": rows, "columns": columns}, []


def _hessian_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    blocks = {"rows": whole(of.out_types[output].shape), "left": _part(choose, (2,)), "right": _part(choose, (2,))}
    return {"output": output, "first": choose.integer(0, 1), "second": choose.integer(0, 1), **blocks}, []


def _hvp_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": choose.integer(0, 1), "argument": choose.integer(0, 1), "along": choose.integer(0, 1)}
    return place, [(2,)]


def _diagonal_options(choose: Choices, of: ClosedProgram) -> Any:
    place = {"output": choose.integer(0, 1), "argument": choose.integer(0, 1)}
    return {**place, "total": bool(choose.integer(0, 1))}, []


def _at_points(x: Any, t: Any) -> tuple[Any, Any]:
    """Functions of two coordinates in one argument and one in another, at points that stay apart."""
    y = ops.reshape(ops.slice_(x, start=(0, 1), stop=(2, 2), step=(1, 1)), shape=(2,))
    return ops.sum(ops.sin(x) * x * x, axes=(1,)) * t * ops.exp(y), ops.sin(x) * ops.broadcast(
        t * t, shape=(2, 2), axes=(1,)
    )


def _draw_partial(choose: Choices) -> Example:
    types = (ArrayType((2, 2), float), ArrayType((2,), float))
    of = ClosedProgram(trace(_at_points)(*types))
    output = choose.integer(0, 1)
    coordinates = ((0, 0), (0, 1), (1, None))
    signs = choose.among(((1,), (0,), (1, 0), (0, 0, -1)))
    groups = tuple(
        (sign, tuple([_draw_term(choose, coordinates) for _ in range(choose.integer(1, 2))])) for sign in signs
    )
    component = choose.among((None, 0, 1)) if output else None
    options = {"of": of, "output": output, "component": component, "groups": groups, "points": 1}
    return Example(tuple(floats(shape, -1.5, 1.5) for shape in ((2, 2), (2,), *((),) * signs.count(0))), options)


def _draw_term(choose: Choices, coordinates: Sequence[Any]) -> Any:
    return tuple([choose.among(coordinates) for _ in range(choose.integer(0, 3))])


def _forward_options(choose: Choices, of: ClosedProgram) -> Any:
    return {"output": choose.integer(0, 1), "argument": choose.integer(0, 1)}, [(2,)]


def _reverse_options(choose: Choices, of: ClosedProgram) -> Any:
    output = choose.integer(0, 1)
    return {"output": output, "argument": choose.integer(0, 1)}, [of.out_types[output].shape]


def _jvp_options(choose: Choices, of: ClosedProgram) -> Any:
    active = choose.among(((True, True), (True, False), (False, True)))
    return {"active": active}, [(2,)] * sum(active)


def _vjp_options(choose: Choices, of: ClosedProgram) -> Any:
    active = choose.among(((True, True), (True, False), (False, True)))
    return {"active": active}, [(2,), ()]


def _vmap_options(choose: Choices, of: ClosedProgram) -> Any:
    batched = choose.among(((True, True), (True, False), (False, True)))
    shapes = [(2, 2) if on else (2,) for on in batched]
    return {"batched": batched, "size": 2, "shapes": shapes}, []


def _custom_jvp_options(choose: Choices, of: ClosedProgram) -> Any:
    """A rule that is right: the program's own derivative."""
    active = (True, True)

    def rule(primals: Any, tangents: Any) -> Any:
        found = jvp_(*primals, *tangents, of=of, active=active)
        return found[:2], found[2:]

    return {"rule": Rule("body", *_trees(), jvp=rule)}, []


def _custom_vjp_options(choose: Choices, of: ClosedProgram) -> Any:
    def forward(*primals: Any) -> Any:
        return _body(*primals), primals

    def backward(residuals: Any, cotangents: Any) -> Any:
        return vjp_(*residuals, *cotangents, of=of, active=(True, True))[2:]

    return {"rule": Rule("body", *_trees(), forward=forward, backward=backward)}, []


def _ruled(body: Callable[..., Any], count: int) -> ClosedProgram:
    """Return the program that applies a function of two results with a rule of its own, which is right."""

    def rule(primals: Any, tangents: Any) -> Any:
        of = ClosedProgram(trace(body)(*types))
        found = jvp_(*primals, *tangents, of=of, active=(True,) * count)
        return found[:2], found[2:]

    types = [ArrayType((2,), float)] * count
    of, trees = ClosedProgram(trace(body)(*types)), (tree.flatten((0.0,) * count)[1], _trees()[1])
    made = Rule("body", *trees, jvp=rule)
    return ClosedProgram(trace(lambda *xs: custom_jvp_(*xs, of=of, rule=made))(*types))


def _linear_body(t: Any, x: Any) -> tuple[Any, Any]:
    return ops.sin(x) * t + ops.flip(t, axes=(0,)) * x * x, ops.exp(x) * t


def _draw_same(choose: Choices) -> Example:
    operands = (floats((2,), -1.5, 1.5), floats((2,), -1.5, 1.5))
    if choose.integer(0, 1):
        return Example(operands, {"of": _program()})
    return Example(operands, {"of": ClosedProgram(trace(_linear_body)(*[x.type for x in operands]))}, linear=(0,))


def _draw_mapped(choose: Choices) -> Example:
    batched = choose.among(((True, True), (True, False), (False, True)))
    operands = [floats((2, 2) if on else (2,), -1.5, 1.5) for on in batched]
    of = _ruled(_body, 2)
    return Example(tuple(operands), {"of": of, "batched": batched, "size": 2})


def _draw_transposed(choose: Choices) -> Example:
    of = _ruled(_linear_body, 2)
    operands = (floats((2,), -1.5, 1.5), floats((2,)), floats((2,)))
    return Example(operands, {"of": of, "linear": (True, False)})


def _draw_pulled(choose: Choices) -> Example:
    """Residuals are numbers: it is linear in the other operands."""
    type = ArrayType((2,), float)
    rule = _custom_vjp_options(choose, _program())[0]["rule"]
    pullback = Pullback(rule, _trees()[0], (type, type), tuple(_program().out_types))
    fixed = [Operand(type, literal=choose.integer(1, 7) / 4) for _ in range(2)]
    return Example((*fixed, floats((2,)), floats((2,))), {"pullback": pullback})


def _trees() -> tuple[Any, Any]:
    return tree.flatten((0.0, 0.0))[1], tree.flatten((0.0, 0.0))[1]


_TABLE: tuple[tuple[Primitive, Any, Any], ...] = (
    (jacobian_, _jacobian_options, _jacobian),
    (hessian_, _hessian_options, _hessian),
    (hvp_, _hvp_options, _hvp),
    (hessian_diagonal_, _diagonal_options, _hessian_diagonal),
    (pushforward_, _forward_options, _pushforward),
    (pullback_, _reverse_options, _pullback),
    (jvp_, _jvp_options, _jvp),
    (vjp_, _vjp_options, _vjp),
    (vmap_, _vmap_options, _vmap),
    (custom_jvp_, _custom_jvp_options, _same),
    (custom_vjp_, _custom_vjp_options, _same),
)

PROGRAM_OP_CASES: tuple[Case, ...] = (
    *(
        Case(op, _draw(options), 4, meaning, symbols_only=True, reverse_only=op is custom_vjp_)
        for op, options, meaning in _TABLE
    ),
    Case(partial_, _draw_partial, 6, _partial, symbols_only=True),
    *(Case(op, _draw_same, 4, _same, symbols_only=True) for op in (call, checkpoint_)),
    Case(mapped, _draw_mapped, 4, _mapped, symbols_only=True),
    Case(transposed, _draw_transposed, 4, _transposed, symbols_only=True),
    Case(custom_pullback, _draw_pulled, 4, _pulled, symbols_only=True, reverse_only=True),
)


# -- consumers ---------------------------------------------------------------------------------------------------------


def _consumers(x: Any, v: Any) -> list[tuple[str, Any, Any]]:
    """Return ops applied to a value, by NumPy and as recorded."""
    found: list[tuple[str, Any, Any]] = []
    for axis in range(x.ndim):
        n = x.shape[axis]
        start = tuple(n - 1 if i == axis else 0 for i in range(x.ndim))
        bounds = {"start": start, "stop": tuple(x.shape), "step": (1,) * x.ndim}
        found.append((f"slice along {axis}", ops.slice_, ((x,), bounds)))
        found.append((f"sum along {axis}", ops.sum, ((x,), {"axes": (axis,)})))
        letters = "abcdef"[: x.ndim]
        labels = f"{letters},{letters[axis]}->{letters.replace(letters[axis], '')}"
        if n == 2:
            found.append((f"contract along {axis}", ops.contract, ((x, v), {"labels": labels})))
        for other in range(axis):
            if x.shape[other] == n:
                params = {"axis1": other, "axis2": axis}
                found.append((f"trace of {other}, {axis}", trace_, ((x,), params)))
                found.append((f"diagonal of {other}, {axis}", diagonal_, ((x,), params)))
    return found


def consumers_row(case: Case, op: Primitive, source: Callable[[str], Choices] = Seeded) -> Row | None:
    """Each op that may choose how its operand is computed gives what it gives on the computed operand."""
    if not op.consumed or case.through is not None:  # that of a result is its op's
        return None
    count = 0
    for index in range(case.examples):
        trial = Trial(case, op, source(f"{op.name}, {index}"))
        v = np.array([0.75, -1.25])
        uses = [use for value in trial.results(trial.values) for use in _consumers(value, v)]
        expected = [(name, f.numpy(*args, **params)) for name, f, (args, params) in uses]

        def body(*arrays: Any, trial: Trial = trial, v: Any = v) -> list[Any]:
            found = as_tuple(op(*arrays, **trial.example.params))
            return [f(*args, **params) for value in found for _, f, (args, params) in _consumers(value, v)]

        if not expected:
            continue
        found = run_floats(trace(body)(*trial.example.types), trial.values)
        for (name, right), got in zip(expected, found, strict=True):
            close(f"{trial.where()} consumed by {name}", right, got, trial)
            count += 1
    return Row(op.name, "consumers", "tested", f"{count} uses")

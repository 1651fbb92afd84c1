"""`jit` and keys: what Python can tell apart is another plan, and what is the same is found again."""

import operator
import zlib
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.functional.jit import MOST_ENTRIES
from primad.ir.node import params_key
from primad.native.llvm.compiler import compiler

Point = namedtuple("Point", "x y")


@dataclass
class Pair:
    first: object
    second: object


@dataclass(frozen=True)
class Config:
    gamma: object
    mode: object = None

    def scaled(self, x):
        return x


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 2


def text_of(value):
    """Write everything that Python can tell of a value, in order."""
    if isinstance(value, dict):
        return f"{type(value)}{[(text_of(key), text_of(item)) for key, item in value.items()]}"
    if isinstance(value, (Pair, Config)):
        return f"{type(value)}{[(key, text_of(item)) for key, item in vars(value).items()]}"
    if isinstance(value, (list, tuple, frozenset)):
        return f"{type(value)}{[text_of(item) for item in value]}"
    if isinstance(value, partial):
        return f"partial{value.func}{text_of(value.args)}{text_of(value.keywords)}"
    if hasattr(value, "__func__"):
        return f"method{value.__func__}{text_of(value.__self__)}"
    return "*" if hasattr(value, "shape") and not isinstance(value, np.generic) else f"{type(value)}{value!r}"


def weight(value):
    return float(zlib.crc32(text_of(value).encode()) % 1000 + 2)


def leaves_in_order(value):
    """Return the numbers of a tree as Python meets them."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves_in_order(item)]
    if isinstance(value, Pair):
        return leaves_in_order(value.first) + leaves_in_order(value.second)
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves_in_order(item)]
    return [] if value is None else [value]


def same(x, y):
    """Say whether two trees have equal numbers, containers and order of keys."""
    if isinstance(x, dict):
        return type(x) is type(y) and list(x) == list(y) and all(same(x[key], y[key]) for key in x)
    if isinstance(x, Pair):
        return isinstance(y, Pair) and same(x.first, y.first) and same(x.second, y.second)
    if isinstance(x, (list, tuple)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if x is None or y is None:
        return x is y
    return np.shape(x) == np.shape(y) and bool(np.allclose(x, y, rtol=1e-12))


def outline(value):
    """Write a tree without its numbers, which are arguments and no part of the plan."""
    if isinstance(value, dict):
        return f"{type(value)}{[(text_of(key), outline(item)) for key, item in value.items()]}"
    if isinstance(value, Pair):
        return f"Pair{outline(value.first), outline(value.second)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value)}{[outline(item) for item in value]}"
    return "None" if value is None else f"{type(value)}{np.shape(value)}"


def looking(tree, **named):
    """A function that sees all that there is to see."""
    weights = float(zlib.crc32(outline_of_traced((tree, named)).encode()) % 1000 + 2)
    total = sum((i + 1) * np.sum(leaf) for i, leaf in enumerate(leaves_in_order((tree, named))))
    return weights * total * 1.0, {"z": tree, "a": named}


def outline_of_traced(value):
    if isinstance(value, dict):
        return f"{type(value)}{[(text_of(key), outline_of_traced(item)) for key, item in value.items()]}"
    if isinstance(value, Pair):
        return f"Pair{outline_of_traced(value.first), outline_of_traced(value.second)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value)}{[outline_of_traced(item) for item in value]}"
    return "None" if value is None else f"{np.shape(value)}"


numbers = st.sampled_from([0.5, 2.0, -3.0, np.array([1.0, 2.0]), np.float64(1.5)])
keys = st.sampled_from(["a", "b", "".join(["a", "b"]), "c"]) | st.sampled_from([1, True, 1.0, 2, (1, "a"), (True, "a")])


def dicts(children):
    """Dicts of a few keys in any order."""
    return st.lists(st.tuples(keys, children), max_size=3).map(dict)


trees = st.recursive(
    numbers | st.none(),
    lambda children: (
        dicts(children)
        | dicts(children).map(OrderedDict)
        | dicts(children).map(lambda d: defaultdict(int, d))
        | st.lists(children, max_size=2)
        | st.tuples(children, children)
        | st.builds(Point, children, children)
        | st.builds(Pair, children, children)
    ),
    max_leaves=5,
)


@given(st.lists(st.tuples(trees, st.permutations(["p", "q"])), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_jit_sees_trees_as_python_does(calls):
    """Whatever was called before, and in whatever order keys stand: values and structure are the function's own."""
    compiled = primad.jit(looking)
    for tree, order in [*calls, *calls]:
        named = {name: 0.5 + i for i, name in enumerate(sorted(order))}
        named = {name: named[name] for name in order}
        assert same(looking(tree, **named), compiled(tree, **named))


two = st.permutations(["a", "b", "c"])


@given(st.lists(two, min_size=2, max_size=4))
@settings(max_examples=20, deadline=None)
def test_gradients_have_the_order_of_their_arguments(orders):
    def loss(d):
        return sum((i + 1) * np.sum(v**2) for i, v in enumerate(d.values()))

    compiled = primad.jit(primad.grad(loss))
    for order in orders:
        given = {key: 1.0 + ord(key) for key in order}
        expected = {key: 2.0 * (i + 1) * given[key] for i, key in enumerate(order)}
        assert same(expected, primad.grad(loss)(given))
        assert same(expected, compiled(given))
        reversed_ = dict.fromkeys(reversed(order), 1.0)  # a direction may list its keys in any order
        assert primad.jvp(loss, (given,), (reversed_,))[1] == sum(expected.values())


def test_a_program_says_that_keys_stand_in_another_order():
    program = primad.trace(lambda d: d["a"] - d["b"])({"a": 1.0, "b": 2.0})
    assert program({"a": 5.0, "b": 2.0}) == 3.0
    with pytest.raises(primad.ShapeError, match="order of keys is part of what was recorded"):
        program({"b": 2.0, "a": 5.0})


def a_function(x):
    return x


confusable = [
    0, 0.0, -0.0, False, np.float64(-0.0), np.float32(0), 2, 2.0, np.int32(2), np.int64(2), np.float32(2), True, 1, 1.0,
    float("nan"), np.float64("nan"), 2 + 0j, complex(2, -0.0), "2", b"2", None, ..., Fraction(2), Fraction(2, 1),
    Decimal("1.0"), Decimal("1.00"), Colour.RED, Level.LOW, np.dtype("f4"), np.float32, range(0), range(1, 1),
    frozenset([0, 8]), frozenset([8, 0]), frozenset([2]), frozenset([2.0]), a_function, np.sin,
]  # fmt: skip
statics = st.recursive(
    st.sampled_from(confusable),
    lambda children: (
        st.lists(children, max_size=2).map(tuple)
        | st.builds(Point, children, children)
        | st.builds(Config, children, children)
        | st.builds(partial, st.just(a_function), children, k=children)
        | st.builds(lambda value: Config(value).scaled, children)
    ),
    max_leaves=3,
)


@given(st.lists(statics, min_size=1, max_size=6))
@settings(max_examples=80, deadline=None)
def test_jit_sees_static_arguments_as_python_does(values):
    """Each value that Python can tell from the earlier ones is recorded, and each only once; what native functions
    answer without looking at trees is the same."""
    recorded = []

    def f(x, value):
        recorded.append(value)
        return x * weight(value)

    compiled = primad.jit(f, static_argnums=1)
    for value in [*values, *values]:
        assert compiled(2.0, value) == 2.0 * weight(value)
    assert len(recorded) == len({text_of(value) for value in values})
    for value in values if compiler() is not None else ():
        assert without_trees(compiled, 2.0, value) == 2.0 * weight(value)


def without_trees(compiled, *args):
    """Call a jitted function whose native functions must take the arguments as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(primad.recording.tree, "flatten", None)
        return compiled(*args)


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
def test_native_functions_of_static_arguments_are_found_again(monkeypatch):
    """Also with static arguments before and between others, of several types, and when many came between."""
    f = primad.jit(lambda n, x, power, y: n * x**power + np.sum(y), static_argnums=(0, -2))
    arguments = [1.5, np.ones(3), np.float32(0.5), np.ones((2, 2), np.float32)]
    calls = list(product((1, True, 1.0, 2), arguments, (2, 2.0), arguments[:2]))
    expected = [f(*call) for call in calls]
    for call, value in zip(calls, expected, strict=True):
        assert same(without_trees(f, *call), value)
    monkeypatch.setattr("primad.functional.jit.MOST_KEPT", 2)
    f(3, *calls[0][1:])
    assert same(f(*calls[0]), expected[0])
    assert same(without_trees(f, *calls[0]), expected[0])


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
@pytest.mark.parametrize("static", [False, True])
def test_native_functions_that_are_tried_in_turn_are_few(static):
    """However many types come: the others are found by their keys, and each only once."""
    f = primad.jit(lambda x, n: x * n + 1.0, static_argnums=1 if static else ())
    held = f.programs.__self__
    for _ in range(2):
        for length in range(1, MOST_ENTRIES + 4):
            assert same(f(np.ones(length), 2.0), np.full(length, 3.0))
    tried = next(iter(held.entries.values())) if static else [held.first, *held.others]
    assert len(tried) == len({*map(id, tried)}) == MOST_ENTRIES
    assert len(held.programs()) == (0 if static else MOST_ENTRIES + 3)


class Vague:
    """Equal to anything, and what it holds cannot be told."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __reduce_ex__(self, protocol):
        raise ValueError("no")


class Chain:
    """Equal if its next is."""

    def __init__(self):
        self.next = self

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "'way' is not hashable"),
        (np.ones(2), "'way' is not hashable"),
        (Config(Vague()), "'way' of type Config cannot be compared"),
        (Vague(), "the class vague has an equality of its own"),
        (partial(a_function, np.ones(2)), "it is an array, or holds one"),
        (Chain(), "nested too deeply"),
    ],
)
def test_static_arguments_without_a_key_are_refused(value, message):
    with pytest.raises(primad.TracingError, match="(?i)" + message):
        primad.jit(lambda x, way: x, static_argnums=1)(1.0, value)


def test_objects_without_an_equality_are_themselves():
    """They are as they were when the function was recorded, like what it closes over."""

    class Model:
        def __init__(self, scale):
            self.scale = scale

        def apply(self, x):
            return self.scale * x

    f = primad.jit(lambda model, x: model.apply(x), static_argnums=0)
    one, two = Model(1.0), Model(2.0)
    assert (f(one, 3.0), f(two, 3.0), f(one, 3.0)) == (3.0, 6.0, 3.0)
    g = primad.jit(lambda apply, x: apply(x), static_argnums=0)
    assert (g(one.apply, 3.0), g(two.apply, 3.0)) == (3.0, 6.0)


def test_a_keyword_that_holds_no_array_is_no_default():
    f = primad.jit(lambda x, scale=3.0: x if scale is None else x * scale)
    assert f(1.0, scale=None) == 1.0
    assert f(1.0) == 3.0


def deep(depth, wrap):
    tree = 1.0
    for _ in range(depth):
        tree = wrap(tree)
    return tree


def cyclic(make, close):
    tree = make()
    close(tree)
    return [1.0, {"inner": tree}]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("depth", "wrap"),
    [
        (20_000, lambda x: [x]),
        (2000, lambda x: (x, 2.0)),
        (2000, lambda x: {"a": x}),
        (2000, lambda x: Pair(x, None)),
    ],
)
def test_deep_trees_say_how_deep(depth, wrap):
    def depth_of(tree):
        count = 0
        while not hasattr(tree, "shape"):
            tree = tree.first if isinstance(tree, Pair) else next(iter(tree.values() if type(tree) is dict else tree))
            count += 1
        return count * 1.0

    shallow = deep(950, wrap)
    assert primad.jit(depth_of)(shallow) == 950.0
    tree = deep(depth, wrap)
    for call in (primad.jit(depth_of), primad.grad(depth_of), primad.vmap(depth_of), primad.trace(depth_of)):
        with pytest.raises(primad.PrimadError, match=rf"nested {depth // 10}\d deep"):
            call(tree)
    with pytest.raises(primad.PrimadError, match=rf"nested {depth // 10}\d deep"):
        primad.jit(lambda x: deep(depth, lambda y: [y]))(1.0)


@pytest.mark.parametrize(
    "tree",
    [
        cyclic(list, lambda x: x.append(x)),
        cyclic(dict, lambda x: x.update(again=x)),
        cyclic(lambda: Pair(1.0, None), lambda x: setattr(x, "second", (x,))),
    ],
)
def test_trees_that_contain_themselves_are_refused(tree):
    for call in (primad.jit(lambda x: 1.0), primad.grad(lambda x: 1.0), primad.trace(lambda x: 1.0)):
        with pytest.raises(primad.PrimadError, match="contains itself"):
            call(tree)


@given(
    st.recursive(
        st.sampled_from(
            [1.5, 2, True, None, "text", np.ones(2), np.float64(0.5), np.float32(0.5), np.int64(3), Colour.RED]
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.tuples(inner, inner).map(lambda parts: Pair(*parts)),
        ),
        max_leaves=6,
    )
)
@settings(max_examples=150, deadline=None)
def test_trees_that_are_known_are_what_optree_makes_of_them(value):
    """Arrays, numbers and tuples of them; what is remembered of classes and lengths is bounded."""
    leaves, structure = primad.recording.tree.flatten(value)
    wanted, known = optree.tree_flatten(value, namespace=primad.recording.tree.NAMESPACE)
    assert structure == known and hash(structure) == hash(known) and str(structure) == str(known)
    assert all(map(operator.is_, leaves, wanted)) and len(leaves) == len(wanted)
    again = primad.recording.tree.unflatten(structure, leaves)
    assert type(again) is type(value)
    assert all(map(operator.is_, primad.recording.tree.leaves(again), leaves))
    for cache in (primad.recording.tree.flat, primad.recording.tree._is_array, primad.recording.tree._is_leaf):
        assert cache.cache_info().currsize <= cache.cache_info().maxsize <= 1024


def test_params_that_python_takes_for_equal_have_keys_of_their_own():
    """Also inside of tuples; params of integers, texts and tuples of them are their own key."""
    values = [1, 1.0, True, 0, 0.0, -0.0, False, None, "1"]
    values += [(1,), (1.0,), (True,), (0.0,), (-0.0,), ((1,), 1), ((1,), 1.0), ((True,), 1), (1, None), ("1",), ()]
    keys = [params_key((("axis", 1), ("value", value))) for value in values]
    assert len(set(keys)) == len(keys)
    for params in ((), (("axes", (0, 1)), ("name", "x")), (("shape", ()), ("wide", None))):
        assert params_key(params) is params


@pytest.mark.parametrize("odd", ["sin", object(), len], ids=["text", "object", "function"])
def test_an_argument_that_is_no_array_names_static_argnums(odd):
    def scaled(x, y, how):
        return 2 * x + y

    with pytest.raises(primad.TracingError, match=r"cannot be traced(?s:.*)static_argnums=2, by its position"):
        primad.jit(scaled)(1.0, 2, odd)
    assert primad.jit(scaled, static_argnums=2)(1.0, 2, odd) == 4
    with pytest.raises(primad.TracingError, match=r"static_argnums=\(1, 2\)"):
        primad.jit(scaled, static_argnums=1)(1.0, 2, odd)

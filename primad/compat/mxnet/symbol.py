"""Symbols: what is to be computed, named and put together without a value."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from primad.compat.mxnet.errors import MXNetError, NotImplementedForSymbol
from primad.compat.mxnet.graph.name_scopes import current_manager, current_scope
from primad.compat.mxnet.graph.shape_rules import known
from primad.compat.mxnet.graph.symbol_graph import HIDDEN_KEYS, Entry, Node, stored, substitute, topological, variables
from primad.compat.mxnet.graph.symbol_json import from_json, readable, to_json
from primad.compat.mxnet.graph.type_inference import shapes_around, types_around
from primad.compat.mxnet.imperative.array_operand import Operand, elementwise_pair
from primad.compat.mxnet.imperative.operator_calls import function_of, sort_arguments, unknown_input
from primad.compat.mxnet.imperative.operator_parameters import plain
from primad.compat.mxnet.operators import TABLE, Operator
from primad.system.process import made_once


class Symbol(Operand):
    """One or more outputs of a graph of operators.

    Symbols are made by `Variable`, by the operators' functions and by Python's operators; `bind` gives them values.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        >>> c = mx.sym.FullyConnected(a, name="fc", num_hidden=2) + b
        >>> c.list_arguments()
        ['a', 'fc_weight', 'fc_bias', 'b']
    """

    bind: ClassVar[Callable[..., Any]]
    """Binds the symbol to arrays; set by the executor, which lies above symbols. So are the next two."""
    simple_bind: ClassVar[Callable[..., Any]]
    eval: ClassVar[Callable[..., Any]]

    __slots__ = ("_entries",)
    _pairs = staticmethod(elementwise_pair)
    _written = "a Symbol"

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The outputs, pairs of a node and the number of its output."""
        return self._entries

    # -- names ---------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name of the operator or variable; None for a group."""
        nodes = {entry.node for entry in self._entries}
        return next(iter(nodes)).name if len(nodes) == 1 else None

    def list_arguments(self) -> list[str]:
        """Return the names of the variables that are arguments, in the order of a depth-first walk."""
        return [node.name for node in self.arguments()]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the variables that are auxiliary states."""
        return [node.name for node in self.states()]

    def list_inputs(self) -> list[str]:
        """Return the names of all variables."""
        return [node.name for node in topological(self._entries) if node.operator is None]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [entry.node.output_name(entry.index) for entry in self._entries]

    def arguments(self) -> list[Node]:
        """Return the variables that are arguments."""
        return variables(topological(self._entries))[0]

    def states(self) -> list[Node]:
        """Return the variables that are auxiliary states."""
        return variables(topological(self._entries))[1]

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(str(symbol.name) for symbol in self)}]>"
        return f"<Symbol {self.name}>"

    # -- attributes ----------------------------------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """Return an attribute of the symbol, or None."""
        if self.name is None:
            return None
        return _listed(self._entries[0].node).get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes of the symbol itself."""
        if recursive:
            raise DeprecationWarning(
                "Symbol.list_attr with recursive=True has been deprecated. Please use attr_dict instead."
            )
        return {} if self.name is None else _listed(self._entries[0].node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of all nodes that have any, by name."""
        return {node.name: found for node in topological(self._entries) if (found := _listed(node))}

    def _set_attr(self, **attributes: str) -> None:
        """Set attributes of the symbol, and of every symbol that shares its node."""
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ValueError("Set Attr only accepts string values")
            self._entries[0].node.attributes[stored(key)] = value

    # -- parts ---------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return iter([Symbol([entry]) for entry in self._entries])

    def __getitem__(self, index: int | str | slice) -> Symbol:
        names = self.list_outputs()
        if isinstance(index, slice):
            return Symbol(self._entries[index])
        if isinstance(index, str):
            if names.count(index) > 1:
                raise ValueError(f'There are multiple outputs with name "{index}"')
            if index not in names:
                raise ValueError(f'Cannot find output that matches name "{index}"')
            index = names.index(index)
        if not isinstance(index, int):
            raise TypeError("Symbol only support integer index to fetch i-th output")
        if not -len(names) <= index < len(names):
            raise IndexError(f"there is no output {index}: the symbol has {len(names)}")
        return Symbol([self._entries[index]])

    def get_internals(self) -> Symbol:
        """Return a symbol of all outputs of all nodes, inputs first."""
        nodes = topological(self._entries)
        return Symbol([Entry(node, i) for node in nodes for i in range(node.output_count)])

    def get_children(self) -> Symbol | None:
        """Return a symbol of the direct inputs, None for a variable."""
        inputs = [entry for node in dict.fromkeys(entry.node for entry in self._entries) for entry in node.inputs]
        return Symbol(inputs) if inputs else None

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Return a copy in which open variables are replaced by symbols.

        Args:
            args: not accepted: variables are named.
            kwargs: symbols by the names of variables; and `name`, a new name for the result.

        Raises:
            MXNetError: for a variable that does not exist.
            TypeError: for a value that is no symbol.
        """
        name = kwargs.pop("name", None)
        if args:
            raise MXNetError("General composition only support kwargs for now", fix="name the variables: net(data=x).")
        replaced: dict[Node, Entry] = {}
        leaves = [node for node in topological(self._entries) if node.operator is None]
        for key, value in kwargs.items():
            if not isinstance(value, Symbol):
                raise TypeError("Compose expect `Symbol` as arguments")
            found = [node for node in leaves if node.name == key]
            if not found:
                raise unknown_input(key, self.list_inputs())
            replaced.update(dict.fromkeys(found, _single(value, key)))
        entries = substitute(self._entries, replaced)
        if name:
            entries[0].node.name = name
        return Symbol(entries)

    # -- copies and texts ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Symbol:
        return Symbol(substitute(self._entries, {}))

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return load_json, (self.tojson(),)

    def tojson(self) -> str:
        """Return the graph as a JSON text, which MXNet 1.9.1 reads."""
        return to_json(self._entries)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the JSON text to a file."""
        Path(fname).write_text(self.tojson(), encoding="utf-8")

    def debug_str(self) -> str:
        """Return the graph as a readable text."""
        return readable(self._entries)

    # -- shapes and dtypes ---------------------------------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Complete shapes, from inputs to outputs and back.

        Args:
            args: shapes of the arguments, in the order of `list_arguments`; 0 for a length and None for a shape that is
                not known.
            kwargs: or shapes by name.

        Returns:
            shapes of the arguments, outputs and auxiliary states; (None, None, None), with a warning, if some stay
            unknown.

        Raises:
            ValueError: for arguments both by place and by name.
            TypeError: for a shape that is no tuple.
            MXNetError: for an unknown name, and for shapes that contradict each other.
        """
        found = shapes_around(self._entries, args, kwargs)
        if all(known(shape) for part in found for shape in part):
            return found
        names = zip(self.list_arguments(), found[0], strict=True)
        unknown = "\n\t".join(f"{name}: {() if shape is None else shape}" for name, shape in names if not known(shape))
        warnings.warn(
            "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
            f"Consider providing them as input:\n\t{unknown}",
            stacklevel=2,
        )
        return None, None, None

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Complete shapes as `infer_shape`; what stays unknown is 0, or () for a whole shape."""
        arguments, outputs, states = (
            [() if shape is None else shape for shape in part] for part in shapes_around(self._entries, args, kwargs)
        )
        return arguments, outputs, states

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Complete dtypes; as `infer_shape`, with NumPy's scalar types."""
        found = types_around(self._entries, args, kwargs)
        if all(dtype is not None for part in found for dtype in part):
            return found
        names = zip(self.list_arguments(), found[0], strict=True)
        unknown = "\n\t".join(f"{name}: {dtype}" for name, dtype in names if dtype is None)
        warnings.warn(
            f"Cannot decide type for the following arguments. Consider providing them as input:\n\t{unknown}",
            stacklevel=2,
        )
        return None, None, None

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Complete dtypes as `infer_type`; what stays unknown is None."""
        return types_around(self._entries, args, kwargs)

    # -- Python's operators --------------------------------------------------------------------------------------------

    def _apply(self, name: str, hint: str, inputs: Sequence[Any], parameters: dict[str, Any]) -> Any:
        return compose(TABLE[name], hint, inputs, {}, parameters, None, None)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return call(TABLE[name], name, (self, *args), kwargs)

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol('__bool__ (namely operator "bool")')

    def _in_place(self, other: Any) -> Symbol:
        raise NotImplementedForSymbol('__iadd__ (namely operator "+=")')

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __imod__ = _in_place

    def gradient(self, wrt: Sequence[str]) -> Symbol:
        """Not implemented, as in MXNet: bind the symbol, and call `backward`."""
        raise MXNetError("not implemented", fix="bind the symbol and call Executor.backward.")

    def astype(self, dtype: Any) -> Symbol:
        """Return the symbol cast to a dtype."""
        made: Symbol = self._call("cast", dtype=dtype)
        return made

    def __getattr__(self, name: str) -> Any:
        if name in _OF_VALUES:
            return partial(_refuse, name)
        return super().__getattr__(name)


_OF_VALUES = ("as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read")
"""Methods of arrays that need a value."""


def _refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedForSymbol(name)


# -- making symbols ----------------------------------------------------------------------------------------------------


def _listed(node: Node) -> dict[str, str]:
    """Return a node's attributes, those of the hidden keys under both names."""
    found = dict(node.attributes)
    for key in HIDDEN_KEYS:
        if f"__{key}__" in found:
            found[key] = found[f"__{key}__"]
    return found


def _single(symbol: Symbol, name: str) -> Entry:
    if len(symbol) != 1:
        raise MXNetError(f"Argument {name} is a tuple, single value is required", fix="choose an output: symbol[0].")
    return symbol.entries[0]


def call(operator: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Symbol:
    """Call an operator's function on symbols."""
    name, attributes = kwargs.pop("name", None), kwargs.pop("attr", None)
    kwargs.pop("out", None)
    places, named, parameters = sort_arguments(operator, Symbol, args, kwargs)
    return compose(operator, hint.lower(), places, named, parameters, name, attributes)


def compose(
    operator: Operator,
    hint: str,
    places: Sequence[Symbol | None],
    named: Mapping[str, Symbol],
    parameters: Mapping[str, Any],
    name: str | None,
    attributes: dict[str, str] | None,
) -> Symbol:
    """Return the symbol of an operator; inputs that are not given become variables.

    Args:
        operator: its record.
        hint: the first part of its automatic name.
        places: inputs by place, None where one is left out.
        named: inputs by name.
        parameters: its parameters, and attributes named `__like_this__` or by hidden keys.
        name: its name, None for an automatic one.
        attributes: attributes, strings.

    Raises:
        MXNetError: for parameters that do not fit, and inputs that the operator does not have.
    """
    texts = {stored(key): _text(value) for key, value in {**current_scope().get(attributes), **parameters}.items()}
    settings = operator.settings({key: value for key, value in texts.items() if not key.startswith("__")})
    name = current_manager().get(name, hint)
    names = operator.input_names(settings, len(places) + len(named))
    given: dict[str, Symbol] = {**named}
    for key in given:
        if key not in names:
            raise unknown_input(key, names)
    for key, symbol in zip(names, places, strict=False):
        if symbol is not None:
            given[key] = symbol
    extra = [symbol for symbol in places[len(names) :] if symbol is not None]
    if extra:
        raise MXNetError(f"{operator.name} takes {len(names)} inputs ({', '.join(names)}), got {len(places)}")
    inputs = []
    for key in names:
        entry = _single(given[key], key) if key in given else Entry(Node(None, f"{name}_{key}", dict(texts)), 0)
        if key in operator.initial and entry.node.operator is None:
            entry.node.attributes.setdefault("__init__", operator.initial[key])
        inputs.append(entry)
    node = Node(operator, name, texts, inputs, settings)
    return Symbol([Entry(node, i) for i in range(node.output_count)])


def _text(value: Any) -> str:
    """Return the string that a symbol keeps for a parameter."""
    return np.dtype(value).name if isinstance(value, (type, np.dtype)) else str(plain(value))


@made_once()
def operator_function(name: str) -> Callable[..., Symbol]:
    """Return the function of an operator on symbols."""
    return function_of(name, TABLE[name], call)


def load_json(json_str: str) -> Symbol:
    """Return the symbol that a JSON text describes, MXNet's own texts included.

    Raises:
        TypeError: if it is no string.
        MXNetError: if it is no symbol, or uses an operator that does not exist here.
    """
    if not isinstance(json_str, str):
        raise TypeError("fname required to be string")
    return Symbol(from_json(json_str))

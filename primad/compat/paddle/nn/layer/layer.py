"""`Layer`: parameters, buffers and sublayers by name, modes, hooks, state."""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.nn.parameter import Parameter, make_parameter
from primad.compat.paddle.settings.default_initializers import Initializer
from primad.compat.paddle.settings.dtypes import as_dtype, get_default_dtype
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError
from primad.compat.paddle.settings.naming import generate

_KEYS = itertools.count()


class HookRemoveHelper:
    """What registering a hook returns: `remove()` takes it away."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks, self._key = hooks, next(_KEYS)
        hooks[self._key] = hook

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self._key, None)


class Layer:
    """A part of a network: subclass it, make parameters and sublayers in `__init__`, and define `forward`.

    Attributes:
        training: whether the layer is in training mode.

    Args:
        name_scope: first part of the parameters' names, by default the class's name in small letters.
        dtype: data type of new parameters.

    Example:
        >>> import primad.compat.paddle as paddle
        >>> class Scale(paddle.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = self.create_parameter([1], default_initializer=paddle.nn.initializer.Constant(2.0))
        ...
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> Scale()(paddle.to_tensor([3.0])).tolist()
        [6.0]
    """

    training: bool

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        scope = name_scope or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        self.__dict__.update(
            training=True,
            _full_name=generate(scope),
            _dtype=get_default_dtype() if dtype is None else as_dtype(dtype).name,
            _parameters=OrderedDict(),
            _sub_layers=OrderedDict(),
            _buffers=OrderedDict(),
            _volatile=set(),
            _before=OrderedDict(),
            _after=OrderedDict(),
        )

    # -- running -------------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Compute the result; to be defined.

        Raises:
            UnimplementedError: unless a subclass defines it.
        """
        raise UnimplementedError(f"{type(self).__name__} has no forward", fix="define forward(self, …).")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks around it."""
        for hook in list(self._before.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in list(self._after.values()):
            changed = hook(self, inputs, outputs)
            if changed is not None:
                outputs = changed
        return outputs

    def register_forward_pre_hook(self, hook: Callable[[Layer, Any], Any]) -> HookRemoveHelper:
        """Call hook(layer, inputs) before `forward`; what it returns, unless None, replaces the inputs."""
        return HookRemoveHelper(self._before, hook)

    def register_forward_post_hook(self, hook: Callable[[Layer, Any, Any], Any]) -> HookRemoveHelper:
        """Call hook(layer, inputs, outputs) after `forward`; what it returns, unless None, replaces the outputs."""
        return HookRemoveHelper(self._after, hook)

    def train(self) -> Layer:
        """Put the layer and its sublayers in training mode."""
        return self._set_training(True)

    def eval(self) -> Layer:
        """Put the layer and its sublayers in inference mode."""
        return self._set_training(False)

    def _set_training(self, training: bool) -> Layer:
        for layer in self.sublayers(include_self=True):
            layer.training = training
        return self

    # -- parts ---------------------------------------------------------------------------------------------------------

    def full_name(self) -> str:
        """Return the layer's name, first part of those of its parameters."""
        name: str = self._full_name
        return name

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
    ) -> Parameter | None:
        """Return a new parameter, which joins the layer when it is assigned to an attribute."""
        wanted = dtype or self._dtype
        made: Parameter | None = make_parameter(shape, wanted, attr, is_bias, default_initializer, self.full_name())
        return made

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Add a parameter under a name."""
        if parameter is not None and not isinstance(parameter, Parameter):
            raise ArgumentTypeError(f"{name} must be a Parameter or None, got {type(parameter).__name__}")
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Add a sublayer under a name."""
        if not isinstance(sublayer, Layer):
            raise ArgumentTypeError(f"{name} must be a Layer, got {type(sublayer).__name__}")
        self._sub_layers[name] = sublayer
        return sublayer

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Add a tensor that is no parameter (a running mean); it is saved with the layer if it is persistable."""
        self._buffers[name] = tensor
        self._volatile.discard(name)
        if not persistable:
            self._volatile.add(name)

    def __setattr__(self, name: str, value: Any) -> None:
        parts = self.__dict__.get("_parameters")
        if parts is None:
            raise ArgumentTypeError(
                f"{type(self).__name__}.{name} was set before the layer was made", fix="call super().__init__() first."
            )
        places = (self._parameters, self._sub_layers, self._buffers)
        if isinstance(value, (Parameter, Layer)):
            kind = self._parameters if isinstance(value, Parameter) else self._sub_layers
        else:
            held = value is None or isinstance(value, Tensor)
            kind = next((place for place in places if held and name in place), None)
        for place in places:
            if place is not kind:
                place.pop(name, None)
        if kind is None:
            self.__dict__[name] = value
        else:
            self.__dict__.pop(name, None)
            kind[name] = value

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_sub_layers", "_buffers"):
            found = self.__dict__.get(place, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._sub_layers, self._buffers):
            if name in place:
                del place[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._parameters, *self._sub_layers, *self._buffers]

    # -- walking -------------------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """Yield the direct sublayers with their names."""
        for name, layer in self._sub_layers.items():
            if layer is not None:
                yield name, layer

    def children(self) -> Iterator[Layer]:
        """Yield the direct sublayers."""
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(self, prefix: str = "", include_self: bool = False) -> Iterator[tuple[str, Layer]]:
        """Yield all layers inside, outer ones first, each once, with their paths."""
        seen: set[int] = set()

        def walk(layer: Layer, path: str) -> Iterator[tuple[str, Layer]]:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            yield path, layer
            for name, child in layer.named_children():
                yield from walk(child, f"{path}.{name}" if path else name)

        found = walk(self, prefix)
        if not include_self:
            next(found)
        yield from found

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """Return all layers inside, outer ones first."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named(self, kind: str, prefix: str, include_sublayers: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        layers = self.named_sublayers(prefix, include_self=True) if include_sublayers else iter([(prefix, self)])
        for path, layer in layers:
            for name, tensor in getattr(layer, kind).items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield all parameters with their paths."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """Return all parameters."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield all buffers with their paths."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """Return all buffers."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call a function of each layer inside, inner ones first, and of this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # -- state ---------------------------------------------------------------------------------------------------------

    def state_dict(self, *, include_sublayers: bool = True, structured_name_prefix: str = "") -> dict[str, Tensor]:
        """Return parameters and persistable buffers by their paths."""
        found: dict[str, Tensor] = OrderedDict()
        layers = self.named_sublayers(include_self=True) if include_sublayers else iter([("", self)])
        for path, layer in layers:
            kept = {name: tensor for name, tensor in layer._buffers.items() if name not in layer._volatile}
            for name, tensor in {**layer._parameters, **kept}.items():
                if tensor is not None:
                    found[structured_name_prefix + (f"{path}.{name}" if path else name)] = tensor
        return found

    def set_state_dict(
        self, state_dict: Mapping[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Overwrite parameters and buffers with saved values.

        Args:
            state_dict: tensors or arrays by path (or by tensor name).
            use_structured_name: whether keys are paths.

        Returns:
            names that are missing in the state, and names in it that are not known.

        Raises:
            InvalidArgumentError: for a value of another shape.
        """
        own = self.state_dict()
        targets = own if use_structured_name else {tensor.name: tensor for tensor in own.values()}
        for name, tensor in targets.items():
            if name in state_dict:
                value = state_dict[name]
                if list(np.shape(value) if not isinstance(value, Tensor) else value.shape) != tensor.shape:
                    raise InvalidArgumentError(f"{name} has shape {tensor.shape}, its saved value another one")
                tensor.set_value(value)  # type: ignore[attr-defined]
        missing = [name for name in targets if name not in state_dict]
        return missing, [name for name in state_dict if name not in targets]

    set_dict = load_dict = set_state_dict

    def to(self, device: Any = None, dtype: Any = None, blocking: Any = None) -> Layer:
        """Convert parameters and buffers of floats to a data type, in place."""
        if dtype is not None:
            for tensor in (*self.parameters(), *self.buffers()):
                if tensor._entry.array.dtype.kind == "f":
                    tensor._store(tensor._entry.array.astype(as_dtype(dtype).numpy))
        return self

    def astype(self, dtype: Any = None) -> Layer:
        """Convert parameters and buffers of floats to a data type, in place."""
        return self.to(dtype=dtype)

    def float(self) -> Layer:
        """Convert parameters and buffers to float32, in place."""
        return self.to(dtype="float32")

    def clear_gradients(self) -> None:
        """Set the gradients of all parameters to zero."""
        for parameter in self.parameters():
            parameter.clear_gradient()

    # -- text ----------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return what the layer's text says between its brackets."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(layer).replace("\n", "\n  ") for name, layer in self.named_children()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(lines) + "\n)"

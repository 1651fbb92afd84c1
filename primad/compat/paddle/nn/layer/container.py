"""Layers that hold others: Sequential, LayerList, LayerDict, ParameterList."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from primad.compat.paddle.nn.layer.layer import Layer
from primad.compat.paddle.nn.parameter import Parameter


class Sequential(Layer):
    """Layers that run one after the other.

    Args:
        layers: layers, or pairs (name, layer).

    Example:
        >>> import primad.compat.paddle as paddle
        >>> model = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.Tanh(), paddle.nn.Linear(3, 1))
        >>> model(paddle.ones([5, 2])).shape
        [5, 1]
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)) and not isinstance(layers[0][0], str):
            layers = tuple(layers[0])
        for i, layer in enumerate(layers):
            name, found = layer if isinstance(layer, (tuple, list)) else (str(i), layer)
            self.add_sublayer(name, found)

    def forward(self, input: Any) -> Any:
        """Run the layers in order."""
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        layers = list(self._sub_layers.values())
        if isinstance(index, slice):
            return Sequential(*layers[index])
        return self._sub_layers[index] if isinstance(index, str) else layers[index]

    def __setitem__(self, index: int | str, layer: Layer) -> None:
        self.add_sublayer(index if isinstance(index, str) else list(self._sub_layers)[index], layer)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())


class LayerList(Layer):
    """A list of layers."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or ())

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before another one."""
        layers = list(self)
        layers.insert(index, sublayer)
        self._sub_layers.clear()
        self.extend(layers)

    def __getitem__(self, index: Any) -> Any:
        layers = list(self._sub_layers.values())
        return LayerList(layers[index]) if isinstance(index, slice) else layers[index]

    def __setitem__(self, index: int, layer: Layer) -> None:
        self.add_sublayer(str(range(len(self))[index]), layer)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())


class LayerDict(Layer):
    """Layers by name."""

    def __init__(self, sublayers: Mapping[str, Layer] | None = None) -> None:
        super().__init__()
        for name, layer in dict(sublayers or {}).items():
            self.add_sublayer(name, layer)

    def __getitem__(self, name: str) -> Layer:
        found: Layer = self._sub_layers[name]
        return found

    def __setitem__(self, name: str, layer: Layer) -> None:
        self.add_sublayer(name, layer)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return list(self._sub_layers)

    def values(self) -> Iterable[Layer]:
        """Return the layers."""
        return list(self._sub_layers.values())

    def items(self) -> Iterable[tuple[str, Layer]]:
        """Return the names with the layers."""
        return list(self._sub_layers.items())


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, index: int) -> Parameter:
        found: Parameter = list(self._parameters.values())[index]
        return found

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

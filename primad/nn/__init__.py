"""Neural networks: composites over `primad.numpy`, random draws with keys, losses, initialisers and update rules."""

from primad.nn import (
    activations,
    convolution,
    initializers,
    lookup,
    losses,
    normalization,
    optimizers,
    pooling,
    random,
    saving,
)
from primad.nn.activations import *
from primad.nn.convolution import *
from primad.nn.lookup import *
from primad.nn.losses import *
from primad.nn.normalization import *
from primad.nn.optimizers import *
from primad.nn.pooling import *
from primad.nn.random import *
from primad.nn.saving import *

COMPOSITES = (
    *activations.COMPOSITES,
    *convolution.COMPOSITES,
    *lookup.COMPOSITES,
    *losses.COMPOSITES,
    *normalization.COMPOSITES,
    *pooling.COMPOSITES,
    *random.COMPOSITES,
)
"""The composite ops of this layer, for `primad.verify`."""

__all__ = ["initializers"]
__all__ += activations.__all__
__all__ += convolution.__all__
__all__ += lookup.__all__
__all__ += losses.__all__
__all__ += normalization.__all__
__all__ += optimizers.__all__
__all__ += pooling.__all__
__all__ += random.__all__
__all__ += saving.__all__


def __dir__() -> list[str]:
    return sorted(__all__)

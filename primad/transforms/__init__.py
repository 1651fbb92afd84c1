"""Program-to-program transforms: each takes a `Program` and returns one, and is one loop over nodes.

`lower`, `jvp`, `transpose` and `vmap` are the four; `vjp` is `jvp` followed by `transpose` of the tangents' part.
"""

from primad.transforms.batching import vmap
from primad.transforms.forward import jvp
from primad.transforms.lowering import lower
from primad.transforms.partial_eval import cut
from primad.transforms.reverse import transpose, vjp

__all__ = ["cut", "jvp", "lower", "transpose", "vjp", "vmap"]

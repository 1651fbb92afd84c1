"""The primitives, one file a family, which says in its `__all__` which they are.

`ALL` lists every record; `BY_NAME` finds one.
"""

from primad.ops.arithmetic import *
from primad.ops.barrier import *
from primad.ops.bessel import *
from primad.ops.broadcasting import *
from primad.ops.cofactors import *
from primad.ops.contraction import *
from primad.ops.conversion import *
from primad.ops.discrete import *
from primad.ops.division import *
from primad.ops.elementary import *
from primad.ops.elimination import *
from primad.ops.factorization import *
from primad.ops.gamma import *
from primad.ops.generators import *
from primad.ops.indexing import *
from primad.ops.inverse import *
from primad.ops.kinks import *
from primad.ops.matrix_functions import *
from primad.ops.plane import *
from primad.ops.powers import *
from primad.ops.quotient import *
from primad.ops.random import *
from primad.ops.reduction import *
from primad.ops.selection import *
from primad.ops.shaping import *
from primad.ops.slicing import *
from primad.ops.sorting import *
from primad.ops.special import *
from primad.ops.spectral import *
from primad.ops.windows import *
from primad.primitive import Primitive
from primad.primitive import project as project

ALL: tuple[Primitive, ...] = tuple([value for value in globals().values() if isinstance(value, Primitive)])

BY_NAME: dict[str, Primitive] = {primitive.name: primitive for primitive in ALL}

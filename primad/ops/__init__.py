"""The primitives, one file a family, which says in its `__all__` which they are.

`ALL` lists every record; `BY_NAME` finds one.
"""

from primad.ops.arrays.barrier import *
from primad.ops.arrays.broadcasting import *
from primad.ops.arrays.contraction import *
from primad.ops.arrays.cosine_sine_transforms import *
from primad.ops.arrays.draws import *
from primad.ops.arrays.fourier import *
from primad.ops.arrays.gather_scatter import *
from primad.ops.arrays.generators import *
from primad.ops.arrays.reshaping import *
from primad.ops.arrays.scans_and_orders import *
from primad.ops.arrays.slicing import *
from primad.ops.arrays.windows import *
from primad.ops.elementwise.arithmetic import *
from primad.ops.elementwise.conversion import *
from primad.ops.elementwise.discrete import *
from primad.ops.elementwise.division import *
from primad.ops.elementwise.elementary import *
from primad.ops.elementwise.inverse import *
from primad.ops.elementwise.kinks import *
from primad.ops.elementwise.plane import *
from primad.ops.elementwise.powers import *
from primad.ops.elementwise.remainders import *
from primad.ops.elementwise.selection import *
from primad.ops.linalg.cofactors import *
from primad.ops.linalg.eigen import *
from primad.ops.linalg.elimination import *
from primad.ops.linalg.equal_values import *
from primad.ops.linalg.factorization import *
from primad.ops.linalg.general_spectra import *
from primad.ops.linalg.matrix_exponentials import *
from primad.ops.linalg.matrix_functions import *
from primad.ops.record.primitive import Primitive
from primad.ops.record.primitive import project as project
from primad.ops.special.bessel import *
from primad.ops.special.elliptic import *
from primad.ops.special.error_functions import *
from primad.ops.special.exponential import *
from primad.ops.special.gamma import *
from primad.ops.special.incomplete import *
from primad.ops.special.incomplete_beta import *
from primad.ops.special.lambert import *
from primad.ops.special.members import *
from primad.ops.special.zeta import *

ALL: tuple[Primitive, ...] = tuple([value for value in globals().values() if isinstance(value, Primitive)])

BY_NAME: dict[str, Primitive] = {primitive.name: primitive for primitive in ALL}

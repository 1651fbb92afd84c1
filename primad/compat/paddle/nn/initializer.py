"""paddle.nn.initializer: initial values of parameters."""

from primad.compat.paddle.initializer import (
    Assign as Assign,
)
from primad.compat.paddle.initializer import (
    Constant as Constant,
)
from primad.compat.paddle.initializer import (
    Initializer as Initializer,
)
from primad.compat.paddle.initializer import (
    KaimingNormal as KaimingNormal,
)
from primad.compat.paddle.initializer import (
    KaimingUniform as KaimingUniform,
)
from primad.compat.paddle.initializer import (
    Normal as Normal,
)
from primad.compat.paddle.initializer import (
    TruncatedNormal as TruncatedNormal,
)
from primad.compat.paddle.initializer import (
    Uniform as Uniform,
)
from primad.compat.paddle.initializer import (
    XavierNormal as XavierNormal,
)
from primad.compat.paddle.initializer import (
    XavierUniform as XavierUniform,
)

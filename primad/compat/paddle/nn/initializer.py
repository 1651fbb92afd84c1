"""paddle.nn.initializer: initial values of parameters."""

from primad.compat.paddle.settings.default_initializers import Assign as Assign
from primad.compat.paddle.settings.default_initializers import Constant as Constant
from primad.compat.paddle.settings.default_initializers import Initializer as Initializer
from primad.compat.paddle.settings.default_initializers import KaimingNormal as KaimingNormal
from primad.compat.paddle.settings.default_initializers import KaimingUniform as KaimingUniform
from primad.compat.paddle.settings.default_initializers import Normal as Normal
from primad.compat.paddle.settings.default_initializers import TruncatedNormal as TruncatedNormal
from primad.compat.paddle.settings.default_initializers import Uniform as Uniform
from primad.compat.paddle.settings.default_initializers import XavierNormal as XavierNormal
from primad.compat.paddle.settings.default_initializers import XavierUniform as XavierUniform

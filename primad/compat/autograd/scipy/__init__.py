"""What `autograd.scipy` has, as far as primad has it."""

from primad.compat.autograd.scipy import special as special
from primad.compat.autograd.scipy import stats as stats

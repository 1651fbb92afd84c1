"""`primad.numpy.linalg` where programs look for `autograd.numpy.linalg`."""

from primad.numpy.linalg import *

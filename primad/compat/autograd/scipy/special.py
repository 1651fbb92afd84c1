"""`primad.numpy.special` where programs look for `autograd.scipy.special`."""

from primad.numpy.special import *

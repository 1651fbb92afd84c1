"""`numpy.random` where programs look for `autograd.numpy.random`: draws are constants."""

from numpy.random import *

"""`autograd.scipy.misc`."""

from primad.numpy.special import logsumexp as logsumexp

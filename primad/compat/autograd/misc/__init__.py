"""What `autograd.misc` has: flattening, and three optimisers."""

from primad.compat.autograd.misc.flatten import flatten as flatten

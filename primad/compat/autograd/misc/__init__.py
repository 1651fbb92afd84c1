"""What `autograd.misc` has: flattening, fixed points, optimisers."""

from primad.compat.autograd.misc.flatten import flatten as flatten
from primad.compat.autograd.misc.tracers import const_graph as const_graph

"""Functions for other systems and for several processes: JAX, PyTorch and MPI."""

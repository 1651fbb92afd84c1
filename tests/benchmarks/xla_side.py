"""The workloads of networks in primad on XLA: primad derives and simplifies, and `jax.jit` compiles."""

import jax
from jax_side import as_numpy, prepare, wait
from primad_side import of_network

import primad

__all__ = ["NAME", "VERSION", "as_numpy", "prepare", "variants", "wait"]
NAME, VERSION = "primad on XLA", jax.__version__


def variants(workload):
    """Return the function to time, by its name."""
    return {NAME: jax.jit(primad.to_jax(of_network(workload)))}

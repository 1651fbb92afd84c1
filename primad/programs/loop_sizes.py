"""From which sizes on runs of equal steps, and of scalar ops, are looked for: what looks for them loads only then."""

FEWEST_NODES = 250
"""Nodes of a run, below which it stays as it is. Tuned: with 200 steps of two products of matrices a call of the loop
takes a seventh of the time of the steps one by one, which NumPy runs; code of fewer scalars is compiled in 20 ms."""
FEWEST_STEPS = 8
"""Steps of a run, below which it stays as it is. Chosen: a loop costs what some steps cost."""

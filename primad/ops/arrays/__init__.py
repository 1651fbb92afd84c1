"""Ops that move, join, index, sum and contract arrays."""

"""Minima under constraints of many parameters: what their solvers ask for, and Ipopt."""

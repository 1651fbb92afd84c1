"""Quasi-Newton methods: L-BFGS, Broyden's class, and the line search that they share."""

"""Jacobians and Hessians as ops: how they are built, and the laws by which consumers choose."""

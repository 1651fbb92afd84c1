"""Scalar expressions of one form, written one by one, as few ops on arrays."""

"""Slips planted on purpose: which tests catch them? Started by hand: `python -m tests.mutations`."""

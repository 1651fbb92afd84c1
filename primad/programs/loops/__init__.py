"""Ops of loops: scan and while_loop, and what is derived from their bodies."""

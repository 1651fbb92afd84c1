"""Ops of loops: scan and while_loop, what is derived from their bodies, and plain loops rerolled."""

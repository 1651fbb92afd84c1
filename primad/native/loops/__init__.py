"""Loops of programs as native code: scans, while loops, batches of while loops."""

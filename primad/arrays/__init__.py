"""Large work on plain arrays, in blocks and pieces that threads may share; the definitions of ops use it."""

"""Large work on plain arrays, in blocks and pieces that lanes may share; the definitions of ops use it."""

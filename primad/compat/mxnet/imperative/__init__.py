"""Arrays that are computed at once: recording on the tape, operands and parameters of operators."""

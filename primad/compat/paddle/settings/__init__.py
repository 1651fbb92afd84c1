"""What is set for a process: dtypes, flags, modes, places, names and initial values."""

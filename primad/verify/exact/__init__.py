"""Programs on exact numbers: SymPy's expressions and floats of high precision."""

"""Other number systems that programs run on: SymPy expressions and mpmath's high-precision numbers."""

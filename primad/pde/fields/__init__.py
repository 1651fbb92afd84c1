"""Fields with named derivatives, operators on them, coordinate systems and formulas."""

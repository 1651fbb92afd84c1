"""The table of cases: what every op is tried on, and what composites mean."""

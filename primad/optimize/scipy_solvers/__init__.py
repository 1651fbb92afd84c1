"""SciPy's minimisers, root finders and integrators, with derivatives supplied."""

"""Linear filters, which signals and images have in common: weighted sums of neighbours, and recursions."""

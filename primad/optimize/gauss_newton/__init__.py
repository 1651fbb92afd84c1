"""Methods for residuals: Levenberg-Marquardt, Gauss-Newton and Newton with conjugate gradients."""

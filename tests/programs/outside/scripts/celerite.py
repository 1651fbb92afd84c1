"""Kernels of celerite, whose gradients are Jacobians of their coefficients by autograd."""

import celerite
import numpy
from celerite import terms


def _jacobians(term):
    return [term.get_coeffs_jacobian(), term.get_jitter_jacobian(), numpy.concatenate(term.get_all_coefficients())]


def real_term():
    return _jacobians(terms.RealTerm(log_a=0.5, log_c=0.1))


def complex_term():
    return _jacobians(terms.ComplexTerm(log_a=0.1, log_b=-0.2, log_c=0.5, log_d=0.1))


def oscillator():
    return _jacobians(terms.SHOTerm(log_S0=0.1, log_Q=-0.5, log_omega0=0.5))


def matern():
    return _jacobians(terms.Matern32Term(log_sigma=0.5, log_rho=0.2))


def sums_and_products():
    kernel = terms.SHOTerm(log_S0=0.1, log_Q=0.4, log_omega0=0.5) * terms.RealTerm(log_a=0.5, log_c=0.1)
    return _jacobians(kernel + terms.JitterTerm(log_sigma=-1.0) + terms.Matern32Term(log_sigma=0.5, log_rho=0.2))


def a_term_of_a_users_own():
    class Rotation(terms.Term):
        parameter_names = ("log_amp", "log_timescale", "log_period", "log_factor")

        def get_real_coefficients(self, params):
            amp, timescale, _, factor = params
            f = terms.np.exp(factor)
            return terms.np.exp(amp) * (1.0 + f) / (2.0 + f), terms.np.exp(-timescale)

        def get_complex_coefficients(self, params):
            amp, timescale, period, factor = params
            f = terms.np.exp(factor)
            a, c = terms.np.exp(amp) / (2.0 + f), terms.np.exp(-timescale)
            return a, 0.0, c, 2.0 * numpy.pi * terms.np.exp(-period)

    return _jacobians(Rotation(log_amp=0.1, log_timescale=0.5, log_period=-0.1, log_factor=0.3))


def likelihood():
    t = numpy.sort(numpy.random.default_rng(0).uniform(0.0, 5.0, 30))
    process = celerite.GP(terms.SHOTerm(log_S0=0.1, log_Q=0.4, log_omega0=0.5), mean=0.1)
    process.compute(t, 0.1)
    return list(process.grad_log_likelihood(numpy.sin(t)))

"""Maxwell's equations by finite differences: gradients of fields in the permittivity, through sparse solves."""

import autograd.numpy as np
import ceviche
import numpy
from autograd import grad
from ceviche import fdfd_ez, fdfd_hz, jacobian
from ceviche.primitives import sp_mult, sp_solve

_N, _STEP, _OMEGA = 12, 5e-8, 2.0 * numpy.pi * 2e14


def _structure():
    rng = numpy.random.default_rng(0)
    eps = 1.0 + rng.uniform(size=(_N, _N))
    source = numpy.zeros((_N, _N), complex)
    source[3, _N // 2] = 1.0
    return eps, source


def field_of_a_current_and_its_gradient():
    eps, source = _structure()

    def intensity(eps):
        fields = fdfd_ez(_OMEGA, _STEP, eps.reshape((_N, _N)), [3, 3]).solve(source)
        return np.sum(np.square(np.abs(fields[2]))) * 1e6

    return [intensity(eps.ravel()), grad(intensity)(eps.ravel())]


def field_of_the_other_polarisation():
    eps, source = _structure()

    def intensity(eps):
        fields = fdfd_hz(_OMEGA, _STEP, eps.reshape((_N, _N)), [3, 3]).solve(source)
        return np.sum(np.square(np.abs(fields[2]))) + np.sum(np.abs(fields[0])) * 1e-3

    return [intensity(eps.ravel()), grad(intensity)(eps.ravel())]


def jacobian_by_reverse_mode():
    eps, source = _structure()

    def at_a_line(eps):
        fields = fdfd_ez(_OMEGA, _STEP, eps.reshape((_N, _N)), [3, 3]).solve(source)
        return np.abs(fields[2][-4, 4:8]) * 1e3

    return jacobian(at_a_line, mode="reverse")(eps.ravel())


def jacobian_by_forward_mode():
    eps, source = _structure()

    def at_a_line(scale):
        fields = fdfd_ez(_OMEGA, _STEP, 1.0 + (eps - 1.0) * scale[0], [3, 3]).solve(source)
        return np.abs(fields[2][-4, 4:8]) * 1e3

    return jacobian(at_a_line, mode="forward")(numpy.array([1.1]))


def sparse_primitives():
    rng = numpy.random.default_rng(1)
    rows, columns = numpy.array([(i, j) for i in range(5) for j in range(5) if abs(i - j) < 2]).T
    indices = numpy.vstack([rows, columns])
    entries = rng.normal(size=len(rows)) + 4.0 * (rows == columns) + 1j * rng.normal(size=len(rows))
    b = rng.normal(size=5) + 1j * rng.normal(size=5)

    def solved(entries, b):
        return np.sum(np.abs(sp_solve(entries, indices, b)) ** 2)

    def multiplied(entries, b):
        return np.sum(np.abs(sp_mult(entries, indices, b)) ** 2)

    return [grad(f, place)(entries, b) for f in (solved, multiplied) for place in (0, 1)]


def scales_of_a_run_in_time():
    def energy(scale):
        F = ceviche.fdtd(np.ones((8, 8, 1)) * scale, dL=1e-7, npml=[2, 2, 0])
        total = 0.0
        for step in range(12):
            fields = F.forward(Jz=numpy.exp(-((step - 4.0) ** 2)) * numpy.eye(8)[:, :, None])
            total = total + np.sum(fields["Ez"] ** 2)
        return total * 1e-6

    return grad(energy)(1.3)

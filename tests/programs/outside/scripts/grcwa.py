"""Rigorous coupled-wave analysis: gradients of reflected power in permittivities, thicknesses, angles and frequency."""

import autograd.numpy as np
import grcwa
import numpy
from autograd import grad, value_and_grad

grcwa.set_backend("autograd")
_N = 16


def _reflected(eps, freq=1.1, theta=0.2, phi=0.1, thickness=0.3):
    sheet = grcwa.obj(11, [0.5, 0.0], [0.0, 0.5], freq, theta, phi, verbose=0)
    sheet.Add_LayerUniform(0.5, 1.0)
    sheet.Add_LayerGrid(thickness, _N, _N)
    sheet.Add_LayerUniform(0.5, 2.0)
    sheet.Init_Setup()
    sheet.MakeExcitationPlanewave(1.0, 0.0, 0.0, 0.0, order=0)
    sheet.GridLayer_geteps(eps)
    return sheet


def _pattern():
    x, y = numpy.meshgrid(numpy.linspace(0.0, 1.0, _N), numpy.linspace(0.0, 1.0, _N), indexing="ij")
    return 1.5 + numpy.exp(-8.0 * ((x - 0.4) ** 2 + (y - 0.6) ** 2))


def reflection_in_the_permittivity():
    f = lambda eps: _reflected(eps).RT_Solve(normalize=1)[0]  # noqa: E731
    return list(value_and_grad(f)(_pattern().ravel()))


def transmission_in_the_thickness():
    f = lambda d: _reflected(_pattern().ravel(), thickness=d).RT_Solve(normalize=1)[1]  # noqa: E731
    return list(value_and_grad(f)(0.3))


def reflection_in_angle_and_frequency():
    def f(p):
        return _reflected(_pattern().ravel(), freq=p[0], theta=p[1], phi=p[2]).RT_Solve(normalize=1)[0]

    return list(value_and_grad(f)(np.array([1.1, 0.2, 0.1])))


def fields_inside():
    def f(eps):
        E, _ = _reflected(eps).Solve_FieldFourier(1, 0.1)
        return np.sum(np.abs(E[0]) ** 2) + np.sum(np.abs(E[1]) ** 2)

    return grad(f)(_pattern().ravel())

"""Potentials of galpy, evaluated as users do: accelerations and tidal tensors as derivatives of the potential."""

import numpy
from galpy import potential

_AT = numpy.array([1.1, 0.3])


def _field(derive, model):
    def f(x):
        return model(x[0], x[1], phi=0.4)

    return [derive.grad(f)(_AT), derive.hessian(f)(_AT)]


def miyamoto_nagai(derive):
    return _field(derive, potential.MiyamotoNagaiPotential(a=0.5, b=0.0375, normalize=1.0))


def navarro_frenk_white(derive):
    return _field(derive, potential.NFWPotential(a=2.0, normalize=0.35))


def hernquist(derive):
    return _field(derive, potential.HernquistPotential(a=1.3, normalize=0.5))


def logarithmic_halo(derive):
    return _field(derive, potential.LogarithmicHaloPotential(normalize=1.0, q=0.8))


def plummer(derive):
    return _field(derive, potential.PlummerPotential(b=0.7, normalize=1.0))


def isochrone(derive):
    return _field(derive, potential.IsochronePotential(b=0.7, normalize=1.0))


def kuzmin_disk(derive):
    return _field(derive, potential.KuzminDiskPotential(a=0.6, normalize=1.0))


def burkert(derive):
    return _field(derive, potential.BurkertPotential(a=1.5, normalize=1.0))


def power_law_with_a_cutoff(derive):
    return _field(derive, potential.PowerSphericalPotentialwCutoff(alpha=1.8, rc=1.9 / 8.0, normalize=0.05))


def milky_way(derive):
    def f(x):
        return potential.evaluatePotentials(potential.MWPotential2014, x[0], x[1])

    return [derive.grad(f)(_AT), derive.hessian(f)(_AT)]


def an_orbit(derive):
    model = potential.MiyamotoNagaiPotential(a=0.5, b=0.0375, normalize=1.0)

    def end(start):
        R, z, vR, vz = start[0], start[1], start[2], start[3]
        for _ in range(20):
            vR, vz = vR + 0.05 * (model.Rforce(R, z) + 0.9 / R**3), vz + 0.05 * model.zforce(R, z)
            R, z = R + 0.05 * vR, z + 0.05 * vz
        return R**2 + z**2

    return [
        derive.grad(end)(numpy.array([1.0, 0.1, 0.1, 0.05])),
        derive.hessian(end)(numpy.array([1.0, 0.1, 0.1, 0.05])),
    ]

"""Equations of state and mixing rules of thermo, chemicals and fluids: derivatives of what their functions return."""

import numpy
from chemicals import dippr, heat_capacity, vapor_pressure, volume
from fluids import friction, two_phase_voidage
from thermo import eos


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def vapor_pressures(derive):
    def f(x):
        return vapor_pressure.Wagner(x[0], x[1], 4.6e6, -8.0, 3.0, -4.0, -2.5) * 1e-5

    return _both(derive, f, 300.0, 512.5)


def antoine(derive):
    return _both(derive, lambda x: vapor_pressure.Antoine(x[0], x[1], 600.0, -20.0) * 1e-5, 150.0, 9.0)


def lee_kesler(derive):
    return _both(derive, lambda x: vapor_pressure.Lee_Kesler(x[0], x[1], 6.3e6, 0.6) * 1e-5, 347.2, 514.1)


def dippr_101(derive):
    return _both(derive, lambda x: dippr.EQ101(x[0], 73.6, -7258.2, -7.3, 4.2e-6 * x[1]) * 1e-5, 320.0, 1.1)


def dippr_107(derive):
    return _both(derive, lambda x: dippr.EQ107(x[0], 33.4, 26.8, 2610.5 * x[1], 8.9, 1169.0), 300.0, 1.1)


def heat_capacities(derive):
    return _both(derive, lambda x: heat_capacity.Poling(x[0], 4.2, 1e-3 * x[1], 1e-5, -9e-9, 2e-12), 350.0, 1.3)


def liquid_volume(derive):
    return _both(derive, lambda x: volume.Rackett(x[0], x[1], 4.9e6, 0.28) * 1e4, 272.0, 408.1)


def friction_factor(derive):
    return _both(derive, lambda x: friction.Haaland(1e5 * x[0], 1e-4 * x[1]) * 100.0, 1.2, 1.4)


def void_fraction(derive):
    return _both(derive, lambda x: two_phase_voidage.Thom(x[0], 800.0, 2.5 * x[1], 1e-3, 1e-5), 0.4, 1.1)


def departure_of_gibbs_energy(derive):
    def f(x):
        return eos.eos_lnphi(300.0 * x[0], 1e5, 2e-2 * x[1], 8e-5, 1.6e-4, -6e-9, 2.5 * x[0] ** -0.5)

    return _both(derive, f, 1.1, 1.2)

"""Programs in plain NumPy: likelihoods of counts, microwave networks, crystals, and the sun."""

import datetime

import ase.eos
import ase.geometry.cell
import numpy
import pyhf
import pysolar.solar
import skrf


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def likelihood(derive):
    """Two bins with backgrounds that are uncertain: the likelihood."""
    model = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0])
    data = [51.0, 48.0, *model.config.auxdata]

    def f(x):
        return -2 * model.logpdf(x, data)[0]

    return _both(derive, f, 1.0, 1.1, 0.9)


def likelihood_histosys(derive):
    """A likelihood with shapes and norms that are interpolated."""
    spec = {
        "channels": [
            {
                "name": "c",
                "samples": [
                    {
                        "name": "s",
                        "data": [5.0, 10.0],
                        "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
                    },
                    {
                        "name": "b",
                        "data": [50.0, 60.0],
                        "modifiers": [
                            {
                                "name": "h",
                                "type": "histosys",
                                "data": {"lo_data": [45.0, 55.0], "hi_data": [55.0, 66.0]},
                            },
                            {"name": "n", "type": "normsys", "data": {"lo": 0.9, "hi": 1.2}},
                            {"name": "st", "type": "staterror", "data": [3.0, 4.0]},
                        ],
                    },
                ],
            }
        ]
    }
    model = pyhf.Model(spec)
    data = [55.0, 65.0, *model.config.auxdata]
    start = numpy.array(model.config.suggested_init()) + 0.1 + 0.05 * numpy.arange(len(model.config.suggested_init()))

    def f(x):
        return -2 * model.logpdf(x, data)[0]

    return _both(derive, f, *start)


def microwave(derive):
    """A resistor and a capacitor on a line."""
    freq = skrf.Frequency(1, 10, 5, "GHz")

    def f(x):
        line = skrf.media.DefinedGammaZ0(freq, z0=50, gamma=1j * freq.w / 3e8)
        net = line.resistor(50 * x[0]) ** line.capacitor(1e-12 * x[1]) ** line.short()
        return numpy.sum(numpy.abs(net.s) ** 2)

    return _both(derive, f, 1.0, 1.0)


def microwave_conversions(derive):
    """Impedances as scattering, chains and admittances."""

    def f(x):
        z = numpy.array([[[1.0, 0.2], [0.2, 1.5]]]) * 50
        s = skrf.network.z2s(z * x[0] + 1j * x[1] * numpy.eye(2))
        a = skrf.network.s2a(s)
        y = skrf.network.s2y(s)
        return numpy.sum(numpy.abs(a) ** 2) / 1e4 + numpy.sum(numpy.abs(y) ** 2)

    return _both(derive, f, 1.0, 20.0)


def equation_of_state(derive):
    """Energies of volumes, by three equations."""

    def f(x):
        v = numpy.linspace(0.9, 1.1, 5)
        return numpy.sum(
            ase.eos.birchmurnaghan(v, x[0], x[1], x[2], x[3])
            + ase.eos.vinet(v, x[0], x[1], x[2], x[3])
            + ase.eos.murnaghan(v, x[0], x[1], x[2], x[3])
        )

    return _both(derive, f, -1.0, 1.2, 4.0, 1.05)


def cell(derive):
    """A cell by its lengths and angles, and back."""

    def f(x):
        m = ase.geometry.cell.cellpar_to_cell(numpy.stack([x[0], x[1], 1.0, 80.0 * x[2], 70.0, 95.0]))
        return numpy.linalg.det(m) + numpy.sum(ase.geometry.cell.cell_to_cellpar(m)) / 100

    return _both(derive, f, 1.0, 1.5, 1.0)


def sun(derive):
    """Altitude and azimuth of the sun, fast."""
    when = datetime.datetime(2024, 6, 1, 12, 0, tzinfo=datetime.UTC)

    def f(x):
        return (
            pysolar.solar.get_altitude_fast(x[0], x[1], when) + pysolar.solar.get_azimuth_fast(x[0], x[1], when) / 100
        )

    return _both(derive, f, 48.0, 9.0)


def sun_slow(derive):
    """The altitude of the sun, by tables."""
    when = datetime.datetime(2024, 6, 1, 12, 0, tzinfo=datetime.UTC)

    def f(x):
        return pysolar.solar.get_altitude(x[0], x[1], when)

    return _both(derive, f, 48.0, 9.0)

"""More programs in plain NumPy: lenses, machines, weather, ground, sound, images, satellites, insurance and finance."""

import sys

sys.modules["numba"] = None  # what it compiles takes plain numbers only; without it these packages run in Python

import abel
import gstools
import hydroeval
import magpylib
import meteocalc
import nelson_siegel_svensson
import numpy
import pandas
import pyet.meteo_utils
import pyloudnorm
import pyorbital.astronomy
import pyrr
import python_speech_features
import refet.calcs
import rowan
import sewar
import simdkalman
import skfuzzy
import thermofeel
import tribology
from astral import sun
from blackscholes import BlackScholesCall
from colossus.cosmology import cosmology
from impedance.models.circuits import CustomCircuit, elements
from lenstronomy.LensModel.lens_model import LensModel
from nelson_siegel_svensson import calibrate
from periodictable import nsf
from pyiast import InterpolatorIsotherm, ModelIsotherm
from raytracing import GaussianBeam, Lens, Space
from sgp4 import model
from sgp4.earth_gravity import wgs72
from sgp4.propagation import sgp4, sgp4init
from windpowerlib import density, wind_speed

_DRAWN = numpy.random.default_rng(0)
_SIGNAL = _DRAWN.normal(size=4800)
_PICTURE, _OTHER = _DRAWN.random((2, 24, 24))
_WEIGHTS = numpy.arange(9.0).reshape(3, 3)


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def felt_temperature(derive):
    """Universal thermal climate index, by its polynomial of degree 6, and the wet-bulb globe temperature."""

    def f(x):
        humid = thermofeel.calculate_nonsaturation_vapour_pressure(x[0] * 300, 60.0)
        felt = thermofeel.calculate_utci_polynomial(
            numpy.array([x[0] * 300]), numpy.array([x[1]]), numpy.array([x[0] * 305]), numpy.array([2.0])
        )
        wet = thermofeel.calculate_wbgt_simple(x[0] * 300, 60.0) + thermofeel.calculate_humidex(x[0] * 300, 290.0)
        return numpy.sum(felt) * 0.01 + (humid + wet) * 0.01

    return _both(derive, f, 1.01, 2.4)


def heat_index(derive):
    """In an array that is filled where it is hot and dry, or humid."""
    return _both(
        derive,
        lambda x: numpy.sum(thermofeel.calculate_heat_index_simplified(
            numpy.array([x[0] * 300, 310.0]), numpy.array([x[1] * 60, 50.0])
        )),
        1.02, 1.1,
    )  # fmt: skip


def feels_like(derive):
    return _both(
        derive,
        lambda x: meteocalc.dew_point(x[0] * 30, x[1] * 60).c * meteocalc.wind_chill(x[0], 20 * x[1]).c,
        0.9, 1.1,
    )  # fmt: skip


def evaporation_of_grass(derive):
    """Of ASCE's standard, from temperature, humidity, wind and radiation."""
    day = numpy.array([180.0])

    def f(x):
        pressure = refet.calcs.air_pressure(numpy.array([1200.0]))
        ea = refet.calcs.actual_vapor_pressure(numpy.array([0.008]) * x[2], pressure)
        es, slope = refet.calcs.sat_vapor_pressure(x[0] * 25), refet.calcs.es_slope(x[0] * 25)
        ra = refet.calcs.ra_daily(numpy.array([0.7]) * x[1], day)
        cloudy = refet.calcs.fcd_daily(ra * 0.6, refet.calcs.rso_simple(ra, 1200.0))
        rn = refet.calcs.rn_daily(ra * 0.6, refet.calcs.rnl_daily(x[0] * 32, x[0] * 18, ea, cloudy))
        return numpy.sum(refet.calcs.etsz(rn, 0, x[0] * 25, 2 * x[2], es - ea, slope, 0.000665 * pressure, 900, 0.34))

    return _both(derive, f, 1.0, 1.1, 0.9)


def vapour(derive):
    """What pyet's methods of evaporation are made of."""

    def f(x):
        gamma = pyet.meteo_utils.calc_psy(pyet.meteo_utils.calc_press(1000 * x[1]), 20 * x[0])
        return gamma * pyet.meteo_utils.calc_vpc(20 * x[0]) * 10 + pyet.meteo_utils.calc_e0(20 * x[0])

    return _both(derive, f, 1.0, 1.1)


def runoff_scores(derive):
    """How well a simulated river follows a measured one."""
    seen = numpy.abs(_SIGNAL[:30]) + 1

    def f(x):
        simulated = x[0] + x[1] * seen**1.1 + 0.1 * _SIGNAL[30:60]
        scores = [hydroeval.evaluator(each, simulated, seen)[0] for each in (hydroeval.nse, hydroeval.rmse)]
        return numpy.sum(hydroeval.evaluator(hydroeval.kge, simulated, seen)[0]) + scores[0] * scores[1]

    return _both(derive, f, 0.3, 0.8)


def wind_at_a_hub(derive):
    def f(x):
        speed = wind_speed.logarithmic_profile(8 * x[0], 10, 100 * x[1], 0.1) + wind_speed.hellman(8 * x[0], 10, 90)
        return speed * density.barometric(101325.0, 0, 100 * x[1], 290 * x[0])

    return _both(derive, f, 1.0, 1.1)


def yield_curve(derive):
    """Of Nelson, Siegel and Svensson."""
    times = numpy.array([0.5, 1.0, 2.0, 5.0, 10.0])

    def f(x):
        curve = nelson_siegel_svensson.NelsonSiegelSvenssonCurve(0.03, x[0], x[1], 0.01, x[2], 4.0)
        return numpy.sum(curve(times) ** 2) * 100 + numpy.sum(curve.forward(times))

    return _both(derive, f, -0.02, 0.03, 1.5)


def bond_fit(derive):
    """The error of a least-squares fit inside of a curve's calibration."""
    times, rates = numpy.array([0.5, 1.0, 2.0, 5.0, 10.0]), numpy.array([0.01, 0.012, 0.018, 0.024, 0.027])
    return _both(derive, lambda x: 1e6 * calibrate.errorfn_ns_ols(x[0], times, rates * x[1]), 1.4, 1.1)


def option(derive):
    """A call's price and two of the slopes that the package has formulas for."""

    def f(x):
        call = BlackScholesCall(S=x[0] * 50, K=50.0, T=1.0, r=0.02, sigma=x[1], q=0.0)
        return call.price() + call.delta() * call.vega()

    return _both(derive, f, 1.05, 0.3)


def lens_for_light(derive):
    """A Gaussian beam through a lens, by complex numbers and matrices."""

    def f(x):
        beam = (Space(d=20 * x[1]) * Lens(f=50.0 * x[0]) * Space(d=30.0)).mul_beam(GaussianBeam(w=0.5, wavelength=1e-3))
        return numpy.real(beam.q) ** 2 * 1e-3 + beam.w

    return _both(derive, f, 1.1, 0.9)


def field_of_magnets(derive):
    """Of a ring of current and a bar, at a place."""

    def f(x):
        ring = magpylib.current.Circle(current=x[0], diameter=0.1)
        return numpy.sum(ring.getB([0.02, 0.01, 0.05]) * numpy.arange(1.0, 4.0)) * 1e5

    return _both(derive, f, 1.3)


def field_of_a_ring(derive):
    """By the package's core, which computes complete elliptic integrals in a loop until they are found."""

    def f(x):
        field = magpylib.core.current_circle_Hfield(
            r0=numpy.array([x[0]]), r=numpy.array([0.5]), z=numpy.array([0.2 * x[1]]), i0=numpy.array([3.0])
        )
        return numpy.sum(field)

    return _both(derive, f, 1.3, 1.1)


def field_of_a_dipole(derive):
    def f(x):
        field = magpylib.core.dipole_Hfield(
            observers=numpy.array([[x[0], 0.2, 0.5]]), moments=numpy.array([[0.1, x[1], 1.0]])
        )
        return numpy.sum(field * numpy.arange(1.0, 4.0))

    return _both(derive, f, 0.3, 0.8)


def gas_in_a_solid(derive):
    """What a material takes up, by Langmuir's isotherm, and the pressure spread of a mixture."""
    table = pandas.DataFrame({"p": [0.1, 0.5, 1.0, 2.0, 5.0], "q": [0.4, 1.4, 2.1, 2.9, 3.6]})
    isotherm = ModelIsotherm(table, loading_key="q", pressure_key="p", model="Langmuir")
    points = InterpolatorIsotherm(table, loading_key="q", pressure_key="p")
    return _both(
        derive, lambda x: isotherm.loading(x[0]) * isotherm.spreading_pressure(x[1]) + points.loading(2.0), 1.2, 0.7
    )


def impedance_of_a_cell(derive):
    """Of a battery, by the elements of a circuit."""
    frequencies = numpy.logspace(-1, 3, 7)

    def f(x):
        arc = elements.p([elements.R([x[0]], frequencies), elements.C([x[1]], frequencies)])
        tail = [elements.CPE([3.0, x[2]], frequencies), elements.Wo([x[0], 2.0], frequencies)]
        z = elements.s([elements.R([0.02], frequencies), arc, *tail])
        return numpy.sum(numpy.abs(z)) + numpy.sum(z.imag**2)

    return _both(derive, f, 0.4, 0.6, 0.8)


def impedance_by_a_text(derive):
    """The circuit is a text, into which numbers are written, and which is run."""

    def f(x):
        circuit = CustomCircuit("R0-p(R1,C1)", initial_guess=[0.02, x[0], x[1]])
        return numpy.sum(numpy.abs(circuit.predict(numpy.logspace(-1, 3, 7), use_initial=True)))

    return _both(derive, f, 0.4, 0.6)


def satellite(derive):
    """Where a satellite is, by SGP4 in Python."""

    def f(x):
        made = model.Satellite()
        made.whichconst = wgs72
        sgp4init(wgs72, "i", 5, 18441.785, 2.8098e-5, 0.0, 0.0, 0.1859667 * x[0], 5.790416, 0.5980929, x[1], 0.0472294,
                 6.0863855, made)  # fmt: skip
        place, _ = sgp4(made, 30.0 * x[0])
        return place[0] * 1e-3 + (place[1] * 1e-3) ** 2

    return _both(derive, f, 1.0, 0.3)


def height_of_the_sun(derive):
    import datetime

    from astral import Observer

    when = datetime.datetime(2024, 5, 3, 10, tzinfo=datetime.UTC)
    return _both(derive, lambda x: sun.zenith(Observer(x[0] * 50, x[1] * 8, 0.0), when) * 0.1, 1.0, 1.1)


def place_of_the_sun(derive):
    when = numpy.datetime64("2024-05-03T10:00")
    return _both(
        derive, lambda x: numpy.sum(pyorbital.astronomy.get_alt_az(when, x[0] * 8, x[1] * 50)[0]) * 3, 1.0, 1.1
    )


def contact_of_balls(derive):
    """The half axes and the pressure of Hertz's contact, and the oil film of Dowson and Hamrock."""

    def f(x):
        e = tribology.eeff(2.1e11 * x[0], 0.3, 2.0e11, 0.3)
        reduced, r_x, r_y = tribology.reff(0.01 * x[1], 0.01 * x[1], 0.02, 0.03)
        axes = tribology.ahertz(reduced, r_x, r_y, e, 50.0)
        return tribology.phertz(reduced, r_x, r_y, e, 50.0) * 1e-9 + axes[0] * 1e3

    return _both(derive, f, 1.0, 1.1)


def neutrons(derive):
    """Refraction of neutrons by water, by its density and their wavelength."""

    def f(x):
        sld, absorbed, depth = nsf.neutron_scattering("H2O", density=x[0], wavelength=x[1])
        return sld[0] + sld[1] * 1e4 + absorbed[1] + depth

    return _both(derive, f, 1.0, 1.8)


def cosmos(derive):
    """Ages and distances of a flat universe."""
    return _both(
        derive,
        lambda x: cosmology.setCosmology("tried", {
            "flat": True, "H0": 70.0, "Om0": x[0], "Ob0": 0.049, "sigma8": 0.81, "ns": 0.95, "persistence": "",
        }).Ez(x[1]),
        0.3, 0.8,
    )  # fmt: skip


def gravitational_lens(derive):
    """Where an ellipse and a shear send light, and how much brighter."""
    lens = LensModel(["NIE", "SHEAR"])

    def f(x):
        given = [{"theta_E": x[0], "s_scale": 0.1, "e1": x[1], "e2": 0.05, "center_x": 0.0, "center_y": 0.02},
                 {"gamma1": 0.03, "gamma2": x[2]}]  # fmt: skip
        across, up = lens.ray_shooting(0.9, 0.4, given)
        return across * up + across

    return _both(derive, f, 1.1, 0.1, 0.02)


def quaternions_of_rowan(derive):
    def f(x):
        q = rowan.from_axis_angle(numpy.array([0.6, 0.8, 0.0]), x[0])
        turned = rowan.rotate(rowan.multiply(q, rowan.from_euler(x[1], 0.2, 0.3)), numpy.array([1.0, 2.0, 3.0]))
        return numpy.sum(turned * numpy.arange(3.0)) + numpy.sum(rowan.to_matrix(rowan.power(q, 0.4)) * _WEIGHTS)

    return _both(derive, f, 0.5, 0.4)


def quaternions_of_games(derive):
    def f(x):
        q = pyrr.quaternion.create_from_axis_rotation(numpy.array([0.6, 0.8, 0.0]), x[0])
        p = pyrr.quaternion.create_from_eulers([x[1], 0.3, 0.2])
        seen = pyrr.matrix44.create_from_quaternion(pyrr.quaternion.cross(q, p))
        between = pyrr.quaternion.slerp(q, p, 0.3)
        return numpy.sum(seen[:3, :3] * _WEIGHTS) + numpy.sum(between**3)

    return _both(derive, f, 0.5, 0.4)


def cepstrum(derive):
    """Of speech: what a recogniser hears."""

    def f(x):
        sound = numpy.sin(numpy.arange(800) * 0.1 + x[0]) + x[1] * 0.1 * _SIGNAL[:800]
        return numpy.sum(python_speech_features.mfcc(sound, 16000, nfft=512) ** 2) * 1e-3

    return _both(derive, f, 1.0, 1.1)


def loudness(derive):
    """Of a sound, by the recommendation BS.1770."""
    meter = pyloudnorm.Meter(8000)
    return _both(derive, lambda x: meter.integrated_loudness(_SIGNAL * x[0] + x[1] * 0.1 * _SIGNAL**2), 0.3, 1.1)


def likeness_of_pictures(derive):
    """By mean squares, peaks and structure."""

    def f(x):
        seen = _PICTURE * x[0] + x[1] * 0.1
        return sewar.rmse(seen, _OTHER) + sewar.ergas(seen, _OTHER) * 1e-3 + sewar.uqi(seen, _OTHER, ws=8)

    return _both(derive, f, 0.9, 1.1)


def picture_in_the_round(derive):
    """Abel's transform of a picture, by Hansen and Law's recursion."""

    def f(x):
        seen = _PICTURE * x[0] + x[1] * _PICTURE**2
        return numpy.sum(abel.hansenlaw.hansenlaw_transform(seen, direction="inverse") ** 2)

    return _both(derive, f, 0.9, 1.1)


def fuzzy_control(derive):
    """A membership function, and the centre of an answer."""
    grid = numpy.linspace(0, 10, 41)

    def f(x):
        bell = skfuzzy.gbellmf(grid, 2 * x[0], 2.0, 5 * x[1])
        return skfuzzy.defuzz(grid, bell, "centroid") + numpy.sum(skfuzzy.gaussmf(grid, 4 * x[1], x[0]) ** 2)

    return _both(derive, f, 1.0, 1.1)


def states_of_a_series(derive):
    """Smoothed states of a series by a Kalman filter."""

    def f(x):
        filters = simdkalman.KalmanFilter(
            state_transition=numpy.array([[1.0, 1.0], [0.0, 1.0]]), process_noise=numpy.diag(x[:2]),
            observation_model=numpy.array([[1.0, 0.0]]), observation_noise=x[2],
        )  # fmt: skip
        return numpy.sum(filters.smooth(_SIGNAL[:8]).states.mean ** 2)

    return _both(derive, f, 0.1, 0.2, 0.8)


def variogram(derive):
    """How alike places are, by Gauss's and Matérn's models."""

    def f(x):
        places = numpy.array([0.3, 1.0, 2.0])
        smooth = gstools.Gaussian(dim=2, var=x[0], len_scale=2.0).variogram(places)
        return numpy.sum(smooth**2) + numpy.sum(gstools.Exponential(dim=1, var=x[0], nugget=x[1]).covariance(places))

    return _both(derive, f, 1.2, 0.2)

"""Further programs in plain NumPy and Python's math, never meant to be differentiated, called as users do."""

import sys

sys.modules["numba"] = None  # what it compiles takes plain numbers only; without it these packages run in Python

import ambiance
import colorspacious
import control
import haversine
import miepython
import navpy
import numpy
import nvector
import ot
import padasip
import psychrolib
import pytransform3d.rotations
import pytransform3d.transformations
import seawater
import skinematics.rotmat
import skinematics.vector
import tensorly
import utm
from chempy.kinetics.arrhenius import arrhenius_equation
from chempy.properties.water_density_tanaka_2001 import water_density
from chempy.properties.water_permittivity_bradley_pitzer_1979 import water_permittivity
from geographiclib.geodesic import Geodesic
from ikpy.chain import Chain
from ikpy.link import OriginLink, URDFLink
from prysm.coordinates import cart_to_polar, make_xy_grid
from prysm.geometry import circle
from prysm.polynomials import zernike_nm
from prysm.propagation import Wavefront
from prysm.thinfilm import multilayer_stack_rt
from py_vollib.black_scholes import black_scholes
from PyAstronomy import pyasl
from pyquaternion import Quaternion
from pyXSteam.XSteam import XSteam

_WEIGHTS = numpy.arange(9.0).reshape(3, 3)
_ARM = Chain(
    name="arm",
    links=[
        OriginLink(),
        URDFLink("shoulder", origin_translation=[0.1, 0, 0.2], origin_orientation=[0, 0.3, 0], rotation=[0, 1, 0]),
        URDFLink("elbow", origin_translation=[0.4, 0, 0], origin_orientation=[0, 0, 0], rotation=[0, 0, 1]),
    ],
)
_STEAM = XSteam(XSteam.UNIT_SYSTEM_MKS)
_GRID = make_xy_grid(16, diameter=2)
_POLAR = cart_to_polar(*_GRID)
_SEEN = numpy.random.default_rng(0).normal(size=(20, 3))
psychrolib.SetUnitSystem(psychrolib.SI)


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def standard_atmosphere(derive):
    """Pressure, density, speed of sound and viscosity at two heights."""

    def f(x):
        air = ambiance.Atmosphere(x)
        return numpy.sum(air.pressure * 1e-5 + air.density * air.speed_of_sound / 300 + air.dynamic_viscosity * 1e5)

    return _both(derive, f, 1500.0, 9000.0)


def colour_appearance(derive):
    """A colour in the space CAM02-UCS."""

    def f(x):
        c = colorspacious.cspace_convert(x, "sRGB1", "CAM02-UCS")
        return c[0] * c[1] * 1e-2 + c[2]

    return _both(derive, f, 0.4, 0.5, 0.3)


def colour_difference(derive):
    """How different two colours look."""
    other = numpy.array([0.2, 0.3, 0.6])
    return _both(derive, lambda x: colorspacious.deltaE(x, other, input_space="sRGB1"), 0.4, 0.5, 0.3)


def transfer_function(derive):
    """How much a linear system passes of a frequency."""
    return _both(derive, lambda x: numpy.abs(control.tf([x[0]], [1.0, x[1], 2.0])(1.3j)), 1.4, 0.5)


def regulator(derive):
    """The gains of a linear-quadratic regulator."""

    def f(x):
        dynamics = numpy.array([[0.0, 1.0], [-x[0], -x[1]]])
        gains, _, _ = control.lqr(dynamics, numpy.array([[0.0], [1.0]]), numpy.eye(2), numpy.array([[x[2]]]))
        return numpy.sum(gains**2)

    return _both(derive, f, 1.4, 0.5, 0.8)


def rate_of_a_reaction(derive):
    return _both(derive, lambda x: arrhenius_equation(x[0], x[1] * 1e4, x[2] * 1e2), 10.0, 4.2, 3.1)


def density_of_water(derive):
    """And its permittivity."""
    return _both(derive, lambda x: water_density(x[0]) * 1e-3 + water_permittivity(x[0], x[1] * 1e3) * 0.01, 295.0, 1.0)


def geodesic_between_places(derive):
    """Its length on the ellipsoid."""
    return _both(derive, lambda x: Geodesic.WGS84.Inverse(x[0], x[1], 10.0, 20.0)["s12"] * 1e-6, 40.0, 30.0)


def geodesic_from_a_place(derive):
    """Where it ends."""

    def f(x):
        end = Geodesic.WGS84.Direct(40.0, 5.0, x[0], x[1] * 1e6)
        return end["lat2"] * end["lon2"] * 1e-2

    return _both(derive, f, 30.0, 1.2)


def distance_on_a_sphere(derive):
    return _both(derive, lambda x: haversine.haversine((x[0], x[1]), (10.0, 20.0)) * 1e-3, 40.0, 30.0)


def arm(derive):
    """Where the hand of a robot is."""

    def f(x):
        hand = _ARM.forward_kinematics([0.0, x[0], x[1]])
        return hand[0, 3] * 2 + hand[1, 0] + hand[2, 3] ** 2

    return _both(derive, f, 0.4, 0.7)


def navigation_frames(derive):
    def f(x):
        down = navpy.lla2ned(x[0], x[1], x[2] * 1e3, 40.0, 5.0, 0.0) * 1e-5
        return numpy.sum(navpy.lla2ecef(x[0], x[1], x[2] * 1e3) * 1e-6) + numpy.sum(down**2)

    return _both(derive, f, 41.0, 6.0, 1.0)


def attitude(derive):
    return _both(derive, lambda x: numpy.sum(navpy.angle2dcm(*x) * _WEIGHTS), 0.3, 0.2, 0.5)


def normal_vectors(derive):
    """A position from the normal of the Earth, and its distance from another one."""
    other = nvector.lat_lon2n_E(0.2, 0.9)

    def f(x):
        normal = nvector.lat_lon2n_E(x[0], x[1])
        away = numpy.sum(nvector.great_circle_distance(normal, other, radius=1.0))
        return numpy.sum(nvector.n_EB_E2p_EB_E(normal, 10.0) * 1e-6) + away

    return _both(derive, f, 0.7, 0.3)


def _adaptive(make):
    def f(x):
        _, errors, _ = make(x).run(_SEEN @ numpy.array([0.5, -1.0, 2.0]), _SEEN)
        return numpy.sum(errors**2)

    return f


def least_mean_squares(derive):
    """The errors of an adaptive filter by its rate."""
    return _both(derive, _adaptive(lambda x: padasip.filters.FilterLMS(n=3, mu=x[0], w="zeros")), 0.1)


def recursive_least_squares(derive):
    return _both(derive, _adaptive(lambda x: padasip.filters.FilterRLS(n=3, mu=x[0], eps=x[1], w="zeros")), 0.95, 0.3)


def point_spread(derive):
    """The image of a point by a lens with two aberrations."""
    radius, angle = _POLAR

    def f(x):
        phase = x[0] * zernike_nm(2, 0, radius, angle) + x[1] * zernike_nm(3, 1, radius, angle)
        wave = Wavefront.from_amp_and_phase(circle(1, radius), 100 * phase, 0.55, _GRID[0][0, 1] - _GRID[0][0, 0])
        return numpy.sum(wave.focus(100.0, Q=2).intensity.data ** 2) / 1e3

    return _both(derive, f, 0.4, 0.9)


def aberration(derive):
    """An aberration over a pupil that is scaled and turned."""
    radius, angle = _POLAR
    return _both(derive, lambda x: numpy.sum(zernike_nm(3, 1, radius * x[0], angle + x[1]) ** 3), 0.9, 0.4)


def turned_aberration(derive):
    """One over a pupil of known radius: it is made in an array of plain numbers."""
    radius, angle = _POLAR
    return _both(derive, lambda x: numpy.sum(zernike_nm(3, 1, radius, angle + x[0]) ** 3), 0.4)


def thin_films(derive):
    def f(x):
        r, _ = multilayer_stack_rt([(1.46, x[0]), (2.3, x[1]), (1.5, 1.0)], 0.55, "p", aoi=20.0)
        return numpy.abs(r) ** 2

    return _both(derive, f, 0.1, 0.06)


def scattering_by_a_sphere(derive):
    def f(x):
        extinction, scattering, _, _ = miepython.efficiencies_mx(1.5 - 0.01j * x[1], x[0])
        return extinction + scattering

    return _both(derive, f, 2.3, 1.0)


def moist_air(derive):
    """Humidity, enthalpy and vapour pressure."""

    def f(x):
        ratio = psychrolib.GetHumRatioFromRelHum(x[0], x[1], 101325.0)
        return ratio * 100 + psychrolib.GetMoistAirEnthalpy(x[0], ratio) * 1e-4 + psychrolib.GetSatVapPres(x[0]) * 1e-3

    return _both(derive, f, 25.0, 0.5)


def option(derive):
    """What an option costs."""
    return _both(derive, lambda x: black_scholes("c", x[0] * 100, 100.0, x[1], 0.02, x[2]) * 0.1, 1.05, 0.5, 0.3)


def orbit(derive):
    """Where a planet is."""

    def f(x):
        ellipse = pyasl.KeplerEllipse(x[0], 2.0, e=x[1], i=30.0, Omega=20.0, w=40.0, tau=0.1)
        place = ellipse.xyzPos(x[2])
        return numpy.sum(place**2) + place[0]

    return _both(derive, f, 1.1, 0.3, 0.6)


def turned_vector(derive):
    def f(x):
        turned = Quaternion(axis=[1.0, x[1], 0.3], angle=x[0]).rotate(numpy.array([1.0, 2.0, 3.0]))
        return numpy.sum(turned * numpy.arange(3.0))

    return _both(derive, f, 0.6, 0.4)


def between_rotations(derive):
    def f(x):
        between = Quaternion.slerp(Quaternion(x[0], 0.2, x[1], 0.1).normalised, Quaternion(0.5, 0.5, 0.5, 0.5), 0.3)
        return between.w * between.x + between.y

    return _both(derive, f, 0.9, 0.4)


def rotation_about_an_axis(derive):
    rotations = pytransform3d.rotations

    def f(x):
        axis = numpy.hstack((rotations.norm_vector(x[:3]), [x[3]]))
        return numpy.sum(rotations.matrix_from_axis_angle(axis) * _WEIGHTS)

    return _both(derive, f, 0.6, 0.2, 0.8, 0.5)


def rigid_motion(derive):
    def f(x):
        moved = pytransform3d.transformations.transform_from_exponential_coordinates(x)
        return numpy.sum(moved[:3, 1:] * _WEIGHTS)

    return _both(derive, f, 0.6, 0.2, 0.8, 0.1, 0.5, 0.3)


def steam(derive):
    """The enthalpy and the volume of steam."""
    return _both(derive, lambda x: _STEAM.h_pt(x[0], x[1]) * 1e-3 + _STEAM.v_pt(x[0], x[1]), 10.0, 300.0)


def steam_at_saturation(derive):
    return _both(derive, lambda x: _STEAM.tsat_p(x[0]) * 1e-2 + _STEAM.hV_p(x[0]) * 1e-3, 10.0)


def sea_water(derive):
    """Its density, speed of sound, heat, freezing point and potential temperature."""

    def f(x):
        point = numpy.sum(seawater.fp(x, 100.0)) + numpy.sum(seawater.ptmp(x, 10.0, 1000.0)) * 0.1
        return numpy.sum(seawater.dens(x, 12.0, 1000.0) + seawater.svel(x, 9.0, 10.0)) * 1e-3 + point

    return _both(derive, f, 35.0, 30.0)


def movements(derive):
    def f(x):
        turned = skinematics.rotmat.R("x", x[0] * 50) @ skinematics.rotmat.R("z", x[1] * 50)
        angle = skinematics.vector.angle(numpy.array([x[0], 0.3, x[1]]), numpy.array([1.0, 0.2, 0.1]))
        return numpy.sum(turned * _WEIGHTS) + angle

    return _both(derive, f, 0.6, 0.2)


def map_coordinates(derive):
    def f(x):
        east, north, *_ = utm.from_latlon(x[0], x[1], 32, "U")
        return east * 1e-6 + (north * 1e-6) ** 2

    return _both(derive, f, 51.0, 7.0)


def map_coordinates_back(derive):
    return _both(derive, lambda x: sum(utm.to_latlon(x[0] * 1e5, x[1] * 1e6, 32, "U")) * 0.1, 4.0, 5.6)


def transport(derive):
    """The regularized cost of moving one distribution to another."""
    even, costs = numpy.ones(3) / 3, numpy.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])

    def f(x):
        return ot.sinkhorn2(even, even, costs * x[0] + x[1] * numpy.eye(3), 0.5, numItermax=30, stopThr=0, warn=False)

    return _both(derive, f, 1.0, 0.1)


def tensor_of_factors(derive):
    def f(x):
        factors = [numpy.outer(x, x)[:, :2], numpy.ones((2, 2)) * x[0], numpy.eye(2)]
        tensor = tensorly.cp_to_tensor((None, factors))
        return tensorly.norm(tensor) + tensorly.sum(tensorly.unfold(tensor, 1)[0])

    return _both(derive, f, 0.5, 0.7, 0.2)

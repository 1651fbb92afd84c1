"""Programs in plain NumPy from the package index, never meant to be differentiated, called as users do."""

import ahrs
import colour
import filterpy.kalman
import ht
import iapws
import meent
import modern_robotics
import numpy
import numpy_financial
import pvlib
import pymap3d
import roboticstoolbox
import tmm
import transforms3d
from iapws import iapws97
from pythermalcomfort.models import pmv_ppd_iso


def _both(derive, f, *at):
    x = numpy.array(at)
    return [derive.grad(f)(x), derive.hessian(f)(x)]


def filterpy_likelihood(derive):
    """How likely measurements are, as a function of the noise that a Kalman filter is told."""
    seen = numpy.array([0.1, 0.4, 1.1, 1.4, 2.2, 2.4])

    def f(x):
        follows = filterpy.kalman.KalmanFilter(dim_x=2, dim_z=1)
        follows.F = numpy.array([[1.0, 1.0], [0.0, 1.0]])
        follows.H = numpy.array([[1.0, 0.0]])
        follows.R = follows.R * x[0]
        follows.Q = follows.Q * x[1]
        likely = 0.0
        for z in seen:
            follows.predict()
            follows.update(z)
            likely = likely + follows.log_likelihood
        return likely

    return _both(derive, f, 0.8, 0.1)


def filterpy_gain(derive):
    """The update of an estimate, by filterpy's function."""

    def f(x):
        mean, spread = filterpy.kalman.update(
            numpy.array([1.0, 0.5]),
            numpy.eye(2) * x[0],
            numpy.array([x[1]]),
            numpy.eye(1) * 0.3,
            numpy.array([[1.0, 0.2]]),
        )[:2]
        return numpy.sum(mean**2) + numpy.trace(spread)

    return _both(derive, f, 0.8, 1.3)


def ahrs_quaternions(derive):
    """The angles of a product of rotations."""

    def f(x):
        q = ahrs.Quaternion(x)
        return numpy.sum(q.product(numpy.array([0.9, 0.1, -0.2, 0.3])) ** 3)

    return _both(derive, f, 0.7, 0.2, 0.4, -0.1)


def ahrs_gravity(derive):
    """Normal gravity of the ellipsoid."""
    earth = ahrs.utils.WGS()
    return _both(derive, lambda x: earth.normal_gravity(40.0 * x[0], 1e3 * x[1]), 1.1, 1.3)


def pymap3d_places(derive):
    """East, north and up of a place on the Earth, from another."""

    def f(x):
        east, north, up = pymap3d.geodetic2enu(x[0], x[1], 200.0, 42.0, -82.0, 100.0)
        return 1e-8 * (east**2 + 2.0 * north**2 + 3.0 * up**2)

    return _both(derive, f, 42.2, -81.7)


def pymap3d_back(derive):
    """Latitude and height from Cartesian coordinates."""

    def f(x):
        latitude, longitude, height = pymap3d.ecef2geodetic(6.6e5 * x[0], -4.7e6 * x[1], 4.2e6)
        return latitude * longitude + 1e-5 * height

    return _both(derive, f, 1.0, 1.0)


def colour_lab(derive):
    """Lightness and opponents of a colour."""
    return _both(derive, lambda x: numpy.sum(colour.XYZ_to_Lab(x) ** 2), 0.21, 0.12, 0.05)


def colour_difference(derive):
    """The difference of two colours by CIE's formula of 2000."""

    def f(x):
        return colour.difference.delta_E_CIE2000(x, numpy.array([100.0, 60.0, 20.0]))

    return _both(derive, f, 90.0, 30.0, 10.0)


def iapws_water(derive):
    """Volume and enthalpy of water, by the formulation for industry."""

    def f(x):
        found = iapws97._Region1(300.0 * x[0], 3.0 * x[1])
        return 1e3 * found["v"] + found["h"]

    return _both(derive, f, 1.02, 1.1)


def iapws_surface_tension(derive):
    """Surface tension and viscosity of water."""
    return _both(
        derive,
        lambda x: 1e3 * iapws._iapws._Tension(300.0 * x[0]) + 1e3 * iapws._iapws._Viscosity(998.0 * x[1], 300.0 * x[0]),
        1.02,
        0.99,
    )


def meent_reflection(derive):
    """What a layered grating reflects, by rigorous coupled waves."""

    def f(x):
        cells = (x[0] - 1.0) * numpy.array([[[1.0, 1.0, 0.0, 0.0]]]) + 1.0
        solver = meent.call_mee(
            backend=0, pol=0, n_top=1.0, n_bot=1.5, theta=0.1, phi=0.0, fto=[3, 0], wavelength=900.0,
            period=[700.0, 700.0], ucell=cells, thickness=[300.0 * x[1]],
        )  # fmt: skip
        return numpy.sum(solver.conv_solve().de_ri)

    return _both(derive, f, 2.1, 1.0)


def modern_robotics_kinematics(derive):
    """Where a robot's hand is, by a product of exponentials."""
    home = numpy.array([[-1.0, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]])
    screws = numpy.array([[0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T
    return _both(derive, lambda x: numpy.sum(modern_robotics.FKinSpace(home, screws, x) ** 3), 0.6, 1.3, 1.1)


def numpy_financial_value(derive):
    """What payments are worth now."""
    return _both(
        derive, lambda x: numpy_financial.npv(0.1 * x[0], numpy.array([-40.0, 5.0, 8.0, 12.0, 30.0])) * x[1], 1.1, 0.7
    )


def pvlib_irradiance(derive):
    """What a tilted plane gets of the sky's light, and what a cell's diode gives of it."""

    def f(x):
        sky = pvlib.irradiance.haydavies(30.0 * x[0], 180.0, 200.0, 700.0 * x[1], 1350.0, 40.0, 170.0)
        return 1e-2 * sky

    return _both(derive, f, 1.1, 0.9)


def pvlib_cell_temperature(derive):
    """The temperature of a module's cells."""
    return _both(
        derive, lambda x: pvlib.temperature.sapm_cell(900.0 * x[0], 20.0, 5.0 * x[1], -3.47, -0.0594, 3.0), 1.1, 0.9
    )


def pvlib_diode(derive):
    """Current of a single diode's equation by Lambert's W function."""
    return _both(
        derive, lambda x: pvlib.singlediode.bishop88(30.0 * x[0], 6.0 * x[1], 1e-9, 0.3, 300.0, 1.5)[2], 1.0, 1.0
    )


def thermal_comfort(derive):
    """How warm people feel, by Fanger's equations."""

    def f(x):
        found = pmv_ppd_iso(tdb=25.0 * x[0], tr=25.0, vr=0.1, rh=50.0 * x[1], met=1.2, clo=0.5, round_output=False)
        return found.pmv

    return _both(derive, f, 1.05, 0.9)


def robotics_toolbox(derive):
    """Where the hand of an arm with six joints is."""
    arm = roboticstoolbox.models.DH.Puma560()
    return _both(derive, lambda x: numpy.sum(arm.fkine(x).A ** 3), 0.1, 0.4, -0.3, 0.2, 0.5, -0.2)


def thin_films(derive):
    """What thin films reflect, by transfer matrices."""

    def f(x):
        return tmm.coh_tmm("s", [1.0, x[0], 3.5], [numpy.inf, 100.0 * x[1], numpy.inf], 0.3, 550.0)["R"]

    return _both(derive, f, 1.45, 0.95)


def transforms_of_rotations(derive):
    """Euler's angles of a rotation about an axis."""

    def f(x):
        turned = transforms3d.axangles.axangle2mat(x[:3], x[3])
        return sum(transforms3d.euler.mat2euler(turned)) + numpy.sum(transforms3d.quaternions.mat2quat(turned))

    return _both(derive, f, 0.3, 0.5, 0.8, 0.6)


def heat_transfer(derive):
    """Nusselt's number in a tube, and a condenser's mean difference of temperatures."""

    def f(x):
        inside = ht.conv_internal.turbulent_Gnielinski(Re=1e5 * x[0], Pr=1.2 * x[1], fd=0.0185)
        return 1e-2 * inside + ht.core.LMTD(100.0 * x[0], 60.0, 30.0 * x[1], 40.0)

    return _both(derive, f, 1.1, 0.9)

"""The integration of Lorenz's system in C: the adjoint of the same steps, by hand, compiled for this machine."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from loops import LORENZ_STEPS

NAME = "C"
_COMPILER = shutil.which("gcc") or shutil.which("cc")
if _COMPILER is None:
    raise ImportError("there is no C compiler")
VERSION = subprocess.run([_COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()

SOURCE = """
#include <string.h>
#define H 0.001

static void slope(const double *p, const double *s, double *k) {
    k[0] = p[0] * (s[1] - s[0]);
    k[1] = s[0] * (p[1] - s[2]) - s[1];
    k[2] = s[0] * s[1] - p[2] * s[2];
}

/* Adds to the cotangents of the parameters and the state what comes from the cotangent c of the slope at s. */
static void back(const double *p, const double *s, const double *c, double *dp, double *ds) {
    dp[0] += c[0] * (s[1] - s[0]);
    dp[1] += c[1] * s[0];
    dp[2] -= c[2] * s[2];
    ds[0] += -c[0] * p[0] + c[1] * (p[1] - s[2]) + c[2] * s[1];
    ds[1] += c[0] * p[0] - c[1] + c[2] * s[0];
    ds[2] += -c[1] * s[0] - c[2] * p[2];
}

static void stages(const double *p, const double *s, double k[4][3], double at[4][3]) {
    static const double part[4] = {0, H / 2, H / 2, H};
    memcpy(at[0], s, 3 * sizeof(double));
    slope(p, at[0], k[0]);
    for (int j = 1; j < 4; j++) {
        for (int i = 0; i < 3; i++) at[j][i] = s[i] + part[j] * k[j - 1][i];
        slope(p, at[j], k[j]);
    }
}

static double states[N + 1][3];

void gradient(const double *p, const double *start, double *dp) {
    static const double weight[4] = {H / 6, H / 3, H / 3, H / 6}, part[4] = {0, H / 2, H / 2, H};
    double k[4][3], at[4][3], c[3];
    memcpy(states[0], start, sizeof states[0]);
    for (int n = 0; n < N; n++) {
        stages(p, states[n], k, at);
        for (int i = 0; i < 3; i++)
            states[n + 1][i] = states[n][i] + H / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
    dp[0] = dp[1] = dp[2] = 0;
    for (int i = 0; i < 3; i++) c[i] = 2 * states[N][i];
    for (int n = N - 1; n >= 0; n--) {
        double ds[3] = {c[0], c[1], c[2]}, dk[4][3];
        stages(p, states[n], k, at);
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 3; i++) dk[j][i] = weight[j] * c[i];
        for (int j = 3; j >= 0; j--) {
            double da[3] = {0, 0, 0};
            back(p, at[j], dk[j], dp, da);
            for (int i = 0; i < 3; i++) {
                ds[i] += da[i];
                if (j) dk[j - 1][i] += part[j] * da[i];
            }
        }
        memcpy(c, ds, sizeof c);
    }
}
"""


class Compiled:
    """The gradient, compiled at the first call."""

    _function = None

    def __call__(self, p, start):
        if self._function is None:
            self._function = self._build()
        found = np.empty(3)
        self._function(p.ctypes.data, start.ctypes.data, found.ctypes.data)
        return found

    def _build(self):
        folder = Path(tempfile.mkdtemp())
        (folder / "adjoint.c").write_text(SOURCE)
        command = [
            _COMPILER,
            "-O3",
            "-march=native",
            f"-DN={LORENZ_STEPS}",
            "-shared",
            "-fPIC",
            "adjoint.c",
            "-o",
            "adjoint.so",
        ]
        subprocess.run(command, cwd=folder, check=True)
        function = ctypes.CDLL(str(folder / "adjoint.so")).gradient
        function.argtypes = [ctypes.c_void_p] * 3
        shutil.rmtree(folder)
        return function


def variants(workload):
    """Return the functions to time, by name."""
    return {"C, by hand": Compiled()} if workload.kind in ("lorenz", "lorenz-python") else {}


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return arguments


def wait(result):
    """Return when the result is computed."""


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    return [result]

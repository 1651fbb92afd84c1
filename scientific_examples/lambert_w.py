"""A primitive of your own, with its proof: Lambert's W, and a diode with a resistor, which it solves.

    W(x) exp W(x) = x,   W′ = W / (x (1 + W))

One record declares the function, from SciPy, and one rule; every transform follows, to any order, and `primad.verify`
compares the rule with the function. A wrong rule is caught, with a counterexample.

Reference: SymPy's derivatives of W up to the fourth order; Kirchhoff's law, solved by Newton's method.
Reach: error 1e-12, kirchhoff 1e-12, not_proved 0, wrong_rules_passed 0, seconds 20
Toy: error 1e-12, kirchhoff 1e-12, not_proved 0, wrong_rules_passed 0
"""

import numpy as np
import scipy.special
import sympy

import primad


def principal_branch(x):
    """Return W(x) in the precision of x."""
    return scipy.special.lambertw(x).real.astype(x.dtype)


lambert_w = primad.elementwise(
    "lambert_w",
    numpy=principal_branch,
    partials=[lambda w, x: w / (x * (1 + w))],
    doc="The w with w exp(w) = x, for x > 0.",
)
wrong = primad.elementwise(
    "wrong_lambert_w",
    numpy=principal_branch,
    partials=[lambda w, x: w / (x * (2 + w))],
)


def meaning(numbers, x):
    """Return W of symbols, with which the rule is proved, and of numbers of fifty digits."""

    def one(v):
        return sympy.LambertW(v) if isinstance(v, sympy.Basic) else v.context.lambertw(v)

    return np.frompyfunc(one, 1, 1)(x)


SATURATION, THERMAL, RESISTANCE = 1e-9, 0.02585, 50.0


def current(voltage):
    """Return the current through a diode and a resistor in series."""
    x = SATURATION * RESISTANCE / THERMAL
    return THERMAL / RESISTANCE * lambert_w(x * np.exp((voltage + SATURATION * RESISTANCE) / THERMAL)) - SATURATION


def solve(toy=False):
    """Return the errors of derivatives and of the current, the number of unproved rules, and what to draw."""
    at = np.linspace(0.1, 5.0, 4 if toy else 30)
    x = sympy.Symbol("x")
    error = 0.0
    for order in range(1, 5):
        formula = sympy.lambdify(x, sympy.LambertW(x).diff(x, order), ["scipy", "numpy"])
        known = formula(at).real
        error = max(error, np.max(np.abs(primad.derivative(lambert_w, order)(at) / known - 1)))

    voltage = np.linspace(-0.2, 1.5, 200)
    i = current(voltage)
    law = SATURATION * np.expm1((voltage - i * RESISTANCE) / THERMAL) - i
    report = primad.verify(lambert_w, domain=[(0.125, 4.0)], symbolic=meaning)
    print(report)
    figures = {
        "error": error,
        "kirchhoff": np.max(np.abs(law / (np.abs(i) + SATURATION))),
        "not_proved": sum(row.how == "failed" for row in report.rows),
        "wrong_rules_passed": int(primad.verify(wrong, domain=[(0.125, 4.0)], symbolic=meaning).ok),
    }
    return figures, (voltage, i, primad.derivative(current)(voltage))


def draw(voltage, i, conductance):
    """Draw the current and its derivative, the differential conductance."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(voltage, 1e3 * i)
    left.set(title="Diode and resistor in series", xlabel="voltage (V)", ylabel="current (mA)")
    right.plot(voltage, 1e3 * conductance)
    right.axhline(1e3 / RESISTANCE, color="C7", linestyle=":", label="1 / resistance")
    right.set(title="Its derivative", xlabel="voltage (V)", ylabel="conductance (mS)")
    right.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)

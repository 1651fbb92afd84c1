"""Programs of complex numbers, once for arrays of any system: transforms, waves, quantum systems, matrices.

Each takes the system's module of functions under NumPy's names, and its `fold(step, carry, rows, length)`; it returns
the function to differentiate. Losses are real; of complex arguments PyTorch's gradient is the conjugate of the others'.
"""

import numpy

STEPS, SPACING = 500, 1e-3
"""Of the split-step method."""
TERMS = 4
"""Of the series of a pulse's exponential."""


def filtered(np, fold):
    """The distance of a convolution of two signals, by transforms of real numbers, from a third signal."""

    def loss(signal, kernel, target):
        n = signal.shape[-1]
        found = np.fft.irfft(np.fft.rfft(signal) * np.fft.rfft(kernel), n)
        return np.sum((found - target) ** 2)

    return loss


def blurred(np, fold):
    """The same of pictures."""

    def loss(picture, kernel, target):
        found = np.real(np.fft.ifft2(np.fft.fft2(picture) * np.fft.fft2(kernel)))
        return np.sum((found - target) ** 2)

    return loss


def schrodinger(np, fold):
    """The distance of a pulse from where it should be, by the nonlinear Schrödinger equation in split steps."""

    def loss(start, target, half):
        def step(u, _):
            u = u * np.exp(1j * SPACING * np.abs(u) ** 2)
            return np.fft.ifft(half * np.fft.fft(u))

        return np.sum(np.abs(fold(step, start, None, STEPS) - target) ** 2)

    return loss


def pulses(np, fold):
    """The share of a quantum system that pulses leave outside of a state."""

    def loss(strengths, still, driven, start, target):
        def step(state, strength):
            turning = -0.05j * (still + strength * driven)
            term = state
            for k in range(1, TERMS + 1):
                term = turning @ term / k
                state = state + term
            return state

        final = fold(step, start, strengths, len(strengths))
        return 1.0 - np.abs(np.sum(np.conj(target) * final)) ** 2

    return loss


def layers(np, fold):
    """The power behind a stack of layers, the product of their matrices."""

    def loss(strengths, still, driven, start):
        def step(state, strength):
            return (still + strength * driven) @ state

        return np.sum(np.abs(fold(step, start, strengths, len(strengths))) ** 2)

    return loss


def gratings(np, fold):
    """The power behind layers in which waves travel as eigenvectors, each by its own eigenvalue.

    A system whose `eig` has derivatives on request only gives it as `fold.eig`.
    """
    eig = getattr(fold, "eig", np.linalg.eig)

    def loss(strengths, still, driven, start):
        values, vectors = eig(still + strengths[:, None, None] * driven)
        passed = (vectors * np.exp(1j * values)[:, None, :]) @ np.linalg.inv(vectors)
        return np.sum(np.abs(fold(lambda state, layer: layer @ state, start, passed, len(passed))) ** 2)

    return loss


def products(np, fold):
    """The size of a product of three matrices."""

    def loss(a, b):
        return np.sum(np.abs(a @ b @ a) ** 2)

    return loss


def sizes(np, fold):
    """Sizes, phases and logarithms of many numbers."""

    def loss(z):
        return np.sum(np.abs(z) ** 2 + np.angle(z)) + np.sum(np.real(np.log(z)) * np.imag(np.log(z)))

    return loss


WAVES = {
    "filtered": filtered, "blurred": blurred, "schrodinger": schrodinger, "pulses": pulses, "pulses-hessian": pulses,
    "layers": layers, "gratings": gratings, "products": products, "sizes": sizes,
}  # fmt: skip
MOVING = {"filtered": (0, 1), "blurred": (0, 1), "products": (0, 1)}
"""The arguments that are differentiated, where it is not the first one."""


def of_waves(kind, points):
    """Return the arguments."""
    rng = numpy.random.default_rng(0)

    def drawn(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    if kind in ("filtered", "blurred"):
        return tuple(rng.normal(size=(3, points) if kind == "filtered" else (3, points, points)))
    if kind == "schrodinger":
        x = numpy.linspace(-20.0, 20.0, points, endpoint=False)
        k = 2 * numpy.pi * numpy.fft.fftfreq(points, x[1] - x[0])
        return 1 / numpy.cosh(x) + 0j, numpy.exp(0.5j * x) / numpy.cosh(x), numpy.exp(-0.5j * k**2 * SPACING)
    if kind.startswith("pulses"):
        still, driven = ((m + m.conj().T) / points**0.5 for m in (drawn(points, points), drawn(points, points)))
        return rng.normal(size=STEPS), still, driven, numpy.eye(points)[0] + 0j, numpy.eye(points)[1] + 0j
    if kind in ("layers", "gratings"):
        still, driven = (drawn(points, points) / (2 * points) ** 0.5 for _ in range(2))
        return 0.2 * rng.normal(size=40), still, driven, numpy.eye(points) + 0j
    return (drawn(points),) if kind == "sizes" else (drawn(points, points) / points, drawn(points, points) / points)

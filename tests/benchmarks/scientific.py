"""Programs of science and vision as their users write them, once for arrays of any system.

Each takes `own`, what a system has beside NumPy's names: `np` itself, `grad`, `jacobian`, `scan`, `loop` (a
`while_loop` of a condition, a step and a start), `softmax`. It returns the function to time; KINDS has its arguments.
"""

import numpy


def bundle(own):
    """The Jacobian of reprojection errors: cameras with a rotation vector, a shift, a focal length, two distortions."""
    np = own.np

    def residuals(x):
        cameras, points = np.reshape(x[: 9 * CAMERAS], (CAMERAS, 9)), np.reshape(x[9 * CAMERAS :], (-1, 3))
        camera, point = cameras[SEEN[:, 0]], points[SEEN[:, 1]]
        turn = camera[:, :3]
        angle = np.sqrt(np.sum(turn**2, axis=1, keepdims=True))
        axis = turn / angle
        along = np.sum(axis * point, axis=1, keepdims=True)
        turned = point * np.cos(angle) + np.cross(axis, point) * np.sin(angle) + axis * along * (1.0 - np.cos(angle))
        placed = turned + camera[:, 3:6]
        flat = -placed[:, :2] / placed[:, 2:3]
        square = np.sum(flat**2, axis=1, keepdims=True)
        distortion = 1.0 + camera[:, 7:8] * square + camera[:, 8:9] * square**2
        return np.reshape(camera[:, 6:7] * distortion * flat - PIXELS, (-1,))

    return own.jacobian(residuals)


def deconvolution(own):
    """The gradient of a blurred picture's misfit with total variation; the blur is a product in Fourier space."""
    np = own.np

    def loss(u, blurred, transfer):
        misfit = np.fft.irfft2(np.fft.rfft2(u) * transfer, u.shape) - blurred
        across, down = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
        return 0.5 * np.sum(misfit**2) + 0.01 * np.sum(np.sqrt(across**2 + down**2 + 1e-6))

    return own.grad(loss)


def normalized(np, x, scale, shift):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return scale * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) + shift


def transformer(own):
    """The gradient of a block of attention with four heads and a layer of 256 cells, in its weights."""
    np = own.np

    def loss(weights, x):
        batch, length, width = x.shape
        h = normalized(np, x, *weights["first"])

        def heads(w):
            return np.swapaxes(np.reshape(h @ w, (batch, length, 4, width // 4)), 1, 2)

        q, k, v = heads(weights["q"]), heads(weights["k"]), heads(weights["v"])
        shares = own.softmax(q @ np.swapaxes(k, -1, -2) / (width // 4) ** 0.5)
        x = x + np.reshape(np.swapaxes(shares @ v, 1, 2), (batch, length, width)) @ weights["o"]
        h = normalized(np, x, *weights["second"])
        return np.mean((x + np.tanh(h @ weights["up"] + weights["bias"]) @ weights["down"]) ** 2)

    return own.grad(loss)


def autoencoder(own):
    """The gradient of a variational autoencoder's bound, 784-256-16, in its weights."""
    np = own.np

    def loss(weights, x, noise):
        h = np.tanh(x @ weights[0] + weights[1])
        mean, log = h @ weights[2] + weights[3], h @ weights[4] + weights[5]
        z = mean + np.exp(0.5 * log) * noise
        logits = np.tanh(z @ weights[6] + weights[7]) @ weights[8] + weights[9]
        entropy = np.sum(np.logaddexp(0.0, logits) - x * logits)
        return (entropy - 0.5 * np.sum(1.0 + log - mean**2 - np.exp(log))) / x.shape[0]

    return own.grad(loss)


def elasticity(own):
    """The gradient of a Neo-Hookean energy of many 3×3 deformations."""
    np = own.np

    def energy(f):
        logs = np.log(np.linalg.det(f))
        return np.sum(0.5 * (np.sum(f * f, axis=(1, 2)) - 3.0) - logs + 0.5 * logs**2)

    return own.grad(energy)


def strains(own):
    """The gradient of functions of inverses and products of many 3×3 matrices."""
    np = own.np

    def energy(f):
        right = np.swapaxes(f, 1, 2) @ f
        return np.sum(np.trace(right @ np.linalg.inv(right + np.eye(3)) @ right, axis1=1, axis2=2))

    return own.grad(energy)


def bodies(own):
    """The gradient of ten bodies' energy after leapfrog steps, in where they start."""
    np = own.np

    def pull(q):
        apart = q[None] - q[:, None]
        return np.sum(apart / (np.sum(apart**2, axis=-1, keepdims=True) + 0.01) ** 1.5, axis=1)

    def loss(q):
        def step(state, _):
            q, v = state
            v = v + 0.001 * pull(q)
            return (q + 0.001 * v, v), None

        (q, v), _ = own.scan(step, (q, 0.0 * q), numpy.arange(200.0))
        return np.sum(v**2) + np.sum(q**2)

    return own.grad(loss)


def implicit_heat(own):
    """The gradient of implicit heat steps, each solved by conjugate gradients until a tolerance holds."""
    np = own.np

    def loss(u, conductivity):
        def operator(x):
            padded = np.pad(x, 1)
            around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
            return x - 0.2 * conductivity * (around - 4.0 * x)

        def solved(b):
            def step(state):
                x, r, p, rr = state
                q = operator(p)
                size = rr / np.sum(p * q)
                r = r - size * q
                new = np.sum(r * r)
                return x + size * p, r, r + new / rr * p, new

            start = (b, b - operator(b), b - operator(b), np.sum((b - operator(b)) ** 2))
            return own.loop(lambda state: state[3] > 1e-16, step, start)[0]

        u, _ = own.scan(lambda u, _: (solved(u), None), u, numpy.arange(15.0))
        return np.sum(u**2)

    return own.grad(loss, (0, 1))


def kepler(own):
    """The gradient of positions on many orbits, whose anomalies Newton's method finds."""
    np = own.np

    def loss(e, mean):
        def step(a):
            return a - (a - e * np.sin(a) - mean) / (1.0 - e * np.cos(a))

        a = own.loop(lambda a: np.any(abs(a - e * np.sin(a) - mean) > 1e-12), step, mean)
        return np.sum((np.cos(a) - e) ** 2 + (1.0 - e**2) * np.sin(a))

    return own.grad(loss, (0, 1))


def cox(own):
    """The Hessian of Cox's partial likelihood, rows sorted by time."""
    np = own.np

    def loss(b, x, event):
        eta = x @ b
        return -np.sum(event * (eta - np.log(np.cumsum(np.exp(eta)))))

    return own.hessian(loss)


def logistic(own):
    """The Hessian of a regression."""
    np = own.np

    def loss(w, x, y):
        return np.sum(np.logaddexp(0.0, -y * (x @ w))) + 0.5 * np.sum(w**2)

    return own.hessian(loss)


def masked(own):
    """The gradient of a factorisation where some entries are observed."""
    np = own.np

    def loss(u, v, data, mask):
        return np.sum(mask * (u @ v.T - data) ** 2) + 0.1 * (np.sum(u**2) + np.sum(v**2))

    return own.grad(loss, (0, 1))


def random(*shape, seed=0):
    return numpy.random.default_rng(seed).normal(size=shape)


def scaled(*shape, seed=0):
    return random(*shape, seed=seed) / shape[0] ** 0.5


CAMERAS, POINTS = 5, 40
SEEN = numpy.stack([numpy.repeat(numpy.arange(CAMERAS), POINTS), numpy.tile(numpy.arange(POINTS), CAMERAS)], axis=1)
PIXELS = random(CAMERAS * POINTS, 2, seed=5)
SCENE = numpy.concatenate(
    [(numpy.tile([0.1, 0.2, -0.1, 0, 0, -5, 1, 0.01, 0.01], (CAMERAS, 1)) + 0.01 * random(CAMERAS, 9)).ravel(),
     random(3 * POINTS, seed=1)]
)  # fmt: skip
WEIGHTS = {
    **{name: scaled(64, 64, seed=i) for i, name in enumerate("qkvo")},
    **{name: (numpy.ones(64), numpy.zeros(64)) for name in ("first", "second")},
    "up": scaled(64, 256, seed=5), "bias": numpy.zeros(256), "down": scaled(256, 64, seed=6),
}  # fmt: skip
LAYERS = ((784, 256), (256, 16), (256, 16), (16, 256), (256, 784))
CODER = tuple(w for i, s in enumerate(LAYERS) for w in (scaled(*s, seed=i), numpy.zeros(s[1])))
ORBITS = (numpy.linspace(0.0, 0.8, 2000), numpy.linspace(0.1, 3.0, 2000))
SPECTRUM = numpy.exp(-30.0 * (numpy.fft.fftfreq(256)[:, None] ** 2 + numpy.fft.rfftfreq(256) ** 2))
SOFT = 1.0 + 0.2 * random(32, 32, seed=3) ** 2
MANY = numpy.eye(3) + 0.1 * random(5000, 3, 3)
SIGNS = numpy.sign(random(5000, seed=4))

KINDS = {
    "bundle": (bundle, (SCENE,)),
    "deconvolution": (deconvolution, (random(256, 256), random(256, 256, seed=1), SPECTRUM)),
    "transformer": (transformer, (WEIGHTS, random(8, 64, 64))),
    "autoencoder": (autoencoder, (CODER, numpy.random.default_rng(0).random((128, 784)), random(128, 16))),
    "elasticity": (elasticity, (MANY,)),
    "strains": (strains, (MANY,)),
    "bodies": (bodies, (random(10, 3),)),
    "implicit-heat": (implicit_heat, (random(32, 32), SOFT)),
    "kepler": (kepler, ORBITS),
    "cox": (cox, (scaled(20), random(2000, 20), SIGNS[:2000] > 0)),
    "logistic": (logistic, (scaled(30), random(5000, 30), SIGNS)),
    "masked": (masked, (random(300, 10), random(200, 10, seed=1), random(300, 200), random(300, 200, seed=2) > 0)),
}

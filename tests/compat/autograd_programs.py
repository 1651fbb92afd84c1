"""Programs as users of HIPS autograd write them: each takes what stands for the package and returns arrays and numbers.

Plain NumPy beside it, so that the package itself can run them (`golden/make_autograd.py`).
"""

from types import SimpleNamespace

import numpy


def system(prefix):
    """Return what programs use of a package: its modules and functions by their names there."""
    from importlib import import_module

    whole = import_module(prefix)
    return SimpleNamespace(
        **{name: getattr(whole, name) for name in dir(whole) if not name.startswith("_")} | {
            "package": prefix,
            "np": import_module(f"{prefix}.numpy"),
            "npr": import_module(f"{prefix}.numpy.random"),
            "norm": import_module(f"{prefix}.scipy.stats.norm"),
            "mvn": import_module(f"{prefix}.scipy.stats.multivariate_normal"),
            "special": import_module(f"{prefix}.scipy.special"),
            "flatten": import_module(f"{prefix}.misc.flatten").flatten,
            "optimizers": import_module(f"{prefix}.misc.optimizers"),
            "extend": import_module(f"{prefix}.extend"),
        }
    )  # fmt: skip


def gaussian_process(ag):
    """Evidence of a Gaussian process in the logarithms of its parameters, and a prediction's slope."""
    np = ag.np
    x = numpy.linspace(-2.0, 2.0, 12)
    y = numpy.sin(2.0 * x) + 0.1 * numpy.cos(9.0 * x)

    def kernel(params, a, b):
        scales = np.exp(params)
        return scales[0] * np.exp(-0.5 * ((a[:, None] - b[None, :]) / scales[1]) ** 2)

    def evidence(params):
        cov = kernel(params, x, x) + np.exp(params[2]) * np.eye(len(x))
        return ag.mvn.logpdf(y, np.zeros(len(x)), cov)

    def mean(params, at):
        cov = kernel(params, x, x) + np.exp(params[2]) * np.eye(len(x))
        return np.dot(kernel(params, at, x), np.linalg.solve(cov, y))

    params = numpy.array([0.1, -0.5, -2.0])
    at = numpy.array([-0.3, 0.8])
    value, slope = ag.value_and_grad(evidence)(params)
    return {
        "value": value,
        "slope": slope,
        "hessian": ag.hessian(evidence)(params),
        "prediction": ag.elementwise_grad(mean, 1)(params, at),
        "jacobian": ag.jacobian(mean)(params, at),
    }


def linear_dynamical_system(ag):
    """The likelihood of a linear dynamical system by Kalman's filter, and steps up its gradient."""
    np = ag.np
    rng = numpy.random.RandomState(3)
    data = rng.randn(15, 2).cumsum(0)

    def likelihood(params):
        drift, noise, look = params
        mean, cov, total = np.zeros(2), np.eye(2), 0.0
        for row in data:
            seen = np.dot(np.dot(look, cov), look.T) + 0.5 * np.eye(2)
            total = total + ag.mvn.logpdf(row, np.dot(look, mean), seen)
            gain = np.dot(cov, np.linalg.solve(seen, look).T)
            mean = mean + np.dot(gain, row - np.dot(look, mean))
            cov = cov - np.dot(gain, np.dot(look, cov))
            mean, cov = np.dot(drift, mean), np.dot(np.dot(drift, cov), drift.T) + np.dot(noise, noise.T)
        return total

    params = [0.9 * numpy.eye(2), 0.3 * numpy.eye(2), numpy.array([[1.0, 0.2], [0.0, 1.0]])]
    step = ag.value_and_grad(likelihood)
    trail = []
    for _ in range(3):
        value, slopes = step(params)
        trail.append(value)
        params = [p + 0.002 * s for p, s in zip(params, slopes)]  # noqa: B905
    return [trail, params]


def expectation_maximization(ag):
    """EM for a linear dynamical system: the gradients of the logarithm of the joint density's integral are the moments.

    The joint density of the hidden states is the exponential of a quadratic form; the integral is taken state by state.
    """
    np = ag.np
    rng = numpy.random.RandomState(5)
    angle, steps = 0.3, 25
    turn = 0.95 * numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    state, rows = numpy.array([2.0, 0.0]), []
    for _ in range(steps):
        rows.append(numpy.dot(rng.randn(3, 2) * 0.05 + numpy.eye(3, 2), state) + 0.2 * rng.randn(3))
        state = numpy.dot(turn, state) + 0.1 * rng.randn(2)
    data = numpy.array(rows)

    def log_integral(linear, squares, products):
        """Of exp(sum linear·x - tr(squares xxᵀ)/2 - tr(products x'xᵀ)) over all states."""
        passed_linear, passed_square, total = np.zeros(2), np.zeros((2, 2)), 0.0
        for t in range(steps):
            h, square = linear[t] + passed_linear, squares[t] + passed_square
            mean = np.linalg.solve(square, h)
            total = total + 0.5 * np.dot(h, mean) - 0.5 * np.linalg.slogdet(square)[1] + np.log(2.0 * np.pi)
            if t + 1 < steps:
                passed_linear = -np.dot(products, mean)
                passed_square = -np.dot(products, np.linalg.solve(square, products.T))
        return total

    def likelihood_and_moments(drift, noise, look, error):
        inner, outer = numpy.linalg.inv(noise), numpy.linalg.inv(error)
        own = numpy.dot(look.T, numpy.dot(outer, look))
        back = numpy.dot(drift.T, numpy.dot(inner, drift))
        squares = numpy.array([own + back * (t + 1 < steps) + (inner if t else numpy.eye(2)) for t in range(steps)])
        linear, products = numpy.dot(data, numpy.dot(outer, look)), -numpy.dot(inner, drift)
        value, slopes = ag.value_and_grad(lambda p: log_integral(*p))((linear, squares, products))
        normal = (steps - 1) * numpy.linalg.slogdet(noise)[1] + steps * numpy.linalg.slogdet(error)[1]
        normal += numpy.sum(data * numpy.dot(data, outer)) + 5 * steps * numpy.log(2.0 * numpy.pi)
        return value - 0.5 * normal, slopes[0], -2.0 * slopes[1], -slopes[2]

    drift, noise, look, error = 0.8 * numpy.eye(2), 0.5 * numpy.eye(2), numpy.eye(3, 2) + 0.1, 0.5 * numpy.eye(3)
    trail = []
    for _ in range(5):
        value, means, seconds, crossed = likelihood_and_moments(drift, noise, look, error)
        trail.append(float(value))
        before, after, all_of_them = seconds[:-1].sum(0), seconds[1:].sum(0), seconds.sum(0)
        drift = numpy.linalg.solve(before, crossed.T).T
        noise = (after - numpy.dot(drift, crossed.T)) / (steps - 1)
        seen = numpy.dot(data.T, means)
        look = numpy.linalg.solve(all_of_them, seen.T).T
        error = (numpy.dot(data.T, data) - numpy.dot(look, seen.T)) / steps
        noise, error = 0.5 * (noise + noise.T), 0.5 * (error + error.T)
    assert all(later > earlier for earlier, later in zip(trail, trail[1:]))  # noqa: B905, RUF007
    return {"trail": trail, "drift": drift, "noise": noise, "look": look, "error": error, "means": means}


def neural_network(ag):
    """A classifier of two layers, trained by each of the optimisers."""
    np = ag.np
    rng = numpy.random.RandomState(0)
    inputs, labels = rng.randn(20, 3), rng.randint(0, 4, 20)
    targets = numpy.eye(4)[labels]
    params = [(0.3 * rng.randn(3, 5), numpy.zeros(5)), (0.3 * rng.randn(5, 4), numpy.zeros(4))]

    def logits(params, x):
        for weights, bias in params:
            outputs = np.dot(x, weights) + bias
            x = np.tanh(outputs)
        return outputs - ag.special.logsumexp(outputs, axis=1, keepdims=True)

    def objective(params, step):
        flat, _ = ag.flatten(params)
        return -np.sum(logits(params, inputs) * targets) + 0.05 * np.dot(flat, flat)

    slopes = ag.grad(objective)
    losses = []
    found = {}
    for name, size in (("sgd", 0.02), ("rmsprop", 0.02), ("adam", 0.05)):
        run = getattr(ag.optimizers, name)
        last = run(slopes, params, lambda x, i, g: losses.append(float(objective(x, i))), num_iters=4, step_size=size)
        found[name] = ag.flatten(last)[0]
    return [losses, found]


def black_scholes(ag):
    """The price of an option and its Greeks, by derivatives of any order."""
    np, cdf = ag.np, ag.norm.cdf

    def price(spot, strike, rate, vol, time):
        d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * time) / (vol * np.sqrt(time))
        return spot * cdf(d1) - strike * np.exp(-rate * time) * cdf(d1 - vol * np.sqrt(time))

    spots = numpy.array([80.0, 100.0, 125.0])
    delta, vega = ag.elementwise_grad(price, 0), ag.elementwise_grad(price, 3)
    rest = (100.0, 0.02, numpy.array([0.2, 0.3, 0.4]), 1.5)
    return {
        "price": price(spots, *rest),
        "delta": delta(spots, *rest),
        "gamma": ag.elementwise_grad(delta)(spots, *rest),
        "speed": ag.elementwise_grad(ag.elementwise_grad(delta))(spots, *rest),
        "vega": vega(spots, *rest),
        "vanna": ag.elementwise_grad(vega, 0)(spots, *rest),
        "theta": ag.grad(price, 4)(100.0, 100.0, 0.02, 0.2, 1.5),
        "rho": ag.grad_named(price, "rate")(100.0, 100.0, 0.02, 0.2, 1.5),
    }


def dot_graph(ag):
    """A picture of an expression as text, and the adjoints of its nodes, by operators of a class of the user's own."""

    class Expression:
        count = 0

        def __init__(self, value, name, parents=()):
            Expression.count += 1
            self.value, self.name, self.parents, self.number = value, name, parents, Expression.count

        def __add__(self, other):
            return Expression(self.value + other.value, "+", (self, other))

        def __mul__(self, other):
            return Expression(self.value * other.value, "*", (self, other))

        def sin(self):
            return Expression(ag.np.sin(self.value), "sin", (self,))

        def lines(self):
            own = [f'n{self.number} [label="{self.name}"]']
            for parent in self.parents:
                own += [*parent.lines(), f"n{parent.number} -> n{self.number}"]
            return list(dict.fromkeys(own))

    kept = []

    def f(x, y):
        a, b = Expression(x, "x"), Expression(y, "y")
        out = (a * b).sin() + a
        kept[:] = out.lines()
        return out.value

    slopes = [ag.grad(f, 0)(1.5, 0.4), ag.grad(f, 1)(1.5, 0.4), [float(g) for g in ag.grad(f, (0, 1))(1.5, 0.4)]]
    return [slopes, kept]


def rules_of_its_own(ag):
    """A primitive that is called with numbers only, with rules for both modes, and one in two arguments."""
    np = ag.np

    @ag.extend.primitive
    def log_sum(x):
        top = max(float(v) for v in x)
        return top + numpy.log(sum(numpy.exp(float(v) - top) for v in x))

    ag.extend.defvjp(log_sum, lambda ans, x: lambda g: g * np.exp(x - ans))
    ag.extend.defjvp(log_sum, lambda g, ans, x: np.sum(g * np.exp(x - ans)))

    @ag.extend.primitive
    def scaled(x, power, scale=2.0):
        return scale * numpy.asarray(x) ** power

    ag.extend.defvjp(scaled, lambda ans, x, power, scale=2.0: lambda g: g * scale * power * x ** (power - 1), None)

    x = numpy.array([0.5, -1.0, 2.0])
    return {
        "grad": ag.grad(log_sum)(x),
        "hessian": ag.hessian(log_sum)(x),
        "jvp": ag.make_jvp(log_sum)(x)(numpy.array([1.0, 0.0, -1.0])),
        "scaled": ag.grad(lambda x: np.sum(scaled(x, 3) * scaled(x, 2, scale=0.5)))(x),
        "jacobian": ag.jacobian(lambda x: scaled(x, 2))(x),
    }


def products_of_every_kind(ag):
    """All of the operators, on functions of several arguments and of trees."""
    np = ag.np
    x, v = numpy.array([0.3, -0.7, 1.1]), numpy.array([1.0, 0.5, -2.0])

    def f(x, y=2.0):
        return np.sin(x) * y + np.sum(x**2)

    def loss(x):
        return np.sum(np.tanh(x) ** 2) * x[0]

    vjp, value = ag.make_vjp(f)(x)
    tree = {"a": x, "b": [v, 2.0]}
    slopes = ag.grad(lambda p: np.dot(p["a"], p["b"][0]) * p["b"][1] ** 2)(tree)
    return {
        "vjp": [vjp(v), value],
        "jvp": ag.make_jvp(f)(x)(v),
        "jacobian": ag.jacobian(f)(x, 3.0),
        "both": ag.jacobian(lambda x: np.outer(x, x))(x),
        "hvp": ag.hessian_vector_product(loss)(x, v),
        "vjp_product": ag.vector_jacobian_product(f)(x, v),
        "ggnvp": ag.make_ggnvp(f)(x)(v),
        "tree": [slopes["a"], slopes["b"][0], float(slopes["b"][1])],
        "several": list(ag.grad(lambda a, b: np.sum(a * b**2), (0, 1))(x, v)),
        "aux": list(ag.grad_and_aux(lambda x: (loss(x), x * 2.0))(x)),
        "checkpoint": ag.grad(ag.checkpoint(loss))(x),
        "one_element": ag.grad(lambda x: np.dot(x[None, :], x[:, None]))(x),
    }


def values_are_known(ag):
    """Python's control flow on values, and draws that are constants."""
    np = ag.np

    def f(x):
        total = 0.0
        while total < 10.0:
            total = total + x * x if x > 0 else total - 3.0 * x
        return total

    noise = ag.npr.RandomState(1).randn(3)
    return [ag.grad(f)(2.0), ag.grad(f)(-1.5), ag.grad(lambda x: np.sum((x + noise) ** 2))(numpy.ones(3))]


def densities(ag):
    """Densities and distribution functions, in all arguments."""
    x, loc, scale = numpy.array([0.3, -1.2, 2.0]), 0.4, 1.3
    found = {
        name: [ag.elementwise_grad(getattr(ag.norm, name), i)(x, loc, scale) for i in range(3)]
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
    }
    cov = numpy.array([[2.0, 0.3], [0.3, 1.0]])
    points, mean = numpy.array([[0.1, 0.2], [1.0, -1.0]]), numpy.array([0.5, 0.0])
    found["mvn"] = [
        ag.elementwise_grad(ag.mvn.logpdf, i)(points, mean, cov) for i in (0, 1)
    ] + [ag.mvn.pdf(points, mean, cov), ag.mvn.entropy(mean, cov)]  # fmt: skip
    return found


PROGRAMS = (
    gaussian_process, linear_dynamical_system, expectation_maximization, neural_network, black_scholes, dot_graph,
    rules_of_its_own, products_of_every_kind, values_are_known, densities,
)  # fmt: skip

"""Programs of users of HIPS autograd that extend it, and use its further modules; see `autograd_programs.py`."""

from importlib import import_module

import numpy
import scipy.linalg
import scipy.sparse

X = numpy.array([0.4, -1.3, 2.2])


def rules_of_plain_arrays(ag):
    """Rules by functions of SciPy's, sparse matrices, writing into arrays, and Python's numbers and branches."""
    np, primitive, defvjp = ag.np, ag.extend.primitive, ag.extend.defvjp
    triangle = numpy.array([[3.0, 0.2, -1.0], [0.0, 2.0, 0.5], [0.0, 0.0, 4.0]])
    sparse = scipy.sparse.csr_array(numpy.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.5], [1.0, 1.0, 0.0]]))
    solve = primitive(lambda a, b: scipy.linalg.solve_triangular(a, b))

    def solved_back(ans, a, b):
        return lambda g: -numpy.outer(scipy.linalg.solve_triangular(a, g, trans=1), ans)

    defvjp(solve, solved_back, lambda ans, a, b: lambda g: scipy.linalg.solve_triangular(a, g, trans=1))
    times = primitive(lambda x: sparse @ x)
    defvjp(times, lambda ans, x: lambda g: sparse.T @ g)
    branch = primitive(lambda x: float(x) ** 2)

    def branched(ans, x):
        def back(g):
            assert isinstance(g, float) and isinstance(x, float)
            found = numpy.zeros(())
            found += 2.0 * float(g) * x if g > 0 and any([x > 0, False]) else 7.0
            return found

        return back

    defvjp(branch, branched)
    groups = primitive(lambda x, of: numpy.bincount(of, x, of.max() + 1))
    defvjp(groups, lambda ans, x, of: lambda g: g[of], None)
    return {
        "matrix": ag.grad(lambda a: np.sum(solve(a, X) ** 2))(triangle),
        "vector": ag.grad(lambda b: np.sum(solve(triangle, b) ** 2))(X),
        "jacobian": ag.jacobian(lambda b: solve(triangle, b))(X),
        "sparse": ag.grad(lambda x: np.sum(times(x) ** 3))(X),
        "branches": [float(ag.grad(lambda x, k: k * branch(x))(2.0, k)) for k in (3.0, -3.0)],
        "groups": ag.grad(lambda x: np.sum(groups(x, numpy.array([2, 0, 2])) ** 2))(X),
    }


def rules_for_any_argument(ag):
    """Rules by the number of the argument; linear functions; results that are tuples; a second derivative."""
    np, extend = ag.np, ag.extend
    total = extend.primitive(lambda *xs: sum((i + 1.0) * x**2 for i, x in enumerate(xs)))
    extend.defvjp_argnum(total, lambda i, ans, args, kwargs: lambda g: 2.0 * (i + 1.0) * g * args[i])
    extend.defjvp_argnum(total, lambda i, g, ans, args, kwargs: 2.0 * (i + 1.0) * g * args[i])
    pair = extend.primitive(lambda a, b: a * numpy.sin(b))
    extend.defvjp_argnums(
        pair,
        lambda argnums, ans, args, kwargs: (
            lambda g: [(g * np.sin(args[1]), g * args[0] * np.cos(args[1]))[i] for i in argnums]
        ),
    )
    spread = extend.primitive(lambda a: numpy.stack([a, 2.0 * a]))
    extend.def_linear(spread)
    return {
        "any": [ag.grad(lambda *xs: np.sum(total(*xs)), i)(X, 2.0 * X, X) for i in range(3)],
        "forward": ag.make_jvp(lambda x: total(X, x))(X)(X)[1],
        "several": list(ag.grad(lambda a, b: np.sum(pair(a, b)), (0, 1))(X, X)),
        "second": ag.elementwise_grad(ag.elementwise_grad(pair, 1), 1)(X, X),
        "linear": ag.make_jvp(spread)(X)(X)[1],
    }


def spaces_and_types(ag):
    """Vector spaces, what is traced, and Python's own types."""
    np, extend = ag.np, ag.extend
    tracer, core = (import_module(f"{ag.package}.{name}") for name in ("tracer", "core"))
    kinds = []

    def f(x):
        kinds.append([ag.isinstance(x, numpy.ndarray), ag.isinstance(x, float), tracer.isbox(x), tracer.isbox(2.0)])
        kinds.append([isinstance(x, extend.Box), ag.isinstance((x,), ag.tuple), float(np.sum(tracer.getval(x)))])
        return np.sum(x**2)

    gradient = ag.grad(f)(X)
    ag.grad(f)(2.0)
    space = extend.vspace({"a": X, "b": (1.0, 2.0)})
    mean = extend.notrace_primitive(lambda x: numpy.mean(x))
    back, found = core.make_vjp(lambda x: np.sin(x) * 2.0, X)
    return {
        "kinds": kinds,
        "gradient": gradient,
        "space": [space.size, space == extend.vspace({"a": -X, "b": (0.0, 0.0)}), space == extend.vspace(X)],
        "product": float(space.inner_prod({"a": X, "b": (1.0, 2.0)}, space.ones())),
        "basis": [list(row) for row in extend.vspace(X).standard_basis()],
        "sum": extend.vspace(X).add(X, extend.vspace(X).scalar_mul(X, 3.0)),
        "constant": ag.grad(lambda x: np.sum(x * mean(x)))(X),
        "core": [found, back(X), core.make_jvp(lambda x: np.sin(x) * 2.0, X)(X)[1]],
        "integer": ag.grad(lambda x: np.sum(x**2.0))(numpy.arange(3)),
    }


def equations(ag):
    """Fixed points, initial value problems, and convolutions."""
    np = ag.np
    fixed = import_module(f"{ag.package}.misc.fixed_points").fixed_point
    integrate, signal = (import_module(f"{ag.package}.scipy.{name}") for name in ("integrate", "signal"))

    def root(a):
        return fixed(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-13)

    def path(y0, rate):
        t = numpy.linspace(0.0, 1.5, 4)
        return np.sum(
            integrate.odeint(
                lambda y, t, k: k * np.cos(y) - t * y * np.mean(y), y0, t, ag.tuple([rate]), rtol=1e-11, atol=1e-12
            )
            ** 2
        )

    a, b = numpy.arange(12.0).reshape(3, 4) / 7.0, numpy.array([[1.0, -2.0], [0.5, 3.0]])
    found = {"root": [root(2.0), ag.grad(root)(2.0), ag.grad(ag.grad(root))(2.0)]}
    found["path"] = ag.grad(path, 1)(numpy.array([1.0, 0.5]), numpy.array([2.0]))
    found["full"] = ag.grad(lambda a: np.sum(signal.convolve(a, b, mode="full") ** 2))(a)
    found["valid"] = ag.grad(lambda b: np.sum(signal.convolve(a, b, mode="valid") ** 2))(b)
    images, filters = numpy.arange(24.0).reshape(2, 3, 4), numpy.arange(18.0).reshape(3, 2, 3) / 5.0
    mixed = lambda x, w: signal.convolve(x, w, axes=([2], [2]), dot_axes=([1], [0]), mode="valid")  # noqa: E731
    found["mixed"] = [mixed(images, filters), ag.grad(lambda w: np.sum(mixed(images, w) ** 2))(filters)]
    return found


def more_densities(ag):
    """The densities of further distributions, in the arguments in which autograd differentiates them."""
    stats = import_module(f"{ag.package}.scipy.stats")
    x, a, b = numpy.array([0.3, 0.6]), numpy.array([1.5, 2.5]), 3.0
    part = numpy.array([0.2, 0.3, 0.5])
    return {
        "beta": [ag.elementwise_grad(stats.beta.logpdf, i)(x, a, b) for i in range(3)],
        "gamma": [ag.elementwise_grad(stats.gamma.logpdf, i)(x, a) for i in range(2)],
        "chi2": [ag.elementwise_grad(stats.chi2.pdf)(x, 3.0), stats.chi2.logpdf(x, 3.0)],
        "poisson": [ag.elementwise_grad(stats.poisson.logpmf, 1)(numpy.array([2, 4]), a)],
        "t": [ag.elementwise_grad(stats.t.logpdf, i)(x, a, 0.2, 1.5) for i in range(4)],
        "dirichlet": [
            ag.grad(import_module(f"{ag.package}.scipy.stats.dirichlet").logpdf, 1)(part, 4.0 * part)
        ],
    }  # fmt: skip


PROGRAMS = rules_of_plain_arrays, rules_for_any_argument, spaces_and_types, equations, more_densities

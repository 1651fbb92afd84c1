"""The small workloads in CasADi: scalar and matrix graphs, in its virtual machine and compiled."""

import casadi
import numpy as np
from loops import lorenz

NAME, VERSION = "CasADi", casadi.__version__


def rosenbrock(x):
    head, tail = x[:-1], x[1:]
    return casadi.sum1(100.0 * (tail - head**2) ** 2 + (1.0 - head) ** 2)


def gradient(symbol, workload):
    x = symbol("x", workload.points)
    return [x], [casadi.gradient(rosenbrock(x), x)]


def product(symbol, workload):
    x, v = symbol("x", workload.points), symbol("v", workload.points)
    return [x, v], [casadi.jtimes(casadi.gradient(rosenbrock(x), x), x, v)]


def fit(symbol, workload):
    """The least-squares fit; CasADi's matrices have columns first, so that everything is transposed."""
    shapes = list(zip(workload.sizes[:-1], workload.sizes[1:], strict=True))
    leaves = [s for n, m in shapes for s in (symbol("W", m, n), symbol("b", m))]
    points = symbol("x", workload.sizes[0], workload.points)
    layer = points
    for i in range(len(shapes)):
        layer = leaves[2 * i] @ layer + casadi.repmat(leaves[2 * i + 1], 1, workload.points)
        layer = casadi.tanh(layer) if i < len(shapes) - 1 else layer
    loss = casadi.sumsqr(layer - points[0, :] * points[1, :]) / workload.points
    derivative = casadi.gradient(loss, casadi.veccat(*leaves)) if symbol is casadi.SX.sym else None
    if derivative is not None:
        sizes = np.cumsum([0, *[leaf.numel() for leaf in leaves]])
        parts = [
            casadi.reshape(derivative[a:b], leaf.shape)
            for a, b, leaf in zip(sizes[:-1], sizes[1:], leaves, strict=True)
        ]
    else:
        parts = [casadi.gradient(loss, leaf) for leaf in leaves]
    return [*leaves, points], [loss, *parts]


class Functions:
    """CasADi's functions under NumPy's names."""

    sum = staticmethod(casadi.sum)

    @staticmethod
    def stack(parts):
        return casadi.vertcat(*parts)


class Accumulated:
    """The gradient of a loop by `mapaccum`, built at the first call."""

    def __init__(self, hessian):
        self._hessian, self._function = hessian, None

    def __call__(self, p, start):
        if self._function is None:
            self._function = self._build()
        return self._function(p, start)

    def _build(self):
        p, start = casadi.MX.sym("p", 3), casadi.MX.sym("start", 3)

        def accumulated(step, carry, length):
            state, q = casadi.SX.sym("state", 3), casadi.SX.sym("q", 3)
            one = casadi.Function("step", [state, q], [lorenz_step(q, state)])
            return one.mapaccum(length)(carry, casadi.repmat(p, 1, length))[:, -1]

        def lorenz_step(q, state):
            steps = []
            lorenz(Functions, lambda step, carry, length: steps.append(step) or carry)(q, state)
            return steps[0](state)

        loss = lorenz(Functions, accumulated)(p, start)
        found = casadi.hessian(loss, p)[0] if self._hessian else casadi.gradient(loss, p)
        return casadi.Function("derivative", [p, start], [found])


GRAPHS = {"rosenbrock-gradient": gradient, "rosenbrock-hvp": product, "fit": fit}


class Evaluated:
    """A CasADi function on buffers: built at the first call, without a copy at any.

    Args:
        graph: builds inputs and outputs.
        symbol: `casadi.SX.sym` or `casadi.MX.sym`.
        workload: what for.
        compiled: whether C code is generated and compiled.
        plain: whether it is called as `f(x)`, which allocates its results, as most people do.
    """

    def __init__(self, graph, symbol, workload, compiled=False, plain=False):
        self._make = graph, symbol, workload, compiled
        self._plain = plain
        self._trigger = None

    def __call__(self, *arguments):
        if self._trigger is None:
            self._build(_flat(arguments))
        if self._plain:
            return self._function(*self._transposed)
        self._trigger()
        return self._results

    def _build(self, arguments):
        graph, symbol, workload, compiled = self._make
        options = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3", "-march=native"]}}
        inputs, outputs = graph(symbol, workload)
        self._function = casadi.Function("f", inputs, outputs, options if compiled else {})
        self._transposed = [array.T for array in arguments]
        buffer, self._trigger = self._function.buffer()
        self._kept = buffer, arguments  # CasADi keeps addresses only
        # Row-major arrays are CasADi's column-major matrices, transposed: no copy is needed.
        for i, array in enumerate(arguments):
            buffer.set_arg(i, memoryview(array))
        self._results = []
        shapes = [()] if workload.kind == "fit" else []
        shapes += [x.shape for x in arguments[:-1]] if workload.kind == "fit" else [arguments[0].shape]
        for i, shape in enumerate(shapes):
            self._results.append(np.zeros(shape))
            buffer.set_res(i, memoryview(self._results[-1].reshape(-1)))


def variants(workload):
    """Return the functions to time, by name."""
    if workload.kind in ("lorenz", "lorenz-hessian"):
        return {"CasADi mapaccum": Accumulated(workload.kind == "lorenz-hessian")}
    graph = GRAPHS.get(workload.kind)
    if graph is None:
        return {}
    found = {
        "CasADi MX f(x)": Evaluated(graph, casadi.MX.sym, workload, plain=True),
        "CasADi MX on buffers": Evaluated(graph, casadi.MX.sym, workload),
        "CasADi SX on buffers": Evaluated(graph, casadi.SX.sym, workload),
    }
    if workload.kind != "fit":  # there the C compiler takes minutes over one scalar operation a line
        found["CasADi SX compiled, on buffers"] = Evaluated(graph, casadi.SX.sym, workload, compiled=True)
    return found


def prepare(arguments):
    """Return the arguments as this system takes them."""
    return arguments


def wait(result):
    """Return when the result is computed."""


def _flat(value):
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, (tuple, list)) else [value]


def as_numpy(result):
    """Return the leaves of a result as NumPy arrays."""
    if isinstance(result, np.ndarray):
        return [result]
    leaves = [result] if isinstance(result, casadi.DM) else result
    return [leaf if isinstance(leaf, np.ndarray) else np.array(leaf).T for leaf in leaves]

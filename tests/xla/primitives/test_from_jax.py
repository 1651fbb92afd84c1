"""Functions that were written in JAX: values, gradients and Hessians are JAX's own, and they go back."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import primad
from primad.errors import TracingError
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import thinned

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
jnp, lax = jax.numpy, jax.lax
from jax.experimental import ode, sparse  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


RNG = np.random.default_rng(7)
X = RNG.uniform(0.3, 1.2, 6)
A = RNG.normal(size=(6, 6))
A = A @ A.T / 6 + np.eye(6)


def spd(x):
    return jnp.asarray(A) + jnp.outer(x, x)


def rnn(x):
    w = jnp.arange(12.0).reshape(3, 4) / 12

    def cell(h, row):
        h = jnp.tanh(w @ jnp.append(h, row))
        return h, h.sum()

    h, ys = lax.scan(cell, jnp.zeros(3), x)
    return h @ h + ys.prod()


def integrated(x):
    def rhs(y):
        return jnp.array([y[1], -jnp.sin(y[0]) * x[0] - 0.1 * y[1]])

    def rk4(y, _):
        k1 = rhs(y)
        k2 = rhs(y + 0.05 * k1)
        k3 = rhs(y + 0.05 * k2)
        k4 = rhs(y + 0.1 * k3)
        return y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y

    y, path = lax.scan(rk4, x[:2], None, length=7)
    return y @ y + path[3, 0]


def newton(x):
    def go(state):
        return jnp.abs(state[0] ** 2 - x[0]) > 1e-13

    def step(state):
        return (state[0] - (state[0] ** 2 - x[0]) / (2 * state[0]), state[1] + 1)

    return lax.while_loop(go, step, (x[1], 0))[0] * x[2]


def network(x):
    w = jnp.asarray(A[:3])
    logits = jax.nn.relu(w @ x) @ w[:, :4] + jax.nn.silu(x[:4])
    return -jax.nn.log_softmax(logits)[jnp.argmax(x[:4])]


@jax.custom_jvp
def ruled(x):
    return jnp.sum(x**2)


ruled.defjvp(lambda primals, tangents: (ruled(primals[0]), 3 * jnp.vdot(primals[0] ** 2, tangents[0])))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def pulled(scale, x):
    return jnp.sum(x**3)


pulled.defvjp(lambda scale, x: (pulled(scale, x), x), lambda scale, x, ct: (scale * jnp.exp(x) * ct,))


def conv_net(x):
    image = jnp.outer(x, x)[None, :, :, None]
    kernel = jnp.arange(18.0).reshape(3, 3, 1, 2) / 18
    out = lax.conv_general_dilated(
        image, kernel, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    pooled = lax.reduce_window(out, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 2, 1), "VALID")
    return jnp.sum(pooled**2) + lax.reduce_window(out, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 1, 1), "SAME")[0, 0, 0, 0]


def sampled(x):
    k1, k2 = jax.random.split(jax.random.key(3))
    noise = jax.random.normal(k1, (6,)) + jax.random.uniform(jax.random.fold_in(k2, 7), (6,))
    return jnp.sum(noise * x**2) + jnp.sum(jax.random.permutation(jax.random.PRNGKey(0), x) * jnp.arange(6.0))


def ranked(x):
    top, at = lax.top_k(x, 3)
    _, order = lax.sort((jnp.round(x), jnp.arange(6)), num_keys=2)
    return jnp.sum(jnp.sort(x) * jnp.arange(6)) + top[0] * top[2] + x[at[1]] + jnp.median(x) ** 2 + x[order] @ x


def counted(x):
    return lax.fori_loop(0, 5, lambda i, s: s + x[i] * s**2 / (i + 1.0), x[0])


def chosen(x):
    small = lax.cond(x[0] > 0.1, lambda x: jnp.sin(x), lambda x: x**2, x)
    other = lax.switch(jnp.argmax(x) % 3, [jnp.cos, jnp.exp, lambda x: x], x)
    return small @ other + jnp.where(x > 0.6, x**2, jnp.sqrt(x)).sum()


def written(x):
    i = jnp.argsort(x)
    y = jnp.zeros(8).at[i[:3]].set(x[:3]).at[1:3].add(x[0]).at[-1].set(x[1] ** 2).at[jnp.array([2, 2, 4])].add(x[2])
    z = jnp.outer(x, x).at[:, 1].set(x**2).at[2].multiply(3.0).at[i[0], i[1]].add(x[3]).at[9].set(1.0, mode="drop")
    best = jnp.zeros(4).at[jnp.array([0, 1, 1, 0, 5, 2])].max(x).at[jnp.array([3, 3])].min(-x[:2])
    put = x.at[jnp.array([0, 3, 0]) + 0 * i[:3]].set(x[3:] ** 2)
    return y @ jnp.arange(8.0) + jnp.sum(z**2) + best @ best + put @ jnp.arange(6.0)


def taken(x):
    i = jnp.argsort(-x)
    m = jnp.outer(x, jnp.sin(x))
    cut = lax.dynamic_slice(m, (i[0], 1), (2, 3)) + lax.dynamic_slice(m, (9, 1), (2, 3))
    put = lax.dynamic_update_slice(m, m[:2, :2] ** 2, (i[1], 5))
    along = jnp.take_along_axis(m, jnp.argsort(m, axis=1), axis=1)
    filled = jnp.nansum(jnp.take(x, jnp.array([0, 12, -1]), mode="fill") ** 2)
    return (
        jnp.sum(cut**2)
        + jnp.sum(put * m)
        + m[i, i[::-1]] @ x
        + along[2, 3]
        + filled
        + m[jnp.array([1, 2]), :, None][1, 2, 0]
    )


def rolled(x):
    m = jnp.pad(jnp.outer(x, x), ((1, 2), (0, 1)), constant_values=2.0)
    m = jnp.roll(m, 2, 0) + jnp.flip(m, 1) + jnp.tile(x, 2).sum() + jnp.repeat(x, 2)[3]
    return jnp.einsum("ij,kj,k->i", m, m, m[:, 0]).sum() + jnp.stack([x, x**2]).T.ravel() @ jnp.arange(12.0)


def cumulated(x):
    return (
        jnp.cumsum(x) @ jnp.cumprod(x) + lax.cummax(jnp.sin(7 * x)).sum() + lax.cumlogsumexp(x, reverse=True)[1]
        + jnp.diff(x) @ x[1:] + jax.scipy.special.logsumexp(x) + jnp.var(x) + jnp.ptp(x) + jnp.linalg.norm(x)
    )  # fmt: skip


def waves(x):
    z = jnp.fft.fft(x) * jnp.exp(1j * x)
    back = jnp.fft.irfft(jnp.fft.rfft(x**2) * 2j, 6) + jnp.fft.ifftn(jnp.outer(z, z), axes=(0, 1))[2].real
    return jnp.sum(jnp.abs(z) ** 2) + jnp.angle(z[1]) + back @ x + (z @ jnp.conj(z[::-1])).imag


def special(x):
    s = jax.scipy.special
    return jnp.sum(
        s.gammaln(x) + s.digamma(x) + s.erf(x) * s.erfc(x) + s.erfinv(x / 2) + s.expit(x) + s.i0e(x) * s.i1(x)
        + s.gammainc(2.0, x) + s.betainc(1.5, 2.5, x / 2) + s.xlogy(x, x) + s.polygamma(2, x) + s.zeta(x + 1.5, 1.0)
        + s.ndtr(x) + s.log_ndtr(x) + s.entr(x) + s.logit(x / 2) + jax.nn.gelu(x) + jax.nn.softplus(x)
    )  # fmt: skip


def larger_pair(a, b):
    first = a[0] > b[0]
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])


FUNCTIONS_OF_JAX = {
    "arithmetic": lambda x: jnp.sum(x**3 - 2 / x + jnp.abs(x - 0.5) * x[::-1] ** x) % 7,
    "elementary": lambda x: jnp.sum(
        jnp.sin(x) * jnp.cosh(x) + jnp.arctan2(x, 2.0) + jnp.log1p(x) * jnp.expm1(x) + jnp.cbrt(x) + lax.rsqrt(x)
        + jnp.arcsinh(x) + jnp.exp2(x) + jnp.hypot(x, 1.0) + jnp.sinc(x) + jnp.logaddexp(x, 0.3) + jnp.arccos(x / 2)
    ),
    "clipped": lambda x: jnp.clip(x, 0.5, 0.9) @ x + lax.clamp(0.5, x, 0.9).sum() + jnp.floor(3 * x) @ x,
    "reduced": lambda x: jnp.mean(x) * x.max() + jnp.prod(x) + jnp.min(x) + jnp.std(x) + jnp.sum(x > 0.5) * x[0],
    "products": lambda x: x @ jnp.asarray(A) @ x + jnp.dot(x, x) * jnp.trace(jnp.kron(x[:2], x).reshape(3, 4)),
    "batched products": lambda x: jnp.sum(jnp.matmul(jnp.ones((2, 3, 6)) * x, jnp.ones((2, 6, 1)) * x[:, None]) ** 2),
    "index": lambda x: x[0] * x[-1] + x[1:4] @ x[::2] + x[jnp.array([0, 0, 5])].sum() ** 2 + x[jnp.array(2)],
    "taken": taken,
    "written": written,
    "shapes": rolled,
    "cumulated": cumulated,
    "sorted": ranked,
    "scan": rnn,
    "reversed scan": lambda x: lax.scan(lambda c, r: (c * r, c), 1.0, x, reverse=True)[1] @ x,
    "ode": integrated,
    "fori": counted,
    "while": newton,
    "branches": chosen,
    "mapped": lambda x: jax.vmap(lambda a, b: jnp.sin(a) * b @ x, (0, 1))(x, jnp.outer(x, x)).sum(),
    "mapped loop": lambda x: jax.vmap(lambda a: lax.fori_loop(0, 4, lambda i, s: s * a + i, a))(x).sum(),
    "mapped branch": lambda x: jax.vmap(lambda a: lax.cond(a > 0.7, jnp.sin, jnp.exp, a))(x) @ x,
    "mapped index": lambda x: jax.vmap(lambda i, a: x[i] * a)(jnp.argsort(x), x) @ x,
    "mapped write": lambda x: (jax.vmap(lambda i, a: jnp.zeros(6).at[i].set(a))(jnp.argsort(x), x) @ x) @ x,
    "map": lambda x: lax.map(lambda a: a * jnp.sum(x * a), x) @ x,
    "associative scan": lambda x: lax.associative_scan(jnp.multiply, x) @ x,
    "jitted": jax.jit(lambda x: jax.jit(jnp.sin)(x) @ x),
    "remat": jax.checkpoint(lambda x: jnp.sin(jnp.cos(x) * x[0]).sum()),
    "derived": lambda x: jax.grad(lambda y: jnp.sum(jnp.sin(y) ** 3))(x) @ x,
    "twice derived": lambda x: jnp.trace(jax.hessian(lambda y: jnp.prod(y) + jnp.sum(y**4))(x)),
    "network": network,
    "pullback of a network": lambda x: jax.grad(network)(x) @ x,
    "rule": lambda x: ruled(x) * x[0],
    "pullback": lambda x: pulled(2.0, x) * x[0],
    "solve": lambda x: jnp.linalg.solve(spd(x)[:3, :3], x[:3]) @ x[3:],
    "inverse and determinant": lambda x: jnp.trace(jnp.linalg.inv(spd(x)[:3, :3])) + jnp.linalg.slogdet(spd(x))[1],
    "determinant": lambda x: jnp.linalg.det(spd(x) - 2 * jnp.eye(6)[::-1]),
    "cholesky": lambda x: jnp.sum(jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(spd(x)), x) ** 2)
    + jnp.linalg.cholesky(spd(x))[3, 1],
    "triangular": lambda x: jax.scipy.linalg.solve_triangular(spd(x), x, trans=1, lower=True) @ x,
    "qr": lambda x: jnp.sum(jnp.abs(jnp.linalg.qr(spd(x))[1]) @ x),
    "eigh": lambda x: jnp.linalg.eigh(spd(x))[0] @ x + jnp.linalg.eigh(spd(x))[1][2, 3] ** 2,
    "svd": lambda x: jnp.linalg.svd(spd(x)[:4], full_matrices=False)[1] @ x[:4] + jnp.linalg.norm(spd(x), 2),
    "expm": lambda x: jax.scipy.linalg.expm(jnp.outer(x[:2], x[:2]) / 9)[0, 1],
    "conjugate gradients": lambda x: jax.scipy.sparse.linalg.cg(lambda v: x[:2] * v + x[1], x[2:4])[0] @ x[4:],
    "convolution": conv_net,
    "convolve": lambda x: jnp.convolve(x, x[:3], mode="same") @ x,
    "waves": waves,
    "special": special,
    "random": sampled,
    "interpolated": lambda x: jnp.interp(0.7, jnp.sort(x), x**2) + jnp.polyval(x, 0.3) + jnp.trapezoid(x, dx=0.1),
    "density": lambda x: jax.scipy.stats.norm.logpdf(x, 0.1, 2.0).sum() + jax.scipy.stats.gamma.logpdf(x, 2.0).sum(),
    "integrated adaptively": lambda x: ode.odeint(lambda y, t: -y * x[0] * t, x, jnp.array([0.0, 0.5, 1.0]))[-1] @ x,
    "stacked while": lambda x: jax.vmap(
        lambda a: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] * (1 + a), s[1] + s[0]), (a, 0.0))[1]
    )(x).sum(),
    "reduced by pairs": lambda x: lax.reduce(jnp.outer(x, x), 0.5, lax.add, (1,)) @ x
    + lax.reduce(jnp.outer(x, jnp.sin(x)), 1.0, lambda a, b: a * b * 1.0, (0, 1))
    + lax.reduce((x, x**2), (-jnp.inf, 0.0), larger_pair, (0,))[1] * x[0],
    "segments": lambda x: jax.ops.segment_sum(x**2, jnp.array([0, 1, 1, 2, 0, 2]), 3) @ x[:3],
}  # fmt: skip


ONCE = ("integrated adaptively", "pullback")
"""Functions with a pullback that uses such a function again: JAX has no second derivative of them by forward mode."""


@pytest.mark.one_in(12)
@thinned(2, name=list(FUNCTIONS_OF_JAX), order=[1, 2])
def test_values_and_derivatives_are_those_of_jax(name, order):
    f = FUNCTIONS_OF_JAX[name]
    g = primad.from_jax(f)
    twice = order == 2 and name not in ONCE

    def of_primad(x):
        gradient = primad.grad(g)
        return g(x), *(primad.jvp(gradient, (x,), (x,)) if twice else (gradient(x),))

    @jax.jit
    def of_jax(x):
        gradient = jax.jacfwd(f) if "while" in name else jax.grad(f)  # JAX has no reverse mode through it
        return f(x), *(jax.jvp(gradient, (x,), (x,)) if twice else (gradient(x),))

    found, wanted = primad.jit(of_primad, backend="reference")(X), of_jax(X)
    assert found[0].dtype == wanted[0].dtype
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


def test_random_programs_there_and_back():
    compared = 0
    for seed in range(14):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        try:
            found = primad.jit(primad.from_jax(primad.to_jax(program)), backend="reference")(*arguments)
        except TracingError as error:
            assert "pure_callback" in str(error)  # an op that JAX has no function for
            continue
        compared += 1
        wanted = primad.jit(program, backend="reference")(*arguments)
        for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}\n{program}")
    assert compared >= 10


@pytest.mark.parametrize("again", [False, True])
def test_further_derivatives_of_a_pullback_are_those_of_its_forward_rule(again):
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: ((f if again else jnp.sin)(x), x), lambda x, ct: (2.0 * jnp.cos(x) * ct,))

    def turned(system, g):
        gradient = system.grad(g)
        return system.grad(lambda x: (gradient(x) * X).sum())(X)

    for use in (lambda x: f(x).sum(), lambda x: f(x) @ x, lambda x: f(x) @ f(f(x))):
        own = primad.from_jax(use)
        np.testing.assert_allclose(turned(primad, own), turned(jax, use), rtol=1e-12)
        if not again:  # else JAX refuses forward mode
            found, wanted = (system.jvp(system.grad(g), (X,), (X,))[1] for system, g in ((primad, own), (jax, use)))
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


PLACES = {
    "equal": lambda x: np.array([0, 2, 2, 0]),
    "computed": lambda x: (x[:4] * 3).astype(int),
    "dropped": lambda x: np.array([6, 2, 2, 9]),
    "none": lambda x: np.zeros(0, int),
}
"""Indices of which several are the same, or none, or that are not there."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "min", "max"])
def test_updates_at_equal_indices_are_done_one_after_the_other(name):
    def updated(start, x, i, one_by_one):
        updates = jnp.sin(x[: i.size] * 2.0).reshape((-1,) + (1,) * (start.ndim - 1)) * start[: i.size]
        if not one_by_one:
            return getattr(start.at[i], name)(updates)
        for place, update in zip(i, updates, strict=True):  # JAX differentiates no product of several updates
            start = getattr(start.at[place], name)(update, unique_indices=True)
        return start

    def all_of(one_by_one, x):
        found = [updated(x, x, indices(x), one_by_one) for indices in PLACES.values()]
        return jnp.stack([*found, *updated(jnp.outer(x, x), x, PLACES["computed"](x), one_by_one)])

    def with_gradient(system, numpy, f):
        return lambda x: (f(x), system.grad(lambda x: numpy.sum(f(x) ** 2))(x))

    own = primad.from_jax(partial(all_of, False))
    found = primad.jit(with_gradient(primad, np, own), backend="reference")(X)
    wanted = jax.jit(with_gradient(jax, jnp, partial(all_of, True)))(X)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_a_function_is_applied_once_for_each_index():
    def applied(x):
        found = [x.at[indices(x)].apply(jnp.square) for indices in PLACES.values()]
        return jnp.stack([*found, *jnp.outer(x, x).at[PLACES["computed"](x)].apply(jnp.sin)])

    found = primad.jit(primad.from_jax(applied), backend="reference")(X)
    np.testing.assert_allclose(found, applied(jnp.asarray(X)), rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_integers_wrap_divide_and_saturate_as_in_jax(dtype):
    info = np.iinfo(dtype)
    n = np.array([info.max, info.min, 0, 1, 5, info.max // 2 + 1]).astype(dtype)
    zero = n * 0
    x = np.array([0.5, -1.5, 300.7, 3e10, -3e10, 1e20, np.nan, np.inf, -np.inf])

    def f(n, zero, x):
        one = zero + 1
        divisors = [zero, one + 1, zero - one, n + zero]  # XLA takes n / n for 1, also where n is 0
        return (
            [lax.div(n, d) for d in divisors], [lax.rem(n, d) for d in divisors], x.astype(dtype), n + n, n * n, -n,
            lax.population_count(n), lax.clz(n), n << 3, n >> 3, lax.shift_right_logical(n, one), n << (zero + 99),
            [reduce(n, (0,)) for reduce in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)], n.sum(), n.prod(),
            [reduce(jnp.stack([n, n + one]), (0,)) for reduce in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)],
            lax.reduce_and(n[:0], (0,)),
        )  # fmt: skip

    found, wanted = primad.jit(primad.from_jax(f), backend="reference")(n, zero, x), jax.jit(f)(n, zero, x)
    for i, (got, want) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)):
        np.testing.assert_array_equal(got, want, err_msg=f"result {i}")
        assert got.dtype == want.dtype


def test_complex_numbers_are_ordered_as_in_jax():
    z = X[:4] + 1j * np.array([0.3, -0.2, 0.1, 0.4])
    z[2] = z[0].real + 2j

    def f(z):
        return lax.max(z, z[::-1]), lax.min(z, z[::-1]), jax.nn.sigmoid(z), jax.nn.silu(z)

    for got, want in zip(primad.jit(primad.from_jax(f), backend="reference")(z), f(jnp.asarray(z)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_integer_results_have_no_tangents():
    def f(x):
        mantissa, exponent = jnp.frexp(x)
        return jnp.sum(mantissa * jnp.ldexp(x, exponent))

    np.testing.assert_allclose(primad.grad(primad.from_jax(f))(X), jax.grad(f)(X), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_of_numbers(dtype):
    info, integer = np.finfo(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = np.array([0, 1, 1.5, 3e-7, info.max, info.tiny, info.tiny / 8, info.smallest_subnormal, np.inf], dtype)
    x = np.concatenate([x, -x, [np.nan], RNG.normal(size=20) * 10.0 ** RNG.integers(-30, 30, 20)]).astype(dtype)
    for backend in ("reference", "native"):
        f = primad.jit(primad.from_jax(lambda x: lax.bitcast_convert_type(x, integer)), backend=backend)
        np.testing.assert_array_equal(f(x), x.view(integer))
        g = primad.jit(primad.from_jax(lambda x: lax.bitcast_convert_type(x, dtype)), backend=backend)
        np.testing.assert_array_equal(g(x.view(integer)).view(integer), x.view(integer))
    halves = primad.from_jax(lambda x: lax.bitcast_convert_type(x, jnp.uint16))
    np.testing.assert_array_equal(primad.jit(halves, backend="reference")(x), x.view(np.uint16).reshape(x.size, -1))
    signs = primad.jit(primad.from_jax(lambda x: jnp.copysign(x, -x) + jnp.frexp(x)[0]), backend="reference")
    np.testing.assert_array_equal(signs(x[:4]), -x[:4] + np.frexp(x[:4])[0])


def test_what_has_no_meaning_is_an_error_that_names_it():
    def printed(x):
        jax.debug.callback(print, x)
        return x

    for f, name in (
        (printed, "debug_callback"),
        (lambda x: jax.pure_callback(np.sin, x, x), "pure_callback"),
        (lambda x: lax.reduce_window(x, 1.0, lambda a, b: a * b + a, (2,), (1,), "VALID"), "reduce_window"),
        (lambda x: lax.igamma_grad_a(x, x), "igamma_grad_a"),
        (lambda x: sparse.linalg.spsolve(x, np.arange(6), np.arange(7), x), "spsolve"),
    ):
        with pytest.raises(TracingError, match=rf"(?s)JAX's primitive {name}.*Fix:.*test_from_jax"):
            primad.jit(primad.from_jax(f))(X)


def test_dtypes_are_those_of_jax():
    f = primad.from_jax(lambda x, n, y: (jnp.sin(x) * 2 + y, jnp.zeros(n)))
    assert f(np.ones(2, np.float32), 3, 1.5)[0].dtype == np.float32 and f(1.0, 3, 2.0)[1].shape == (3,)
    with jax.enable_x64(False):
        assert f(1.0, 2, 1.0)[0].dtype == np.float32
        with pytest.raises(TracingError, match=r"(?s)float64\[2\].*32 bits.*jax_enable_x64"):
            f(np.ones(2), 2, 1.0)
    for short in (lambda x: x.astype(jnp.bfloat16), lambda x: jnp.ones(6, jnp.bfloat16) * x):
        for run in (primad.from_jax(short), primad.jit(primad.from_jax(short))):
            with pytest.raises(TracingError, match=r"(?s)no dtype bfloat16.*Fix: convert to float32"):
                run(X.astype(np.float16))


def test_keys_may_be_arguments():
    def draws(key, x):
        first, second = jax.random.split(key)
        return jax.random.normal(first, (6,)) * x + jax.random.uniform(jax.random.fold_in(second, 2), (6,), "float32")

    key = jax.random.PRNGKey(5)
    np.testing.assert_allclose(primad.from_jax(draws)(np.asarray(key), X), draws(key, X), rtol=1e-12)

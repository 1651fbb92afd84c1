"""Functions for PyTorch: values without copies, derivatives to any order in every mode of PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import primad
from primad.errors import TracingError
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.documents import ROOT, blocks

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'primad[torch]'")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # PyTorch's own
RNG = np.random.default_rng(3)


def residual(params, x):
    w, v = params["w"], params["v"]
    return primad.laplacian(lambda y: np.tanh(y @ w) @ v)(x) + np.sum(x**2)


def loss(params, xs):
    return np.mean(primad.vmap(residual, in_axes=(None, 0))(params, xs) ** 2)


def tensors(**arrays):
    return {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}


PARAMS = {"w": RNG.normal(size=(3, 5)), "v": RNG.normal(size=5)}
POINTS = RNG.normal(size=(7, 3))


def test_a_loss_of_a_pde_trains_in_pytorch():
    params = tensors(**PARAMS)
    ours = primad.to_torch(loss)
    ours(params, POINTS).backward()
    wanted = primad.grad(loss)(PARAMS, POINTS)
    for name, tensor in params.items():
        np.testing.assert_allclose(tensor.grad.numpy(), wanted[name], rtol=1e-12)
    optimizer = torch.optim.LBFGS(params.values(), max_iter=20)

    def closure():
        optimizer.zero_grad()
        value = ours(params, POINTS)
        value.backward()
        return value

    before = float(optimizer.step(closure).detach())
    assert float(closure().detach()) < before / 4


def test_gradients_of_gradients_agree_with_pytorchs_own_checks():
    f = primad.to_torch(lambda x, y: (np.sin(x) * y**2, np.sum(np.exp(-x) * y)))
    x, y = (torch.tensor(RNG.uniform(0.5, 1.5, size=4), requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(f, (x, y), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (x, y), check_fwd_over_rev=True, check_rev_over_rev=True)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_have_primads_derivatives(seed):
    program = draw_program(Seeded(seed))
    rng = np.random.default_rng(seed)
    arrays = [np.asarray(rng.uniform(0.3, 0.9, size=type.shape), type.dtype) for type in program.in_types]
    given = [torch.tensor(array) for array in arrays]
    wanted = primad.recording.tree.flatten(program(*arrays))[0]
    found = primad.recording.tree.flatten(primad.to_torch(program)(*given))[0]
    for ours, theirs in zip(wanted, found, strict=True):
        np.testing.assert_allclose(theirs.numpy(), ours, rtol=1e-9, equal_nan=True)


def test_transforms_of_torch_func_go_through():
    f = primad.to_torch(lambda x, scale: np.sum(np.sin(x) ** 2) * scale)
    x = torch.tensor(RNG.normal(size=4))
    torch.testing.assert_close(torch.func.grad(f)(x, 2.0), 2 * torch.sin(2 * x))
    torch.testing.assert_close(torch.func.hessian(f)(x, 2.0), torch.diag(4 * torch.cos(2 * x)))
    torch.testing.assert_close(torch.func.jacfwd(torch.func.jacrev(f))(x, 2.0), torch.diag(4 * torch.cos(2 * x)))
    xs = torch.tensor(RNG.normal(size=(3, 4)))
    per_row = torch.func.vmap(torch.func.grad(f), in_dims=(0, None))(xs, 2.0)
    torch.testing.assert_close(per_row, 2 * torch.sin(2 * xs))


def test_integers_have_no_gradient_and_numbers_adopt_a_dtype():
    f = primad.to_torch(lambda x, i, a: {"taken": x[i] * a, "places": i + 1})
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float32, requires_grad=True)
    i = torch.tensor([2, 0])
    found = f(x, i, 0.5)
    assert found["taken"].dtype == torch.float32 and not found["places"].requires_grad
    found["taken"].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.5, 0.0, 0.5])
    assert f(x, i, 0.25)["taken"].tolist() == [0.75, 0.25]


def test_memory_is_shared_with_what_goes_in_and_never_with_what_comes_out():
    seen = []
    f = primad.to_torch(lambda x: seen.append(1) or x)
    x = torch.arange(6.0).reshape(2, 3)
    for given in (x, x.T, x[:, 1:]):
        found = f(given)
        assert torch.equal(found, given)
        found += 1
        assert not torch.equal(found, given)


def test_an_op_without_a_rule_and_tensors_that_numpy_lacks_are_errors():
    with pytest.raises(TracingError, match=r"bfloat16.*cannot be an array"):
        primad.to_torch(np.sin)(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(TracingError, match="on meta cannot be an array"):
        primad.to_torch(np.sin)(torch.ones(2, device="meta"))
    with pytest.raises(TracingError, match="expected a function"):
        primad.to_torch(3)


def test_the_code_of_the_page_on_scaling_runs():
    (code,) = [
        text
        for language, text, _ in blocks(ROOT / "docs" / "scaling.md")
        if language == "py" and "import torch" in text
    ]
    names = {"primad": primad, "loss": lambda params, x: np.mean((np.tanh(x @ params[0]) @ params[1]) ** 2)}
    names["xs"] = RNG.normal(size=(6, 3))
    exec(code, names)
    assert names["weights"].grad.shape == (3, 8)


def test_complex_tensors_have_pytorchs_gradients():
    """They are the conjugates of primad's; a loss in both systems' functions goes through, to second order."""

    def ours(z, w, x):
        return np.fft.fft(z * np.exp(1j * x)) * np.conj(w), np.sum(np.abs(z * w) ** 2)

    def theirs(z, w, x):
        return torch.fft.fft(z * torch.exp(1j * x)) * torch.conj(w), torch.sum(torch.abs(z * w) ** 2)

    def draw(dtype):
        both = RNG.normal(size=4), RNG.normal(size=4)
        return torch.tensor(both[0] + 1j * both[1] if dtype is complex else both[0], requires_grad=True)

    z, w, x = draw(complex), draw(complex), draw(float)
    f = primad.to_torch(ours)

    def g(spectrum, size):
        return torch.sum((spectrum.conj() * 2j).imag ** 3) * size**2

    derivatives = []
    for h in (f, theirs):
        first = torch.autograd.grad(g(*h(z, w, x)), (z, w, x), create_graph=True)
        again = torch.autograd.grad(sum(torch.sum(torch.abs(d) ** 2) for d in first), (z, w, x))
        derivatives.append((*first, *again))
    for found, wanted in zip(*derivatives, strict=True):
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found, wanted)
    assert torch.autograd.gradcheck(f, (z, w, x), check_forward_ad=True)
    torch.testing.assert_close(f(z.detach().conj(), w.detach(), x.detach())[1], theirs(z.conj(), w, x)[1].detach())


def test_complex_tensors_in_transforms_of_torch_func():
    f = primad.to_torch(lambda z: np.sum(np.abs(z) ** 2 * np.angle(z)))
    z = torch.tensor(RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4)))

    def g(z):
        return torch.sum(torch.abs(z) ** 2 * torch.angle(z))

    torch.testing.assert_close(torch.func.grad(f)(z[0]), torch.func.grad(g)(z[0]))
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(f))(z), torch.func.vmap(torch.func.grad(g))(z))

"""The example scripts: at toy size, with their files, their interruption and their reference solution."""

import importlib.util
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import primad

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "data" / "burgers_shock.mat"
PNG = b"\x89PNG\r\n\x1a\n"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scientific_examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def burgers():
    return load("burgers")


def test_burgers_at_toy_size(burgers, tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    error = burgers.main(steps=60, adam_steps=5, points=500, width=12, seed=0, out=out)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"relative L2 error: {error:.3e}"
    untrained = burgers.main(steps=0, adam_steps=0, points=500, width=12, seed=0, out=tmp_path)
    assert error < 0.25 * untrained
    assert sorted(path.name for path in out.iterdir()) == [
        "error.png",
        "loss.png",
        "parameters.safetensors",
        "solution.png",
    ]
    assert all(path.read_bytes().startswith(PNG) for path in out.glob("*.png"))


def test_burgers_saves_the_parameters_that_it_reports(burgers, tmp_path):
    error = burgers.main(steps=2, adam_steps=3, points=50, width=4, seed=3, out=tmp_path)
    params = primad.nn.load(tmp_path / "parameters.safetensors", burgers.initial_parameters(np.random.default_rng(), 4))
    x, t = map(np.ravel, np.meshgrid(np.linspace(-1, 1, 256), np.linspace(0, 1, 101), indexing="ij"))
    found = primad.vmap(burgers.u, in_axes=(None, 0, 0))(params, x, t)
    exact = burgers.exact_solution(x, t)
    assert np.linalg.norm(found - exact) / np.linalg.norm(exact) == pytest.approx(error, rel=1e-12)


def test_burgers_residual_vanishes_on_the_exact_solution(burgers, monkeypatch):
    """The derivatives in the residual, checked on a solution of the equation that is known in closed form."""
    a, nu = 0.7, burgers.NU

    def wave(params, x, t):
        return a - a * np.tanh(a * (x - a * t) / (2 * nu))

    monkeypatch.setattr(burgers, "u", wave)
    found = [burgers.residual(None, x, 0.1) for x in (0.065, 0.07, 0.08)]
    assert np.abs(found).max() < 1e-9


def test_burgers_without_matplotlib_says_which_extra(burgers, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(burgers, "find_spec", lambda name: None)
    burgers.main(steps=0, adam_steps=1, points=20, width=2, out=tmp_path)
    assert "primad[plot]" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["parameters.safetensors"]


def test_burgers_reference_is_the_published_solution(burgers):
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not here: the published reference solution is not part of the repository")
    data = scipy.io.loadmat(REFERENCE)
    x, t = np.meshgrid(data["x"].ravel(), data["t"].ravel(), indexing="ij")
    assert np.abs(burgers.exact_solution(x, t) - data["usol"]).max() < 1e-3


def test_burgers_reference_has_converged_and_meets_the_conditions(burgers):
    x, t = np.meshgrid(np.linspace(-1, 1, 33), np.linspace(0, 1, 11), indexing="ij")
    found = burgers.exact_solution(x, t)
    np.testing.assert_allclose(found, burgers.exact_solution(x, t, nodes=160), atol=1e-6)
    np.testing.assert_allclose(found[:, 0], -np.sin(np.pi * x[:, 0]), atol=1e-12)
    np.testing.assert_allclose(found[[0, -1]], 0.0, atol=1e-12)


def test_an_interrupted_run_keeps_its_results(burgers, tmp_path, capsys, monkeypatch):
    drawn = burgers.draw_points

    def interrupted(seed, number, count):
        if number == 3:
            signal.raise_signal(signal.SIGINT)
        return drawn(seed, number, count)

    monkeypatch.setattr(burgers, "draw_points", interrupted)
    with pytest.raises(SystemExit) as stop:
        burgers.main(steps=10, adam_steps=5, points=50, width=4, out=tmp_path)
    assert stop.value.code == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("relative L2 error: ")
    assert (tmp_path / "parameters.safetensors").exists()


def test_the_tour(tmp_path, capsys):
    load("derivatives").main(out=tmp_path)
    text = capsys.readouterr().out
    assert "proved" in text
    assert "expected" in text and "got" in text, "the wrong rule has a counterexample"
    assert "2 failed" in text
    assert (tmp_path / "derivatives.png").read_bytes().startswith(PNG)

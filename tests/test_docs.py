"""Every python block of the README and the docs runs, and prints what the text block after it says."""

import re

import numpy as np
import pytest
from documents import PAGES, ROOT, blocks, run

import primad


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page):
    for printed, written in run(page):
        assert printed == written


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        text = text.replace(block[1], "")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def test_files_that_pages_name_exist():
    """Decisions may name files that went."""
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    found = 0
    for page in (*pages, *(ROOT / "docs" / "pictures").glob("*.py")):
        for name in re.findall(r"\b(\w+/\w+\.py)\b", page.read_text(encoding="utf-8")):
            if (ROOT / "primad" / name).parent.is_dir():
                found += 1
                assert (ROOT / "primad" / name).is_file(), f"{page.name} names {name}"
    assert found > 30


def test_readme_comments_are_true():
    def u(x):
        return np.exp(-np.sum(x**2))

    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(primad.grad(u)(x), [-0.2865, -0.5730], atol=5e-5)
    np.testing.assert_allclose(np.trace(primad.hessian(u)(x)), 0.2865, atol=5e-5)
    assert "0.2865" in (ROOT / "README.md").read_text(encoding="utf-8")


def derivatives(function, *args):
    return primad.grad(function, tuple(range(len(args))))(*args)


def where_log(x):
    return np.where(x > 0, np.log(x), 3 * x)


KINKS = [
    (np.abs, (0.0,), (0,)),
    (primad.nn.relu, (0.0,), (0,)),
    (primad.nn.relu6, (6.0,), (0,)),
    (primad.nn.hardtanh, (-1.0,), (0,)),
    (primad.nn.hard_sigmoid, (-3.0,), (0,)),
    (primad.nn.hardshrink, (0.5,), (0,)),
    (primad.nn.softshrink, (0.5,), (0,)),
    (primad.nn.thresholded_relu, (1.0,), (0,)),
    (primad.nn.leaky_relu, (0.0,), (0.01,)),
    (primad.nn.prelu, (0.0, 0.25), (0.25, 0)),
    (lambda x: primad.nn.elu(x, 0.5), (0.0,), (0.5,)),
    (lambda x, y: primad.nn.huber_loss(x, y, 0.5), (1.0, 0.5), (0.5, -0.5)),
    (np.maximum, (1.0, 1.0), (0.5, 0.5)),
    (np.minimum, (1.0, 1.0), (0.5, 0.5)),
    (np.max, (np.array([1.0, 3.0, 3.0]),), ([0, 0.5, 0.5],)),
    (np.min, (np.array([1.0, 1.0, 1.0]),), ([1 / 3, 1 / 3, 1 / 3],)),
    (lambda x: np.sum(primad.nn.max_pool(x, 2)), (np.array([[[3.0, 3.0]]]),), ([[[1, 0]]],)),
    (lambda x: np.sum(primad.nn.adaptive_max_pool(x, 1)), (np.array([[[1.0, 3.0, 3.0]]]),), ([[[0, 1, 0]]],)),
    (lambda x: np.clip(x, 0, 1), (0.0,), (0.5,)),
    (lambda x: np.clip(x, 0, 1), (1.0,), (0.5,)),
    (np.sqrt, (0.0,), (np.inf,)),
    (np.linalg.norm, (np.zeros(2),), ([0, 0],)),
    (np.hypot, (0.0, 0.0), (0, 0)),
    (np.std, (np.ones(3),), ([0, 0, 0],)),
    (np.power, (0.0, 0.0), (0, -np.inf)),
    (np.power, (0.0, 0.5), (np.inf, 0)),
    (np.power, (0.0, 2.0), (0, 0)),
    (np.power, (-1.0, 2.0), (-2, np.nan)),
    (where_log, (-1.0,), (3,)),
    (where_log, (0.0,), (3,)),
    (np.median, (np.array([1.0, 1.0, 2.0]),), ([0, 1, 0],)),
    (np.floor, (1.0,), (0,)),
    (np.sign, (0.0,), (0,)),
    (np.mod, (6.0, 2.0), (1, -3)),
    (np.fmod, (-6.0, 2.0), (1, 3)),
    (np.arctan2, (0.0, 0.0), (0, 0)),
    (primad.numpy.special.logsumexp, (np.array([-np.inf, 0.0]),), ([0, 1],)),
    (primad.numpy.special.xlogy, (0.0, 0.0), (0, 0)),
]


@pytest.mark.parametrize(("function", "args", "expected"), KINKS)
def test_conventions_at_kinks(function, args, expected):
    for found, wanted in zip(derivatives(function, *args), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_orders_at_kinks():
    orders = [primad.derivative(lambda x: x**2.5, k)(0.0) for k in (1, 2, 3)]
    assert orders == [0, 0, np.inf]
    assert primad.grad(primad.grad(np.abs))(0.0) == 0
    assert not np.asarray(primad.hessian(np.linalg.norm)(np.zeros(2))).any()

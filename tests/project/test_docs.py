"""Every python block of the README and the docs runs, and prints what the text block after it says."""

import re
import runpy

import numpy as np
import pytest

import primad
from tests.documents import NEEDS, PAGES, ROOT, blocks, run


@pytest.mark.one_in(24)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"the examples need {NEEDS[page.name]}")
    for printed, written in run(page):
        assert printed == written


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        text = text.replace(block[1], "")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def anchors(page):
    """Return the anchors that hosts of Markdown, and the site, make of a page's headings, and those it states."""
    text = prose(page)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", each)).lower().replace(" ", "-") for each in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def test_anchors_of_links_exist():
    found, missing = 0, []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", prose(page)):
            to = page.parent / target if target else page
            if to.suffix == ".md":
                found += 1
                missing += [f"{page.name}: {target}#{anchor}"] * (anchor not in anchors(to))
    assert not missing and found > 60


def test_files_that_pages_name_exist():
    """Decisions may name files that went."""
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    found = 0
    for page in (*pages, *(ROOT / "docs" / "pictures").glob("*.py")):
        for name in re.findall(r"(?<![\w/-])((?:\w+/)+\w+\.py)\b", page.read_text(encoding="utf-8")):
            for folder in (ROOT / "primad", ROOT):
                if (folder / name.split("/")[0]).is_dir():
                    found += 1
                    assert (folder / name).is_file(), f"{page.name} names {name}"
                    break
    assert found > 30


def test_the_picture_of_how_programs_run_is_drawn_from_the_present_rooms():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "runtime.py"))["picture"]()
    assert drawn == (ROOT / "docs" / "pictures" / "runtime.svg").read_text(encoding="utf-8")
    names = set(re.findall(r"\w+\.py\b", drawn))
    assert len(names) > 15 and not names - {path.name for path in (ROOT / "primad").rglob("*.py")}


def prose(page):
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_of_tables_have_as_many_cells_as_the_head(page):
    """A bare `|` inside of code ends a cell, and the rest of the row is lost."""
    width = 0
    for line in prose(page).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        assert not (width and cells) or cells == width, line
        width = cells


WORDS = {
    "boundary": "pde_problems",
    "boundary condition": "pde_problems",
    "Dirichlet": "pde_problems",
    "Neumann": "pde_problems",
    "Robin": "pde_problems",
    "periodic": "pde_problems",
    "initial condition": "pde_problems",
    "hard constraints": "where_to_look",
    "collocation points": "where_to_look",
    "Latin hypercube": "pde_problems",
    "mesh": "pde_problems",
    "loss weights": "where_to_look",
    "residual": "tutorials/cost_of_losses",
    "Levenberg": "optimisers",
    "Gauss-Newton": "optimisers",
    "L-BFGS": "optimisers",
    "Adam": "tutorials/choosing_an_optimiser",
    "scipy.optimize": "optimisers",
    "least_squares": "optimisers",
    "minimize": "optimisers",
    "solve_ivp": "loops",
    "ODE": "loops",
    "Jupyter": "tutorials/first_ten_minutes",
    "notebook": "tutorials/first_ten_minutes",
    "slow": "limitations",
    "out of memory": "where_to_look",
    "compile": "tutorials/first_ten_minutes",
    "double backward": "where_to_look",
    "jet": "coming_from_jax",
    "Laplacian": "tutorials/higher_order",
    "biharmonic": "pde",
    "mixed partial": "tutorials/higher_order",
    "NaN": "where_to_look",
    "kink": "maths",
    "float64": "where_to_look",
    "float32": "where_to_look",
    "complex": "complex",
    "Fourier": "complex",
    "sparse": "where_to_look",
    "resume": "training",
    "checkpoint": "pde_problems",
    "save": "where_to_look",
    "log": "where_to_look",
    "plot": "pde_problems",
    "animate": "pde_problems",
    "inverse problem": "tutorials/inverse_problems",
    "uncertainty": "where_to_look",
    "confidence": "tutorials/inverse_problems",
    "GPU": "scaling",
    "threads": "where_to_look",
    "MPI": "scaling",
    "custom_jvp": "adding_a_primitive",
    "custom_vjp": "adding_a_primitive",
    "while_loop": "loops",
    "scan": "loops",
    "manufactured solution": "tutorials/equation_to_picture",
    "DeepXDE": "coming_from_deepxde",
    "JAX": "coming_from_jax",
    "autograd": "coming_from_autograd",
    "install": "tutorials/first_ten_minutes",
    "SymPy": "symbolic",
    "CasADi": "coming_from_casadi",
    "optimal control": "coming_from_casadi",
    "SciPy": "coming_from_scipy",
    "quad": "coming_from_scipy",
    "implicit function theorem": "coming_from_scipy",
    "Bessel": "limitations",
    "DeepONet": "coming_from_deepxde",
    "auxiliary_var_function": "coming_from_deepxde",
    "overfitting": "tutorials/inverse_problems",
}
"""What users ask and complain about, in the words that they would use, and the page that should be found."""


def ranked(words, pages):
    """Return pages that have all words, best first: titles weigh most, then headings, then how often they occur."""
    scores = {}
    for name, (title, headings, text) in pages.items():
        found = [re.compile(rf"\b{word}", re.IGNORECASE) for word in re.findall(r"\w+", words)]
        if all(each.search(text) for each in found):
            scores[name] = sum(
                100 * bool(each.search(title)) + 15 * bool(each.search(headings)) + min(len(each.findall(text)), 14)
                for each in found
            )
    return sorted(scores, key=scores.get, reverse=True)


@pytest.fixture(scope="module")
def pages_to_search():
    found = {}
    for page in PAGES:
        name = page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")
        if not name.startswith(("README", "decisions/", "api/")):
            text = page.read_text(encoding="utf-8")
            headings = re.findall(r"^##+ (.*)$", prose(page), re.MULTILINE)
            found[name] = (re.search(r"^# (.*)$", prose(page), re.MULTILINE)[1], " ".join(headings), text)
    return found


@pytest.mark.one_in(4)
@pytest.mark.parametrize("words", WORDS)
def test_a_search_for_what_users_say_finds_the_page(words, pages_to_search):
    assert WORDS[words] in ranked(words, pages_to_search)[:5]


def test_tutorials_begin_with_primads_numpy():
    """Plain NumPy cannot hold traced values, so what a reader copies first is the module that can."""
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    assert len(pages) > 5
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md", *pages):
        text = page.read_text(encoding="utf-8")
        assert re.search(r"^import primad.numpy as np$", text, re.MULTILINE), page
        assert not re.search(r"^import numpy as np$", text, re.MULTILINE), page


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

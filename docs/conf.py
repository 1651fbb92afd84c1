import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import jupytext

sys.path.insert(0, str(Path(__file__).parent))
import formulas

project = "primad"
author = "the primad developers"
copyright = "2026, the primad developers"
release = installed_version("primad")
version = release

extensions = [
    "example_code",
    "formulas",
    "reference",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "tutorials/notebooks"]

# The tutorials are run when the site is built: what they print and draw is what primad does. A cell that raises ends
# the build. Pages without code cells are not touched.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_include_init_with_doc = False

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_static_path = ["static", formulas.FONT]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_title = f"primad {release}"
html_copy_source = False
html_show_sphinx = False


def as_restructured_text(app, what, name, object, options, lines):
    """Read docstrings as they are written: code in single backticks, `*` and `|` as themselves, and no types in prose.

    In the first line of a property's docstring, napoleon takes what stands before a colon for the type, unless the line
    ends there.
    """
    if what in ("attribute", "data", "property") and lines and ": " in lines[0]:
        before, _, after = lines[0].partition(": ")
        lines[:1] = [f"{before}:", after]
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("`")
            for j, part in enumerate(parts):
                parts[j] = f"``{part}``\\ " if j % 2 else part.replace("*", r"\*").replace("|", r"\|")
            if len(parts) % 2:
                lines[i] = "".join(parts)


NOTEBOOKS = ("first_ten_minutes", "equation_to_picture", "inverse_problems")


def write_notebooks(app):
    """Write these tutorials as notebooks too, which their pages offer for download."""
    folder = Path(app.srcdir) / "tutorials"
    (folder / "notebooks").mkdir(exist_ok=True)
    for name in NOTEBOOKS:
        jupytext.write(jupytext.read(folder / f"{name}.md"), folder / "notebooks" / f"{name}.ipynb")


def is_numpys(app, what, name, object, skip, options):
    """Leave out what `primad.numpy` only passes on: NumPy describes it."""
    module = str(getattr(object, "__module__", None) or getattr(type(object), "__module__", ""))
    return True if module.split(".")[0] == "numpy" else None


def leave_decisions_out_of_the_search(app, doctree):
    """Mark the records of decisions: they are for those who change primad, and no answer to a user's question."""
    if app.env.docname.startswith("decisions/"):
        app.env.metadata[app.env.docname]["nosearch"] = True


def setup(app):
    app.connect("autodoc-skip-member", is_numpys)
    app.connect("builder-inited", write_notebooks)
    app.connect("doctree-read", leave_decisions_out_of_the_search)
    app.connect("autodoc-process-docstring", as_restructured_text, priority=400)  # before napoleon reads the sections

"""A page for the code of each example, to which links to `scientific_examples/NAME.py` lead on the site.

In a checkout such a link opens the file itself. On the site it would be a download; here it becomes a page that shows
the code as the other pages show theirs.
"""

from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference

FOLDER = Path(__file__).resolve().parents[1] / "scientific_examples"


def page_of(target):
    """Return the name of the page of an example's file, or "" for other files."""
    path = Path(target)
    return f"examples/{path.stem}" if path.suffix == ".py" and path.parent.name == FOLDER.name else ""


def link_to_pages(app, doctree, docname):
    """Turn downloads of examples into links to their pages."""
    if app.builder.format == "html":
        for node in list(doctree.findall(download_reference)):
            if page := page_of(node["reftarget"]):
                link = nodes.reference("", "", *node.children, internal=True)
                link["refuri"] = app.builder.get_relative_uri(docname, page)
                node.replace_self(link)


def pages(app):
    """Yield the pages: name, what the template is filled with, template."""
    if app.builder.format == "html":
        for path in sorted(FOLDER.glob("*.py")):
            page = page_of(path)
            back = app.builder.get_relative_uri(page, "gallery_figures")
            code = app.builder.highlighter.highlight_block(path.read_text(encoding="utf-8"), "python")
            link = f'<a href="{back}#{path.stem.replace("_", "-")}">Its picture and its figures</a>'
            yield page, {"title": path.name, "body": f"<h1>{path.name}</h1><p>{link}</p>{code}"}, "page.html"


def setup(app):
    app.connect("doctree-resolved", link_to_pages)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

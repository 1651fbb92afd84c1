"""Formulas of the site as MathML, which browsers draw by themselves: the built pages need no script and no network.

What the converter writes is mended in a few places: functions get TeX's thin spaces, primes are no powers, and dots
above letters keep their size. The font is STIX Two Math (SIL Open Font License), as a package of Python carries it,
since few systems have one for mathematics.
"""

from importlib.util import find_spec
from itertools import pairwise
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert

(FONTS,) = find_spec("ziamath.fonts").submodule_search_locations
FONT = f"{FONTS}/STIXTwoMath-Regular.ttf"

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
PRIMES = {"′", "″", "‴"}
TALL = {"mi", "mn", "msup", "msub", "msubsup", "mfrac", "msqrt"}


def tag(element):
    return element.tag.removeprefix(f"{{{NAMESPACE}}}")


def is_name(element):
    """Say whether an element is the name of a function, with or without a power."""
    if tag(element) in ("msup", "msub") and len(element):
        element = element[0]
    return tag(element) == "mi" and len(element.text or "") > 1 and element.text.isalpha()


def mend(root):
    for element in root.iter():
        if tag(element) == "mover":
            element.set("accent", "true")
        elif tag(element) == "mo" and len(element.text or "") > 1 and element.text.isalpha():
            element.tag = f"{{{NAMESPACE}}}mi"  # \operatorname names a function, and no sign between two others
        elif tag(element) == "msup" and element[1].text in PRIMES:
            element.tag = f"{{{NAMESPACE}}}mrow"
            element[1].tag = f"{{{NAMESPACE}}}mo"
            element[1].attrib.update(lspace="0", rspace="0")
    for row in [element for element in root.iter() if tag(element) == "mrow"]:
        pairs = list(pairwise(row))
        for place, (left, right) in reversed(list(enumerate(pairs, start=1))):
            if (is_name(left) or is_name(right)) and tag(left) in TALL and tag(right) in TALL:
                row.insert(place, ElementTree.Element(f"{{{NAMESPACE}}}mspace", width="0.17em"))


def formula(node, display):
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(convert(node.astext(), display=display))
    mend(root)
    return ElementTree.tostring(root, encoding="unicode")


def visit_inline(translator, node):
    translator.body.append(formula(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="math">{formula(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

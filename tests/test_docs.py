"""Every python block of the README and the docs runs, and prints what the text block after it says."""

import re

import pytest
from documents import PAGES, ROOT, blocks, run


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

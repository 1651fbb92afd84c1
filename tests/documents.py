"""The Markdown pages as programs: their python blocks, and the text blocks that say what those print."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

from primad.compat import paddle

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

NEEDS = {"ipopt.md": "cyipopt", "openmdao.md": "openmdao"}
"""What the examples of a page need beside primad."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Return (language, text, number of its first line) for each fenced block of a page."""
    text = page.read_text(encoding="utf-8")
    return [(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in _BLOCK.finditer(text)]


def run(page: Path) -> list[tuple[str, str]]:
    """Run the python blocks of a page, in one namespace, as real code.

    Returns:
        for each block that a text block follows directly, what it printed and what the page says.
    """
    names: dict[str, object] = {"__name__": page.stem}
    pairs = []
    found = blocks(page)
    with as_in_a_new_process():
        for i, (language, text, line) in enumerate(found):
            if language != "python":
                continue
            following = found[i + 1] if i + 1 < len(found) else ("", "", 0)
            printed = io.StringIO()
            code = compile("\n" * (line - 1) + text, str(page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, names)
            if following[0] == "text":
                pairs.append((printed.getvalue(), following[1]))
    return pairs


@contextlib.contextmanager
def as_in_a_new_process() -> Iterator[None]:
    """Let Paddle's API count names from zero and start with empty programs, in eager mode, whatever ran before."""
    static = paddle.static
    programs = static.program_guard(static.Program(), static.Program())
    with programs, static.scope_guard(static.Scope()), paddle.utils.unique_name.guard():
        try:
            yield
        finally:
            paddle.disable_static()


def rewrite(page: Path) -> None:
    """Put what the code prints now into the text blocks of a page."""
    printed = iter([actual for actual, _ in run(page)])
    last = ""

    def fill(found: re.Match[str]) -> str:
        nonlocal last
        previous, last = last, found[1]
        return f"```text\n{next(printed)}```" if last == "text" and previous == "python" else found[0]

    page.write_text(_BLOCK.sub(fill, page.read_text(encoding="utf-8")), encoding="utf-8")

"""An error of primad's says what to write instead."""

from __future__ import annotations

import ast
import re

from tests.sources import PACKAGE, trees

ERRORS = re.findall(r"^class (\w+)\(", (PACKAGE / "errors.py").read_text(encoding="utf-8"), re.MULTILINE)


def has_way_out(call: ast.Call) -> bool:
    """Say whether an error is made with a third argument, its fix, or hands on what it was given."""
    return len(call.args) > 2 or any(word.arg in ("fix", None) for word in call.keywords)


def test_an_error_says_what_to_write_instead() -> None:
    found, silent = 0, []
    for path, tree in trees("raise"):
        for node in ast.walk(tree):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ERRORS:
                found += 1
                silent += [] if has_way_out(call) else [f"{path}:{node.lineno}: {ast.unparse(call)}"]
    assert found > 900
    assert silent == []

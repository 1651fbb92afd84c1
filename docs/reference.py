"""The directive `names` of the API pages: names of a module, each documented by its docstring, in the order given.

    ```{names} primad
    grad hessian Jacobian
    ```

Where none is given, it is those of the module's `__all__` that are primad's own. A class comes with its members, and
with those that it inherits where the option `inherited` is given.
"""

import importlib
import inspect
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList


def directive(found):
    if inspect.isclass(found):
        return "autoexception" if issubclass(found, BaseException) else "autoclass"
    return "autofunction"


def is_own(found):
    return (getattr(found, "__module__", None) or type(found).__module__).startswith("primad")


class Names(Directive):
    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"inherited": directives.flag}

    def run(self):
        module = importlib.import_module(self.arguments[0])
        lines = ["```{eval-rst}"]
        for name in " ".join(self.content).split() or filter(
            lambda name: is_own(getattr(module, name)), module.__all__
        ):
            found = getattr(module, name)
            lines += [f".. {directive(found)}:: {self.arguments[0]}.{name}"]
            if inspect.isclass(found):
                lines += ["   :members:", *(["   :inherited-members: tuple"] if "inherited" in self.options else [])]
            lines += [""]
        section = nodes.container()
        self.state.nested_parse(StringList([*lines, "```"], self.arguments[0]), self.content_offset, section)
        return section.children


def setup(app):
    app.add_directive("names", Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

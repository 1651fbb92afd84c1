"""Imports point down only, and nothing imports inside functions except where listed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from primad import ops
from primad.numpy import COMPOSITES
from primad.numpy.linalg import products
from primad.ops.record.primitive import Primitive

PACKAGE = Path(__file__).parents[2] / "primad"
ORDER = [
    "errors", "system", "ir", "parallel", "recording", "ops", "numpy", "nn", "transforms", "simplify", "native", "xla",
    "runtime", "programs", "functional", "enclosures", "implicit", "integrate", "optimize", "scipy", "explanation",
    "verify", "symbolic", "pde", "compat", "cli",
]  # fmt: skip
HEIGHT = {layer: place for place, layer in enumerate(ORDER)}
LAZY = {
    (
        "pde/geometry/domains.py",
        "primad.pde.geometry.constructive",
    ): "operators on domains make domains of classes that derive from theirs",
    ("programs/compacting.py", "primad.programs.packing.packing"): "only long programs have scalar lines to pack",
    (
        "programs/compacting.py",
        "primad.programs.rerolling.rerolled_loops",
    ): "steps of loops are packed too",
    ("simplify/engine.py", "primad.simplify.transformed_sums"): "few programs have Fourier transforms",
    (
        "functional/derivatives/sparse_matrices.py",
        "primad.functional.derivatives.overwritten_entries",
    ): "few matrices are computed into an array that is given",
    (
        "functional/derivatives/sparse_matrices.py",
        "primad.functional.derivatives.matrix_pictures",
    ): "it serves pictures only, with matplotlib",
    (
        "functional/derivatives/sparse_matrices.py",
        "primad.programs.sparsity.compressed",
    ): "few matrices of derivatives are asked for their sparse form",
    ("functional/following.py", "primad.functional.known_calls"): "under jit no recording is followed",
    ("ops/arrays/contraction.py", "primad.ops.blocked.small_products"): "small plans that run again ask for it",
    **{
        (f"ops/linalg/{name}.py", "primad.ops.linalg.single_matrices"): "small plans that run again ask for it"
        for name in ("cofactors", "elimination", "factorization")
    },
}
"""Imports inside functions that are meant, within a layer of primad, and why; nothing imports what lies above it."""
WHEN_IT_RUNS = (
    "primad.native.", "primad.runtime.cost_model", "primad.runtime.loops.", "primad.runtime.plan.",
    "primad.runtime.program_cache", "primad.runtime.tiling.", "primad.symbolic.",
)  # fmt: skip
"""What is loaded when a first program runs that is planned or compiled: importing it takes half as long as all the
rest; and, with SymPy, for a first formula. Whoever calls it from a module that is loaded before imports it inside of
the function."""
FORBIDDEN = {
    ("functional", "native"): "executors choose how programs run",
    ("programs/loops", "native"): "what is derived, and what is kept for it, depends on no executor",
}
"""Layers that lie below and yet are not for every folder above them, and what is between."""

FILES = sorted(path for path in PACKAGE.rglob("*.py") if "demos" not in path.parts)


def module_of(path: Path) -> str:
    return ".".join(("primad", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_of(path) for path in FILES}


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


@cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Return (module, line, inside a function) of each import of a module of primad that runs."""
    found: list[tuple[str, int, bool]] = []

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend(
                (alias.name, node.lineno, inside) for alias in node.names if alias.name.split(".")[0] == "primad"
            )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            if node.module and node.module.split(".")[0] == "primad":
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found.append((whole if whole in MODULES else node.module, node.lineno, inside))
        deeper = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, deeper)

    visit(ast.parse(path.read_text()), False)
    return found


def test_imports_point_down() -> None:
    assert [fault for path in FILES for fault in upward(path)] == []


def upward(path: Path) -> Iterator[str]:
    """Yield what is wrong with the imports of a file."""
    own = layer_of(module_of(path))
    if own is None or own == "__main__":
        return
    assert own in HEIGHT, f"{own} is in no layer: add it to the list, to docs/design.md and to CONTRIBUTING.md"
    for module, line, _ in imports(path):
        target = layer_of(module)
        if own == "cli" and target is None:
            continue  # the command line uses what users see
        if target is None:
            yield f"{path}:{line}: import from the module that defines it, not from primad"
        elif HEIGHT[target] > HEIGHT[own]:
            yield f"{path}:{line}: {own} imports {target}, which lies above it"
        for (folder, layer), why in FORBIDDEN.items():
            if path.is_relative_to(PACKAGE / folder) and target == layer:
                yield f"{path}:{line}: {folder} imports {target}: {why}"


def test_no_imports_inside_functions() -> None:
    found = []
    for path in FILES:
        place = str(path.relative_to(PACKAGE))
        if layer_of(module_of(path)) not in ("cli", "verify"):  # which load what they need when they are first used
            every = imports(path)
            found += [
                (place, module, line)
                for module, line, inside in every
                if inside and (place, module) not in LAZY and not module.startswith(WHEN_IT_RUNS)
            ]
    assert found == []


def test_a_class_of_the_engine_has_a_name_of_its_own() -> None:
    """One meaning a name; other systems' APIs have the names that these systems gave."""
    found: dict[str, list[str]] = {}
    for path in FILES:
        if layer_of(module_of(path)) != "compat":
            for name in re.findall(r"^ *class (\w+)\b.*:$", path.read_text(encoding="utf-8"), re.MULTILINE):
                found.setdefault(name, []).append(module_of(path))
    assert len(found) > 500
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_the_picture_of_the_layers_is_theirs() -> None:
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = page.partition("```text\n")[2].partition("```")[0]
    names = [re.findall(r"[a-z]+", line.partition("   ")[0]) for line in picture.splitlines()]
    assert [name for line in reversed(names) for name in line] == ORDER


def test_one_builder_writes_the_control_of_llvm_text() -> None:
    """Blocks, branches, calls, declarations and memory of a function's own are written in one file."""
    control = re.compile(r"(^|\s)(br|phi|call|define|declare|alloca|switch) ")
    for path in sorted((PACKAGE / "native").rglob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
            if control.search(node.value)
        ]
        assert bool(found) == (path.name == "builder.py"), f"{path.name} writes {found}"


def test_no_cycles() -> None:
    graph = {
        module_of(path): {module for module, _, inside in imports(path) if not inside and module in MODULES}
        for path in FILES
    }
    graph.pop("primad")
    # A package's __init__ only gathers its modules; importing a module inside it does not need its names.
    done: set[str] = set()
    while graph:
        ready = [module for module, needs in graph.items() if not {need for need in needs if need in graph} - {module}]
        assert ready, f"modules import each other in a cycle: {sorted(graph)}"
        for module in ready:
            done.add(module)
            graph.pop(module)


LATE = [
    "concurrent", "fractions", "html", "jax", "llvmlite", "matplotlib", "mpmath", "rich", "safetensors",
    "scipy", "sympy", "threadpoolctl", "typer",
]  # fmt: skip
"""What is loaded when it is first needed, from elsewhere."""
LATE_ROOMS = [
    "compat", "explanation", "implicit", "integrate", "native.emit", "native.llvm", "optimize", "pde",
    "runtime.plan_form", "runtime.tiling.tiled_plan", "scipy", "symbolic", "xla",
]  # fmt: skip
"""The same of primad's own."""
MOST_MODULES = 300
"""Modules of primad that `import primad` loads: with these it takes as long as to import NumPy and `scipy.special`."""


def test_importing_loads_no_more_than_it_must() -> None:
    """What is loaded when it is first needed takes longer to import than all the rest."""
    code = "import sys, primad; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    late = {*LATE, *(f"primad.{room}" for room in LATE_ROOMS)}
    assert not late & {*found}, f"import primad loads {sorted(late & {*found})}"
    own = [module for module in found if module.split(".")[0] == "primad"]
    assert len(own) <= MOST_MODULES, f"import primad loads {len(own)} modules of its own"


EAGER = """
import sys, numpy as np, primad
x = np.linspace(0.1, 1.0, 30)
primad.grad(lambda x: np.sum(np.tanh(np.stack([x, x**2])) ** 2))(x)
primad.grad(lambda x: np.linalg.norm(np.outer(x, x) @ x))(x)
primad.value_and_grad(lambda x: np.linalg.slogdet(np.diag(x) + 1)[1])(x)
np.asarray(primad.hessian(lambda x: np.prod(x) + np.sum(np.sort(x)[:3] ** 2))(x))
print(*sys.modules)
"""


def test_eager_derivatives_of_few_numbers_load_no_native_code() -> None:
    """Nothing of them is compiled; LLVM alone takes longer than they do, and 50 MB."""
    done = subprocess.run([sys.executable, "-c", EAGER], capture_output=True, text=True, check=True)
    late = {"llvmlite", "primad.native.emit", "primad.native.llvm.compiler", "primad.runtime.tiling.tiled_plan"}
    assert not late & {*done.stdout.split()}


IMPORTED = [
    "primad.nn", "primad.optimize", "primad.implicit", "primad.integrate", "primad.scipy", "primad.scipy.stats",
    "primad.compat.autograd", "primad.pde",
]  # fmt: skip
"""Packages that users import by their names, as one process imports them one after another."""
HEAVY = {*LATE} - {"html", "scipy"} | {
    f"scipy.{name}" for name in ("fft", "integrate", "interpolate", "linalg", "optimize", "sparse", "special", "stats")
}
"""What takes longer to import than primad itself, or a good part of it, and is loaded when something of it is used."""


@cache
def brought() -> dict[str, set[str]]:
    """Return the modules that each of these packages brings where those before it are imported."""
    code = f"""
import sys, importlib, primad
for name in {IMPORTED}:
    before = {{*sys.modules}}
    importlib.import_module(name)
    print(name, *({{*sys.modules}} - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {line.split()[0]: {*line.split()[1:]} for line in done.stdout.splitlines()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("package", IMPORTED)
def test_a_package_is_imported_without_what_it_may_need(package: str) -> None:
    assert not HEAVY & brought()[package], f"import {package} loads {sorted(HEAVY & brought()[package])}"


def test_what_needs_sympy_and_scipy_loads_them() -> None:
    """The names above are those of modules: what is used is found under them."""
    code = """
import sys, numpy, primad.pde as pde, primad.integrate as integrate
pde.polar, integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), numpy.ones(1), t_eval=[1.0])
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"sympy", "scipy.integrate", "scipy.optimize"} <= {*done.stdout.split()} & HEAVY


KNOWS_NO_OP = [
    path
    for path in FILES
    if layer_of(module_of(path)) in ("ir", "recording", "transforms") or "record" in path.parts
    if path.name not in ("refusals.py", "scipy_names.py")  # they name what users write, `floor` and others
]
"""What works on every op by its record: recording, kinds and transforms."""


@pytest.mark.parametrize("path", KNOWS_NO_OP, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_op_is_known_by_name(path: Path) -> None:
    """No name of an op is compared with, no record of one is imported (`project` stands for results, as leaves do)."""
    names = set(ops.BY_NAME) - {"project"}
    records = {name for name, value in vars(ops).items() if isinstance(value, Primitive)} - {"project"}
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primad"):
            imported = {alias.name for alias in node.names}
            assert not imported & records and "ops" not in imported, f"{path}:{line}: imports {imported}"
        if isinstance(node, (ast.Compare, ast.Set, ast.Tuple, ast.List, ast.Dict)):
            texts = {child.value for child in ast.walk(node) if isinstance(child, ast.Constant)}
            known = {text for text in texts if isinstance(text, str)} & names
            assert not known, f"{path}:{line}: knows {known}"


ASKS_NO_OP = [path for path in FILES if layer_of(module_of(path)) in ("programs", "functional", "explanation")]
"""What applies or describes ops, but leaves what to do with them to their records and to laws."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", ASKS_NO_OP, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_node_is_asked_for_its_op(path: Path) -> None:
    """No op of a node is compared with a record or a name: how an op is consumed is a law of what it consumes."""
    names = set(ops.BY_NAME) | {composite.name for composite in COMPOSITES}
    records = {name for name, value in vars(ops).items() if isinstance(value, Primitive)}
    composites = {name for name, value in vars(products).items() if isinstance(value, Primitive)}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            inside = list(ast.walk(node))
            found = {child.attr for child in inside if isinstance(child, ast.Attribute)} & records
            found |= {child.id for child in inside if isinstance(child, ast.Name)} & composites
            found |= {child.value for child in inside if isinstance(child, ast.Constant)} & names
            assert not found, f"{path}:{node.lineno}: knows {found}"

"""The direction of dependencies, read off the import statements."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import diffmg

ROOT = Path(diffmg.__file__).parent
FAMILIES = ("strategies", "baselines", "datasets")
WITHOUT_TORCH = ("errors", "schema", "metagraph", "space", "program", "drawing", "report")


def module_name(path: Path) -> str:
    parts = ("diffmg", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def at_import(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run when the module is imported: not those in functions, nor those for the type checker."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from at_import(child)


def anywhere(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def names_of(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """What a statement imports: our modules by full name, others by their top package."""
    if isinstance(statement, ast.Import):
        found = {alias.name for alias in statement.names}
    else:
        assert statement.level == 0, "imports are absolute"
        found = {f"{statement.module}.{a.name}" for a in statement.names}
        found = {name if name in TREES else str(statement.module) for name in found}
    return {name if name in TREES else name.split(".")[0] for name in found}


IMPORTS = {name: set().union(*map(names_of, at_import(tree))) for name, tree in TREES.items()}


def parents_of(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:n]) for n in range(1, len(parts))}


def reached_from(module: str) -> set[str]:
    """Everything that importing a module imports, packages of modules included."""
    seen: set[str] = set()
    todo = {module}
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= (IMPORTS.get(name, set()) | (parents_of(name) if name in TREES else set())) - seen
    return seen


def test_there_is_something_to_read():
    assert len(TREES) > 30
    assert "diffmg.core.schema" in IMPORTS["diffmg.core.space"]


@pytest.mark.parametrize("module", sorted(TREES))
def test_no_cycles(module):
    """A package's own `__init__` may gather its modules; nothing else leads back."""
    todo = {name for name in IMPORTS[module] if name in TREES}
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= {n for n in IMPORTS[name] if n in TREES} - seen
    assert module not in seen


@pytest.mark.parametrize("module", [m for m in sorted(TREES) if m.split(".")[1:2] and m.split(".")[1] in WITHOUT_TORCH])
def test_the_values_and_the_report_import_no_torch(module):
    assert "torch" not in reached_from(module)


def test_torch_is_found_where_it_is():
    """The test above could fail."""
    assert "torch" in reached_from("diffmg.tasks.problem")


@pytest.mark.parametrize("module", [m for m in sorted(TREES) if m.split(".")[1:2] and m.split(".")[1] in FAMILIES])
def test_families_do_not_import_one_another(module):
    own = module.split(".")[1]
    others = tuple(f"diffmg.{family}" for family in FAMILIES if family != own)
    imported = set().union(*map(names_of, anywhere(TREES[module])))
    assert not [name for name in imported if name.startswith(others)]


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("schema", "metagraph"),
        ("metagraph", "space"),
        ("graph", "task"),
        ("program", "nn"),
        ("nn", "train"),
        ("train", "strategies"),
        ("train", "baselines"),
        ("strategies", "experiment"),
        ("baselines", "experiment"),
        ("baselines", "tuning"),
        ("baselines", "conformance"),
        ("datasets", "experiment"),
        ("experiment", "reproduction"),
        ("experiment", "tuning"),
        ("experiment", "conformance"),
        ("tuning", "reproduction"),
        ("report", "reproduction"),
        ("experiment", "cli"),
        ("baselines", "cli"),
        ("tuning", "cli"),
        ("conformance", "cli"),
        ("reproduction", "cli"),
    ],
)
def test_lower_layers_do_not_know_higher_ones(lower, higher):
    below = [m for m in TREES if m == f"diffmg.{lower}" or m.startswith(f"diffmg.{lower}.")]
    assert below
    above = f"diffmg.{higher}"
    for module in below:
        imported = set().union(*map(names_of, anywhere(TREES[module])))
        assert not [name for name in imported if name == above or name.startswith(f"{above}.")]


def test_experiments_know_both_families_of_methods():
    """The tests above could fail: it is here that the families meet."""
    assert {"diffmg.methods.search", "diffmg.methods.baselines"} <= IMPORTS["diffmg.runs.runner"]


def test_nothing_depends_on_the_kit():
    """It is for tests, ours and others'."""
    for module, tree in TREES.items():
        assert "diffmg.testing" not in set().union(*map(names_of, anywhere(tree))), module


def test_importing_the_package_and_its_values_loads_no_torch():
    """Also what the statements do not show, such as imports by name."""
    modules = [m for m in TREES if m == "diffmg" or m.split(".")[1] in WITHOUT_TORCH]
    code = f"import sys, importlib\nfor m in {modules}: importlib.import_module(m)\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

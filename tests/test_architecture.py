"""The direction of dependencies, read off the import statements, those inside functions included."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import diffmg

ROOT = Path(diffmg.__file__).parent
LAYERS = (
    "core", "graph", "tasks", "engine", "nn", "training", "methods", "explain", "race", "tables", "datasets", "leaks",
    "runs", "viz", "watching", "by_id", "estimators", "testing", "serve", "cli",
)  # fmt: skip
"""Each may import from itself and from those before it."""
ROOT_MODULES = 6
WITHOUT_TORCH = ("core", "viz")


def module_name(path: Path) -> str:
    parts = ("diffmg", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import, but for those that only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imports(child)


def names_of(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """What a statement imports: our modules by full name, others by their top package."""
    if isinstance(statement, ast.Import):
        found = {alias.name for alias in statement.names}
    else:
        assert statement.level == 0, "imports are absolute"
        found = {f"{statement.module}.{a.name}" for a in statement.names}
        found = {name if name in TREES else str(statement.module) for name in found}
    return {name if name in TREES else name.split(".")[0] for name in found}


IMPORTS = {name: set().union(*map(names_of, imports(tree))) for name, tree in TREES.items()}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def test_imports_go_from_lower_layers_to_upper_ones() -> None:
    wrong = []
    for module, found in IMPORTS.items():
        if module in ("diffmg", "diffmg.__main__"):
            continue
        own = LAYERS.index(layer_of(module))
        above = [other for other in found & set(TREES) - {"diffmg"} if LAYERS.index(layer_of(other)) > own]
        wrong += [f"{module} imports {other}" for other in above]
    assert not wrong


def test_there_are_no_cycles_between_modules() -> None:
    """A package's own `__init__` gathers its modules; nothing else leads back."""
    for module in TREES:
        seen: set[str] = set()
        todo = IMPORTS[module] & set(TREES)
        while todo:
            name = todo.pop()
            seen.add(name)
            todo |= (IMPORTS[name] & set(TREES)) - seen
        assert module not in seen, module


def test_the_rules_above_could_fail() -> None:
    assert len(TREES) > 100
    assert "diffmg.core.schema" in IMPORTS["diffmg.core.space"]
    assert "diffmg.runs.runner" in IMPORTS["diffmg.cli.fit"], "imports inside functions are seen"


def test_searches_and_rivals_do_not_import_one_another() -> None:
    for module, found in IMPORTS.items():
        for one, other in (("search", "baselines"), ("baselines", "search")):
            if module.startswith(f"diffmg.methods.{one}"):
                assert not [name for name in found if name.startswith(f"diffmg.methods.{other}")], module


def test_nobody_but_its_own_file_asks_for_the_class_of_a_task() -> None:
    """Tables, runs, models and the command line go through the contract of a task."""
    allowed = {"diffmg", "diffmg.tasks", "diffmg.estimators", "diffmg.testing", "diffmg.tables.database"}
    classes = {"diffmg.tasks.node_classification", "diffmg.tasks.recommendation", "diffmg.tasks"}
    asking = {m for m, found in IMPORTS.items() if found & classes} - allowed
    assert not {m for m in asking if layer_of(m) not in ("tasks", "datasets")}


def test_the_root_has_few_modules() -> None:
    assert len(list(ROOT.glob("*.py"))) <= ROOT_MODULES


def test_nothing_depends_on_the_kit() -> None:
    assert not [module for module, found in IMPORTS.items() if "diffmg.testing" in found]


def test_few_places_know_the_kind_of_device() -> None:
    named = {m for m, tree in TREES.items() if "cuda" in ast.unparse(tree)}
    assert named <= {"diffmg.engine.device", "diffmg.engine.replay", "diffmg.cli.common", "diffmg.cli.completion"}


def test_importing_the_package_its_values_and_its_pictures_loads_no_torch() -> None:
    modules = [m for m in TREES if m == "diffmg" or layer_of(m) in WITHOUT_TORCH]
    code = f"import sys, importlib\nfor m in {modules}: importlib.import_module(m)\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_package_reads_and_writes_no_pickle_files() -> None:
    """Neither by the module nor by libraries that would; loky passes values between processes, not files."""
    forbidden = {"pickle", "cPickle", "cloudpickle", "dill", "shelve", "marshal"}
    assert not {module for module, found in IMPORTS.items() if forbidden & found}
    text = "\n".join(ast.unparse(tree) for tree in TREES.values())
    for call in ("torch.load(", "torch.save(", "joblib.load(", "read_pickle(", "allow_pickle=True"):
        assert call not in text, call

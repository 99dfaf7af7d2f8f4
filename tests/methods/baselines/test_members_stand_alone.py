"""One file per method: what several share stands in files that begin with `_`; read off the import statements."""

from __future__ import annotations

import ast
from pathlib import Path

import diffmg.methods.baselines

PACKAGE = "diffmg.methods.baselines"
FILES = {path.stem: path for path in sorted(Path(diffmg.methods.baselines.__file__).parent.glob("*.py"))}
MEMBERS = [name for name in FILES if not name.startswith("_")]


def imported_from(source: str) -> set[str]:
    """Modules of the package that statements anywhere in the source import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix(f"{PACKAGE}.").split(".")[0] for name in found if name.startswith(f"{PACKAGE}.")}


def test_imports_are_found_wherever_they_stand():
    source = f"""
import {PACKAGE}.gcn
from {PACKAGE} import gat
from {PACKAGE}._base import Baseline
def later():
    from {PACKAGE}.hgt import HGT
"""
    assert imported_from(source) & set(FILES) == {"gcn", "gat", "_base", "hgt"}


def test_no_file_imports_a_member():
    assert len(MEMBERS) > 10
    found = {name: imported_from(path.read_text(encoding="utf-8")) & set(MEMBERS) for name, path in FILES.items()}
    assert not {name: members for name, members in found.items() if members}

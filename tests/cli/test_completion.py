"""Completion: names without imports, and what bash gets to see."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from diffmg.cli import completion
from diffmg.core.method import METHODS
from diffmg.datasets import DATASETS

SCRIPT = """
eval "$(_DIFFMG_COMPLETE=source_bash diffmg)"
COMP_WORDS=(%s)
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_diffmg_completion diffmg
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def test_names_are_those_that_are_registered() -> None:
    assert completion.registered_names("METHODS") == METHODS.names()
    assert completion.registered_names("DATASETS") == DATASETS.names()


def test_what_begins_so_is_offered() -> None:
    assert completion.methods("diff") == ["diffmg", "diffmg_corrected"]
    assert completion.data_sets("a") == ["academic", "acm", "amazon"]
    assert completion.settings("max_e") == ["max_epochs="]
    assert completion.devices("c") == ["cpu", "cuda"]
    assert completion.methods("nothing") == []


def test_names_come_without_torch() -> None:
    code = "from diffmg.cli import completion; completion.methods(''); import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def in_bash(words: str, folder: Path) -> list[str]:
    """What bash would offer after these words."""
    program = folder / "diffmg"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m diffmg "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT % words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("diffmg pre", ["predict"]),
        ("diffmg fit aca", ["academic"]),
        ("diffmg fit academic --method diff", ["diffmg", "diffmg_corrected"]),
        ("diffmg fit academic --over", ["--overwrite"]),
        ("diffmg score --js", ["--json"]),
    ],
)
def test_bash_completes_commands_options_and_names(words: str, offered: list[str], tmp_path: Path) -> None:
    assert in_bash(words, tmp_path) == offered

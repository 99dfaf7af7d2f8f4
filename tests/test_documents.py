"""What the documents say: their code runs, their tables are those of the result files."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_readmes_python_runs(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code
    for number, block in enumerate(code):
        script = tmp_path / f"block{number}.py"
        script.write_text(block)
        names = runpy.run_path(str(script))
        assert names["model"].predict().shape == (4,)


def test_the_readmes_commands_exist() -> None:
    from diffmg.cli import app

    commands = {c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands}
    used = re.findall(r"^diffmg (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert used
    assert set(used) <= commands


def test_tables_are_those_of_the_result_files() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "render.py"), "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout

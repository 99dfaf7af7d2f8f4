from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer.main
import typer.rich_utils

from diffmg import __version__
from diffmg.cli import app, datasets, main
from diffmg.core.errors import DiffmgError, MissingDataError
from run_files import diffmg

COMMANDS = typer.main.get_command(app).commands


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)


def test_the_command_is_installed_and_is_the_module() -> None:
    (script,) = entry_points(group="console_scripts", name="diffmg")
    assert script.load() is main
    done = python("-m", "diffmg", "report", "gone")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: a run folder must exist, but got 'gone'\n"


def test_help_needs_no_torch() -> None:
    code = "import sys\nfrom diffmg.cli import app\ntry: app(['--help'])\nfinally: print('torch' in sys.modules)"
    done = python("-c", code)
    assert "Exit codes: 0 done" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"


def test_all_commands_are_there_with_a_line_of_help() -> None:
    runs = "demo fit plan resume repeat score predict recommend embed similar explain show report serve"
    data = "ask describe export datasets list"
    assert set(COMMANDS) == {*runs.split(), *data.split()}
    listed = diffmg("--help").out
    assert all(re.search(rf"\b{name}\b\s+\S", listed) for name in COMMANDS)


def test_the_version_is_printed() -> None:
    answer = diffmg("--version")
    assert (answer.code, answer.out, answer.err) == (0, f"diffmg {__version__}\n", "")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_has_a_default_for_every_option(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer.rich_utils, "MAX_WIDTH", 400)
    answer = diffmg(name, "--help")
    assert answer.code == 0
    for parameter in COMMANDS[name].params:
        if parameter.name == "help":
            continue
        if parameter.param_type_name == "option":
            place = rf"│.*(?<!\w){re.escape(parameter.opts[0])}(,|\s)"
        else:  # older versions of typer show the name, newer ones the metavar
            place = rf"│ \*?\s*({parameter.name}|{re.escape(parameter.metavar or '')})\s"
        (line,) = (text for text in answer.out.splitlines() if re.search(place, text))
        assert "[default: " in line or "[required]" in line, line


def test_no_arguments_show_the_help() -> None:
    answer = diffmg()
    assert "Usage" in answer.out + answer.err
    assert "recommend" in answer.out + answer.err


@pytest.mark.parametrize(
    "arguments", [["fitt"], ["fit"], ["fit", "academic", "--sed", "1"], ["fit", "a", "--seed", "x"]]
)
def test_a_command_line_that_cannot_be_read_is_bad_input(arguments: list[str]) -> None:
    answer = diffmg(*arguments)
    assert answer.code == 2
    assert "Usage" in answer.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (DiffmgError("a rule [red]holds[/red], but got 3"), 2, "error: a rule [red]holds[/red], but got 3\n"),
        (MissingDataError("no file"), 3, "error: no file\n"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["bad input", "missing data", "interrupted"],
)
def test_expected_failures_end_in_a_message_and_a_code(
    error: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(datasets, "listing", fail)
    answer = diffmg("datasets")
    assert answer.code == code
    assert words in answer.err
    assert answer.out == ""


def test_a_fault_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(datasets, "listing", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        diffmg("datasets")


def test_a_long_path_in_a_message_is_not_broken(tmp_path: Path) -> None:
    path = tmp_path / ("long-" * 20)
    answer = diffmg("score", path, columns="80")
    assert answer.code == 2
    assert str(path) in answer.err

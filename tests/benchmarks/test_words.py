from __future__ import annotations

import pytest
import typer

from benchmarks.words import SeveralWords, run_app, spread
from diffmg.core.errors import DiffmgError, MissingDataError


@pytest.mark.parametrize(
    "words",
    [
        ["--data", "a", "b", "--seed", "1"],
        ["--data", "a", "--seed", "1", "--data", "b"],
        ["--data=a", "b", "--seed=1"],
        ["--seed", "1", "--data", "a", "--data=b"],
    ],
)
def test_an_option_may_have_several_words(words):
    found = list(spread(words, {"--data"}))
    given = [word.partition("=")[2] or found[i + 1] for i, word in enumerate(found) if word.startswith("--data")]
    assert given == ["a", "b"]
    assert [word for word in found if "seed" in word] == [word for word in words if "seed" in word]


def test_a_command_gets_every_word():
    app, seen = typer.Typer(), []

    @app.command(cls=SeveralWords)
    def collect(name: list[str] = typer.Option(...), seed: int = 0) -> None:  # noqa: B008
        seen.append((name, seed))

    with pytest.raises(SystemExit) as stop:
        run_app(app, "collect", ["--name", "a", "b", "--seed", "3"])
    assert stop.value.code == 0
    assert seen == [(["a", "b"], 3)]


@pytest.mark.parametrize(("error", "code"), [(DiffmgError("too many"), 2), (MissingDataError("no file"), 3)])
def test_a_failure_ends_with_one_message_and_its_exit_code(error, code, capsys):
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise error

    with pytest.raises(SystemExit) as stop:
        run_app(app, "fail", [])
    assert stop.value.code == code
    assert capsys.readouterr().err == f"error: {error}\n"

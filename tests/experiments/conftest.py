from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from experiments.__main__ import main


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def experiment(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run `python -m experiments` in this process, with a terminal wide enough for every message."""
    monkeypatch.setenv("COLUMNS", "1000")

    def run(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        code = stop.value.code
        return Answer(code if isinstance(code, int) else 0, out, err)

    return run

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS
from experiments import memory
from experiments.memory import measure, memory_table, peak_bytes


def test_a_process_of_its_own_tells_its_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        failed = "popularity" in command
        return subprocess.CompletedProcess(command, int(failed), "123000\n", "Traceback\nDiffmgError: cannot\n")

    monkeypatch.setattr(memory.subprocess, "run", answer)
    assert peak_bytes("mlp", "academic:120") == 123000
    assert asked == [[sys.executable, "-m", "experiments.memory", "mlp", "academic:120"]]
    with pytest.raises(DiffmgError, match="popularity on academic:120"):
        peak_bytes("popularity", "academic:120")


def test_the_peak_is_that_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    memory._train("mlp", "academic:120")
    assert 1e7 < int(capsys.readouterr().out) < 1e12


def test_all_are_measured_and_shown_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "peak_bytes", lambda method, data: int(1e7 * len(method) * len(data)))
    told: list[str] = []
    measure(["acm", "imdb"], ["gcn", "rgcn"], tmp_path, told.append)
    assert told[-1] == "rgcn on imdb: 0.16 GB"
    lines = memory_table(tmp_path).splitlines()
    assert lines[0] == "| peak, GB | acm | imdb |"
    assert lines[2:5] == ["| gcn | 0.09 | 0.12 |", "| rgcn | 0.12 | 0.16 |", ""]
    assert lines[5].startswith("`python -m experiments memory --data acm imdb --methods gcn rgcn`; cpu")


def test_without_names_every_baseline_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "peak_bytes", lambda *_: 0)
    measure(["acm"], [], tmp_path)
    rows = {line.split(" | ")[0].strip("| ") for line in memory_table(tmp_path).splitlines()[2:-2]}
    assert rows == {name for name, kind in METHODS.items() if kind.family == "baseline"}


def test_without_a_measurement_there_is_no_table(tmp_path: Path) -> None:
    assert memory_table(tmp_path) == ""

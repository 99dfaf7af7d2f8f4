from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from diffmg.cli import common
from diffmg.core.run import read_history, read_metagraphs, read_run
from diffmg.estimators import MetaGraphClassifier
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch
from run_files import TINY, content, diffmg, edit, fit, read, start

LONG = ("--search-seeds", 2, "--repeats", 2, "--save-every", 0, "-o", "epochs=40", "-s", "max_epochs=40")
"""Arguments of a fit that lasts long enough for a signal to hit it; it has five phases."""
DATA = "academic:400"
SLOWLY = Path(__file__).parent.parent / "slowly.py"
TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long run nobody disturbed."""
    return fit(tmp_path_factory.mktemp("fit") / "straight", DATA, *LONG)


def wait_for(folder: Path, process: subprocess.Popen[bytes], lines: int) -> None:
    """Wait until the history has so many lines."""
    history, deadline = folder / "history.jsonl", time.monotonic() + 60
    while not history.exists() or history.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def end(process: subprocess.Popen[bytes], sent: signal.Signals) -> tuple[int, str]:
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


@pytest.mark.parametrize("lines", [random.Random(1).randint(5, 35), random.Random(2).randint(45, 150)])
def test_a_killed_process_is_resumed_as_if_it_had_not_been(lines: int, straight: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start("-m", "diffmg", "fit", DATA, "--out", path, *LONG)
    wait_for(path, process, lines)
    code, _ = end(process, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert read(path)["status"] == "running"
    assert diffmg("resume", path).code == 0
    assert content(path) == content(straight)


@pytest.mark.parametrize(("phase", "lines"), [("search-0", 10), ("train-0", 55)])
def test_ctrl_c_leaves_a_run_that_can_be_used_and_resumed(
    phase: str, lines: int, straight: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    process = start(SLOWLY, phase, lines % 40, "fit", DATA, "--out", path, *LONG, "--save-every", 1000)
    wait_for(path, process, lines)
    code, err = end(process, signal.SIGINT)
    assert code == 130
    assert "stopped; go on with: diffmg resume" in err
    assert "Traceback" not in err
    run = read(path)
    assert (run["status"], run["trained"], run["scores"]["test"]) == ("interrupted", [], {})
    assert read_history(path)[-1]["phase"] == phase
    assert read_metagraphs(path / "metagraph.json") == read_run(path).metagraphs
    assert "meta graph for 'author', 4 states" in diffmg("show", path).out
    assert (path / "model.safetensors").exists() == (phase == "train-0")
    if phase == "train-0":
        assert diffmg("predict", path).out.startswith("author,class,p(field 0)")
    assert diffmg("resume", path).code == 0
    assert content(path) == content(straight)


def interrupt(phase_lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C pressed after so many epochs of the next command."""
    count = iter(range(1, 10_000))
    tell = common.ProgressWatch.epoch

    def press(watch: common.ProgressWatch, record: Epoch) -> None:
        tell(watch, record)
        if next(count) == phase_lines:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(common.ProgressWatch, "epoch", press)


def test_ctrl_c_says_how_to_go_on_in_a_line_that_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("long-" * 20)
    interrupt(2, monkeypatch)
    answer = diffmg("fit", "academic:120", "--out", path, *TINY, columns="80")
    assert answer.code == 130
    assert f"diffmg resume {path}" in answer.err


def test_a_run_can_be_interrupted_and_resumed_again_and_again(
    classified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    for number, command in enumerate([("fit", "academic:120", "--out", path, *TINY), *[("resume", path)] * 3]):
        interrupt(3, monkeypatch)
        assert diffmg(*command).code == 130, number
        monkeypatch.undo()
    assert diffmg("resume", path).code == 0
    assert content(path) == content(classified)


def test_predict_on_a_run_interrupted_in_its_search_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(2, monkeypatch)
    diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY)
    answer = diffmg("predict", tmp_path / "run")
    assert answer.code == 2
    assert "model.safetensors" in answer.err


@pytest.mark.parametrize("which", ["classified", "recommended"])
def test_a_run_is_repeated_from_its_run_json_alone(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first = request.getfixturevalue(which)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "run.json").write_bytes((first / "run.json").read_bytes())
    assert diffmg("repeat", tmp_path / "bare", "--out", tmp_path / "again").code == 0
    assert content(tmp_path / "again") == content(first)


def test_a_run_with_a_given_meta_graph_is_repeated_without_its_file(classified: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_bytes((classified / "metagraph.json").read_bytes())
    first = fit(tmp_path / "one", "academic:120", "--metagraph", file, *TINY_TRAIN)
    file.unlink()
    assert diffmg("repeat", first, "--out", tmp_path / "two").code == 0
    assert content(tmp_path / "two") == content(first)


def test_a_run_is_repeated_on_another_device(classified: Path, tmp_path: Path) -> None:
    assert diffmg("repeat", classified, "--out", tmp_path / "again", "--device", "cpu").code == 0
    again, first = read(tmp_path / "again"), read(classified)
    assert again["plan"] == first["plan"] | {"device": "cpu"}
    assert again["scores"] == first["scores"]


def test_a_finished_run_is_not_resumed(classified: Path) -> None:
    answer = diffmg("resume", classified)
    assert answer.code == 2
    assert f"only an unfinished run can go on, but got '{classified}', which is done" in answer.err


@pytest.mark.parametrize("command", ["resume", "repeat"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "the run.json of a run folder must exist"),
        ('{"format": 1, "sta', "the run.json of a run folder must be JSON"),
        ('{"format": 7}', "a run file must have format 1, but got 7"),
        ('{"format": 1, "status": "running"}', "a run file must be one that diffmg wrote"),
        ("[]", "a run file must have format 1, but got 'list'"),
    ],
    ids=["none", "cut", "format", "fields", "list"],
)
def test_a_folder_that_is_no_run_is_named(command: str, text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    answer = diffmg(command, tmp_path, *(["--out", tmp_path / "new"] if command == "repeat" else []))
    assert answer.code == 2
    assert words in answer.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": 3}, "unknown field of a plan: 'colour'"),
        ({"strategy": "difmg"}, "unknown strategy 'difmg'; did you mean 'diffmg'?"),
        ({"train": {"dimm": 3}}, "unknown training setting 'dimm'; did you mean 'dim'?"),
        ({"depth": 0}, "`depth >= 1` must hold"),
        ({"data": "acadmic"}, "unknown data set 'acadmic'"),
    ],
    ids=str,
)
def test_a_plan_that_was_changed_by_hand_is_named(
    change: dict[str, Any], words: str, copy: Path, tmp_path: Path
) -> None:
    edit(copy, plan=read(copy)["plan"] | change)
    answer = diffmg("repeat", copy, "--out", tmp_path / "new")
    assert answer.code == 2
    assert words in answer.err


@pytest.mark.parametrize("command", ["resume", "repeat"])
def test_a_run_on_a_network_given_in_python_is_named(command: str, classification: Problem, tmp_path: Path) -> None:
    path = tmp_path / "own"
    model = MetaGraphClassifier(strategy="features", search_seeds=1, settings={"dim": 8, "max_epochs": 1})
    model.fit(classification.graph, classification.task).save(path)
    edit(path, status="interrupted")
    answer = diffmg(command, path, *(["--out", tmp_path / "new"] if command == "repeat" else []))
    assert answer.code == 2
    assert "given in Python" in answer.err


def test_a_damaged_state_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(2, monkeypatch)
    diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY, "--save-every", 0)
    state = tmp_path / "run" / "checkpoints" / "search-0.safetensors"
    state.write_bytes(state.read_bytes()[:-50])
    answer = diffmg("resume", tmp_path / "run")
    assert answer.code == 2
    assert f"a file of tensors must be whole, but got '{state}'" in answer.err

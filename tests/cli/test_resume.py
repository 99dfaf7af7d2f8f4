from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.run import read_history, read_metagraphs, read_run
from diffmg.estimators import MetaGraphClassifier
from diffmg.methods.search.features import FeaturesOnly
from diffmg.tasks.problem import Problem
from run_files import TINY, content, diffmg, edit, edit_plan, fit, interrupt, leave_out_an_edge, read, refused, start

LONG = (
    "--method", "diffmg", "--search-seeds", 2, "--repeats", 2, "--save-every", 0,
    "-o", "epochs=40", "-s", "max_epochs=40", "--beside", "none",
)  # fmt: skip
"""Arguments of a fit that lasts long enough for a signal to hit it; it has five phases."""
DATA = "academic:400"
SLOWLY = Path(__file__).parent.parent / "slowly.py"
TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long run nobody disturbed."""
    return fit(tmp_path_factory.mktemp("fit") / "straight", DATA, *LONG)


def wait_for(folder: Path, process: subprocess.Popen[bytes], lines: int) -> None:
    """Wait until the history has so many lines, 40 a phase."""
    history, deadline = folder / "history.jsonl", time.monotonic() + 60
    while not history.exists() or history.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def end(process: subprocess.Popen[bytes], sent: signal.Signals) -> tuple[int, str]:
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


@pytest.mark.slow
def test_a_killed_process_is_resumed_as_if_it_had_not_been(straight: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start("-m", "diffmg", "fit", DATA, "--out", path, *LONG)
    wait_for(path, process, lines=52)
    code, _ = end(process, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert read(path)["status"] == "running"
    assert diffmg("resume", path).code == 0
    assert content(path) == content(straight)


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_can_be_used_and_resumed(straight: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start(SLOWLY, "train-0", 15, "fit", DATA, "--out", path, *LONG, "--save-every", 1000)
    wait_for(path, process, lines=55)
    code, err = end(process, signal.SIGINT)
    assert code == 130
    assert "stopped; go on with: diffmg resume" in err
    assert "Traceback" not in err
    assert_interrupted(path, "train-0")
    assert diffmg("predict", path).out.startswith("author,class,p(field 0)")
    assert diffmg("resume", path).code == 0
    assert content(path) == content(straight)


def assert_interrupted(path: Path, phase: str) -> None:
    """The run stopped in this phase, has no test scores, and its meta graph so far can be looked at."""
    run = read(path)
    assert (run["status"], run["trained"], run["scores"]["test"]) == ("interrupted", [], {})
    assert read_history(path)[-1]["phase"] == phase
    assert read_metagraphs(path / "metagraph.json") == read_run(path).metagraphs
    assert "author (own features)" in diffmg("show", path).out
    assert (path / "model.safetensors").exists() == phase.startswith("train")


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in its search; not to be changed."""
    path = tmp_path_factory.mktemp("fit") / "interrupted"
    with pytest.MonkeyPatch.context() as monkeypatch:
        interrupt(2, monkeypatch)
        answer = diffmg("fit", "academic:120", "--out", path, *TINY, columns="40")
    assert answer.code == 130
    assert f"stopped; go on with: diffmg resume {path}\n" in answer.err, "in one line, which can be copied"
    return path


def test_a_run_interrupted_in_its_search_has_a_meta_graph_and_no_model(interrupted: Path) -> None:
    assert_interrupted(interrupted, "search-0")
    words = refused("predict", interrupted)
    assert "model.safetensors" in words
    assert "diffmg resume" in words


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
    words = refused("resume", classified)
    assert f"only an unfinished run can go on, but got '{classified}', which is done" in words


def test_a_run_is_not_resumed_on_other_data(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = tmp_path / "run", tables / "network.toml"
    interrupt(2, monkeypatch)
    assert diffmg("fit", data, "--out", path, *TINY).code == 130
    leave_out_an_edge(tables, "written_by")
    monkeypatch.undo()
    answer = diffmg("resume", path)
    assert answer.code == 2
    assert (
        "error: a run goes on with the data it started on, but got others: edges of paper -written_by->" in answer.err
    )
    assert read(path)["status"] == "interrupted"


@pytest.mark.parametrize("command", ["resume", "repeat"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "the run.json of a run folder must exist"),
        ('{"format": 2, "sta', "the run.json of a run folder must be JSON"),
        ('{"format": 1, "status": "done"}', "must have format 2, but got 1; fit again"),
        ('{"format": 7}', "must have format 2, but got 7; update diffmg"),
        ('{"format": 2, "status": "running"}', "`plan` must be given, but got only status"),
        ("[]", "must have format 2, but got"),
    ],
    ids=["none", "cut", "old", "new", "fields", "list"],
)
def test_a_folder_that_is_no_run_is_named(command: str, text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    before = list(tmp_path.iterdir())
    assert words in refused(command, tmp_path, *(["--out", tmp_path / "new"] if command == "repeat" else []))
    assert list(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": 3}, "unknown field 'colour'"),
        ({"method": {"name": "difmg"}}, "unknown method 'difmg'; did you mean 'diffmg'?"),
        ({"method": {"options": {"epoch": 3}}}, "unknown option of method 'diffmg': 'epoch'; did you mean 'epochs'?"),
        ({"method": {"options": {"depth": 0}}}, "`1 <= depth <= 64` must hold, but got depth=0"),
        ({"settings": {"dimm": 3}}, "plan.settings: unknown field 'dimm'; did you mean 'dim'?"),
        ({"settings": {"dim": "3"}}, "plan.settings.dim: must be a whole number, but got '3'"),
        ({"source": {"name": "acadmic"}}, "unknown data set 'acadmic'; did you mean 'academic'?"),
    ],
    ids=str,
)
def test_a_plan_that_was_changed_by_hand_is_named(
    change: dict[str, Any], words: str, copy: Path, tmp_path: Path
) -> None:
    edit_plan(copy, **change)
    assert words in refused("repeat", copy, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["resume", "repeat"])
def test_a_run_on_a_network_given_in_python_is_named(command: str, classification: Problem, tmp_path: Path) -> None:
    path = tmp_path / "own"
    model = MetaGraphClassifier(method=FeaturesOnly(), settings={"dim": 8, "max_epochs": 1})
    model.fit(classification.graph, classification.task).save(path)
    edit(path, status="interrupted")
    words = refused(command, path, *(["--out", tmp_path / "new"] if command == "repeat" else []))
    assert "a network that was built in Python" in words
    assert [p.name for p in tmp_path.iterdir()] == ["own"]


def test_a_damaged_state_is_named(interrupted: Path, tmp_path: Path) -> None:
    path = shutil.copytree(interrupted, tmp_path / "run")
    state = path / "checkpoints" / "search-0.safetensors"
    state.write_bytes(state.read_bytes()[:-50])
    before = (path / "run.json").read_bytes()
    answer = diffmg("resume", path)
    assert answer.code == 2
    assert (path / "run.json").read_bytes() == before, "what the stopped run found is still there"
    assert f"error: a file of tensors must be whole, but got '{state}'" in answer.err

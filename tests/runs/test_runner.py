from __future__ import annotations

import json
import os
import random
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Run, read_history, read_run
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS
from diffmg.methods.given import Given
from diffmg.runs import runner
from diffmg.runs.folder import RunFolder
from diffmg.runs.model import Model, scores_on
from diffmg.runs.provenance import data_of, versions
from diffmg.runs.runner import best_candidate, run
from diffmg.runs.tensors import read_tensors
from diffmg.tasks import NodeClassification, Part
from diffmg.tasks.problem import Problem
from diffmg.training import Watch
from run_files import At, content, read

EPOCHS = 4
PLAN = Plan(
    MethodSpec("diffmg", {"epochs": EPOCHS, "search_seeds": 2}),
    Source("academic:120"),
    repeats=2,
    settings=Settings(dim=8, max_epochs=EPOCHS, patience=None),
    device="cpu",
)
PHASES = ("search-0", "train-0", "search-1", "train-1", "repeat-1")
FEATURES = MetaGraph.features_only("author")


def given(*metagraphs: MetaGraph) -> Plan:
    return replace(PLAN, method=Given(metagraphs).spec())


class Killed(Exception):  # noqa: N818
    """Stands for a process that is gone: nothing catches it."""


def kill() -> None:
    raise Killed


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def execute(
    path: Path, problem: Problem, plan: Plan = PLAN, watch: Watch | None = None, save_every: float = 0.0
) -> tuple[Run, Model]:
    """Start the plan in a new folder, or go on in an unfinished one."""
    take = RunFolder.unfinished if (path / "run.json").exists() else RunFolder.create
    return run(plan, problem, take(path, save_every), watch)


@pytest.fixture(scope="module")
def straight(classification: Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run nobody disturbed."""
    path = tmp_path_factory.mktemp("straight") / "run"
    execute(path, classification)
    return path


def test_every_phase_is_in_the_history_in_order(straight: Path) -> None:
    records = read_history(straight)
    assert [(r["phase"], r["epoch"]) for r in records] == [(p, e + 1) for p in PHASES for e in range(EPOCHS)]


def test_the_same_seed_gives_the_same_files_bit_for_bit(
    straight: Path, tmp_path: Path, classification: Problem
) -> None:
    torch.manual_seed(99)  # ambient state must not matter
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_another_seed_gives_other_scores(straight: Path, classification: Problem) -> None:
    other = run(replace(PLAN, seed=1), classification)[0]
    assert other.trained != read_run(straight).trained


def test_a_folder_changes_nothing(straight: Path, classification: Problem) -> None:
    without = run(PLAN, classification)[0]
    assert replace(without, seconds={}) == replace(read_run(straight), seconds={}, files={})


KILLS = [(p, random.Random(p).randint(1, EPOCHS)) for p in PHASES]


@pytest.mark.parametrize("save_every", [0.0, 1e9], ids=["saved", "unsaved"])
@pytest.mark.parametrize(("phase", "epoch"), KILLS, ids=str)
def test_a_run_killed_between_epochs_ends_as_if_it_had_not_been(
    phase: str, epoch: int, save_every: float, straight: Path, tmp_path: Path, classification: Problem
) -> None:
    with pytest.raises(Killed):
        execute(tmp_path / "run", classification, watch=At(phase, epoch, kill), save_every=save_every)
    assert read(tmp_path / "run")["status"] == "running"
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_a_run_killed_after_every_single_epoch_ends_as_if_it_had_not_been(
    straight: Path, tmp_path: Path, classification: Problem
) -> None:
    for phase in PHASES:
        for epoch in range(1, EPOCHS + 1):
            with pytest.raises(Killed):
                execute(tmp_path / "run", classification, watch=At(phase, epoch, kill))
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_a_run_killed_between_history_and_state_ends_as_if_it_had_not_been(
    straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = RunFolder.save

    def dies(folder: RunFolder, phase: str, job: Any, *, force: bool) -> None:
        if (phase, job.epoch) == ("train-1", 2):
            raise Killed
        save(folder, phase, job, force=force)

    monkeypatch.setattr(RunFolder, "save", dies)
    with pytest.raises(Killed):
        execute(tmp_path / "run", classification)
    monkeypatch.undo()
    with (tmp_path / "run" / "history.jsonl").open("a") as file:
        file.write('{"phase": "train-1", "epo')
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


@pytest.mark.parametrize("write", ["write", "finish"])
def test_a_run_killed_while_its_results_are_written_can_go_on(
    write: str, straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(RunFolder, write)

    def dies(folder: RunFolder, *given: Any) -> None:
        if write == "write" and given[0].status != "done":
            original(folder, *given)
        else:
            raise Killed

    monkeypatch.setattr(RunFolder, write, dies)
    with pytest.raises(Killed):
        execute(tmp_path / "run", classification)
    monkeypatch.undo()
    if write != "finish":
        assert read(tmp_path / "run")["status"] == "running"
        execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_a_full_disk_stops_a_run_which_goes_on_when_there_is_space(
    straight: Path, tmp_path: Path, classification: Problem
) -> None:
    history = tmp_path / "run" / "history.jsonl"

    def fill() -> None:
        history.rename(tmp_path / "kept")
        history.symlink_to("/dev/full")

    with pytest.raises(DiffmgError, match=r"could not write '.*history\.jsonl': No space"):
        execute(tmp_path / "run", classification, watch=At("train-0", 2, fill))
    history.unlink()
    (tmp_path / "kept").rename(history)
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_a_recommendation_that_was_killed_ends_as_if_it_had_not_been(tmp_path: Path, recommendation: Problem) -> None:
    plan = replace(PLAN, source=Source("shop:160"))
    execute(tmp_path / "straight", recommendation, plan)
    for phase in ("search-0", "train-0", "repeat-1"):
        with pytest.raises(Killed):
            execute(tmp_path / "run", recommendation, plan, At(phase, 2, kill))
    execute(tmp_path / "run", recommendation, plan)
    assert content(tmp_path / "run") == content(tmp_path / "straight")


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_leaves_a_folder_that_can_be_used_and_resumed(
    phase: str, straight: Path, tmp_path: Path, classification: Problem
) -> None:
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        execute(path, classification, watch=At(phase, 2, ctrl_c), save_every=1e9)
    found = read_run(path)
    assert found.status == "interrupted"
    assert found.trained == ()
    assert len(found.metagraphs) == 1
    if phase != "search-0":
        assert len(Model.load(path, classification).outputs[0]) == classification.graph.num_nodes["author"]
    execute(path, classification)
    assert content(path) == content(straight)


def test_ctrl_c_keeps_the_epochs_that_were_done(tmp_path: Path, classification: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "run", classification, watch=At("search-0", 2, ctrl_c), save_every=1e9)
    _, numbers = read_tensors(tmp_path / "run" / "checkpoints" / "search-0.safetensors")
    assert numbers["epoch"] == 2


def test_ctrl_c_leaves_the_best_training_so_far(straight: Path, tmp_path: Path, classification: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "run", classification, watch=At("search-1", 2, ctrl_c))
    first = read_run(straight).candidates[0]
    assert read_run(tmp_path / "run").candidates == (first,)


def test_an_interrupted_run_is_a_file_every_reader_of_json_can_read(tmp_path: Path, classification: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "run", classification, watch=At("search-0", 2, ctrl_c))
    text = (tmp_path / "run" / "run.json").read_text()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_ctrl_c_without_a_folder_only_stops(classification: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(PLAN, classification, watch=At("train-0", 2, ctrl_c))


def test_ctrl_c_before_anything_was_found_leaves_a_run_that_can_be_resumed(
    straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "drive", stop)
    plan = given(FEATURES)
    with pytest.raises(KeyboardInterrupt):
        execute(path, classification, plan)
    monkeypatch.undo()
    assert read(path)["status"] == "interrupted"
    with pytest.raises(DiffmgError, match="resume"):
        Model.load(path, classification)
    assert execute(path, classification, plan)[0].status == "done"


@dataclass(frozen=True, repr=False)
class Listening(NodeClassification):
    """A task that notes which part of its labels is used when."""

    events: list[str] = field(default_factory=list)

    def loss(self, outputs: tuple[torch.Tensor, ...], part: Part) -> torch.Tensor:
        self.events.append(part)
        return super().loss(outputs, part)

    def scores(self, outputs: tuple[torch.Tensor, ...], part: Part) -> dict[str, torch.Tensor]:
        self.events.append(part)
        return super().scores(outputs, part)


class Noting:
    """A watch that notes the end of each job."""

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def begin(self, phase: str, job: object) -> None:
        pass

    def epoch(self, record: object) -> None:
        pass

    def end(self) -> None:
        self.events.append("end")


def test_test_labels_are_used_once_a_training_after_every_job(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = classification.task
    assert isinstance(task, NodeClassification)
    listening = Listening(task.target, task.labels, task.parts, task.classes)
    calls: list[str] = []
    monkeypatch.setattr(runner, "scores_on", lambda *args: (calls.append(args[2]), scores_on(*args))[1])
    monkeypatch.setattr(runner, "judged", lambda *_: calls.append("judged"))
    run(PLAN, Problem(classification.graph, listening), watch=Noting(listening.events))
    events = listening.events
    assert calls[-1] == "judged"
    assert events.count("end") == len(PHASES)
    assert events.count("test") == calls.count("test") == PLAN.repeats
    last_job = len(events) - 1 - events[::-1].index("end")
    assert "test" not in events[:last_job]
    assert "train" not in events[last_job:]


def test_other_test_labels_change_the_test_scores_and_nothing_else(problem: Problem, tmp_path: Path) -> None:
    blinded = replace(problem, task=problem.task.with_other_test_labels())
    (one, model), (other, same) = (execute(tmp_path / n, p) for n, p in (("one", problem), ("other", blinded)))
    assert [t.test for t in one.trained] != [t.test for t in other.trained]
    for name in ("metagraph.json", "history.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert all(torch.equal(model.weights[name], same.weights[name]) for name in model.weights)
    assert (one.chosen, one.kept) == (other.chosen, other.kept)
    assert [t.val for t in one.trained] == [t.val for t in other.trained]


def test_validation_chooses_the_candidate_and_the_training(straight: Path) -> None:
    found = read_run(straight)
    scores = [c.val_score for c in found.candidates]
    assert len(scores) == 2
    assert scores[found.chosen] == max(scores)
    val = [t.val[found.metric] for t in found.trained]
    assert [t.repeat for t in found.trained] == [0, 1]
    assert found.kept == val.index(max(val))
    assert val[0] == found.candidates[found.chosen].val_score


def test_the_scores_in_the_file_are_those_of_what_predicts(straight: Path, classification: Problem) -> None:
    found, model = read_run(straight), Model.load(straight, classification)
    assert model.scores("test") == found.trained[found.kept].test == read(straight)["scores"]["test"]
    assert model.scores("val") == read(straight)["scores"]["val"]


def test_the_run_says_what_it_ran_on(straight: Path, classification: Problem) -> None:
    found = read_run(straight)
    assert found.plan == PLAN
    assert found.data == data_of(classification)
    assert set(found.seconds) == {*PHASES, "score", "importances"}
    assert found.versions == versions()


def test_given_meta_graphs_are_trained_without_a_search(tmp_path: Path, classification: Problem) -> None:
    watch = At("", 0, kill)
    planted = DATASETS.get("academic").planted
    found, _ = execute(tmp_path / "run", classification, given(*planted), watch)
    assert watch.phases == ["train-0", "repeat-1"]
    assert found.candidates == (Candidate(planted, found.trained[0].val["macro_f1"]),)


def test_the_same_meta_graph_found_twice_is_trained_once(classification: Problem) -> None:
    watch = At("", 0, kill)
    plan = replace(PLAN, method=MethodSpec("diffmg", {"epochs": 1, "search_seeds": 3, "depth": 1, "epsilon": 0.0}))
    found, _ = run(plan, classification, watch=watch)
    different = {c.metagraphs for c in found.candidates}
    assert len([phase for phase in watch.phases if phase.startswith("train")]) == len(different)


def test_a_task_without_test_labels_has_no_test_scores(classification: Problem) -> None:
    task = replace(classification.task, parts={**classification.task.parts, "test": torch.empty(0, dtype=torch.long)})
    found, _ = run(PLAN, Problem(classification.graph, task))
    assert [t.test for t in found.trained] == [{}, {}]
    assert found.to_dict()["scores"]["test"] == {}


def test_a_training_that_diverges_has_no_score_that_wins(problem: Problem) -> None:
    """Parameters that are not numbers must not look better than any model there is."""
    plan = replace(PLAN, settings=replace(PLAN.settings, lr=1e30))
    try:
        found, _ = run(plan, problem)
    except DiffmgError:
        return
    assert all(c.val_score is None or c.val_score <= 1 for c in found.candidates)
    assert all(0 <= score <= 1 for t in found.trained for score in t.val.values())


def bad_metagraphs() -> list[tuple[tuple[MetaGraph, ...], str]]:
    wrong = MetaGraph("author", ((Relation("paper", "writen_by", "author"),),))
    return [
        ((wrong,), r"unknown relation 'paper -writen_by-> author'; did you mean 'paper -written_by-> author'"),
        ((MetaGraph.features_only("venue"),), r"one meta graph for each of \['author'\], but got \['venue'\]"),
        ((FEATURES, FEATURES), r"one meta graph for each of \['author'\], but got \['author', 'author'\]"),
        ((MetaGraph.features_only("autor"),), r"unknown node type 'autor'; did you mean 'author'"),
    ]


@pytest.mark.parametrize(("metagraphs", "message"), bad_metagraphs(), ids=lambda v: v if isinstance(v, str) else "")
def test_meta_graphs_that_do_not_fit_are_named(
    metagraphs: tuple[MetaGraph, ...], message: str, classification: Problem
) -> None:
    with pytest.raises(DiffmgError, match=message):
        run(given(*metagraphs), classification)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": MethodSpec("difmg")}, "unknown method 'difmg'; did you mean 'diffmg'"),
        ({"method": MethodSpec("diffmg", {"epoch": 3})}, "'epoch'; did you mean 'epochs'"),
        ({"method": MethodSpec("diffmg", {"epochs": 0})}, "`epochs >= 1` must hold"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
    ],
    ids=str,
)
def test_a_plan_that_cannot_be_carried_out_is_named(
    change: dict[str, Any], message: str, classification: Problem
) -> None:
    with pytest.raises(DiffmgError, match=message):
        run(replace(PLAN, **change), classification)


def test_of_equal_candidates_the_simpler_is_chosen() -> None:
    writes = Relation("paper", "written_by", "author")
    cites = Relation("paper", "cited_by", "paper")
    simple = MetaGraph.of("author", {Link(1, 0): IDENTITY, Link(2, 0): EMPTY, Link(2, 1): writes})
    busy = simple.replace(Link(1, 0), cites)
    assert best_candidate([Candidate((busy,), 0.5), Candidate((simple,), 0.5)]) == 1
    assert best_candidate([Candidate((busy,), 0.6), Candidate((simple,), 0.5)]) == 0
    assert best_candidate([Candidate((busy,), 0.6), Candidate((simple,), 0.5)], sign=-1) == 1
    assert best_candidate([Candidate((simple,)), Candidate((busy,), 0.1)]) == 1

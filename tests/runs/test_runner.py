from __future__ import annotations

import json
import os
import random
import re
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import diffmg
from diffmg import experiment as module
from diffmg.datasets import DATASETS, load_dataset
from diffmg.core.errors import DiffmgError
from diffmg.runs.runner import Experiment, Outcome, load_outcome, save_outcome, score_on_test, versions
from diffmg.graph.fingerprint import graph_fingerprint
from diffmg.runs.folder import RunFolder, read_tensors
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.plan import Plan
from diffmg.core.run import Candidate, read_history, read_run
from diffmg.core.schema import Relation
from diffmg.tasks import NodeClassification, Part, Recommendation
from diffmg.core.settings import Settings
from diffmg.tasks.problem import Problem
from diffmg.training import Watch
from run_files import At, content, read

EPOCHS = 4
PLAN = Plan(
    data="academic:120",
    strategy_options={"epochs": EPOCHS},
    search_seeds=2,
    repeats=2,
    train=Settings(dim=8, max_epochs=EPOCHS, patience=None),
    device="cpu",
)
PHASES = ("search-0", "train-0", "search-1", "train-1", "repeat-1")
FEATURES = MetaGraph.features_only("author")


class Killed(Exception):  # noqa: N818
    """Stands for a process that is gone: nothing catches it."""


def kill() -> None:
    raise Killed


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def execute(
    path: Path, problem: Problem, plan: Plan = PLAN, watch: Watch | None = None, save_every: float = 0.0
) -> Outcome:
    """Start the plan in a new folder, or go on in an unfinished one."""
    take = RunFolder.unfinished if (path / "run.json").exists() else RunFolder.create
    return Experiment(plan, problem, take(path, save_every), watch).execute()


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
    other = Experiment(replace(PLAN, seed=1), classification).execute().run
    assert other.trained != read_run(straight).trained


def test_a_folder_changes_nothing(straight: Path, classification: Problem) -> None:
    without = Experiment(PLAN, classification).execute().run
    assert replace(without, seconds={}) == replace(read_run(straight), seconds={})


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


@pytest.mark.parametrize("write", ["write_metagraphs", "write_model", "write_run", "finish"])
def test_a_run_killed_while_its_results_are_written_can_go_on(
    write: str, straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(RunFolder, write)

    def dies(folder: RunFolder, *given: Any) -> None:
        if write == "write_run" and given[0].status != "done":
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

    with pytest.raises(DiffmgError, match=r"could not write '.*history\.jsonl': No space left on device"):
        execute(tmp_path / "run", classification, watch=At("train-0", 2, fill))
    history.unlink()
    (tmp_path / "kept").rename(history)
    execute(tmp_path / "run", classification)
    assert content(tmp_path / "run") == content(straight)


def test_a_recommendation_that_was_killed_ends_as_if_it_had_not_been(tmp_path: Path, recommendation: Problem) -> None:
    plan = replace(PLAN, data="shop:160")
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
    run = read_run(path)
    assert run.status == "interrupted"
    assert run.trained == ()
    assert len(run.metagraphs) == 1
    if phase != "search-0":
        load_outcome(path, classification)
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
        Experiment(PLAN, classification, watch=At("train-0", 2, ctrl_c)).execute()


def test_an_experiment_stopped_by_ctrl_c_can_be_executed_again(
    straight: Path, tmp_path: Path, classification: Problem
) -> None:
    experiment = Experiment(PLAN, classification, RunFolder.create(tmp_path / "run"), At("train-1", 1, ctrl_c))
    with pytest.raises(KeyboardInterrupt):
        experiment.execute()
    experiment.watch = At("", 0, kill)
    experiment.execute()
    assert content(tmp_path / "run") == content(straight)


def test_ctrl_c_before_anything_was_found_leaves_a_run_that_can_be_resumed(
    straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "drive", stop)
    plan = replace(PLAN, metagraphs=(FEATURES,))
    with pytest.raises(KeyboardInterrupt):
        execute(path, classification, plan)
    monkeypatch.undo()
    assert read(path)["status"] == "interrupted"
    with pytest.raises(DiffmgError, match=r"a run must have come as far as a meta graph.*resume|must be whole"):
        load_outcome(path, classification)
    assert execute(path, classification, plan).run.status == "done"


@dataclass(frozen=True)
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
    calls: list[None] = []
    monkeypatch.setattr(module, "score_on_test", lambda *given: (calls.append(None), score_on_test(*given))[1])
    Experiment(PLAN, Problem(classification.graph, listening), watch=Noting(listening.events)).execute()
    events = listening.events
    assert events.count("end") == len(PHASES)
    assert events.count("test") == len(calls) == PLAN.repeats
    last_job = len(events) - 1 - events[::-1].index("end")
    assert "test" not in events[:last_job]
    assert "train" not in events[last_job:]


def blinded(problem: Problem) -> Problem:
    """The same problem with other test labels."""
    task = problem.task
    if isinstance(task, NodeClassification):
        labels = task.labels.clone()
        labels[task.parts["test"]] = (labels[task.parts["test"]] + 1) % 4
        return Problem(problem.graph, replace(task, labels=labels))
    assert isinstance(task, Recommendation)
    part = task.parts["test"]
    return Problem(problem.graph, replace(task, parts={**task.parts, "test": replace(part, labels=1 - part.labels)}))


def test_other_test_labels_change_the_test_scores_and_nothing_else(problem: Problem, tmp_path: Path) -> None:
    one, other = (execute(tmp_path / n, p) for n, p in (("one", problem), ("other", blinded(problem))))
    assert [t.test for t in one.run.trained] != [t.test for t in other.run.trained]
    for name in ("metagraph.json", "model.safetensors", "history.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert (one.run.chosen, one.run.kept) == (other.run.chosen, other.run.kept)
    assert [t.val for t in one.run.trained] == [t.val for t in other.run.trained]


def test_validation_chooses_the_candidate_and_the_training(straight: Path) -> None:
    run = read_run(straight)
    scores = [c.val_score for c in run.candidates]
    assert len(scores) == PLAN.search_seeds
    assert scores[run.chosen] == max(scores)
    val = [t.val[run.metric] for t in run.trained]
    assert [t.repeat for t in run.trained] == [0, 1]
    assert run.kept == val.index(max(val))
    assert val[0] == run.candidates[run.chosen].val_score


def test_the_kept_model_is_in_the_file(straight: Path, classification: Problem) -> None:
    run, outcome = read_run(straight), load_outcome(straight, classification)
    assert score_on_test(outcome.problem, outcome.outputs()) == run.trained[run.kept].test


def test_the_run_says_what_it_ran_on(straight: Path, classification: Problem) -> None:
    run = read_run(straight)
    assert Plan.from_dict(run.plan) == PLAN
    assert run.data["graph"] == graph_fingerprint(classification.graph)
    assert run.data["task"] == classification.task.fingerprint()
    assert run.data["target_types"] == ["author"]
    assert run.data["classes"] == ["field 0", "field 1", "field 2", "field 3"]
    assert set(run.seconds) == {*PHASES, "score"}
    assert run.versions == versions()


def test_versions_name_what_computes() -> None:
    found = versions()
    assert found["diffmg"] == diffmg.__version__
    assert found["torch"] == torch.__version__
    assert found["commit"] is None or re.fullmatch("[0-9a-f]{40}( with changes)?", found["commit"])


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert versions()["commit"] is None


def test_given_meta_graphs_are_trained_without_a_search(tmp_path: Path, classification: Problem) -> None:
    watch = At("", 0, kill)
    planted = DATASETS.get("academic").planted
    run = execute(tmp_path / "run", classification, replace(PLAN, metagraphs=planted), watch).run
    assert watch.phases == ["train-0", "repeat-1"]
    assert run.candidates == (Candidate(planted, run.trained[0].val["macro_f1"]),)


def test_the_same_meta_graph_found_twice_is_trained_once(classification: Problem) -> None:
    watch = At("", 0, kill)
    run = Experiment(replace(PLAN, strategy="features", strategy_options={}), classification, watch=watch).execute().run
    assert watch.phases == ["search-0", "train-0", "search-1", "repeat-1"]
    assert run.candidates[0] == run.candidates[1]
    assert run.metagraphs == (FEATURES,)


def test_a_task_without_test_labels_has_no_test_scores(classification: Problem) -> None:
    task = replace(classification.task, parts={**classification.task.parts, "test": torch.empty(0, dtype=torch.long)})
    run = Experiment(PLAN, Problem(classification.graph, task)).execute().run
    assert [t.test for t in run.trained] == [{}, {}]
    assert run.to_dict()["scores"]["test"] == {}


def test_a_training_that_diverges_has_no_score_that_wins(problem: Problem) -> None:
    """Parameters that are not numbers must not look better than any model there is."""
    plan = replace(PLAN, train=replace(PLAN.train, lr=1e30))
    try:
        run = Experiment(plan, problem).execute().run
    except DiffmgError:
        return
    assert all(c.val_score <= 1 for c in run.candidates)
    assert all(0 <= score <= 1 for t in run.trained for score in t.val.values())


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
        Experiment(replace(PLAN, metagraphs=metagraphs), classification)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategy": "difmg"}, "unknown strategy 'difmg'; did you mean 'diffmg'"),
        ({"strategy_options": {"epoch": 3}}, "unknown option of strategy 'diffmg': 'epoch'; did you mean 'epochs'"),
        ({"strategy_options": {"epochs": 0}}, "`epochs >= 1` must hold"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
    ],
    ids=str,
)
def test_a_plan_that_cannot_be_carried_out_is_named(
    change: dict[str, Any], message: str, classification: Problem
) -> None:
    with pytest.raises(DiffmgError, match=message):
        Experiment(replace(PLAN, **change), classification)


def test_a_model_on_a_network_of_another_size_is_named(tmp_path: Path) -> None:
    """Cities have no features, so that each has parameters of its own."""
    city = Relation("city", "home_of", "user")
    metagraphs = (MetaGraph("user", ((city,),)), MetaGraph.features_only("item"))
    plan = replace(PLAN, data="shop:160", metagraphs=metagraphs, repeats=1)
    execute(tmp_path / "run", load_dataset("shop:160"), plan)
    with pytest.raises(DiffmgError, match=r"the model of '.*run' must fit the network it is used on, but got: size"):
        load_outcome(tmp_path / "run", load_dataset("shop:400"))


def test_a_model_for_a_gpu_is_loaded_where_there_is_none(
    straight: Path, tmp_path: Path, classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    outcome = load_outcome(straight, classification)
    run = replace(outcome.run, plan={**outcome.run.plan, "device": "cuda"})
    save_outcome(replace(outcome, run=run), RunFolder.create(tmp_path / "run"))
    again = load_outcome(tmp_path / "run", classification)
    assert torch.equal(again.outputs()[0], outcome.outputs()[0])


def test_of_equal_candidates_the_simpler_is_chosen() -> None:
    writes = Relation("paper", "written_by", "author")
    cites = Relation("paper", "cited_by", "paper")
    simple = MetaGraph.of("author", {Link(1, 0): IDENTITY, Link(2, 0): EMPTY, Link(2, 1): writes})
    busy = simple.replace(Link(1, 0), cites)
    assert module._merit(Candidate((simple,), 0.5)) > module._merit(Candidate((busy,), 0.5))
    assert module._merit(Candidate((simple,), 0.5)) < module._merit(Candidate((busy,), 0.6))

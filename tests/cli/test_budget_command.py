"""Races from the command line: budget, what comes out, interrupted, resumed, repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffmg import Model
from diffmg.core.budget import Budget
from diffmg.core.run import read_run
from diffmg.runs import sources
from diffmg.tasks.problem import Problem
from run_files import RACE, content, diffmg, edit, fit, interrupt, read, refused

SMALL = ("-s", "max_epochs=3", "-s", "dim=8", "-o", "searches_too=false")
LONGER = ("--budget", "14", *SMALL, "--beside", "usual")
"""Several batches that explore, and finalists."""


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A race nobody disturbed; not to be changed."""
    return fit(tmp_path_factory.mktemp("race") / "run", "shop:160", *LONGER)


def members(path: Path) -> list[dict[str, Any]]:
    """The members of an ensemble; one model alone has none."""
    options = Model.load(path).recipe.method.options
    found: list[dict[str, Any]] = options.get("members", [])
    return found


def test_what_comes_out_of_a_race(raced: Path) -> None:
    run = read(raced)
    assert run["plan"]["method"] == {"name": "auto", "options": {"searches_too": False}}
    assert run["plan"]["budget"]["trainings"] == 14
    assert run["spent"]["trainings"] <= 14
    assert run["scores"]["test"] == run["trained"][0]["test"]
    assert run["single"]["test"].keys() == run["scores"]["test"].keys()
    assert {p.name for p in raced.iterdir()} == {
        "history.jsonl", "metagraph.json", "model.safetensors", "report.html", "run.json", "single.safetensors",
        "tried.jsonl",
    }  # fmt: skip


def test_the_default_is_a_race_within_the_default_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "DEFAULT_BUDGET", Budget(trainings=4))
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *RACE[2:])
    assert answer.code == 0, answer.err
    assert read(tmp_path / "run")["plan"]["budget"]["trainings"] == 4
    for words in ("tried ", "single model: validation macro_f1", "author (own features)", "race"):
        assert words in answer.out + answer.err
    assert content(fit(tmp_path / "same", "academic:120", *RACE)) == content(tmp_path / "run")


def test_a_rival_is_tuned_by_the_same_loop(tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "academic:120", "--method", "gcn", *RACE)
    tried = [json.loads(line) for line in (path / "tried.jsonl").read_text().splitlines()]
    assert {line["method"]["name"] for line in tried} == {"gcn"}
    assert len({json.dumps([line["method"], line["settings"]]) for line in tried}) == len(tried) > 1
    assert read(path)["candidates"][0]["metagraphs"] == []
    assert diffmg("predict", path).code == 0


def test_a_single_model_is_used_where_it_is_asked_for(raced: Path, tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "shop:160", *LONGER, "--single")
    run = read(path)
    assert run["single"] is None
    assert run["scores"]["test"] == read(raced)["single"]["test"]
    assert members(path) == []
    assert members(raced)
    assert diffmg("recommend", path).out == diffmg("recommend", raced / "single.safetensors").out
    assert diffmg("recommend", path).out != diffmg("recommend", raced).out


@pytest.mark.parametrize("refit", ["val", "all"])
@pytest.mark.parametrize("single", [(), ("--single",)], ids=["ensemble", "single"])
def test_a_refit_trains_on_more_labels_and_leaves_the_scores(
    refit: str, single: tuple[str, ...], raced: Path, tmp_path: Path
) -> None:
    path = fit(tmp_path / "run", "shop:160", *LONGER, *single, "--refit", refit)
    scores = read(raced)["single"]["test"] if single else read(raced)["scores"]["test"]
    assert read(path)["scores"]["test"] == scores, "those of the models that were chosen"
    assert {member["joined"] for member in members(path)} == {refit}
    assert diffmg("recommend", path).out != diffmg("recommend", raced).out
    assert Model.load(path).metagraphs == read_run(raced).metagraphs


BAD = {
    "--budget 0": "a budget is a time above zero, such as 60s, 5m or 1h, or a number of trainings",
    "--budget 0s": "but got '0s'",
    "--budget soon": "but got 'soon'",
    "--budget 3 --repeats 2": "a race trains its finalists again by itself, but got repeats=2; leave it out",
    "--repeats 2": "a race trains its finalists again by itself, but got repeats=2; leave it out",
    "--budget 3 --refit test": "`refit` must be one of 'no', 'val', 'all', but got refit='test'",
    "--budget 3 --method ensemble": "an ensemble needs one or more members, but got none; fit with `auto`",
    "--method popularity --budget 3": "'popularity' serves 2 target types, but got a task on author",
    "-o depht=2": "unknown option of method 'auto': 'depht'; did you mean 'depth'?",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input_is_named_and_leaves_no_folder(arguments: str, tmp_path: Path) -> None:
    assert BAD[arguments] in refused("fit", "academic:120", *arguments.split(), "--out", tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lines", [1, 3, 4])
def test_ctrl_c_leaves_a_model_and_resuming_ends_as_if_it_had_not_been(
    lines: int, raced: Path, recommendation: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    interrupt(lines, monkeypatch)
    assert diffmg("fit", "shop:160", "--out", path, *LONGER).code == 130
    monkeypatch.undo()
    run = read(path)
    assert (run["status"], run["trained"], run["scores"]["test"]) == ("interrupted", [], {})
    assert "user (own features)" in diffmg("show", path).out
    assert len(Model.load(path).outputs[0]) == recommendation.graph.num_nodes["user"]
    assert diffmg("recommend", path, "--id", 3).code == 0
    assert diffmg("resume", path).code == 0
    assert content(path) == content(raced)


def test_a_race_within_seconds_is_repeated_with_the_same_scores(tmp_path: Path) -> None:
    first = fit(tmp_path / "one", "shop:160", "--budget", "2s", *SMALL)
    run = read(first)
    assert run["plan"]["budget"]["seconds"] == 2
    assert run["spent"]["seconds"] is None
    assert diffmg("repeat", first, "--out", tmp_path / "two").code == 0
    again = read(tmp_path / "two")
    assert again["scores"] == run["scores"]
    assert again["single"] == run["single"]
    for name in ("metagraph.json", "model.safetensors", "single.safetensors", "tried.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (first / name).read_bytes()
    edit(first, spent=None)
    assert read_run(first).spent is None

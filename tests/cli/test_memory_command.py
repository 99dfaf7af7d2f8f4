from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.run import metagraphs_to_dict
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS, load_dataset
from diffmg.engine import device, memory
from diffmg.engine.memory import in_words, needs
from diffmg.methods.auto import Auto
from run_files import Answer, diffmg, read, refused

CPU = torch.device("cpu")
GIGABYTE = 10**9
TINY = ("-s", "max_epochs=3", "-s", "dim=8")
DIFFMG = ("--method", "diffmg")


COMMANDS = {"plan": ["plan", *DIFFMG], "fit": ["fit", *DIFFMG], "given": ["fit", "--metagraph", "m.json"]}


def set_free(free: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have so many bytes of memory free."""
    for module in (device, memory):
        monkeypatch.setattr(module, "free_bytes", lambda place: free)


@pytest.fixture(autouse=True)
def a_gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is free, on every machine."""
    set_free(GIGABYTE, monkeypatch)


def planned(*arguments: object) -> Answer:
    answer = diffmg("plan", *arguments, "--device", "cpu", "--probe", 0)
    assert answer.code == 0, answer.err
    return answer


def rows(answer: Answer) -> dict[str, list[str]]:
    """The table's cells by what is in the first column."""
    lines = (re.split(r"\s*[│┃]\s*", line.strip(" │┃")) for line in answer.out.splitlines() if line[:1] in "│┃")
    return {name: cells for name, *cells in lines}


def estimates(data: str, settings: Settings, **switches: Any) -> list[dict[str, int]]:
    """What a search and a training take, by part."""
    problem = load_dataset(data).to(CPU, Engine(**switches))
    return [dict(needs(problem, settings, 4, CPU, search=search).parts) for search in (True, False)]


def assert_table(answer: Answer, wanted: list[dict[str, int]]) -> None:
    """The cells are the estimate, part by part, and together."""
    together = [in_words(sum(parts.values())) for parts in wanted]
    parts = {name: [in_words(parts[name]) for parts in wanted] for name in wanted[0]}
    assert rows(answer) == {"memory": ["search", "training"]} | parts | {"together, about": together}


def test_a_plan_says_what_a_search_and_a_training_take() -> None:
    answer = planned("academic:2000", *DIFFMG)
    assert_table(answer, estimates("academic:2000", Settings()))
    edges = sum(a.nnz for a in load_dataset("academic:2000").graph.adjacency.values())
    assert f"2000 nodes, {edges} edges, d = 64, K = 4" in answer.out
    assert re.search(r"^cpu, \d+ threads: 1\.0 GB free$", answer.out, re.MULTILINE)
    assert "search: fits, all columns at once\ntraining: fits, all columns at once\n" in answer.out


def test_switches_and_settings_are_counted_in() -> None:
    answer = planned("shop:2000", *DIFFMG, "--engine", "columns=16", "-s", "dim=32")
    assert_table(answer, estimates("shop:2000", Settings(dim=32), columns=16))
    assert "d = 32, K = 4" in answer.out
    assert answer.out.count("fits, 16 columns at a time, recomputed for the backward pass\n") == 2


def test_the_depth_and_the_seed_of_made_data_are_counted_in() -> None:
    deep = planned("academic:400", *DIFFMG, "--depth", 6, "--data-seed", 1)
    problem = load_dataset("academic:400", seed=1)
    parts = needs(problem, Settings(), 6, CPU, search=True).parts
    assert rows(deep)["other states"][0] == in_words(parts["other states"])
    assert f"{sum(a.nnz for a in problem.graph.adjacency.values())} edges, d = 64, K = 6" in deep.out


def test_where_memory_is_short_the_plan_says_how_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just enough for a training with 8 columns at a time, in which a search has room for 16."""
    totals = {c: [sum(e.values()) for e in estimates("shop:2000", Settings(), columns=c)] for c in (8, 16, 32)}
    enough = totals[8][1]
    assert totals[16][0] < enough < min(totals[32][0], totals[16][1])
    set_free(int(enough / memory.SPARE) + 2, monkeypatch)
    answer = planned("shop:2000", *DIFFMG)
    assert "search: fits, 16 columns at a time, recomputed for the backward pass\n" in answer.out
    assert "training: fits, 8 columns at a time, recomputed for the backward pass\n" in answer.out


def test_a_race_takes_what_its_largest_candidate_takes() -> None:
    answer = planned("academic:2000")
    problem = load_dataset("academic:2000")
    space = Auto().space(problem, Settings())
    drawn = (space.draw(random.Random(seed)) for seed in range(200))
    totals = [needs(problem, c.settings, c.metagraphs[0].depth, CPU, search=False).total for c in drawn if c.metagraphs]
    largest = Settings(dim=128, vectors=True, aggregate="mean", self_loops=False, states="attention")
    most = needs(problem, largest, 6, CPU, search=False)
    assert most.total >= max(totals)
    assert rows(answer) == {"memory": ["largest candidate"]} | {
        name: [in_words(size)] for name, size in {**most.parts, "together, about": most.total}.items()
    }
    assert "d = 128, K = 6" in answer.out
    assert "GB free\nlargest candidate: fits, all columns at once\n" in answer.out


def test_a_setting_that_was_given_is_not_varied_by_a_race() -> None:
    assert "d = 32, K = 3" in planned("shop:160", "-s", "dim=32", "--depth", 3).out


def test_a_method_that_only_trains_has_no_search() -> None:
    assert rows(planned("academic:400", "--method", "features"))["memory"] == ["training"]
    assert rows(planned("academic:400", *DIFFMG, "-s", "states=concat"))["fused states"][0] == "0.0 kB"


def test_memory_is_estimated_for_meta_graphs_only() -> None:
    assert "memory is estimated for methods with a meta graph, but got 'gcn'" in refused(
        "plan", "academic:120", "--method", "gcn"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-s", "max_epochs=7"], r"the budget of 120 s is worth \d+ such trainings, or more"),
        (["--budget", 9, "-s", "max_epochs=7"], r"in all: at most about [\d.]+ s, trainings: 9"),
        ([*DIFFMG, "-o", "epochs=6", "-o", "search_seeds=2", "-s", "max_epochs=7"], r"a search: about .* 6 epochs"),
    ],
    ids=["seconds", "trainings", "search"],
)
def test_a_plan_says_how_long_it_takes(arguments: list[object], words: str) -> None:
    answer = diffmg("plan", "academic:120", *arguments, "--device", "cpu", "--probe", 2)
    assert answer.code == 0, answer.err
    assert re.search(words, answer.out), answer.out
    assert re.search(r"a training: at most about [\d.]+ s, 7 epochs of [\d.]+ ms", answer.out), answer.out


def test_without_a_probe_nothing_is_said_of_seconds() -> None:
    assert "epochs of" not in planned("academic:120").out


def test_what_is_free_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    set_free(None, monkeypatch)
    answer = planned("academic:400", *DIFFMG)
    assert ": unknown free\n" in answer.out
    assert answer.out.count("fits, all columns at once") == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_not_enough_memory_is_bad_input_and_leaves_nothing(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_planted(Path("m.json"))
    set_free(10_000, monkeypatch)
    word, *more = COMMANDS[command]
    out = [] if word == "plan" else ["--out", "run"]
    answer = diffmg(word, "academic:2000", *more, *out, "--device", "cpu")
    words = answer.err
    assert answer.code == 2
    assert words.startswith("error: ")
    work = {"given": "training", "fit": "(search|training)"}.get(command, "search")
    assert re.search(rf"the {work} must fit into 10\.0 kB of free memory \(cpu\), but got an estimate of ", words)
    assert f"lower dim (64) or the depth ({2 if command == 'given' else 4})" in words
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


BAD_SWITCHES = {
    "colums=8": "unknown option of the engine: 'colums'; did you mean 'columns'? Known: capture, columns, fused",
    "columns": "an option is written KEY=VALUE, but got 'columns'",
    "columns=-1": "`columns >= 0` must hold, but got columns=-1",
    "columns=some": "`columns` must be a whole number, but got columns='some'",
    "storage=float16": "`storage` must be one of 'float32', 'bfloat16', but got storage='float16'",
    "fused=yes": "`fused` must be true or false, but got fused='yes'",
}


@pytest.mark.parametrize("switch", BAD_SWITCHES)
def test_a_bad_switch_is_named(switch: str) -> None:
    assert BAD_SWITCHES[switch] in refused("plan", "academic:120", "--engine", switch)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_bad_switch_and_leaves_nothing(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_planted(Path("m.json"))
    word, *more = COMMANDS[command]
    assert BAD_SWITCHES["colums=8"] in refused(word, "academic:120", *more, "--engine", "colums=8")
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["acadmic"], "unknown data set 'acadmic'; did you mean 'academic'?"),
        (["academic:120", "--depth", "0"], "`1 <= depth <= 64` must hold"),
        (["academic:120", "-s", "dims=3"], "unknown option of the settings: 'dims'; did you mean 'dim'?"),
        (["academic:120", "--device", "tpu"], "unknown device 'tpu'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_other_bad_input_is_named(arguments: list[str], words: str) -> None:
    assert words in refused("plan", *arguments)


def test_data_that_is_not_there_is_missing(tmp_path: Path) -> None:
    assert diffmg("plan", "dblp", "--data-root", tmp_path).code == 3


def write_planted(file: Path) -> Path:
    file.write_text(json.dumps(metagraphs_to_dict(DATASETS.get("academic").planted)))
    return file


def test_the_switches_of_a_run_are_in_its_plan(tmp_path: Path) -> None:
    arguments: list[object] = ["--engine", "columns=4", "--engine", "storage=bfloat16", *TINY]
    arguments += ["--metagraph", write_planted(tmp_path / "m.json")]
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *arguments)
    assert answer.code == 0, answer.err
    switches = {"fused": True, "capture": True, "storage": "bfloat16", "columns": 4}
    assert read(tmp_path / "run")["plan"]["engine"] == switches

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_tables import made_table

from diffmg.core.errors import DiffmgError
from experiments.exhaustive_table import ExhaustiveTable, write_table
from experiments.jsonl import read_lines
from experiments.regret import mean_curves, regret_lines, regret_sheet, table_line
from experiments.regret_searches import SEARCHES, Replay
from small_networks import small_classification, small_recommendation

OWN = [name for name in SEARCHES if not name.startswith("optuna")]
OPTUNA = [name for name in SEARCHES if name.startswith("optuna")]


@pytest.fixture(scope="module")
def table() -> ExhaustiveTable:
    return made_table(small_classification())


def in_order(replay: Replay, seed: int, batch: int) -> None:
    """A search of one's own: the rows as they come, each asked for twice."""
    for row in replay.table.rows:
        for _ in range(2):
            replay.value(replay.table.metagraphs(row))


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("make", [small_classification, small_recommendation])
def test_searches_spend_what_they_may_on_different_programs(make: Callable[[], Any], name: str) -> None:
    replay = Replay(made_table(make()), 24)
    SEARCHES[name](replay, 0, 4)
    assert len(replay.seen) == 24
    curve = replay.curve()
    assert curve == sorted(curve, reverse=True), "the best so far never gets worse"
    assert curve[-1] >= 0
    other = Replay(replay.table, 24)
    SEARCHES[name](other, 0, 4)
    assert other.seen == replay.seen, "the same seed, the same search"


@pytest.mark.parametrize("name", OPTUNA)
def test_samplers_of_optuna(name: str, table: ExhaustiveTable) -> None:
    pytest.importorskip("optuna")
    if name == "optuna cmaes":
        pytest.importorskip("cmaes")
    replay = Replay(table, 30)
    SEARCHES[name](replay, 0, 4)
    assert 20 <= len(replay.seen) <= 30
    assert replay.curve()[-1] < replay.curve()[0]


def test_a_sampler_without_optuna_says_what_to_install(table: ExhaustiveTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(DiffmgError, match="pip install optuna"):
        SEARCHES["optuna tpe"](Replay(table, 5), 0, 4)


def test_a_search_that_learns_beats_chance() -> None:
    searches = {name: SEARCHES[name] for name in ("chance", "evolution")}
    lines = regret_lines(made_table(small_recommendation()), searches, seeds=24, trainings=50, batch=10)
    curves = {name: dict(points) for name, points in mean_curves(lines).items()}
    assert curves["evolution"][50.0] < curves["chance"][50.0]


@pytest.mark.parametrize("sign", [1, -1])
def test_regret_is_against_the_best_of_the_table(sign: int) -> None:
    table = made_table(small_classification(), sign=sign)
    (line,) = regret_lines(table, {"in order": in_order}, seeds=1, trainings=20, batch=4)
    scores = [sign * row.score for row in table.rows]
    best = max(s for s in scores if s == s)
    for mark, regret in line["regret"].items():
        assert regret == pytest.approx(best - max(s for s in scores[: int(mark)] if s == s), abs=1e-6)
    assert (line["used"], list(line["regret"])) == (20, ["1", "2", "5", "10", "20"])


def test_what_was_not_paid_for_is_not_told(table: ExhaustiveTable) -> None:
    replay = Replay(table, 1)
    first, other = table.metagraphs(table.rows[0]), table.metagraphs(table.rows[2])
    assert replay.value(first) == table.rows[0].score
    assert replay.value(other) == -float("inf")
    assert replay.value(first) == table.rows[0].score


def test_a_sample_has_no_known_optimum(table: ExhaustiveTable) -> None:
    part = replace(table, rows=table.rows[:5])
    with pytest.raises(DiffmgError, match="sample of 5"):
        regret_lines(part, {}, seeds=1, trainings=2, batch=1)


def test_the_sheet_shows_mean_and_quantiles() -> None:
    rng = random.Random(0)
    lines = [
        {"table": "made", "search": "s", "seed": n, "regret": {"1": x, "2": 0.0}}
        for n, x in enumerate(rng.sample([n / 100 for n in range(11)], 11))
    ]
    sheet = regret_sheet(lines)
    assert sheet.heads == ("search", "1", "2")
    assert sheet.rows == (("s", "5.00 (1.00 to 9.00)", "0.00 (0.00 to 0.00)"),)


def test_the_noise_of_a_table_is_that_of_one_seed(table: ExhaustiveTable) -> None:
    gaps = {2: 0.02, 5: -0.02}
    rows = [replace(row, second=row.score + gaps[n]) if n in gaps else row for n, row in enumerate(table.rows)]
    line = table_line(replace(table, rows=tuple(rows)), 100)
    assert line["noise"] == pytest.approx(0.02 / 2**0.5)
    assert line["best"] == table.best.score
    assert line["low"] < line["median"] < line["high"]


def test_the_command_replaces_what_it_does_again(
    table: ExhaustiveTable, experiment: Callable[..., Any], tmp_path: Path
) -> None:
    write_table(tmp_path / "made.parquet", table)
    words = ("regret", tmp_path / "made.parquet", "--trainings", 10, "--out", tmp_path, "--searches")
    assert experiment(*words, "chance", "--seeds", 2).code == 0
    answer = experiment(*words, "chance", "evolution", "--seeds", 3)
    assert "| evolution |" in answer.out
    lines = read_lines(tmp_path / "regret.jsonl")
    assert [line["kind"] for line in lines] == ["table"] + ["replay"] * 6
    assert "unknown search 'none'" in experiment(*words, "none").err

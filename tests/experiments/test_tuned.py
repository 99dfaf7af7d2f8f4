from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.codec import to_plain
from diffmg.core.errors import DiffmgError
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.settings import Settings
from experiments.jsonl import write_lines
from experiments.tuned import Tuned, Tuning, find_tuned

GAT = Tuned("gat", "acm", Tuning(7, "halving", 9, 2), "loss", -0.5, 0.75, 0.5, {"lr": 0.02}, {"layers": 3})


@pytest.mark.parametrize(("budget", "finalists"), [(1, 1), (2, 2), (8, 2), (12, 3), (33, 8)])
def test_a_quarter_is_trained_again_but_never_one_alone(budget: int, finalists: int) -> None:
    assert Tuning(budget).finalists == finalists


@pytest.mark.parametrize("given", [{"budget": 0}, {"trainings": 0}, {"budget": 2.5}, {"how": "grid"}, {"seed": "a"}])
def test_tuning_that_cannot_be_done_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(DiffmgError, match=next(iter(given))):
        Tuning(**given)


def test_what_was_chosen_changes_a_plan_and_leaves_the_rest() -> None:
    plan = Plan(MethodSpec("gat", {"heads": 3, "layers": 1}), Source("acm"), Settings(dim=8), repeats=4, seed=7)
    method = MethodSpec("gat", {"heads": 3, "layers": 3})
    assert GAT.applied(plan) == replace(plan, method=method, settings=Settings(dim=8, lr=0.02))


def test_a_file_holds_a_line_for_each_method_and_data_set(tmp_path: Path) -> None:
    path = tmp_path / "tuned.jsonl"
    others = [replace(GAT, method="gcn", value=-math.inf), replace(GAT, data="imdb", settings={})]
    write_lines(path, map(to_plain, (GAT, *others)))
    assert find_tuned(path, "gat", "acm") == GAT
    assert find_tuned(path, "gcn", "acm") == others[0]
    assert find_tuned(path, "gat", "imdb") == others[1]
    assert find_tuned(path, "gcn", "imdb") is None
    assert find_tuned(tmp_path / "gone.jsonl", "gat", "acm") is None


@pytest.mark.parametrize(
    "change",
    [
        {"bugdet": 2},
        {"value": "?"},
        {"settings": {"lrr": 1}},
        {"settings": {"lr": "fast"}},
        {"tuning": {"how": "grid"}},
    ],
)
def test_a_line_that_is_not_what_was_written_is_named(change: dict[str, Any], tmp_path: Path) -> None:
    write_lines(tmp_path / "tuned.jsonl", [to_plain(GAT) | change])
    with pytest.raises(DiffmgError, match=r"settings of gat on acm in .*tuned\.jsonl"):
        find_tuned(tmp_path / "tuned.jsonl", "gat", "acm")

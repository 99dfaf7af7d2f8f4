from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.budget import Budget
from diffmg.core.codec import to_plain
from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.settings import Settings
from diffmg.methods.given import Given
from diffmg.runs.sources import published_for
from experiments import TABLES, plan_path
from experiments.jsonl import read_lines, write_lines
from experiments.spec import Row, Table, read_table
from experiments.tuned import Tuned, Tuning

PAPER = {name: read_table(plan_path(name)) for name in TABLES}
ROWS = "metapath2vec gcn gat han magnn gtn hgt diffmg"
WITH_GEMS = "metapath2vec gcn gat han magnn genetic gtn hgt diffmg"
VARIANTS = "epsilon_0 epsilon_03 epsilon_05 single_level darts"
SEARCHES = "genetic darts snas nasp diffmg"
PRINTED = [
    ("recommendation", "amazon", WITH_GEMS, "58.17 66.64 55.70 67.35 68.26 70.66 71.82 74.75 75.28"),
    ("recommendation", "yelp", WITH_GEMS, "51.98 58.98 56.55 64.28 64.73 65.12 66.27 68.07 68.77"),
    ("recommendation", "douban", WITH_GEMS, "51.60 77.95 77.58 82.65 82.44 83.00 83.26 83.38 83.78"),
    ("classification", "dblp", ROWS, "89.93 90.46 93.92 92.13 92.81 93.98 93.67 94.45"),
    ("classification", "acm", ROWS, "67.13 92.56 92.50 91.20 91.15 92.62 91.83 92.65"),
    ("classification", "imdb", ROWS, "40.82 55.19 53.37 55.09 56.44 59.68 59.35 61.04"),
    ("ablation", "amazon", VARIANTS, "74.80 74.51 75.28 74.80 74.54"),
    ("ablation", "yelp", VARIANTS, "68.77 68.42 67.90 68.94 66.72"),
    ("ablation", "douban", VARIANTS, "83.78 83.58 83.45 83.70 83.68"),
    ("cost", "amazon", SEARCHES, "800 8.9 3.9 2.3 0.7"),
    ("cost", "yelp", SEARCHES, "1500 15.8 7.0 4.0 1.1"),
    ("cost", "douban", SEARCHES, "2000 19.4 8.6 5.0 1.6"),
]
"""Rows of the paper's tables 3, 2, 6 and 5 as they are printed there, each with the methods of its columns."""
SMALL = """
title = "small"
kind = "accuracy"
data = ["acm", "academic:120"]
seeds = 2
[methods.mlp]
[methods.random]
note = "drawn"
[paper.mlp]
acm = [1.5, 0.25]
"""


def written(folder: Path, text: str = SMALL) -> Table:
    (folder / "table.toml").write_text(text, encoding="utf-8")
    return read_table(folder / "table.toml")


def table_of(*rows: Row, **more: Any) -> Table:
    return Table("t", "accuracy", ("acm", "academic:120"), 2, rows, **more)


def plan_of(row: Row, data: str = "imdb", **more: Any) -> Plan:
    return table_of(row, **more).plan(row, data, 3, "cpu")


@pytest.mark.parametrize(("name", "data", "rows", "numbers"), PRINTED)
def test_figures_are_the_paper_s(name: str, data: str, rows: str, numbers: str) -> None:
    assert [PAPER[name].paper[row][data][0] for row in rows.split()] == [float(text) for text in numbers.split()]


@pytest.mark.parametrize(
    ("name", "row", "data", "second"),
    [
        ("classification", "metapath2vec", "imdb", 1.48),
        ("classification", "gcn", "acm", 0.20),
        ("recommendation", "gat", "amazon", 1.13),
        ("recommendation", "genetic", "douban", 0.05),
        ("ablation", "single_level", "douban", 0.03),
        ("cost", "darts", "yelp", 12.2),
    ],
)
def test_deviations_and_parts_are_the_paper_s(name: str, row: str, data: str, second: float) -> None:
    assert PAPER[name].paper[row][data][1] == second


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_the_paper_s_tables_can_be_planned(name: str) -> None:
    table = PAPER[name]
    for row in table.methods:
        assert set(table.paper.get(row.name, {})) <= set(table.data)
        for data in table.data:
            plan = table.plan(row, data, 0, "cpu")
            plan.method.make()
            assert (plan.source.name, plan.repeats) == (data, row.seeds or table.seeds)
            assert (plan.method.name == "given") == row.published
            assert (plan.budget is not None) == bool(row.budget)


def test_every_baseline_that_can_do_a_task_is_in_its_table() -> None:
    able = {n: kind for n, kind in METHODS.items() if kind.family == "baseline"}
    for name, towers in (("classification", 1), ("recommendation", 2)):
        rows = {row.name for row in PAPER[name].methods}
        assert {n for n, kind in able.items() if towers in kind.towers} == rows & set(able)


def test_rows_of_whole_pipelines_are_on_the_data_sets_they_serve() -> None:
    table, towers = PAPER["search"], {"dblp": 1, "acm": 1, "imdb": 1, "amazon": 2, "yelp": 2, "douban": 2}
    for row in table.methods:
        served = METHODS.get(row.method or row.name).towers
        assert [row.on(data) for data in table.data] == [towers[data] in served for data in table.data]


def test_rows_with_a_budget_have_the_same_one_and_nothing_set_by_hand() -> None:
    table = PAPER["search"]
    racing = [row for row in table.methods if row.budget]
    assert {row.budget for row in racing} == {"300"}
    assert {tuple(row.settings) for row in racing} == {()}
    assert {row.name for row in racing if row.options} == {"auto_metagraphs", "auto_random"}
    plans = [table.plan(row, data, 0, "cpu") for row, data in table.cells if row in racing]
    assert {plan.settings for plan in plans if plan.method.name == "auto"} == {Settings()}
    assert {len(table.run_seeds(row)) for row in racing} == {3, 5}


def test_rows_of_a_table_choose_their_epoch_by_one_figure() -> None:
    for name, select in (("classification", "loss"), ("recommendation", "score")):
        table = PAPER[name]
        plans = [table.plan(row, data, 0, "cpu") for row in table.methods for data in table.data]
        assert {plan.settings.select for plan in plans} == {select}


def test_all_settings_that_were_chosen_are_of_a_row() -> None:
    tuned = [table for table in PAPER.values() if table.tuned]
    (path,) = {Path(table.tuned) for table in tuned}
    wanted = {
        (row.tuned_as or row.name, d)
        for t in tuned
        for row in t.methods
        for d in t.data
        if t.choice(row, d) is not None
    }
    assert {(line["method"], line["data"]) for line in read_lines(path)} == wanted
    for table in tuned:
        untuned = {row.name for row, data in table.cells if not row.published and table.choice(row, data) is None}
        assert untuned <= {"diffmg_authors"} | {row.name for row in table.methods if "not tuned" in row.note}


def test_a_search_takes_the_authors_options_and_settings() -> None:
    published = published_for("imdb")
    assert published is not None
    plan = plan_of(Row("row", "diffmg", {"epsilon": 0.5}, {"dim": 8}))
    assert plan.method == MethodSpec("diffmg", {**published.search, "epsilon": 0.5})
    assert plan.settings == replace(Settings(**published.train), dim=8)
    assert (plan.repeats, plan.seed) == (2, 3)


@pytest.mark.parametrize(("row", "data"), [(Row("rgcn"), "imdb"), (Row("random"), "academic:120")])
def test_baselines_and_data_without_anything_published_take_plain_defaults(row: Row, data: str) -> None:
    assert plan_of(row, data) == Plan(MethodSpec(row.name), Source(data), Settings(), 2, 3, "cpu")


def test_published_meta_graphs_are_trained() -> None:
    published = published_for("imdb")
    assert published is not None
    assert plan_of(Row("row", published=True)).method.make() == Given(published.metagraphs)
    with pytest.raises(DiffmgError, match="'shop:160'"):
        plan_of(Row("row", published=True), "shop:160")


def test_settings_of_a_row_go_before_those_of_the_table() -> None:
    plan = plan_of(Row("rgcn", settings={"lr": 0.5}), settings={"lr": 0.25, "dim": 8})
    assert plan.settings == Settings(lr=0.5, dim=8)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row("row", "rgnc"), "did you mean 'rgcn'"),
        (Row("gcn", options={"layer": 2}), "did you mean 'layers'"),
        (Row("gcn", settings={"lrr": 1}), "did you mean 'lr'"),
        (Row("diffmg", options={"search_seeds": 0}), "search_seeds >= 1"),
    ],
)
def test_what_cannot_be_planned_is_named(row: Row, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        plan_of(row)


def test_a_plan_file_is_read(tmp_path: Path) -> None:
    rows = Row("mlp"), Row("random", note="drawn")
    wanted = Table("small", "accuracy", ("acm", "academic:120"), 2, rows, paper={"mlp": {"acm": (1.5, 0.25)}})
    assert written(tmp_path) == wanted
    more = 'seeds = 2\ntuned = "best.jsonl"\ntuning = { budget = 3 }'
    table = written(tmp_path, SMALL.replace("seeds = 2", more))
    assert (table.tuning, Path(table.tuned)) == (Tuning(3), tmp_path / "best.jsonl")


@pytest.mark.parametrize(("given", "budget"), [("30", Budget(trainings=30)), ('"2m"', Budget(seconds=120.0))])
def test_a_row_may_have_a_budget(given: str, budget: Budget, tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 2", "seeds = 1").replace("[methods.mlp]", f"[methods.mlp]\nbudget = {given}")
    table = written(tmp_path, text)
    plans = [table.plan(row, "acm", 7, "cpu") for row in table.methods]
    assert [(plan.budget, plan.seed, plan.repeats) for plan in plans] == [(budget, 7, 1), (None, 7, 1)]


def test_a_row_may_be_on_some_of_the_data_sets_alone(tmp_path: Path) -> None:
    table = written(tmp_path, SMALL.replace("[methods.mlp]", '[methods.mlp]\ndata = ["academic:120"]'))
    assert [(row.name, data) for row, data in table.cells] == [
        ("random", "acm"),
        ("mlp", "academic:120"),
        ("random", "academic:120"),
    ]
    assert [row.name for row, _ in table.part(["acm"], [], None).cells] == ["random"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("note =", "nota =", "did you mean 'note'"),
        ("note =", 'data = ["amc"]\nnote =', "did you mean 'acm'"),
        ("seeds = 2", "", "`seeds` must be given"),
        ("seeds = 2", "seeds = 'two'", "seeds: must be a whole number"),
        ("seeds = 2", "seeds = 0", "`seeds >= 1` must hold"),
        ("seeds = 2", "seeds = 2\npipelines = 0", "`pipelines >= 1` must hold"),
        ("seeds = 2", "seeds 2", "must be TOML"),
        ("[methods.", "[method.", "`methods` must hold a table"),
        ("[methods.mlp]", "methods.mlp = 3", "`methods` must hold a table"),
        ('kind = "accuracy"', 'kind = "acuracy"', "acuracy"),
        ("[paper.mlp]", "[paper.mpl]", "did you mean 'mlp'"),
        ("[paper.mlp]\nacm = [1.5, 0.25]", "[reruns.HGB.mpl]\nacm = 1.5", "did you mean 'mlp'"),
        ("[paper.mlp]", "[papr.mlp]", "did you mean 'paper'"),
    ],
)
def test_a_plan_file_that_cannot_be_read_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=words):
        written(tmp_path, SMALL.replace(old, new))


def test_a_part_keeps_the_order_of_the_table(tmp_path: Path) -> None:
    table = written(tmp_path)
    assert table.part([], [], None) == table
    part = table.part(["academic:120", "acm"], ["random"], 5)
    assert (part.data, [row.name for row in part.methods], part.seeds) == (table.data, ["random"], 5)
    assert (part.paper, table.part([], ["mlp"], None).paper) == ({}, table.paper)


def test_another_number_of_seeds_is_that_of_every_row() -> None:
    table = table_of(Row("mlp", seeds=7), Row("gcn"))
    assert [table.plan(row, "acm", 0, "cpu").repeats for row in table.methods] == [7, 2]
    part = table.part([], [], 4)
    assert [part.plan(row, "acm", 0, "cpu").repeats for row in part.methods] == [4, 4]


def test_seeds_of_whole_pipelines_are_their_number() -> None:
    table = replace(table_of(Row("mlp", pipelines=7), Row("gcn"), pipelines=3), kind="search", seeds=1)
    part = table.part([], [], 2)
    assert [list(part.run_seeds(row, 5)) for row in part.methods] == [[5, 6], [5, 6]]
    assert {part.plan(row, "acm", 0, "cpu").repeats for row in part.methods} == {1}


def test_a_part_that_is_not_in_the_table_is_named(tmp_path: Path) -> None:
    table = written(tmp_path)
    for data, rows, seeds, words in (
        (["imdb"], [], None, "imdb"),
        ([], ["mpl"], None, "mlp"),
        ([], [], 0, "seeds >= 1"),
    ):
        with pytest.raises(DiffmgError, match=words):
            table.part(data, rows, seeds)


def test_runs_have_seeds_of_their_own() -> None:
    table = table_of(Row("mlp"), Row("gcn", pipelines=2), pipelines=3)
    assert [list(table.run_seeds(row, 5)) for row in table.methods] == [[5, 6, 7], [5, 6]]


CHOSEN = Tuned("mlp", "acm", Tuning(3), "score", 0.5, 0.5, 0.5, {"lr": 0.125}, {"layers": 3})


def tuned_table(folder: Path, *rows: Row) -> Table:
    write_lines(folder / "tuned.jsonl", [to_plain(CHOSEN)])
    return table_of(*rows, tuning=Tuning(3), tuned=str(folder / "tuned.jsonl"))


def test_plans_have_what_was_chosen(tmp_path: Path) -> None:
    row = Row("mlp", settings={"lr": 0.25, "dim": 8})
    table = tuned_table(tmp_path, row)
    plan = table.plan(row, "acm", 0, "cpu")
    assert (plan.settings, plan.method) == (Settings(lr=0.125, dim=8), MethodSpec("mlp", {"layers": 3}))
    assert table.plan(row, "academic:120", 0, "cpu").settings.lr == 0.25
    assert replace(table, tuned="").plan(row, "acm", 0, "cpu") == table.untuned_plan(row, "acm", 0, "cpu")


def test_a_row_may_take_what_was_chosen_for_another_or_nothing(tmp_path: Path) -> None:
    rows = Row("gcn", tuned_as="mlp"), Row("gcn"), Row("mlp", published=True), Row("mlp", budget="9")
    table = tuned_table(tmp_path, *rows)
    assert [table.choice(row, "acm") for row in table.methods] == [CHOSEN, None, None, None]


@pytest.mark.parametrize("other", [{"tuning": Tuning(4)}, {"tuning": Tuning(3, "halving")}, {"select": "loss"}])
def test_settings_chosen_in_another_way_are_not_taken(other: dict[str, Any], tmp_path: Path) -> None:
    table = tuned_table(tmp_path, Row("mlp"))
    write_lines(tmp_path / "tuned.jsonl", [to_plain(replace(CHOSEN, **other))])
    with pytest.raises(DiffmgError, match="chosen in one way"):
        table.plan(table.methods[0], "acm", 0, "cpu")

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from diffmg.core.settings import Settings
from diffmg.methods.baselines import BASELINES, make_baseline
from diffmg.methods.search import make_strategy
from diffmg.reproduction import Method, Reproduction, read_reproduction
from diffmg.runs.sources import published_for
from diffmg.tuning import read_tuned

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = ("classification", "recommendation", "ablation", "cost", "curves", "architectures")
TABLES = {name: read_reproduction(BENCHMARKS / f"ding2021_{name}.toml") for name in NAMES}
ROWS = [pytest.param(t, m, id=f"{name}-{m.name}") for name, t in TABLES.items() for m in t.methods]

METHODS = "metapath2vec gcn gat han magnn gtn hgt diffmg"
WITH_GEMS = "metapath2vec gcn gat han magnn genetic gtn hgt diffmg"
RECOMMENDATION = {
    "amazon": "58.17 66.64 55.70 67.35 68.26 70.66 71.82 74.75 75.28",
    "yelp": "51.98 58.98 56.55 64.28 64.73 65.12 66.27 68.07 68.77",
    "douban": "51.60 77.95 77.58 82.65 82.44 83.00 83.26 83.38 83.78",
}
CLASSIFICATION = {
    "dblp": "89.93 90.46 93.92 92.13 92.81 93.98 93.67 94.45",
    "acm": "67.13 92.56 92.50 91.20 91.15 92.62 91.83 92.65",
    "imdb": "40.82 55.19 53.37 55.09 56.44 59.68 59.35 61.04",
}
VARIANTS = "epsilon_0 epsilon_03 epsilon_05 single_level darts"
ABLATION = {
    "amazon": "74.80 74.51 75.28 74.80 74.54",
    "yelp": "68.77 68.42 67.90 68.94 66.72",
    "douban": "83.78 83.58 83.45 83.70 83.68",
}
SEARCHES = "genetic darts snas nasp diffmg"
COST = {"amazon": "800 8.9 3.9 2.3 0.7", "yelp": "1500 15.8 7.0 4.0 1.1", "douban": "2000 19.4 8.6 5.0 1.6"}
"""Rows of the paper's tables 2, 3, 6 and 5 as they are printed there, each with the methods of its columns."""
RERUNS = {"gcn": {"dblp": 91.48, "acm": 92.28, "imdb": 59.11}, "gat": {"dblp": 94.18, "acm": 92.49, "imdb": 58.86}}
"""Macro F1 in HGB, on the splits of the paper."""

SMALL = """
title = "small"
kind = "accuracy"
data = ["acm", "academic:120"]
seeds = 2
[methods.mlp]
baseline = "mlp"
[methods.random]
strategy = "random"
[paper.mlp]
acm = [1.5, 0.25]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "table.toml"
    path.write_text(text, encoding="utf-8")
    return path


def small(folder: Path) -> Reproduction:
    return read_reproduction(written(folder, SMALL))


@pytest.mark.parametrize(("table", "method"), ROWS)
def test_every_method_of_the_paper_s_tables_can_be_made(table: Reproduction, method: Method) -> None:
    for data in table.data:
        plan = table.plan(method, data, 0, "cpu")
        assert (plan.data, plan.repeats, plan.device) == (data, method.seeds or table.seeds, "cpu")
        if plan.baseline:
            make_baseline(plan.baseline, plan.baseline_options)
            assert not plan.metagraphs
        else:
            make_strategy(plan.strategy, plan.strategy_options)
        assert bool(plan.metagraphs) == method.published


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_belongs_to_a_method_and_a_data_set(name: str) -> None:
    table = TABLES[name]
    assert set(table.paper) <= {m.name for m in table.methods}
    for figures in table.paper.values():
        assert set(figures) == set(table.data)
        for figure in figures.values():
            if table.kind == "cost":
                assert len(figure) in (1, 2)
                assert figure == sorted(figure, reverse=True)
                assert figure[-1] > 0
            else:
                assert 0 < figure[1] < figure[0] < 100


@pytest.mark.parametrize(
    ("name", "methods", "rows"),
    [
        ("classification", METHODS, CLASSIFICATION),
        ("recommendation", WITH_GEMS, RECOMMENDATION),
        ("ablation", VARIANTS, ABLATION),
    ],
)
def test_scores_are_the_paper_s(name: str, methods: str, rows: dict[str, str]) -> None:
    paper = TABLES[name].paper
    for data, row in rows.items():
        assert [paper[m][data][0] for m in methods.split()] == [float(text) for text in row.split()]


def test_minutes_are_the_paper_s() -> None:
    for data, row in COST.items():
        assert [TABLES["cost"].paper[m][data][0] for m in SEARCHES.split()] == [float(text) for text in row.split()]
    assert TABLES["cost"].paper["darts"]["yelp"] == [15.8, 12.2]
    assert TABLES["cost"].paper["evaluation"] == {"amazon": [0.5], "yelp": [0.7], "douban": [1.0]}


@pytest.mark.parametrize(
    ("name", "method", "data", "deviation"),
    [
        ("classification", "metapath2vec", "imdb", 1.48),
        ("classification", "gcn", "acm", 0.20),
        ("classification", "diffmg", "dblp", 0.15),
        ("recommendation", "gat", "amazon", 1.13),
        ("recommendation", "hgt", "yelp", 0.35),
        ("recommendation", "genetic", "douban", 0.05),
        ("ablation", "darts", "amazon", 0.22),
        ("ablation", "single_level", "douban", 0.03),
    ],
)
def test_deviations_are_the_paper_s(name: str, method: str, data: str, deviation: float) -> None:
    assert TABLES[name].paper[method][data][1] == deviation


def test_the_authors_meta_graphs_have_the_figures_of_their_search() -> None:
    for name in ("classification", "recommendation"):
        assert TABLES[name].paper["published"] == TABLES[name].paper["diffmg"]


def test_data_sets_and_seeds_are_the_paper_s() -> None:
    labelled, rated = ("dblp", "acm", "imdb"), ("amazon", "yelp", "douban")
    assert [TABLES[n].data for n in NAMES] == [labelled, rated, rated, rated, rated[1:], labelled + rated]
    assert [TABLES[n].seeds for n in NAMES[:4]] == [5, 5, 5, 1]
    searched = [m for n in NAMES[:2] for m in TABLES[n].methods if not m.baseline]
    assert {m.seeds for m in searched} == {10}


def test_reruns_are_those_of_hgb() -> None:
    assert TABLES["classification"].reruns == {"HGB": RERUNS}
    assert not any(TABLES[name].reruns for name in NAMES[1:])


def test_every_rival_of_a_table_is_tuned_with_one_budget() -> None:
    """Also where several tables take what was chosen for one of them."""
    tuned = {name: table for name, table in TABLES.items() if table.budget}
    assert set(tuned) == {"classification", "recommendation", "curves"}
    assert {table.tuned for table in tuned.values()} == {BENCHMARKS / "tuned"}
    for table in tuned.values():
        assert [m for m in table.methods if table.choice(m, table.data[0]) is None] == [
            m for m in table.methods if m.published or not m.tune
        ]
    for name in ("classification", "recommendation"):
        places = {tuned[name].choice(m, data) for m in tuned[name].methods for data in tuned[name].data}
        assert {read_tuned(place).budget for place in places if place is not None and place.exists()} == {
            tuned[name].budget
        }


def test_a_method_that_takes_the_settings_of_another_names_one_of_its_table() -> None:
    named = [(table, m) for table in TABLES.values() for m in table.methods if m.tuned_as]
    assert named
    for table, method in named:
        (other,) = (m for m in table.methods if m.name == method.tuned_as)
        assert not (other.published or other.tuned_as)


def test_every_rival_that_can_do_a_task_is_in_its_table() -> None:
    rated = {m.baseline for m in TABLES["recommendation"].methods if m.baseline}
    labelled = {m.baseline for m in TABLES["classification"].methods if m.baseline}
    assert rated == {name for name, _ in BASELINES.items()}
    assert rated - labelled == {"matrix_factorisation", "lightgcn", "popularity"}


def test_strategies_take_the_authors_settings() -> None:
    published = published_for("imdb")
    assert published is not None
    plan = Method("row").plan("imdb", 10, 3, "cpu")
    assert plan.train == Settings(**published.train) != Settings()
    assert plan.strategy_options == published.search
    assert (plan.strategy, plan.search_seeds, plan.seed, plan.metagraphs) == ("diffmg", 3, 3, ())


def test_options_change_the_authors() -> None:
    plan = Method("row", strategy_options={"epsilon": 0.5}).plan("imdb", 1, 0, "cpu")
    assert (plan.strategy_options["epsilon"], plan.strategy_options["epochs"]) == (0.5, 50)


def test_other_strategies_take_the_authors_training_and_what_they_have_of_their_search() -> None:
    published = published_for("imdb")
    assert published is not None
    shared = {name: value for name, value in published.search.items() if name != "epsilon"}
    assert {"epochs", "epsilon"} <= set(published.search)
    for strategy, options in (("random", {}), ("darts", shared), ("diffmg", published.search)):
        plan = Method("row", strategy=strategy).plan("imdb", 1, 0, "cpu")
        assert plan.strategy_options == options
        assert plan.train == Settings(**published.train)


def test_baselines_take_plain_defaults() -> None:
    plan = Method("row", baseline="gcn", baseline_options={"all": {"layers": 3}}).plan("imdb", 1, 0, "cpu")
    assert plan == Plan("imdb", baseline="gcn", baseline_options={"layers": 3}, device="cpu")


@pytest.mark.parametrize("method", [Method("row", baseline="gcn"), Method("row", strategy="random")])
def test_data_without_anything_published_takes_plain_defaults(method: Method) -> None:
    assert method.plan("academic:120", 1, 0, "cpu").train == Settings()


@pytest.mark.parametrize("row", [Method("row", baseline="gcn"), Method("row")], ids=["baseline", "strategy"])
def test_settings_are_changed_for_all_and_then_for_one(row: Method) -> None:
    changes = {"all": {"dim": 8, "lr": 0.5}, "acm": {"lr": 0.25}, "imdb": {"dim": 4}}
    method, plain = replace(row, settings=changes), row.plan("acm", 1, 0, "cpu").train
    assert method.plan("acm", 1, 0, "cpu").train == replace(plain, dim=8, lr=0.25)
    assert method.plan("dblp", 1, 0, "cpu").train.lr == 0.5
    assert method.plan("imdb", 1, 0, "cpu").train.dim == 4


def test_published_meta_graphs_are_trained() -> None:
    published = published_for("amazon")
    assert published is not None
    assert Method("row", published=True).plan("amazon", 1, 0, "cpu").metagraphs == published.metagraphs
    with pytest.raises(DiffmgError, match="method 'row' needs published meta graphs, but got 'shop:160'"):
        Method("row", published=True).plan("shop:160", 1, 0, "cpu")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Method("row", settings={"all": {"lrr": 1}}), "unknown training setting 'lrr'; did you mean 'lr'"),
        (Method("row", settings={"all": {"dim": 0}}), "`dim >= 1` must hold"),
        (Method("row", search_seeds=0), "`search_seeds >= 1` must hold"),
        (Method("row", baseline="gcn", published=True), "a baseline has no meta graph"),
    ],
)
def test_what_cannot_be_planned_is_named(method: Method, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        method.plan("acm", 1, 0, "cpu")


def test_unknown_data_are_named() -> None:
    with pytest.raises(DiffmgError, match="unknown data set 'acmm'; did you mean 'acm'"):
        Method("row").plan("acmm", 1, 0, "cpu")


def test_a_plan_file_is_read(tmp_path: Path) -> None:
    table = small(tmp_path)
    assert table == Reproduction(
        "small",
        "accuracy",
        ("acm", "academic:120"),
        2,
        (Method("mlp", baseline="mlp"), Method("random", strategy="random")),
        {"mlp": {"acm": [1.5, 0.25]}},
        tuned=tmp_path,
    )
    assert (table.budget, table.reruns) == (0, {})


def test_a_plan_file_may_say_more(tmp_path: Path) -> None:
    more = 'seeds = 7\ntuned_as = "mlp"\nscale = 20.0\nnote = "a word"\nstrategy ='
    text = SMALL.replace("strategy =", more) + "[reruns.HGB.mlp]\nacm = 1.25\n"
    table = read_reproduction(written(tmp_path, text))
    random = table.methods[1]
    assert (random.seeds, random.tuned_as, random.scale, random.note) == (7, "mlp", 20.0, "a word")
    assert table.reruns == {"HGB": {"mlp": {"acm": 1.25}}}
    assert table.part([], ["mlp"], None).reruns == table.reruns
    assert table.part([], ["random"], None).reruns == {"HGB": {}}


def test_settings_of_a_table_are_those_of_every_row_that_does_not_say_otherwise(tmp_path: Path) -> None:
    text = SMALL + "[settings]\ndim = 8\nlr = 0.5\n[methods.random.settings]\nall = { lr = 0.25 }\nacm = { dim = 4 }\n"
    mlp, random = read_reproduction(written(tmp_path, text)).methods
    assert mlp.settings == {"all": {"dim": 8, "lr": 0.5}}
    assert random.settings == {"all": {"dim": 8, "lr": 0.25}, "acm": {"dim": 4}}


def test_rows_of_a_table_choose_their_epoch_by_one_figure() -> None:
    for name, select in (("classification", "loss"), ("recommendation", "score")):
        plans = [TABLES[name].plan(m, data, 0, "cpu") for m in TABLES[name].methods for data in TABLES[name].data]
        assert {plan.train.select for plan in plans} == {select}


def test_the_paper_may_be_silent(tmp_path: Path) -> None:
    assert read_reproduction(written(tmp_path, SMALL.partition("[paper")[0])).paper == {}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("strategy =", "stratgy =", "unknown field of method 'random': 'stratgy'; did you mean 'strategy'"),
        ("strategy =", "name =", "unknown field of method 'random': 'name'"),
        ("seeds = 2", "", r"has seeds \(int\), but got None"),
        ("seeds = 2", "seeds = 'two'", r"has seeds \(int\), but got 'two'"),
        ("seeds = 2", "seeds = 0", "`seeds >= 1` must hold"),
        ('title = "small"', "", r"has title \(str\), but got None"),
        ("[methods.", "[method.", r"has methods \(dict\), but got None"),
        ("seeds = 2", "seeds 2", "Expected '=' after a key"),
        (
            '[methods.mlp]\nbaseline = "mlp"',
            "methods.mlp = 3",
            "'methods.mlp' of a plan file must be a table, but got 3",
        ),
        ('kind = "accuracy"', 'kind = "acuracy"', "unknown kind of table 'acuracy'; did you mean 'accuracy'"),
        ("[paper.mlp]", "[paper.mpl]", "unknown method of the paper's figures: 'mpl'; did you mean 'mlp'"),
        ("[paper.mlp]", "[reruns.HGB.mpl]", "unknown method of the paper's figures: 'mpl'; did you mean 'mlp'"),
        ("[paper.mlp]\nacm =", "[reruns]\nHGB =", "'reruns.HGB' of a plan file must be a table"),
        ("seeds = 2", "seeds = 2\nbudget = -1", "`budget >= 0` must hold, but got seeds=2, budget=-1"),
        ("seeds = 2", "seeds = 2\nbudget = '9'", r"has budget \(int\), but got '9'"),
        ("seeds = 2", "seeds = 2\nsettings = 'loss'", r"has settings \(dict\), but got 'loss'"),
        ("seeds = 2", "seeds = 2\ntuned = 9", r"has tuned \(str\), but got 9"),
        ("[paper.mlp]", "[papr.mlp]", "unknown field of a plan file: 'papr'; did you mean 'paper'"),
        (
            "strategy =",
            "settings = { lr = 0.1 }\nstrategy =",
            "'methods.random.settings.lr' of a plan file must be a table",
        ),
        ('data = ["acm", "academic:120"]', 'data = "acm"', r"has data \(list\), but got 'acm'"),
    ],
)
def test_a_plan_file_that_cannot_be_read_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=words):
        read_reproduction(written(tmp_path, SMALL.replace(old, new)))


def test_a_method_may_have_seeds_of_its_own(tmp_path: Path) -> None:
    table = small(tmp_path)
    method = replace(table.methods[0], seeds=7)
    table = replace(table, methods=(method, table.methods[1]))
    assert [table.plan(m, "acm", 0, "cpu").repeats for m in table.methods] == [7, 2]
    assert [table.part([], [], None).plan(m, "acm", 0, "cpu").repeats for m in table.methods] == [7, 2]
    part = table.part([], [], 4)
    assert [part.plan(m, "acm", 0, "cpu").repeats for m in part.methods] == [4, 4]
    assert table.methods[0].seeds == 7


def test_a_plan_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.toml", tmp_path):
        with pytest.raises(DiffmgError, match=r"a table needs its plan file, but got .*--plan"):
            read_reproduction(path)


def test_a_part_keeps_the_order_of_the_table(tmp_path: Path) -> None:
    table = small(tmp_path)
    assert table.part([], [], None) == table
    part = table.part(["academic:120", "acm"], ["random"], 5)
    assert (part.data, [m.name for m in part.methods], part.seeds) == (table.data, ["random"], 5)
    assert table.part(["academic:120"], ["random", "mlp"], None).methods == table.methods
    assert part.paper == {}
    assert table.part([], ["mlp"], None).paper == table.paper


def test_a_part_that_is_not_in_the_table_is_named(tmp_path: Path) -> None:
    table = small(tmp_path)
    with pytest.raises(DiffmgError, match="unknown method of this table: 'mpl'; did you mean 'mlp'"):
        table.part([], ["mlp", "mpl"], None)
    with pytest.raises(DiffmgError, match=r"unknown data set of this table: 'imdb'.*Known: academic:120, acm"):
        table.part(["imdb"], [], None)
    with pytest.raises(DiffmgError, match="`seeds >= 1` must hold"):
        table.part([], [], 0)

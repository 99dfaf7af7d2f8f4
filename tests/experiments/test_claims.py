"""What the README and the page of results say in words, held against the result files that its tables are made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diffmg.reproduction import done_runs, read_reproduction, tables

ROOT = Path(__file__).parents[2]
FILES = ROOT / "benchmarks" / "results" / "reproduce"
TABLES = {
    name: read_reproduction(ROOT / "benchmarks" / f"ding2021_{name}.toml")
    for name in ("classification", "recommendation", "cost", "pipelines")
}
RUNS = {name: done_runs(table, FILES) for name, table in TABLES.items()}
CLASSIFICATION, RECOMMENDATION = ("dblp", "acm", "imdb"), ("amazon", "yelp", "douban")
EVERY = (*CLASSIFICATION, *RECOMMENDATION)
PAGE = " ".join(
    " ".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results.md")).split()
)


def table_of(data: str) -> str:
    return "classification" if data in CLASSIFICATION else "recommendation"


def ours(method: str, data: str) -> float:
    """The mean of the test scores, in percent."""
    return 100 * RUNS[table_of(data)][method, data].mean("test")


def spread(method: str, data: str) -> float:
    """Their standard deviation."""
    return 100 * RUNS[table_of(data)][method, data].std("test")


def whole(method: str, data: str) -> float:
    """The mean over whole pipelines."""
    return 100 * RUNS["pipelines"][method, data].mean("test")


def whole_spread(method: str, data: str) -> float:
    return 100 * RUNS["pipelines"][method, data].std("test")


def paper(method: str, data: str) -> float:
    return float(TABLES[table_of(data)].paper[method][data][0])


def best(data: str, *but: str) -> float:
    return max(ours(m.name, data) for m in TABLES[table_of(data)].methods if m.name not in but)


def search_seconds(name: str, data: str) -> float:
    """Of one search, as the table of cost has it."""
    method = next(m for m in TABLES["cost"].methods if m.name == name)
    return tables.search_seconds(method, RUNS["cost"][name, data])


CLAIMS: dict[str, Callable[[], bool]] = {
    "less than a second on a GPU; the best of three finds meta graphs not far from the authors'": lambda: (
        all(search_seconds("diffmg", d) < 1 for d in RECOMMENDATION)
        and all(abs(ours("diffmg", d) - ours("published", d)) < 0.8 for d in EVERY)
    ),
    "a single one depends on luck": lambda: all(whole_spread("diffmg_once", d) > 1 for d in EVERY),
    "(`--strategy random_search`, or `genetic`, which takes minutes) are better on most networks": lambda: (
        sum(ours("random_search", d) > ours("diffmg", d) for d in EVERY) >= 4
        and sum(ours("genetic", d) > ours("diffmg", d) for d in EVERY) >= 4
        and all(100 < search_seconds("genetic", d) < 1000 for d in RECOMMENDATION)
    ),
    "and depend less on it": lambda: all(
        whole_spread("random_search", d) < whole_spread("diffmg_once", d) for d in EVERY
    ),
    "the best of three by validation is above it everywhere": lambda: all(
        whole("diffmg", d) > whole("diffmg_once", d) for d in EVERY
    ),
    "but only about level with the best of three random meta graphs": lambda: all(
        abs(whole("diffmg", d) - whole("random", d)) < 0.8 for d in EVERY
    ),
    "Averaging everything is above both on all networks but DBLP": lambda: all(
        (whole("average", d) > max(whole("diffmg", d), whole("random", d))) == (d != "dblp") for d in EVERY
    ),
    "are above everything that searches less, on every network": lambda: all(
        whole("random_search", d) > max(whole(m, d) for m in ("diffmg_once", "diffmg", "random", "average"))
        for d in EVERY
    ),
    "and hardly depend on the seed on recommendation": lambda: all(
        whole_spread("random_search", d) < 0.3 for d in RECOMMENDATION
    ),
    "SeHGNN on node classification and HGT on recommendation search nothing and are about as good or better": lambda: (
        all(ours("sehgnn", d) > ours("diffmg", d) - 0.1 for d in CLASSIFICATION)
        and all(ours("hgt", d) > ours("diffmg", d) - 0.1 for d in RECOMMENDATION)
    ),
    "they reach the paper's figures on the recommendation networks within a standard deviation or two": lambda: all(
        abs(ours("published", d) - paper("published", d)) < 0.2 for d in RECOMMENDATION
    ),
    "a little below on DBLP and ACM and well below on IMDB": lambda: (
        all(paper("published", d) - 0.5 < ours("published", d) < paper("published", d) for d in ("dblp", "acm"))
        and ours("published", "imdb") < paper("published", "imdb") - 1
    ),
    "They are above the best of three of DiffMG's searches on DBLP and on recommendation": lambda: all(
        ours("random_search", d) > ours("diffmg", d) for d in ("dblp", *RECOMMENDATION)
    ),
    "and a little below on ACM and IMDB": lambda: all(
        0 < ours("diffmg", d) - ours("random_search", d) < 0.7 for d in ("acm", "imdb")
    ),
    "which the paper has far below DiffMG": lambda: all(
        paper("genetic", d) < paper("diffmg", d) - 0.5 for d in RECOMMENDATION
    ),
    "it is above DiffMG's search on every network": lambda: all(ours("genetic", d) > ours("diffmg", d) for d in EVERY),
    "at the cost of more than a thousand such searches": lambda: all(
        search_seconds("genetic", d) > 1000 * search_seconds("diffmg", d) for d in RECOMMENDATION
    ),
    "and level with the authors' own meta graphs or above them": lambda: all(
        ours("genetic", d) > ours("published", d) - 0.05 for d in EVERY
    ),
    "is about level with the best of three searches there or above it": lambda: all(
        ours("average", d) > ours("diffmg", d) - 0.1 for d in RECOMMENDATION
    ),
    "and above the paper's figure on Yelp. On DBLP it is clearly below": lambda: (
        ours("average", "yelp") > paper("diffmg", "yelp") and ours("average", "dblp") < ours("diffmg", "dblp") - 1
    ),
    "The baselines are much stronger than in the paper**, most of all on recommendation": lambda: all(
        ours(m, d) > paper(m, d) + 0.8 for m in ("gcn", "gat", "han", "magnn") for d in RECOMMENDATION
    ),
    "is above the paper's figures on DBLP, Amazon and Yelp and below on ACM, Douban and most of all IMDB": lambda: (
        all((ours("gtn", d) > paper("gtn", d)) == (d in ("dblp", "amazon", "yelp")) for d in EVERY)
        and min(EVERY, key=lambda d: ours("gtn", d) - paper("gtn", d)) == "imdb"
    ),
    "One of *random* on DBLP": lambda: spread("random", "dblp") > 10,
    "one of *simple_hgn* on ACM": lambda: spread("simple_hgn", "acm") > 10,
    "one of *magnn* on Yelp": lambda: spread("magnn", "yelp") > 1,
    "is at or near the top on node classification": lambda: all(
        ours("sehgnn", d) > best(d, "sehgnn") - 0.2 for d in CLASSIFICATION
    ),
    "on Amazon LightGCN, which sees the observed choices alone, is above every method": lambda: (
        ours("lightgcn", "amazon") > best("amazon", "lightgcn")
    ),
    "comes close to the best on Yelp and Douban": lambda: all(
        ours("mlp", d) > best(d) - 0.8 for d in ("yelp", "douban")
    ),
    "is above every searched meta graph on Yelp": lambda: (
        ours("hgt", "yelp")
        > max(ours(m, "yelp") for m in ("diffmg", "diffmg_authors", "genetic", "random", "random_search"))
    ),
}
"""By what is written, whether the result files say so too."""


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_on_the_page_and_true(claim: str) -> None:
    assert claim in PAGE
    assert CLAIMS[claim]()


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_has_its_trainings(name: str) -> None:
    table = TABLES[name]
    assert set(RUNS[name]) == {(m.name, d) for m in table.methods for d in table.data}
    for method in table.methods:
        for data in table.data:
            runs = method.pipelines or table.pipelines
            assert len(RUNS[name][method.name, data].trained) == runs * (method.seeds or table.seeds)


@pytest.mark.parametrize("method", ["gcn", "gat"])
@pytest.mark.parametrize("data", CLASSIFICATION)
def test_gcn_and_gat_are_where_others_have_them(method: str, data: str) -> None:
    """HGB ran them again on these splits with features, tuned; less than a point below is the same."""
    assert ours(method, data) > TABLES["classification"].reruns["HGB"][method][data] - 1


@pytest.mark.parametrize("data", EVERY)
def test_hgt_is_where_the_paper_has_it(data: str) -> None:
    assert ours("hgt", data) > paper("hgt", data) - 1

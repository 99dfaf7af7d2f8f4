from __future__ import annotations

from pathlib import Path

import pytest
from made_cells import cell

from experiments.claims import CLAIMS, Scores, unfounded
from experiments.documents import Done
from experiments.spec import Row, Table

SCORES = Scores(
    {
        "classification": Done(
            Table(
                "t",
                "accuracy",
                ("acm",),
                2,
                (Row("gcn"), Row("hgt")),
                paper={"gcn": {"acm": (90.0, 0.5)}},
                reruns={"HGB": {"gcn": {"acm": 91.5}}},
            ),
            {("gcn", "acm"): cell(0.5, 0.75), ("hgt", "acm"): cell(0.25, 0.25)},
        ),
        "pipelines": Done(Table("t", "accuracy", ("acm",), 1, (Row("gcn"),)), {("gcn", "acm"): cell(0.125, 0.375)}),
        "cost": Done(
            Table("t", "cost", ("acm",), 1, (Row("genetic", scale=10.0),)),
            {("genetic", "acm"): cell(0.5, search_0=2.0)},
        ),
    }
)


def test_scores_are_those_of_the_tables() -> None:
    assert (SCORES.ours("gcn", "acm"), SCORES.whole("gcn", "acm")) == (62.5, 25.0)
    assert SCORES.std("gcn", "acm") == SCORES.whole_std("gcn", "acm") == pytest.approx(17.678, abs=0.001)
    assert (SCORES.paper("gcn", "acm"), SCORES.hgb("gcn", "acm")) == (90.0, 91.5)
    assert (SCORES.best("acm"), SCORES.best("acm", "gcn")) == (62.5, 25.0)
    assert SCORES.seconds("genetic", "acm") == 20.0


def test_a_sentence_must_be_written_and_hold() -> None:
    claims = {
        "gcn is above hgt": lambda s: s.ours("gcn", "acm") > s.ours("hgt", "acm"),
        "hgt is above gcn": lambda s: s.ours("hgt", "acm") > s.ours("gcn", "acm"),
        "gcn is best": lambda s: True,
        "gat": lambda s: s.ours("gat", "acm") > 0,
    }
    found = list(unfounded("Here gcn is\n  above hgt, and hgt is above gcn, as gat was not run.", SCORES, claims))
    assert [words.partition(":")[0] for words in found] == ["not so", "not written any more", "not so"]
    assert ["hgt is above gcn" in found[0], "gcn is best" in found[1]] == [True, True]
    assert list(unfounded("gcn is above hgt", SCORES, {"gcn is above hgt": claims["gcn is above hgt"]})) == []


def test_each_claim_is_a_sentence_of_its_own() -> None:
    root = Path(__file__).parents[2]
    text = " ".join((root / page).read_text(encoding="utf-8") for page in ("README.md", "docs/results.md"))
    words = " ".join(text.split())
    assert {sentence: words.count(sentence) for sentence in CLAIMS if words.count(sentence) > 1} == {}

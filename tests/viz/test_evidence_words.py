"""A race in words: what was chosen, and whose picture is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffmg.core.run import Evidence, Share
from diffmg.viz.evidence import nothing, words_of
from reports import run_of


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ({1: 1.0}, ""),
        ({0: 0.75, 1: 0.25}, "  the picture is of the single model, which has 25% of its votes"),
        ({0: 1.0}, "  the picture is of the single model, which has none of its votes"),
    ],
)
def test_how_much_of_the_ensemble_the_picture_shows(shares: dict[int, float], told: str) -> None:
    votes = tuple(Share(candidate, share) for candidate, share in shares.items())
    evidence = Evidence(2, 0, (), (), "folds", (0.9,), 0.0, votes, 1, 0.8, 0.9)
    words = words_of(run_of("classification", evidence=evidence))
    (place,) = [number for number, line in enumerate(words) if line.startswith("ensemble of")]
    assert [line for line in words if "picture" in line] == ([told] if told else [])
    assert not told or words[place + 1] == told


def test_a_rare_class_may_be_told_although_none_is_predicted() -> None:
    run = run_of("classification")
    trained = tuple(replace(t, test={**t.test, "roc_auc": 0.82}) for t in run.trained)
    assert nothing(run) == "the data may hold nothing that tells the answer"
    assert "unless the roc_auc of 0.8200 is far above 0.5" in nothing(replace(run, trained=trained))

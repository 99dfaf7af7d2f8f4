"""Whose meta graph the report draws, where the answers are an ensemble's."""

from __future__ import annotations

import pytest

from diffmg.core.run import Evidence, Finalist, Share, Trained
from diffmg.viz.report.reads import reads
from reports import Page, run_of

FINALISTS = (Finalist(0, "rgcn", 0.9, 0.01, 3), Finalist(1, "given", 0.8, 0.01, 3))


def words(*voters: int) -> str:
    shares = tuple(Share(voter, 1 / len(voters)) for voter in voters)
    evidence = Evidence(2, 0, (), FINALISTS, "folds", (0.9,), 0.0, shares, 1, 0.8, 0.9)
    single = Trained(0, 5, 3, {"macro_f1": 0.8}, {"macro_f1": 0.75})
    section = reads(run_of("classification", evidence=evidence, single=single))
    assert section is not None
    return Page(f"<div>{section.body}</div>").words


def test_an_ensemble_without_the_single_model_is_told_with_its_members() -> None:
    said = words(0)
    assert "best single model with a meta graph (test macro F1 0.7500)" in said
    assert "the scores above are of the ensemble without it: rgcn." in said


@pytest.mark.parametrize(("voters", "told"), [((1,), False), ((0, 1), True)])
def test_other_members_are_told(voters: tuple[int, ...], told: bool) -> None:
    assert ("has others beside it" in words(*voters)) is told

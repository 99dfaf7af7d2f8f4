"""What a person sees when a noun is printed: a few lines, never the data."""

from __future__ import annotations

import pytest

from diffmg import DiffMG, Model, Plan, Problem, Run, Source, load_dataset, make_plan, run
from diffmg.core.settings import Settings

LINES, COLUMNS = 15, 500


@pytest.fixture(scope="module")
def done() -> tuple[Problem, Plan, Run, Model]:
    problem = load_dataset("academic:120")
    plan = make_plan(problem.source, DiffMG(epochs=1, search_seeds=1), settings=Settings(dim=4, max_epochs=1))
    return (problem, plan, *run(plan, problem))


def test_every_noun_is_shown_in_a_few_lines(done: tuple[Problem, Plan, Run, Model]) -> None:
    problem, plan, found, model = done
    shop = load_dataset("shop:160")
    several = [problem, plan, found, model, problem.graph, problem.task, shop, plan.method, Source("a")]
    for noun in [*several, shop.task, model.answers(), found.metagraphs[0]]:
        lines = repr(noun).splitlines()
        assert len(lines) <= LINES, noun
    for noun in several:
        assert max(map(len, repr(noun).splitlines())) <= COLUMNS, type(noun)


def test_it_says_what_matters(done: tuple[Problem, Plan, Run, Model]) -> None:
    problem, _, found, model = done
    assert "author: 36 nodes, 16 features" in repr(problem)
    assert "classification of author; train 10, val 8, test 18" in repr(problem)
    assert f"macro_f1 {found.scores('test')['macro_f1']:.4f}" in repr(found)
    assert "fitted on academic:120" in repr(model)

"""What a target is judged by, in a sentence."""

from __future__ import annotations

from diffmg.core.schema import Relation
from diffmg.viz.sentence import MOST_NAMED, sentence_of
from pictures import PUBLISHES, WRITTEN_BY

PATHS = [(), (WRITTEN_BY,), (PUBLISHES, WRITTEN_BY)]


def test_few_paths_are_all_named() -> None:
    unknown = [(path, None) for path in PATHS]
    assert sentence_of("author", unknown, 3) == (
        "An author is judged by their own features, their papers, and venues of their papers."
    )
    assert sentence_of("author", unknown[:1], 1) == "An author is judged by their own features."
    assert sentence_of("author", [], 0) == "An author is judged by nothing: no message reaches it."


def test_the_important_come_first_and_mostly_is_said_from_a_half_on() -> None:
    assert sentence_of("author", list(zip(PATHS, (0.1, 0.3, 0.6), strict=True)), 3) == (
        "An author is judged mostly by venues of their papers (60%), "
        "and also by their papers (30%) and their own features (10%)."
    )
    assert "mostly" not in sentence_of("author", list(zip(PATHS, (0.3, 0.3, 0.4), strict=True)), 3)
    assert sentence_of("author", list(zip(PATHS, (0.0, 1.0, 0.0), strict=True)), 3) == (
        "An author is judged by their papers (100%)."
    )


def test_many_paths_are_counted() -> None:
    several = [((Relation(f"t{n}", "r", "a"),), None) for n in range(9)]
    assert sentence_of("a", several, 9).endswith(f", and {9 - MOST_NAMED} more meta paths.")
    assert sentence_of("a", several, 20).endswith(f", and {20 - MOST_NAMED} more meta paths.")
    assert sentence_of("a", several, None).endswith(", and many more meta paths.")
    assert "more" not in sentence_of("a", several[: MOST_NAMED + 1], MOST_NAMED + 1)


def test_relations_that_read_alike_are_said_once() -> None:
    alike = [((Relation("paper", name, "author"),), None) for name in ("wrote", "read")]
    assert sentence_of("author", alike, 2) == "An author is judged by their papers (by 2 relations)."

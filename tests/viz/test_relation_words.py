"""Names of types, relations and paths as a person says them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.schema import Relation
from diffmg.core.text import printable
from diffmg.viz.words import many, name_words, one, own, path_types, path_words, relation_words, with_article
from pictures import PUBLISHES, WRITES, WRITTEN_BY

LAST_5 = Relation("orders", "last 5 of the customer", "predictions")


@pytest.mark.parametrize(
    ("given", "single", "several"),
    [
        ("papers", "paper", "papers"),
        ("author", "author", "authors"),
        ("categories", "category", "categories"),
        ("category", "category", "categories"),
        ("boys", "boy", "boys"),
        ("addresses", "address", "addresses"),
        ("box", "box", "boxes"),
        ("status", "status", "statuses"),
        ("series", "series", "series"),
        ("order_items", "order item", "order items"),
        ("bus", "bus", "buses"),
        ("label before", "earlier label", "earlier labels"),
        ("注文", "注文", "注文"),
        ("T1", "T1", "T1"),
    ],
)
def test_one_and_many(given: str, single: str, several: str) -> None:
    assert (one(given), many(given)) == (single, several)


def test_articles_and_persons() -> None:
    assert [with_article(t) for t in ("authors", "paper", "user")] == ["an author", "a paper", "a user"]
    assert (own("customers"), own("paper")) == ("their", "its")


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        ("orders", "last 5 of the customer", "last 5 orders of the customer"),
        ("orders", "last 1 of the customer", "last order of the customer"),
        ("orders", "last 30d of the customer", "orders of the customer in the last 30 days"),
        ("orders", "last 1w of the customer", "orders of the customer in the last week"),
        ("orders", "orders to predictions: last 20 of the customer_id", "last 20 orders of the customer id"),
        ("calls", "last 3 of the caller for the callee", "last 3 calls of the caller for the callee"),
        ("orders", "last 3x of the customer", "last 3x of the customer"),
        ("orders", "last of the customer", "last of the customer"),
        ("paper", "written_by", "written by"),
        ("paper", "rev_wrote", "wrote, reversed"),
        ("paper", "rev_", "rev"),
        ("paper", "AP", "AP"),
        ("a", "x\n\x1b[31m", "x\\n\\x1b[31m"),
    ],
)
def test_relations(source: str, name: str, words: str) -> None:
    assert relation_words(Relation(source, name, "predictions")) == words


def test_paths_are_said_from_the_target() -> None:
    assert path_words((), "paper") == "its own features"
    assert path_words((WRITTEN_BY,), "author") == "their papers"
    assert path_words((PUBLISHES, WRITTEN_BY), "author") == "venues of their papers"
    assert path_words((WRITES, WRITTEN_BY), "author") == "other authors of their papers"
    assert path_words((Relation("paper", "cites", "paper"),), "paper") == "its linked papers (cites)"
    assert path_words((LAST_5,), "predictions") == "the last 5 orders of the customer"
    shops = (Relation("shops", "shop", "orders"), LAST_5)
    assert path_words(shops, "predictions") == "shops of the last 5 orders of the customer"
    assert path_words((WRITES, WRITTEN_BY) * 3, "author") == "other authors 6 hops away"
    assert path_types((PUBLISHES, WRITTEN_BY), "author") == "venue → paper → author"


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_any_name_becomes_printable_words(source: str, name: str, target: str) -> None:
    relation = Relation(source, name, target)
    for words in (relation_words(relation), path_words((relation,), target), name_words(source), with_article(target)):
        assert words == printable(words)
    assert relation_words(relation) != ""

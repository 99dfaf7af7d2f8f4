from __future__ import annotations

import numpy as np

from diffmg.graph.network import HeteroGraph
from diffmg.leaks import leak_notes
from diffmg.tasks import Recommendation
from diffmg.tasks.problem import Problem

USERS, ITEMS = 60, 80


def market(*, copied: float = 0.0, between: float = 0.0, stray: float = 0.0) -> Problem:
    """Users and items; a share of the pairs to be predicted is in another relation, or in rows of a table between."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(USERS * ITEMS)[:1500]
    pairs = np.stack(np.divmod(codes, ITEMS), axis=1)
    seen, rest = pairs[:300], pairs[300:]
    positive, negative = rest[:600], rest[600:]
    parts = {"train": slice(0, 360), "val": slice(360, 480), "test": slice(480, 600)}
    edges = {("user", "rated", "item"): seen.T, ("item", "rev_rated", "user"): seen.T[::-1]}
    names, counts = (), {"user": USERS, "item": ITEMS}
    if copied:
        bought = np.concatenate([positive[rng.random(600) < copied], negative[rng.random(600) < stray]]).T
        edges |= {("user", "bought", "item"): bought, ("item", "rev_bought", "user"): bought[::-1]}
        names = ("bought", "rev_bought")
    if between:
        bills = np.concatenate([positive[rng.random(600) < between], negative[rng.random(600) < stray]])
        numbers = np.arange(len(bills))
        edges |= {("bill", "paid_by", "user"): np.stack([numbers, bills[:, 0]])}
        edges |= {("item", "on", "bill"): np.stack([bills[:, 1], numbers])}
        counts |= {"bill": len(bills)}
    task = Recommendation.build(
        "user",
        "item",
        (USERS, ITEMS),
        {part: positive[where] for part, where in parts.items()},
        {part: negative[where] for part, where in parts.items()},
        seen=seen,
        exempt=names,
    )
    return Problem(HeteroGraph.build(counts, edges), task)


def test_an_honest_market_has_no_leaks() -> None:
    assert leak_notes(market()) == []


def test_interactions_copied_into_another_relation_are_named() -> None:
    notes = leak_notes(market(copied=0.9))
    assert notes[0].startswith("leak: 'user -bought-> item' links 4")
    assert "of 480 positive pairs of training and validation, 0 of 480 others" in notes[0]
    assert len(notes) == 2, "and its reverse"


def test_interactions_in_a_table_between_are_named() -> None:
    (note,) = leak_notes(market(between=0.8))
    assert note.startswith("leak: 'bill', by 'item -on-> bill' and 'bill -paid_by-> user', links 403 of 480")
    assert "take 'bill' out" in note


def test_links_that_others_have_too_are_not_named() -> None:
    assert leak_notes(market(copied=0.7, stray=0.3)) == []
    assert leak_notes(market(copied=0.2)) == []

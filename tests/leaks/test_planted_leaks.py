"""Leaks that are planted into an honest bank are named, with their evidence and the next step."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bank import CUSTOMERS, Described, Plant, Tables, bank, child, owners
from diffmg.leaks import leak_notes
from diffmg.runs.guard import guarded

Rng = np.random.Generator


def copy_with_another_name(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = np.where(left, "B7", "A2")


def noisy_number(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = 100 * left + rng.normal(0, 12, CUSTOMERS)


def values_that_determine(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = np.char.add("s", (2 * rng.integers(0, 20, CUSTOMERS) + left).astype(str))


def inverse_code(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = 1 - left.astype(int)


def target_encoded(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = (left + 5 * left.mean()) / 6 + rng.normal(0, 0.001, CUSTOMERS)


def derived_date(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, CUSTOMERS)
    tables["customers"]["segment"] = [d.item() if gone else None for d, gone in zip(days, left, strict=True)]


def missingness(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    values = rng.normal(size=CUSTOMERS)
    tables["customers"]["segment"] = [None if gone else float(v) for v, gone in zip(values, left, strict=True)]


def one_constant_where_it_is_not_missing(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = ["closed" if gone else None for gone in left]


def rounded_twice(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["segment"] = np.where(left, rng.choice([2, 5, 11], CUSTOMERS), rng.choice([1, 7], CUSTOMERS))


OWN = (
    copy_with_another_name, noisy_number, values_that_determine, inverse_code, target_encoded, derived_date,
    missingness, one_constant_where_it_is_not_missing, rounded_twice,
)  # fmt: skip


def in_a_linked_table(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["accounts"]["status"] = np.where(left[owners(tables)], "z", "o")


def noisy_in_a_linked_table(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["accounts"]["status"] = left[owners(tables)] * 10 + rng.normal(0, 1, 900)


def in_one_of_the_linked_rows(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    status = np.zeros(900)
    _, first = np.unique(owners(tables), return_index=True)
    status[first] = left[owners(tables)[first]]
    tables["accounts"]["status"] = status


def as_a_relation(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["customers"]["desk"] = np.where(left, rng.integers(0, 4, CUSTOMERS), rng.integers(4, 9, CUSTOMERS))
    described["nodes"]["desk"] = {}
    described["relations"]["served_at"] = {
        "file": "customers",
        "source": ["customer", "id"],
        "target": ["desk", "desk"],
    }


def a_relation_two_hops_away(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    child(tables, described, "card", np.arange(CUSTOMERS), stock=np.where(left, "x", "y"))
    described["nodes"]["stock"] = {}
    described["relations"]["kept_in"] = {"file": "card", "source": ["card", "row"], "target": ["stock", "stock"]}


def a_column_two_hops_away(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    child(tables, described, "card", np.arange(CUSTOMERS), letter=np.arange(CUSTOMERS))
    tables["letters"] = {"letter": np.arange(CUSTOMERS), "tone": 3.0 * left + rng.normal(0, 0.3, CUSTOMERS)}
    described["nodes"]["letter"] = {"file": "letters"}
    described["relations"]["sent"] = {"file": "card", "source": ["card", "row"], "target": ["letter", "letter"]}


def rows_made_by_the_outcome(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    child(tables, described, "closing", np.flatnonzero(left))


def more_rows_by_the_outcome(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    child(tables, described, "closing", np.repeat(np.arange(CUSTOMERS), np.where(left, 3, 2)))


def linked_to_its_like(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    ids = np.array(tables["customers"]["id"])
    other = np.where(left, rng.choice(np.flatnonzero(left), CUSTOMERS), rng.choice(np.flatnonzero(~left), CUSTOMERS))
    tables["alike"] = {"one": np.tile(ids, 3), "other": ids[np.concatenate([other, np.roll(other, 0), other])]}
    described["relations"]["like"] = {"file": "alike", "source": ["customer", "one"], "target": ["customer", "other"]}
    described["relations"]["like"]["both"] = True


def as_a_weight(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
    tables["accounts"]["share"] = np.where(left[owners(tables)], 2.0, 1.0)
    described["relations"]["owns"]["weight"] = "share"


ELSEWHERE = {
    in_a_linked_table: "account.status",
    noisy_in_a_linked_table: "account.status",
    in_one_of_the_linked_rows: "account.status",
    as_a_relation: "which desk",
    a_relation_two_hops_away: "which stock",
    a_column_two_hops_away: "letter.tone",
    rows_made_by_the_outcome: "the number of nodes linked by 'closing -closing_of-> customer'",
    more_rows_by_the_outcome: "the number of nodes linked by 'closing -closing_of-> customer'",
    linked_to_its_like: "the label of one linked by",
    as_a_weight: "the weight of 'account -owns-> customer'",
}


def test_the_bank_is_honest() -> None:
    for seed in range(5):
        assert leak_notes(bank(seed=seed), ["left"]) == []


@pytest.mark.parametrize("plant", OWN, ids=lambda plant: plant.__name__)
def test_a_column_that_knows_the_label_is_named(plant: Plant) -> None:
    (note,) = leak_notes(bank(plant))
    assert note.startswith("leak: customer.segment alone is right for ")
    assert float(re.search(r"for ([0-9.]+)% of 320 labels", note)[1]) > 98  # type: ignore[index]
    assert re.search(r"the commonest class: [56][0-9.]+%; next best, \S+", note)
    assert note.endswith("without it in `features` of [nodes.customer], or in `drop` in Python")


@pytest.mark.parametrize(("plant", "named"), ELSEWHERE.items(), ids=lambda p: getattr(p, "__name__", ""))
def test_what_knows_the_label_elsewhere_is_named(plant: Plant, named: str) -> None:
    notes = leak_notes(bank(plant))
    assert notes
    assert notes[0].startswith(f"leak: {named}")
    assert "leave it out" in notes[0]
    assert len(notes) <= 2, "one leak is not told over and over"


def test_two_leaks_do_not_hide_each_other() -> None:
    def both(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
        noisy_number(tables, described, left, rng)
        in_a_linked_table(tables, described, left, rng)

    first, second = leak_notes(bank(both))
    assert "customer.segment" in first
    assert "account.status" in second


def test_a_column_with_the_name_of_the_label_needs_less_to_be_named() -> None:
    def plant(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
        wrong = rng.random(900) < 0.1
        tables["accounts"]["leaving_code"] = (left[owners(tables)] ^ wrong).astype(int)

    assert leak_notes(bank(plant)) == []
    (note,) = leak_notes(bank(plant), ["left", "leaving"])
    assert note.startswith("leak: account.leaving_code")


def test_a_strong_honest_column_is_not_named() -> None:
    for share in (0.05, 0.1, 0.2):

        def plant(tables: Tables, described: Described, left: np.ndarray, rng: Rng, share: float = share) -> None:
            tables["customers"]["rating"] = (left ^ (rng.random(CUSTOMERS) < share)).astype(int)

        assert leak_notes(bank(plant)) == []


def test_many_honest_rows_that_tell_together_are_not_named() -> None:
    def plant(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
        of = np.repeat(np.arange(CUSTOMERS), 25)
        child(tables, described, "visit", of, mood=(left[of] ^ (rng.random(len(of)) < 0.15)).astype(int))

    assert leak_notes(bank(plant)) == []


def test_a_rare_class_that_is_told_is_found() -> None:
    def plant(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
        rare = rng.permutation(CUSTOMERS) < 30
        tables["customers"] |= {"left": rare.astype(int), "risk": 5 * rare + rng.normal(0, 0.5, CUSTOMERS)}

    notes = leak_notes(bank(plant))
    assert [note for note in notes if "customer.risk" in note]


def test_ids_given_class_by_class_are_named() -> None:
    def plant(tables: Tables, described: Described, left: np.ndarray, rng: Rng) -> None:
        names = np.empty(CUSTOMERS, object)
        names[np.argsort(left, kind="stable")] = [f"c{n:05}" for n in range(CUSTOMERS)]
        of = owners(tables)
        tables["customers"]["id"] = names.tolist()
        tables["accounts"]["owner"] = names[of].astype(str)

    (note,) = leak_notes(bank(plant))
    assert note.startswith("leak: the order of the ids of customer alone is right for")
    assert "no model reads ids" in note


def test_test_labels_are_not_looked_at() -> None:
    problem = bank(noisy_number)
    from dataclasses import replace

    other = replace(problem, task=problem.task.with_other_test_labels())
    assert leak_notes(problem) == leak_notes(other)


def test_notes_are_added_once() -> None:
    problem = guarded(bank(noisy_number))
    assert sum(note.startswith("leak: ") for note in problem.graph.notes) == 1
    assert guarded(problem) is problem

from __future__ import annotations

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tasks.node_classification import ClassificationSpec
from diffmg.tasks.regression import RegressionSpec

NODES = {"house": NodeTable("houses.csv"), "street": NodeTable()}
ON = {"on": RelationTable("houses.csv", ("house", "id"), ("street", "street"))}
by_kind = pytest.mark.parametrize("spec", [ClassificationSpec, RegressionSpec])


@by_kind
def test_a_label_is_no_feature_and_no_key(spec):
    description = Description(NODES, ON, spec("house", ("price",), "part", held_back=("tax",)))
    assert description.keys_of("houses.csv") == {"id", "street", "price", "part", "tax"}
    with pytest.raises(DiffmgError, match=r"or the answer leaks, but got \['street'\] as both"):
        Description(NODES, ON, spec("house", ("street",)))


@by_kind
def test_labels_come_from_a_table(spec):
    with pytest.raises(DiffmgError, match="the table of 'street', but got a type without one"):
        Description(NODES, ON, spec("street", ("price",)))
    with pytest.raises(DiffmgError, match="label has a name"):
        spec("house", ())
    with pytest.raises(DiffmgError, match="label names each column once"):
        spec("house", ("price", "price"))


@by_kind
def test_the_task_in_words(spec):
    assert spec("house", ("price", "rent")).lines() == [
        "task: predict price, rent of house; random split 0.6 / 0.2 / 0.2, seed 0"
    ]
    drawn, held = spec("house", ("price",), "part", held_back=("tax",)).lines()
    assert drawn.endswith("split from column part")
    assert held.endswith(": tax")

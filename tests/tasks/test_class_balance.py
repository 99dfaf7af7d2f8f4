"""Names, weights and rarity of classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from diffmg.core.errors import DiffmgError
from diffmg.tasks.class_balance import (
    checked_class_weight,
    class_number,
    note_on_rare,
    positive_class,
    rare_classes,
    weights_of,
)
from diffmg.tasks.classification_spec import ClassificationSpec

NAMES = ("no", "yes")


@pytest.mark.parametrize(
    ("given", "classes", "number"),
    [
        ("yes", NAMES, 1),
        ("1", (0, 1), 1),
        (1, (0, 1), 1),
        (1, (0.0, 1.0), 1),
        (True, (False, True), 1),
        ("true", (False, True), 1),
        ("True", (False, True), 1),
        (False, (False, True), 0),
    ],
    ids=repr,
)
def test_a_class_is_found_by_its_name_or_the_text_of_it(given, classes, number):
    assert class_number(given, classes, "class") == number


def test_an_unknown_class_is_told_with_the_nearest():
    with pytest.raises(DiffmgError, match="unknown positive class 'yess'; did you mean 'yes'"):
        positive_class("yess", torch.tensor([0, 1]), NAMES)


@pytest.mark.parametrize(
    ("labels", "number"), [([0, 0, 0, 1], 1), ([1, 1, 0], 0), ([0, 1], 1)], ids=["second", "first", "equal"]
)
def test_the_rarer_class_is_positive_and_the_second_of_equal_ones(labels, number):
    assert positive_class(None, torch.tensor(labels), NAMES) == number
    assert positive_class("no", torch.tensor(labels), NAMES) == 0


def test_only_one_of_two_classes_is_positive():
    assert positive_class(None, torch.tensor([0, 1, 2]), "abc") is None
    assert positive_class(None, torch.tensor([[0, 1], [1, 1]]), "ab") is None
    with pytest.raises(DiffmgError, match="one of two classes, but got positive='a' with 3 classes"):
        positive_class("a", torch.tensor([0, 1, 2]), "abc")
    with pytest.raises(DiffmgError, match="but got positive='a' with several labels a node"):
        positive_class("a", torch.tensor([[0, 1], [1, 1]]), "ab")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_balanced_weights_are_those_of_scikit_learn(more):
    labels = np.array([0, 1, 2, 3, *more])
    found = weights_of("balanced", torch.from_numpy(labels), 4)
    np.testing.assert_allclose(found, compute_class_weight("balanced", classes=np.arange(4), y=labels), rtol=1e-6)
    assert float(found[labels].mean()) == pytest.approx(1, rel=1e-5)


def test_balanced_labels_weigh_as_much_with_as_without():
    labels = torch.tensor([[1, 0], [0, 1], [0, 1], [0, 1], [0, 1]])
    assert weights_of("balanced", labels, 2).tolist() == [4.0, 0.25]


def test_a_class_without_training_nodes_has_a_finite_weight():
    assert weights_of("balanced", torch.tensor([0, 0, 2]), 3).isfinite().all()
    assert weights_of("balanced", torch.tensor([[1, 0], [1, 0]]), 2).isfinite().all()


def test_weights_by_name_are_one_where_none_is_given():
    weight = checked_class_weight({"yes": 5}, NAMES)
    assert weight == (1.0, 5.0)
    assert weights_of(weight, torch.tensor([0, 1]), 2).tolist() == [1.0, 5.0]
    assert checked_class_weight(None, NAMES) is None
    assert checked_class_weight("balanced", NAMES) == "balanced"
    assert weights_of(None, torch.tensor([0, 1]), 2) is None


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("balance", "must be 'balanced' or a table of class = weight, but got 'balance'"),
        ("", "must be 'balanced' or a table of class = weight, but got ''"),
        ([1, 2], r"must be 'balanced' or a table of class = weight, but got \[1, 2\]"),
        ({"yes": 0}, "`weight > 0` must hold for every class in class_weight, but got yes = 0"),
        ({"yes": -1.0}, "but got yes = -1.0"),
        ({"yes": float("nan")}, "but got yes = nan"),
        ({"yes": float("inf")}, "but got yes = inf"),
        ({"yes": True}, "but got yes = True"),
        ({"yes": "5"}, "but got yes = '5'"),
        ({"yess": 5.0}, "unknown class in class_weight: 'yess'; did you mean 'yes'"),
    ],
    ids=repr,
)
def test_weights_that_make_no_sense(weight, message):
    with pytest.raises(DiffmgError, match=message):
        checked_class_weight(weight, NAMES)


def test_rare_classes_have_under_a_tenth_or_half_an_even_share():
    assert rare_classes(torch.tensor([0] * 19 + [1]), NAMES) == {"yes": pytest.approx(0.05)}
    assert rare_classes(torch.tensor([0] * 9 + [1]), NAMES) == {}
    assert rare_classes(torch.arange(40) % 20, range(20)) == {}, "of twenty equal classes none is rare"
    labels = torch.tensor([[1, 0]] * 19 + [[1, 1]])
    assert rare_classes(labels, "ab") == {"b": pytest.approx(0.05)}


def test_the_note_names_the_classes_and_both_options():
    note = note_on_rare({"a": 0.05, "b": 0.01, "c": 0.02, "d": 0.03})
    for words in ("a (5.0%), b (1.0%), c (2.0%) and 1 more", "average_precision", "roc_auc", "class_weight"):
        assert words in note


@pytest.mark.parametrize("weight", [[], [["x"]], 3, "x", {"yes": "much"}, {"yes": 0}, {"yes": True}], ids=repr)
def test_odd_weights_are_refused_when_a_description_is_read(weight):
    with pytest.raises(DiffmgError, match=r"class_weight.* but got"):
        ClassificationSpec("author", ("left",), class_weight=weight)

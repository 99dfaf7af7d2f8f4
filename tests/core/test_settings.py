from dataclasses import fields
from typing import get_args

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Activation, Aggregate, Links, Select, Settings, States, Switches


def test_defaults_hold():
    assert Settings() == Settings(dim=64, select="score", patience=30)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"dim": 0}, "dim >= 1"),
        ({"lr": 0.0}, "lr > 0"),
        ({"lr": float("nan")}, "lr > 0"),
        ({"weight_decay": -0.1}, "weight_decay >= 0"),
        ({"dropout": 1.0}, "0 <= dropout < 1"),
        ({"dropout": -0.1}, "0 <= dropout < 1"),
        ({"input_dropout": 1.0}, "0 <= input_dropout < 1"),
        ({"message_dropout": -0.5}, "0 <= message_dropout < 1"),
        ({"max_epochs": 0}, "max_epochs >= 1"),
        ({"patience": 0}, "patience >= 1"),
    ],
)
def test_rules_are_checked_with_the_value_shown(wrong, rule):
    ((name, value),) = wrong.items()
    with pytest.raises(DiffmgError, match=rf"`{rule}` must hold, but got .*{name}={value!r}"):
        Settings(**wrong)


@pytest.mark.parametrize("right", [{"patience": None}, {"patience": 1}, {"dropout": 0.0}, {"weight_decay": 0.0}])
def test_edges_of_the_rules_are_allowed(right):
    ((name, value),) = right.items()
    assert getattr(Settings(**right), name) == value


CHOICES = {"select": Select, "links": Links, "activation": Activation, "aggregate": Aggregate, "states": States}


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_lists_the_known(name):
    with pytest.raises(DiffmgError, match=f"but got {name}='accuracy'") as raised:
        Settings(**{name: "accuracy"})
    for choice in get_args(CHOICES[name]):
        assert getattr(Settings(**{name: choice}), name) == choice
        assert repr(choice) in str(raised.value)


def test_switches_are_the_papers_by_default():
    on = {f.name for f in fields(Switches) if getattr(Settings(), f.name) is True}
    assert on == {"layer_norm", "shared_map", "self_loops"}
    chosen = {name: getattr(Settings(), name) for name in CHOICES if name != "select"}
    assert chosen == {"links": "sum", "activation": "gelu", "aggregate": "paper", "states": "last"}
    assert (Settings().input_dropout, Settings().message_dropout) == (0.0, 0.0)


@pytest.mark.parametrize("name", [f.name for f in fields(Switches) if f.type is bool])
def test_a_switch_is_on_or_off(name):
    with pytest.raises(DiffmgError, match=name):
        Settings(**{name: 1})


def test_settings_change_only_what_was_named():
    base = Settings(dim=8, lr=0.5)
    assert base.changed({"lr": 0.1}) == Settings(dim=8, lr=0.1)
    assert base.changed({}) == base


def test_an_unknown_setting_names_the_nearest():
    with pytest.raises(DiffmgError, match="did you mean 'dropout'"):
        Settings().changed({"drop_out": 0.1})


@pytest.mark.parametrize("changes", [{"dim": "8"}, {"dim": 1.5}, {"lr": None}, {"layer_norm": 1}], ids=str)
def test_a_setting_of_another_type_is_bad_input_and_no_fault(changes):
    with pytest.raises(DiffmgError, match=next(iter(changes))):
        Settings().changed(changes)

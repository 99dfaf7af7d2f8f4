from __future__ import annotations

from dataclasses import fields

from diffmg.datasets import DATASETS
from diffmg.strategies import STRATEGIES
from diffmg.train import TrainSettings
from runs import diffmg


def test_everything_registered_is_listed() -> None:
    listed = diffmg("list").out
    for name, kind in (*STRATEGIES.items(), *DATASETS.items()):
        assert name in listed
        assert kind.summary in listed


def test_options_and_settings_are_listed_with_their_defaults() -> None:
    listed = diffmg("list").out
    assert "epochs=100" in listed
    assert "coin=link" in listed
    assert "settings: --set KEY=VALUE" in " ".join(listed.split())
    for setting in fields(TrainSettings):
        assert any(setting.name in line and str(setting.default) in line for line in listed.splitlines())

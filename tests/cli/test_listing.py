from __future__ import annotations

from dataclasses import fields

from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS
from diffmg.methods.baselines import BASELINES
from diffmg.methods.search import STRATEGIES
from run_files import diffmg


def test_everything_registered_is_listed() -> None:
    listed = diffmg("list").out
    for name, kind in (*STRATEGIES.items(), *BASELINES.items(), *DATASETS.items()):
        assert name in listed
        assert kind.summary in listed


def test_baselines_are_listed_with_their_options() -> None:
    listed = diffmg("list").out
    table = listed[listed.index("baselines") :]
    for name, kind in BASELINES.items():
        (line,) = (line for line in table.splitlines() if line.split("│")[1:2] and line.split("│")[1].strip() == name)
        assert kind.summary in line
        shown = line.split("│")[3]
        assert all(f"{f.name}={f.default}" in shown for f in fields(kind))
        assert fields(kind) or shown.strip() == "none"


def test_options_and_settings_are_listed_with_their_defaults() -> None:
    listed = diffmg("list").out
    assert "epochs=100" in listed
    assert "coin=link" in listed
    assert "settings: --set KEY=VALUE" in " ".join(listed.split())
    for setting in fields(Settings):
        assert any(setting.name in line and str(setting.default) in line for line in listed.splitlines())

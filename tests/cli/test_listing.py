from __future__ import annotations

from dataclasses import fields

from diffmg.core.method import METHODS
from diffmg.core.settings import Settings
from diffmg.core.task import TASKS
from diffmg.datasets import DATASETS
from diffmg.tables.columns import COLUMN_TYPES
from diffmg.viz import DRAWINGS
from run_files import diffmg


def test_everything_registered_is_listed() -> None:
    shown = diffmg("list")
    assert shown.code == 0
    for registry in (METHODS, TASKS, DATASETS, COLUMN_TYPES, DRAWINGS):
        for name in registry.names():
            assert name in shown.out, (registry.kind, name)
    for field in fields(Settings):
        assert field.name in shown.out


def test_methods_are_listed_with_what_they_do_and_their_options() -> None:
    lines = diffmg("list").out.splitlines()
    for name, kind in METHODS.items():
        line = next(line for line in lines if line.split("│")[1:2] and line.split("│")[1].strip() == name)
        assert kind.summary in line
        assert all(f"{option.name}=" in line for option in fields(kind))

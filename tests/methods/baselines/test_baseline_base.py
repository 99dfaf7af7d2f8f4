from __future__ import annotations

from dataclasses import fields

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.settings import Settings
from small_networks import small_classification

WITH_HEADS = [name for name, kind in METHODS.items() if "heads" in {f.name for f in fields(kind)}]


@pytest.mark.parametrize("name", WITH_HEADS)
def test_every_method_with_heads_checks_them(name):
    with pytest.raises(DiffmgError, match="dim=6 and heads=4"):
        MethodSpec(name, {"heads": 4}).make().network(small_classification(), Settings(dim=6), 0)
    MethodSpec(name, {"heads": 4}).make().network(small_classification(), Settings(dim=8), 0)


def test_there_are_methods_with_heads():
    assert {"gat", "hgt", "han"} <= set(WITH_HEADS)

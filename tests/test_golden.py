"""Short trainings on built-in data give what they gave in version 0.1 (commit 00c4562, one thread, CPU)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffmg.core.method import METHODS
from diffmg.core.plan import Source
from diffmg.core.run import read_history
from diffmg.datasets import load_dataset
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
SETTINGS = {"dim": 8, "max_epochs": 3, "lr": 0.01, "weight_decay": 0.001}
SHORT = {"epochs": 3, "search_seeds": 1}


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_and_scores_are_those_of_before(name: str, tmp_path: Path) -> None:
    method, _, data = name.partition(" on ")
    known = getattr(METHODS.get(method), "__dataclass_fields__")  # noqa: B009
    options = {option: value for option, value in SHORT.items() if option in known}
    plan = make_plan(Source(data), method, options, SETTINGS, device="cpu")
    done, _ = run(plan, load_dataset(data), RunFolder.create(tmp_path / "run"))
    history = read_history(tmp_path / "run")
    for key in ("train_loss", "val_loss"):
        assert [record[key] for record in history] == pytest.approx(GOLDEN[name][key], abs=1e-6), key
    assert done.scores("test")[done.metric] == pytest.approx(GOLDEN[name]["test"], abs=1e-6)

from __future__ import annotations

from statistics import mean, stdev

import pytest
import torch

from benchmarks import scores
from benchmarks.scores import VARIANTS, ScoresOptions, measure_scores
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS, Published, load_dataset
from diffmg.runs.model import scores_on
from diffmg.training import Training
from diffmg.training.training import outputs_of
from real_data import needs_data
from resuming import run

CPU = torch.device("cpu")
MADE = {"academic": "academic:400", "shop": "shop:400"}
TRAIN = {"dim": 20, "max_epochs": 8, "patience": 3}
ON_CPU = ["default", "states in bfloat16", "16 columns at a time"]


@pytest.fixture(params=["academic", "shop"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Made data whose planted meta graphs stand for those of the authors."""
    published = Published(DATASETS.get(request.param).planted, {}, TRAIN, {})
    monkeypatch.setattr(scores, "published_for", lambda name: published)
    monkeypatch.setattr(scores, "open_problem", lambda name, root: load_dataset(MADE[name]))
    return request.param


def test_every_variant_for_a_cpu_is_trained_from_the_same_seeds(name):
    found = measure_scores(name, CPU, ScoresOptions(repeats=3), None)
    assert found["metric"] == load_dataset(MADE[name]).task.metric
    assert list(found["variants"]) == ON_CPU
    for variant in found["variants"].values():
        assert set(variant) == {"mean", "std", "scores", "seconds_together"}
        assert len(variant["scores"]) == 3
        assert all(0 < score <= 1 for score in variant["scores"])
        assert variant["mean"] == pytest.approx(mean(variant["scores"]))
        assert variant["std"] == pytest.approx(stdev(variant["scores"]))
        assert variant["std"] > 0, "seeds differ"
        assert variant["seconds_together"] > 0
    default, columns = (found["variants"][name]["scores"] for name in ("default", "16 columns at a time"))
    assert columns == pytest.approx(default, abs=0.02), "they differ by rounding alone"


def test_the_scores_are_the_test_scores_of_trainings_by_hand(name):
    found = measure_scores(name, CPU, ScoresOptions(repeats=2, seed=5), None)
    problem, wanted = load_dataset(MADE[name]), []
    for number in range(2):
        job = Training(problem, DATASETS.get(name).planted, Settings(**TRAIN), derive_seed(5, "train", number))
        run(job)
        outputs = outputs_of(job.best_model(), problem)
        wanted.append(scores_on(problem, outputs, "test")[problem.task.metric])
    assert found["variants"]["default"]["scores"] == wanted


def test_each_variant_is_computed_with_its_own_switches(name, monkeypatch):
    monkeypatch.setattr(scores, "_trained", lambda problem, *given: problem.graph.engine)
    found = measure_scores(name, CPU, ScoresOptions(repeats=2), None)
    assert found["variants"] == {variant: VARIANTS[variant] for variant in ON_CPU}


def test_variants_switch_one_thing_each_and_the_first_none():
    changed = {
        name: {key for key, value in vars(engine).items() if value != vars(Engine())[key]}
        for name, engine in VARIANTS.items()
    }
    assert changed == {
        "default": set(),
        "epochs not captured": {"capture"},
        "kernels not fused": {"fused"},
        "neither": {"fused", "capture"},
        "states in bfloat16": {"storage"},
        "16 columns at a time": {"columns"},
    }


def test_data_without_published_meta_graphs_are_refused():
    with pytest.raises(DiffmgError, match="but got 'academic:120', which has none"):
        measure_scores("academic:120", CPU, ScoresOptions(), None)


def test_missing_files_are_said(tmp_path):
    with pytest.raises(MissingDataError, match="but got none in"):
        measure_scores("amazon", CPU, ScoresOptions(), tmp_path)


@pytest.mark.parametrize("repeats", [0, 1])
def test_a_standard_deviation_needs_two(repeats):
    with pytest.raises(DiffmgError, match=rf"`repeats >= 2` must hold, but got .*repeats={repeats}"):
        ScoresOptions(repeats=repeats)


@needs_data
def test_scores_on_the_papers_data(monkeypatch):
    """Two short trainings of the authors' meta graph for DBLP."""
    published = DATASETS.get("dblp")("dblp").published()
    short = Published(published.metagraphs, {}, {**published.train, "max_epochs": 3}, {})
    monkeypatch.setattr(scores, "published_for", lambda name: short)
    found = measure_scores("dblp", CPU, ScoresOptions(repeats=2), None)
    assert found["metric"] == "macro_f1"
    default, columns = (found["variants"][name]["mean"] for name in ("default", "16 columns at a time"))
    assert 0 < default < 1
    assert columns == pytest.approx(default, abs=0.02)

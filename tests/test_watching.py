from __future__ import annotations

from typing import Any

import pytest

from diffmg import MetaGraphClassifier, Settings, load_dataset
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.training import Epoch
from run_files import At

PROBLEM = load_dataset("academic:120")
QUICK = {"dim": 8, "max_epochs": 4, "patience": None}


def estimator(**given: Any) -> MetaGraphClassifier:
    return MetaGraphClassifier(**{"method": "gcn", "settings": QUICK, "device": "cpu"} | given)


def test_a_callback_gets_every_epoch_with_its_phase() -> None:
    told: list[tuple[str, Epoch]] = []
    fitted = estimator(callbacks=[lambda phase, epoch: told.append((phase, epoch))], repeats=2).fit(PROBLEM)
    assert told == list(fitted.history_)
    assert [(phase, epoch.epoch) for phase, epoch in told] == [
        (p, e) for p in ("train-0", "repeat-1") for e in range(1, 5)
    ]


def test_watches_are_callbacks_too_and_one_may_stop_the_fit() -> None:
    class EnoughError(Exception):
        pass

    def stop() -> None:
        raise EnoughError

    noted: list[str] = []
    watch = At("train-0", 2, stop)
    with pytest.raises(EnoughError):
        estimator(callbacks=[lambda phase, _: noted.append(phase), watch]).fit(PROBLEM)
    assert (watch.phases, noted) == (["train-0"], ["train-0", "train-0"])


@pytest.mark.parametrize("verbose", [True, False])
def test_progress_is_shown_if_it_is_wanted(verbose: bool, capsys: pytest.CaptureFixture[str]) -> None:
    estimator(verbose=verbose).fit(PROBLEM)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("train-0" in shown.err and "best validation macro_f1" in shown.err) == verbose


def test_what_is_no_callback_is_named() -> None:
    with pytest.raises(DiffmgError, match="a callback is a function of phase and epoch, or a watch, but got 'print'"):
        estimator(callbacks=["print"]).fit(PROBLEM)


def test_options_and_switches_are_those_of_the_command_line() -> None:
    plan = estimator(options={"layers": 1}, engine={"columns": 4}).fit(PROBLEM).run_.plan
    assert (plan.method.options, plan.engine.columns) == ({"layers": 1}, 4)
    assert estimator(engine=Engine(columns=4)).fit(PROBLEM).run_.plan.engine.columns == 4
    raced = MetaGraphClassifier(budget=4, batch=2, settings=QUICK).fit(PROBLEM).run_.plan
    assert raced.batch == 2


def test_settings_are_complete_or_by_name_and_nothing_else() -> None:
    assert estimator(settings=Settings(dim=8, max_epochs=2)).fit(PROBLEM).run_.plan.settings.max_epochs == 2
    with pytest.raises(DiffmgError, match=r"settings are `Settings` or names and values, but got \['dim'\]"):
        estimator(settings=["dim"]).fit(PROBLEM)
    with pytest.raises(DiffmgError, match="unknown option of the settings: 'dims'; did you mean 'dim'"):
        estimator(settings={"dims": 3}).fit(PROBLEM)


def test_a_cluster_is_for_a_race() -> None:
    with pytest.raises(DiffmgError, match="a cluster is for a race, which has a budget, but got cluster='ray' without"):
        estimator(cluster="ray").fit(PROBLEM)


def test_a_run_is_saved_over_an_earlier_one_if_it_is_wanted(tmp_path) -> None:
    fitted = estimator().fit(PROBLEM)
    fitted.save(tmp_path / "run")
    with pytest.raises(DiffmgError, match="exists already"):
        fitted.save(tmp_path / "run")
    fitted.save(tmp_path / "run", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]

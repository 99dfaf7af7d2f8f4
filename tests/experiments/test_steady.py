from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from diffmg.core.errors import DiffmgError
from diffmg.datasets.academic import make_academic
from experiments import steady
from experiments.__main__ import main as experiments_main
from experiments.jsonl import read_lines
from experiments.steady import DIGITS, STEADY, regret_of, run_once, run_steady, steady_sheets

NAMES = ("homophily", "nothing")


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller ones under the same names."""
    made = {name: partial(make_academic, size) for name, size in zip(NAMES, (150, 170), strict=True)}
    monkeypatch.setattr(steady, "NETWORKS", made)


def truth(name: str) -> np.ndarray:
    task = steady.NETWORKS[name](0).task
    return task.labels[task.parts["test"]].numpy()


def written(classes: np.ndarray) -> str:
    return "".join(DIGITS[c] for c in classes)


def line(network: str, method: str, seed: int, test: float, predicted: str, **more: object) -> dict:
    about = {"network": network, "method": method, "seed": seed}
    return {**about, "val": 0.5, "test": test, "predicted": predicted, **more}


def test_runs_are_written_once_with_what_they_predict(networks, tmp_path: Path) -> None:
    said: list[str] = []
    sheets = run_steady(1, 2, ["mlp", "ease", "label_propagation"], tmp_path, "cpu", say=said.append)
    lines = read_lines(tmp_path / "steady.jsonl")
    assert [(found["network"], found["method"]) for found in lines] == [
        (name, method) for name in NAMES for method in ("auto", "mlp", "label_propagation")
    ], "and ease cannot classify"
    assert len(said) == 6
    for found in lines:
        predicted = [DIGITS.index(digit) for digit in found["predicted"]]
        score = f1_score(truth(found["network"]), predicted, average="macro")
        assert found["test"] == pytest.approx(score, abs=1e-6)
        assert ("above_chance" in found) == (found["method"] == "auto")
    again = run_steady(1, 2, ["mlp", "label_propagation"], tmp_path, "cpu", say=said.append)
    assert len(said) == 6, "nothing is done again"
    assert again == sheets
    run_steady(1, 2, ["mlp", "gcn"], tmp_path, "cpu", networks=["nothing"], say=said.append)
    assert len(said) == 7


def test_a_failed_run_is_told_and_tried_again(tmp_path: Path) -> None:
    key = {"network": "nothing", "method": "gcn", "seed": 0, "budget": None}

    def fail() -> dict:
        raise DiffmgError("no memory")

    failed = run_once(tmp_path / "file.jsonl", key, fail, lambda _: None)
    assert failed == {**key, "error": "DiffmgError: no memory"}
    assert "gcn on nothing, seed 0, failed: DiffmgError: no memory" in steady_sheets([failed])[1].notes
    done = run_once(tmp_path / "file.jsonl", key, lambda: {"test": 0.3}, lambda _: None)
    assert read_lines(tmp_path / "file.jsonl") == [done] == [{**key, "test": 0.3}]


def test_regret_is_against_the_best_mean(networks) -> None:
    true = truth("homophily")
    wrong = np.where(np.arange(len(true)) < len(true) // 2, (true + 1) % 4, true)
    cells = {
        ("homophily", "auto"): [line("homophily", "auto", 0, 0.6, written(wrong))],
        ("homophily", "gcn"): [line("homophily", "gcn", s, t, written(true)) for s, t in enumerate((0.7, 0.8))],
        ("homophily", "mlp"): [line("homophily", "mlp", s, t, written(wrong)) for s, t in enumerate((0.9, 0.5))],
        ("nothing", "svd"): [line("nothing", "svd", 0, 1.0, "")],
    }
    best, regret, error = regret_of("homophily", cells)
    assert (best, regret) == ("gcn", pytest.approx(0.15))
    assert 0 < error < 0.2


def test_the_table_shows_where_chance_was_taken_for_more(networks) -> None:
    lines = [
        line("nothing", "auto", seed, 0.3, written(truth("nothing")), above_chance=seed == 1, single=0.2)
        for seed in (0, 1)
    ]
    sheet, scores = steady_sheets(lines)
    assert sheet.rows == (("nothing", "30.00 ± 0.00", "20.00 ± 0.00", "-", "-", "-", "1 of 2"),)
    assert [note for note in sheet.notes if note.endswith("more than chance from seeds 1")]
    assert scores.rows == (("auto", "30.00 ± 0.00"),)


@pytest.mark.parametrize(("given", "kind"), [({"networks": ["none"]}, "network"), ({"methods": ["none"]}, "method")])
def test_unknown_names(given: dict, kind: str, networks, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=f"unknown {kind} 'none'"):
        run_steady(**{"seeds": 1, "budget": 3, "methods": [], "out": tmp_path, **given})


def test_the_command_runs_a_part_and_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["steady", "--networks", "nothing", "--methods", "label_propagation", "--seeds", "1", "--budget", "2"]
    with pytest.raises(SystemExit) as ended:
        experiments_main([*words, "--device", "cpu", "--out", str(tmp_path)])
    assert ended.value.code == 0
    assert "label_propagation" in capsys.readouterr().out
    assert (tmp_path / STEADY).read_text().count("\n") == 2


def test_an_unknown_network_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments_main(["steady", "--networks", "nothin", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "did you mean 'nothing'" in capsys.readouterr().err

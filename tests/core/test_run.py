from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan
from diffmg.core.run import Candidate, Run, Trained, metagraphs_to_dict, read_history, read_metagraphs, read_run
from diffmg.datasets import DATASETS

PLANTED = DATASETS.get("academic").planted
RUN = Run(
    status="done",
    plan=Plan("academic").to_dict(),
    metric="macro_f1",
    data={"graph": "a", "task": "b", "target_types": ["author"]},
    versions={"diffmg": "1", "commit": None},
    device="cpu",
    seconds={"search-0": 0.5},
    candidates=(Candidate((MetaGraph.features_only("author"),), 0.25), Candidate(PLANTED, 0.5)),
    chosen=1,
    trained=(
        Trained(0, 9, 4, {"macro_f1": 0.5}, {"macro_f1": 0.25}),
        Trained(1, 8, 3, {"macro_f1": 0.75}, {"macro_f1": 0.5}),
    ),
    kept=1,
)


def plain() -> dict[str, Any]:
    """The run as it stands in a file."""
    return json.loads(json.dumps(RUN.to_dict()))


def write(folder: Path, text: str) -> Path:
    (folder / "run.json").write_text(text, encoding="utf-8")
    return folder


def test_a_run_survives_json() -> None:
    assert Run.from_dict(plain(), "here") == RUN


def test_the_chosen_meta_graphs_are_those_of_the_chosen_candidate() -> None:
    assert RUN.metagraphs == PLANTED
    assert replace(RUN, candidates=()).metagraphs == ()


def test_mean_and_sample_deviation_over_the_trainings() -> None:
    assert RUN.values("test") == [0.25, 0.5]
    assert RUN.mean("test") == 0.375
    assert RUN.std("val") == pytest.approx(math.sqrt(2 * 0.125**2))


def test_no_training_has_no_mean_and_one_has_no_deviation() -> None:
    assert math.isnan(replace(RUN, trained=()).mean("val"))
    assert math.isnan(replace(RUN, trained=RUN.trained[:1]).std("val"))
    assert math.isnan(RUN.mean("test", "auc"))


def test_the_file_shows_the_mean_scores_to_people() -> None:
    assert plain()["scores"]["test"] == {"macro_f1": {"mean": 0.375, "std": pytest.approx(0.17677, abs=1e-5), "n": 2}}


def test_one_training_has_a_null_deviation_since_json_has_no_nan() -> None:
    assert replace(RUN, trained=RUN.trained[:1]).to_dict()["scores"]["val"]["macro_f1"]["std"] is None


def test_a_run_folder_is_read(tmp_path: Path) -> None:
    assert read_run(write(tmp_path, json.dumps(plain()))) == RUN


def test_a_missing_folder_and_a_folder_without_a_run_are_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"a run folder must exist, but got '.*gone'"):
        read_run(tmp_path / "gone")
    with pytest.raises(DiffmgError, match=r"the run.json of a run folder must exist, but got no file at '.*run\.json'"):
        read_run(tmp_path)


def test_a_run_that_was_cut_off_is_named(tmp_path: Path) -> None:
    text = json.dumps(plain())
    with pytest.raises(DiffmgError, match=r"the run.json of a run folder must be JSON, but got '.*run\.json'"):
        read_run(write(tmp_path, text[: len(text) // 2]))


@pytest.mark.parametrize(
    ("foreign", "found"), [({"format": 2}, "2"), ({"name": "other"}, "None"), ([1], "'list'"), (3, "'int'")], ids=str
)
def test_a_foreign_run_is_named_with_its_format(foreign: Any, found: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=rf"a run file must have format 1, but got {found} in '.*run\.json'"):
        read_run(write(tmp_path, json.dumps(foreign)))


@pytest.mark.parametrize("field", [name for name in plain() if name not in ("format", "scores")])
def test_a_run_without_one_of_its_fields_is_named(field: str) -> None:
    data = plain()
    del data[field]
    with pytest.raises(DiffmgError, match=f"a run file must be one that diffmg wrote, but got 'here' with .*{field}"):
        Run.from_dict(data, "here")


@pytest.mark.parametrize(
    "change",
    [
        {"trained": [{"repeat": 0}]},
        {"trained": 3},
        {"candidates": "abc"},
        {"candidates": [{"val_score": 1}]},
        {"candidates": [{"val_score": 1, "metagraphs": [{"target": "author"}]}]},
    ],
    ids=str,
)
def test_a_run_with_a_wrong_field_is_bad_input_and_no_fault(change: dict[str, Any]) -> None:
    with pytest.raises(DiffmgError):
        Run.from_dict(plain() | change, "here")


def test_the_history_leaves_out_a_line_that_was_cut_off(tmp_path: Path) -> None:
    assert read_history(tmp_path) == []
    (tmp_path / "history.jsonl").write_text('{"phase": "a", "epoch": 1}\n{"phase": "a", "ep')
    assert read_history(tmp_path) == [{"phase": "a", "epoch": 1}]


@pytest.mark.parametrize("form", [metagraphs_to_dict(PLANTED), PLANTED[0].to_dict(), [PLANTED[0].to_dict()]], ids=type)
def test_a_meta_graph_file_holds_one_or_a_list(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(form))
    assert read_metagraphs(path) == PLANTED


@pytest.mark.parametrize("content", ["[]", '{"metagraphs": []}', '{"metagraphs": 3}', "3", "null", '"text"'])
def test_a_meta_graph_file_without_any_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    with pytest.raises(DiffmgError, match=r"a meta graph file holds one meta graph or a list .*m\.json' without any"):
        read_metagraphs(path)


def test_a_meta_graph_file_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"a meta graph file must exist, but got no file at '.*gone'"):
        read_metagraphs(tmp_path / "gone")
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(DiffmgError, match=r"a meta graph file must be JSON"):
        read_metagraphs(tmp_path / "m.json")


def test_a_meta_graph_file_with_a_wrong_meta_graph_says_where(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"target": "author", "links": {"1<-0": ["identitty"]}}))
    with pytest.raises(DiffmgError, match=r"an operation is 'identity', 'empty' or a relation .* but got 'identitty'"):
        read_metagraphs(path)

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.files import write_json
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import (
    Candidate,
    Data,
    Run,
    Trained,
    metagraphs_to_dict,
    read_history,
    read_metagraphs,
    read_run,
    shown,
)
from diffmg.datasets import DATASETS

PLANTED = DATASETS.get("academic").planted
RUN = Run(
    status="done",
    plan=Plan(MethodSpec("diffmg", {"depth": 2}), Source("academic"), repeats=2, seed=7),
    data=Data("classification", "macro_f1", ("author",), "ab12", {"labels": "cd34"}, {"nodes": {"author": 3}}),
    versions={"diffmg": "1", "commit": None},
    device="cpu",
    seconds={"search-0": 0.5},
    candidates=(Candidate((MetaGraph.features_only("author"),)), Candidate(PLANTED, 0.5)),
    chosen=1,
    trained=(
        Trained(0, 9, 4, {"macro_f1": 0.5}, {"macro_f1": 0.25}),
        Trained(1, 8, 3, {"macro_f1": 0.75}, {"macro_f1": 0.5}),
    ),
    kept=1,
    files={"history.jsonl": "ef56"},
)


def plain() -> dict[str, Any]:
    """The run as it stands in a file."""
    return json.loads(json.dumps(RUN.to_dict(), allow_nan=False))


def write(folder: Path, text: str) -> Path:
    (folder / "run.json").write_text(text, encoding="utf-8")
    return folder


def test_a_run_survives_json() -> None:
    assert Run.from_dict(plain(), "here") == RUN


def test_the_plan_of_a_run_is_a_plan() -> None:
    assert isinstance(Run.from_dict(plain(), "here").plan, Plan)


def test_the_chosen_meta_graphs_are_those_of_the_chosen_candidate() -> None:
    assert RUN.metagraphs == PLANTED
    assert replace(RUN, candidates=(), chosen=0).metagraphs == ()


def test_scores_are_those_of_the_model_that_is_kept() -> None:
    assert (RUN.scores("val"), RUN.scores("test")) == ({"macro_f1": 0.75}, {"macro_f1": 0.5})
    assert replace(RUN, kept=0).scores("test") == {"macro_f1": 0.25}
    assert replace(RUN, trained=(), kept=0).scores("test") == {}


def test_mean_and_sample_deviation_are_over_all_trainings() -> None:
    assert RUN.values("test") == [0.25, 0.5]
    assert RUN.mean("test") == 0.375
    assert RUN.std("val") == pytest.approx(math.sqrt(2 * 0.125**2))


def test_no_training_has_no_mean_and_one_has_no_deviation() -> None:
    assert math.isnan(replace(RUN, trained=(), kept=0).mean("val"))
    assert math.isnan(replace(RUN, trained=RUN.trained[:1], kept=0).std("val"))
    assert math.isnan(RUN.mean("test", "auc"))


def test_the_file_shows_the_scores_of_the_kept_model_to_people() -> None:
    assert plain()["scores"] == {"val": {"macro_f1": 0.75}, "test": {"macro_f1": 0.5}}


@pytest.mark.parametrize("wrong", [{"chosen": 2}, {"chosen": -1}, {"kept": 2}, {"kept": -1}], ids=str)
def test_what_is_chosen_and_kept_is_there(wrong: dict[str, int]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(DiffmgError, match=f"{name}={value}"):
        replace(RUN, **wrong)
    with pytest.raises(DiffmgError, match=f"here.*{name}={value}"):
        Run.from_dict(plain() | wrong, "here")


def test_the_text_of_a_run_is_short_and_has_what_matters() -> None:
    text = repr(RUN)
    assert len(text.splitlines()) <= 15
    assert all(part in text for part in ("done", "diffmg", "academic", "0.5000", "seed 7", "cpu"))
    assert "a network from Python" in repr(replace(RUN, plan=replace(RUN.plan, source=Source())))


def test_a_run_folder_is_read(tmp_path: Path) -> None:
    assert read_run(write(tmp_path, json.dumps(plain()))) == RUN


def test_a_missing_folder_and_a_folder_without_a_run_are_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"run folder .*'.*gone'"):
        read_run(tmp_path / "gone")
    with pytest.raises(DiffmgError, match=r"no file at '.*run\.json'"):
        read_run(tmp_path)


def test_a_run_that_was_cut_off_is_named(tmp_path: Path) -> None:
    text = json.dumps(plain())
    with pytest.raises(DiffmgError, match=r"must be JSON, but got '.*run\.json'"):
        read_run(write(tmp_path, text[: len(text) // 2]))


@pytest.mark.parametrize(
    ("foreign", "found"), [({"format": 1}, "1; fit again"), ({"format": 99}, "99; update"), ([1], "None")], ids=str
)
def test_a_foreign_run_is_named_with_its_format(foreign: Any, found: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=rf"run\.json' must have format 2, but got {found}"):
        read_run(write(tmp_path, json.dumps(foreign)))


@pytest.mark.parametrize("field", ["status", "plan", "data", "versions", "device"])
def test_a_run_without_one_of_its_fields_is_named(field: str) -> None:
    data = plain()
    del data[field]
    with pytest.raises(DiffmgError, match=f"here: `{field}` must be given"):
        Run.from_dict(data, "here")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"status": "perhaps"}, "status"),
        ({"trained": [{"repeat": 0}]}, "trained"),
        ({"trained": 3}, "trained"),
        ({"candidates": "abc"}, "candidates"),
        ({"candidates": [{"val_score": 1}]}, "candidates"),
        ({"candidates": [{"val_score": 1, "metagraphs": [{"target": "author"}]}]}, "candidates"),
        ({"data": {"task": "classification"}}, "data"),
        ({"scorse": {}}, "scorse"),
    ],
    ids=str,
)
def test_a_run_with_a_wrong_field_is_bad_input_and_no_fault(change: dict[str, Any], place: str) -> None:
    with pytest.raises(DiffmgError, match=f"^here.*{place}"):
        Run.from_dict(plain() | change, "here")


def test_the_history_leaves_out_a_line_that_was_cut_off(tmp_path: Path) -> None:
    assert read_history(tmp_path) == []
    whole = {"phase": "a", "epoch": 1, "train_loss": 0.5, "val_loss": None, "val_score": 1}
    (tmp_path / "history.jsonl").write_text(json.dumps(whole) + '\n{"phase": "a", "ep')
    assert read_history(tmp_path) == [whole]


@pytest.mark.parametrize("form", [metagraphs_to_dict(PLANTED), PLANTED[0].to_dict(), [PLANTED[0].to_dict()]], ids=type)
def test_a_meta_graph_file_holds_one_or_a_list(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(form))
    assert read_metagraphs(path) == PLANTED


@pytest.mark.parametrize("content", ["[]", '{"metagraphs": 3}', "null", '"text"'])
def test_a_meta_graph_file_without_any_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    with pytest.raises(DiffmgError, match=r"m\.json' without any"):
        read_metagraphs(path)


def test_a_meta_graph_file_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"no file at '.*gone'"):
        read_metagraphs(tmp_path / "gone")
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(DiffmgError, match=r"a meta graph file must be JSON"):
        read_metagraphs(tmp_path / "m.json")


def test_a_meta_graph_file_with_a_wrong_meta_graph_says_where(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"target": "author", "links": {"1<-0": ["identitty"]}}))
    with pytest.raises(DiffmgError, match=r"but got 'identitty'"):
        read_metagraphs(path)


def test_a_meta_graph_file_of_another_format_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "m.json", {"format": 7, "metagraphs": []})
    with pytest.raises(DiffmgError, match="must have format 1, but got 7"):
        read_metagraphs(tmp_path / "m.json")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5000"),
        (0.0, "0.0000"),
        (-2.0, "-2.0000"),
        (1.234e-5, "1.23e-05"),
        (-4e-4, "-0.0004"),
        (math.nan, "nan"),
    ],
)
def test_small_scores_are_not_shown_as_nothing(value: float, text: str) -> None:
    assert shown(value) == text

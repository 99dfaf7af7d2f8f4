from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from diffmg.core.run import read_run
from diffmg.viz import draw_all
from run_files import diffmg, edit, refused

FORMATS = {"text": "author (own features)", "dot": "digraph", "mermaid": "flowchart", "svg": "<svg"}


@pytest.mark.parametrize(("form", "words"), FORMATS.items())
def test_a_run_is_drawn_in_every_format(form: str, words: str, classified: Path) -> None:
    answer = diffmg("show", classified, "--format", form)
    assert answer.code == 0
    assert words in answer.out
    run = read_run(classified)
    assert run.importances
    assert answer.out == draw_all(run.metagraphs, form, importances=run.importances) + "\n"


def test_text_is_the_default_and_a_file_of_a_run_is_drawn_without_importances(classified: Path) -> None:
    assert diffmg("show", classified).out == diffmg("show", classified, "--format", "text").out
    bare = draw_all(read_run(classified).metagraphs, "text") + "\n"
    assert diffmg("show", classified / "metagraph.json").out == bare
    states = ("--view", "states")
    assert diffmg("show", classified, *states).out == diffmg("show", classified / "metagraph.json", *states).out


def test_both_meta_graphs_of_a_recommendation_are_drawn(recommended: Path) -> None:
    text = diffmg("show", recommended).out
    assert re.search("A user is judged (mostly )?by", text)
    assert re.search("An item is judged (mostly )?by", text)


def test_the_published_meta_graph_is_drawn_without_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFMG_DATA", raising=False)
    answer = diffmg("show", "douban")
    assert answer.code == 0
    assert "A movie is judged by its own features, its actors" in answer.out
    assert "meta graph for 'movie', 4 states" in diffmg("show", "douban", "--view", "states").out


def test_a_deep_meta_graph_is_shown_at_once(tmp_path: Path) -> None:
    links = {f"{k}<-{i}": [["a", "knows", "a"], ["b", "likes", "a"]] for k in range(1, 19) for i in range(k)}
    (tmp_path / "deep.json").write_text(json.dumps({"target": "a", "links": links}))
    for view in ("meaning", "states"):
        shown = diffmg("show", tmp_path / "deep.json", "--view", view)
        assert shown.code == 0
        assert "more" in shown.out


def test_a_drawing_is_written_to_a_file(classified: Path, tmp_path: Path) -> None:
    answer = diffmg("show", classified, "--format", "svg", "--out", tmp_path / "m.svg")
    assert answer.out == f"written to {tmp_path / 'm.svg'}\n"
    assert ET.parse(tmp_path / "m.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_file_that_cannot_be_written_is_named(classified: Path) -> None:
    assert "could not write '/proc/m.txt'" in refused("show", classified, "--out", "/proc/m.txt")


def test_a_run_that_has_no_meta_graph_yet_is_named(copy: Path) -> None:
    edit(copy, candidates=[])
    assert f"the run must have found a meta graph, but got '{copy}'" in refused("show", copy)


def test_a_run_whose_choice_is_none_of_its_candidates_is_bad_input_and_no_fault(copy: Path) -> None:
    edit(copy, chosen=7)
    assert "`0 <= chosen < 2` must hold, but got chosen=7" in refused("show", copy)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("academic", "only data sets of the paper have a published meta graph, but got 'academic'"),
        ("dlbp", "unknown data set 'dlbp'; did you mean 'dblp'?"),
        ("dblp --format png", "unknown format 'png'"),
        ("dblp --view state", "unknown view 'state'; did you mean 'states'?"),
        ("dblp --format=SVG", "unknown format 'SVG'; did you mean 'svg'? Known: dot, mermaid, svg, text."),
    ],
)
def test_what_cannot_be_shown_is_named(what: str, words: str) -> None:
    assert words in refused("show", *what.split())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "a meta graph file must be JSON"),
        ("[]", "a meta graph file holds one meta graph or a list"),
        (json.dumps({"target": "a", "links": {"1": []}}), "a link is written 'k<-i' with two state numbers"),
    ],
)
def test_a_file_that_holds_no_meta_graph_is_named(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(content)
    assert words in refused("show", tmp_path / "m.json")


def test_a_report_is_written_anew(copy: Path) -> None:
    assert diffmg("report", copy).code == 0
    before = (copy / "report.html").read_bytes()
    (copy / "report.html").unlink()
    assert diffmg("report", copy).out == f"written to {copy / 'report.html'}\n"
    assert (copy / "report.html").read_bytes() == before


@pytest.mark.parametrize("command", ["show", "report"])
def test_a_folder_that_is_no_run_is_named(command: str, tmp_path: Path) -> None:
    assert "the run.json of a run folder must exist" in refused(command, tmp_path)
    assert not list(tmp_path.iterdir())

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import Candidate, Run, Trained, read_run
from diffmg.core.schema import Relation
from diffmg.viz.page import page, table, write_report
from run_files import edit, fit, read

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """A page as a reader sees it; tags that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture
def report(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def evil_run() -> Run:
    """A run in which every name is a piece of HTML."""
    metagraph = MetaGraph(EVIL, ((Relation(EVIL, EVIL, EVIL),),))
    return Run(
        "done",
        {"data": EVIL, "metagraphs": [], "strategy": EVIL, "search_seeds": 2, "repeats": 1, "seed": 0},
        EVIL,
        {"target_types": [EVIL], "graph": EVIL, "task": EVIL},
        {EVIL: EVIL},
        EVIL,
        {EVIL: 1.0},
        (Candidate((metagraph,), 0.5), Candidate((metagraph,), 0.25)),
        trained=(Trained(0, 1, 1, {EVIL: 0.5}, {EVIL: 0.5}),),
    )


def test_the_page_is_well_formed_and_has_its_sections(report: str) -> None:
    assert report.startswith("<!doctype html>")
    texts = Page(report).texts
    assert {"Scores", "Meta graph", "Candidates", "Learning curves", "Provenance"} <= set(texts)
    assert "academic:120: author" in texts


def test_the_page_needs_no_other_file_and_no_network(report: str) -> None:
    seen = Page(report)
    assert not {"script", "img", "link", "iframe", "object", "image"} & set(seen.tags)
    assert not {"src", "href", "xlink:href"} & {name for name, _ in seen.attributes}
    assert report.count("http") == report.count('xmlns="http://www.w3.org/2000/svg"')
    assert "@import" not in report
    assert "url(" not in report


def test_the_scores_are_those_of_the_run(folder: Path, report: str) -> None:
    texts = Page(report).texts
    for part in ("val", "test"):
        for score in read(folder)["scores"][part].values():
            assert f"{score['mean']:.4f} ± {score['std']:.4f}" in texts


def test_candidates_are_listed_with_the_chosen_one(folder: Path, report: str) -> None:
    run, texts = read_run(folder), Page(report).texts
    assert f"{run.chosen} (chosen)" in texts
    assert all(f"{c.val_score:.4f}" in texts for c in run.candidates)


def test_every_phase_has_a_curve(folder: Path, report: str) -> None:
    phases = {json.loads(line)["phase"] for line in (folder / "history.jsonl").read_text().splitlines()}
    assert phases <= set(Page(report).texts)
    assert report.count("<polyline") == len(phases)


def test_provenance_is_shown(folder: Path, report: str) -> None:
    run, texts = read_run(folder), Page(report).texts
    for value in (run.device, run.versions["torch"], run.data["graph"], run.data["task"]):
        assert value in texts


def test_one_training_has_no_deviation(folder: Path) -> None:
    run = read_run(folder)
    one = replace(run, trained=run.trained[:1])
    texts = Page(page(one, folder)).texts
    assert f"{one.mean('test'):.4f}" in texts
    assert "±" not in " ".join(texts)


def test_a_run_without_test_scores_says_none(folder: Path) -> None:
    run = read_run(folder)
    without = replace(run, trained=tuple(replace(t, test={}) for t in run.trained))
    assert Page(page(without, folder)).texts.count("none") == 3


def test_an_interrupted_run_has_a_page(folder: Path, tmp_path: Path) -> None:
    run = replace(read_run(folder), status="interrupted", candidates=(), trained=())
    texts = Page(page(run, tmp_path)).texts
    assert any(t.startswith("interrupted:") for t in texts)
    assert not {"Meta graph", "Candidates", "Learning curves"} & set(texts)


def test_given_meta_graphs_are_not_called_searched(folder: Path) -> None:
    run = read_run(folder)
    plan = {**run.plan, "metagraphs": [m.to_dict() for m in run.metagraphs]}
    assert any("given meta graphs" in t for t in Page(page(replace(run, plan=plan), folder)).texts)


def test_a_run_with_a_baseline_has_a_page_without_meta_graphs(tmp_path: Path) -> None:
    path = fit(
        tmp_path / "run", "academic:120", "--baseline", "mlp", "--repeats", 2, "-s", "dim=8", "-s", "max_epochs=3"
    )
    report = (path / "report.html").read_text(encoding="utf-8")
    run, texts = read_run(path), Page(report).texts
    assert "done: baseline mlp, 2 training(s), chosen by validation macro_f1." in texts
    assert {"Scores", "Learning curves", "Provenance", "repeat-0", "repeat-1"} <= set(texts)
    assert not {"Meta graph", "Candidates"} & set(texts)
    assert f"{run.mean('test'):.4f} ± {run.std('test'):.4f}" in texts
    assert report.count("<polyline") == 2


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(json.dumps({"phase": EVIL, "epoch": 1, "val_score": 0.5}) + "\n")
    run = evil_run()
    assert "<script" not in page(replace(run, plan={**run.plan, "baseline": EVIL}, candidates=()), tmp_path)
    text = page(run, tmp_path)
    assert "<script" not in text
    assert "script" not in Page(text).tags
    assert EVIL in Page(text).texts


def test_cells_of_a_table_are_escaped() -> None:
    assert Page(table(["<i>"], [["<b>", "&"]])).texts.count("<b>") == 1


def test_the_report_is_written_anew(folder: Path, report: str) -> None:
    (folder / "report.html").unlink()
    assert write_report(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == report


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"the run.json of a run folder must exist"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_report_over_a_run_of_another_format_is_named(tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "academic:120", "--strategy", "features", "-s", "max_epochs=1")
    edit(path, format=99)
    with pytest.raises(DiffmgError, match=r"a run file must have format 1, but got 99"):
        write_report(path)


def test_reports_need_no_torch() -> None:
    code = "import diffmg.viz.page, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

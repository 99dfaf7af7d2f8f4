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
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Data, Run, Trained, read_run
from diffmg.core.schema import Relation
from diffmg.methods.given import Given
from diffmg.viz.page import page, table, write_report
from run_files import edit, fit

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


METAGRAPH = MetaGraph("author", ((Relation("paper", "by", "author"),),))
RUN = Run(
    "done",
    Plan(MethodSpec("diffmg", {"depth": 1, "search_seeds": 2}), Source("academic:120"), repeats=2, seed=7),
    Data("classification", "macro_f1", ("author",), "ab12cd34"),
    {"diffmg": "0.2", "torch": "2.12", "commit": None},
    "cpu",
    {"search-0": 1.25},
    (Candidate((METAGRAPH,), 0.5), Candidate((MetaGraph.features_only("author"),), 0.625)),
    1,
    (
        Trained(0, 4, 2, {"macro_f1": 0.625, "accuracy": 0.75}, {"macro_f1": 0.5, "accuracy": 0.6}),
        Trained(1, 4, 3, {"macro_f1": 0.7, "accuracy": 0.8}, {"macro_f1": 0.65, "accuracy": 0.7}),
    ),
    1,
)
PHASES = ("search-0", "search-1", "candidate-0", "repeat-0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder as far as a report reads it."""
    epochs = [{"phase": phase, "epoch": n, "val_score": 0.1 * n} for phase in PHASES for n in (1, 2, 3)]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs), encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(RUN.to_dict()), encoding="utf-8")
    return tmp_path


@pytest.fixture
def report(folder: Path) -> str:
    return write_report(folder).read_text(encoding="utf-8")


def evil_run() -> Run:
    """A run in which every name is a piece of HTML."""
    metagraph = MetaGraph(EVIL, ((Relation(EVIL, EVIL, EVIL),),))
    return Run(
        "done",
        Plan(MethodSpec(EVIL, {EVIL: EVIL}), Source(f"{EVIL}.toml"), device=EVIL),
        Data(EVIL, EVIL, (EVIL,), EVIL),
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
    assert "academic-120: author" in texts


def test_the_page_needs_no_other_file_and_no_network(report: str) -> None:
    seen = Page(report)
    assert not {"script", "img", "link", "iframe", "object", "image"} & set(seen.tags)
    assert not {"src", "href", "xlink:href"} & {name for name, _ in seen.attributes}
    assert report.count("http") == report.count('xmlns="http://www.w3.org/2000/svg"')
    assert "@import" not in report
    assert "url(" not in report


def test_the_scores_are_those_of_the_kept_model_beside_the_mean_of_all(report: str) -> None:
    texts = Page(report).texts
    assert f"test, mean of {len(RUN.trained)} trainings" in texts
    for name in ("macro_f1", "accuracy"):
        place = texts.index(name)
        cells = [t for t in texts[place + 1 :] if t][:3]
        assert cells[:2] == [f"{RUN.scores(part)[name]:.4f}" for part in ("val", "test")]
        assert cells[2] == f"{RUN.mean('test', name):.4f} ± {RUN.std('test', name):.4f}"


def test_candidates_are_listed_with_the_chosen_one(folder: Path, report: str) -> None:
    texts = Page(report).texts
    assert {"1 (chosen)", "0.5000", "0.6250", "by", "own features"} <= set(texts)
    untrained = replace(RUN, candidates=(RUN.candidates[0], Candidate((METAGRAPH,))), trained=(), kept=0)
    assert "none" in Page(page(untrained, folder)).texts


def test_every_phase_has_a_curve(report: str) -> None:
    assert set(PHASES) <= set(Page(report).texts)
    assert report.count("<polyline") == len(PHASES)


def test_what_was_done_and_provenance_are_shown(report: str) -> None:
    texts = Page(report).texts
    assert {"cpu", "2.12", "ab12cd34", "7", "1.25"} <= set(texts)
    summary = next(t for t in texts if t.startswith("done:"))
    assert all(part in summary for part in ("diffmg", "depth = 1", "search_seeds = 2", "2 training", "macro_f1"))


def test_one_training_has_no_mean(folder: Path) -> None:
    one = replace(RUN, trained=RUN.trained[:1], kept=0)
    texts = Page(page(one, folder)).texts
    assert "0.5000" in texts
    assert "±" not in " ".join(texts)
    assert not any("mean" in t for t in texts)


def test_a_run_without_test_scores_says_none(folder: Path) -> None:
    without = replace(RUN, trained=tuple(replace(t, test={}) for t in RUN.trained))
    assert Page(page(without, folder)).texts.count("none") == 4


def test_an_interrupted_run_has_a_page(tmp_path: Path) -> None:
    run = replace(RUN, status="interrupted", candidates=(), chosen=0, trained=(), kept=0)
    texts = Page(page(run, tmp_path)).texts
    assert any(t.startswith("interrupted:") for t in texts)
    assert not {"Meta graph", "Candidates", "Learning curves"} & set(texts)


def test_meta_graphs_that_were_given_are_drawn_and_not_spelled_out(folder: Path) -> None:
    given = replace(RUN.plan, method=Given((METAGRAPH,)).spec(), source=Source())
    text = page(replace(RUN, plan=given, candidates=RUN.candidates[:1], chosen=0), folder)
    texts = Page(text).texts
    assert any("method given," in t for t in texts)
    assert "own network: author" in texts
    assert "links" not in text
    assert "Meta graph" in texts


def test_a_method_without_meta_graphs_has_none_on_its_page(folder: Path) -> None:
    run = replace(RUN, plan=Plan(MethodSpec("mlp"), Source("academic")), candidates=(Candidate((), 0.5),), chosen=0)
    texts = Page(page(run, folder)).texts
    assert any("method mlp," in t for t in texts)
    assert {"Scores", "Learning curves", "Provenance"} <= set(texts)
    assert not {"Meta graph", "Candidates"} & set(texts)


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(json.dumps({"phase": EVIL, "epoch": 1, "val_score": 0.5}) + "\n")
    text = page(evil_run(), tmp_path)
    assert "<script" not in text
    assert "script" not in Page(text).tags
    assert EVIL in Page(text).texts


def test_cells_of_a_table_are_escaped() -> None:
    assert Page(table(["<i>"], [["<b>", "&"]])).texts.count("<b>") == 1


def test_the_report_of_a_real_run_is_written_by_the_run_and_can_be_written_anew(tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "academic:120", "--method", "features", "-s", "max_epochs=1", "-s", "dim=8")
    report = (path / "report.html").read_text(encoding="utf-8")
    run, texts = read_run(path), Page(report).texts
    assert {run.data.hash, *(f"{score:.4f}" for score in run.scores("test").values())} <= set(texts)
    (path / "report.html").unlink()
    assert write_report(path) == path / "report.html"
    assert (path / "report.html").read_text(encoding="utf-8") == report


def test_a_folder_without_a_run_or_of_another_format_is_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DiffmgError, match="gone"):
        write_report(tmp_path / "gone")
    edit(folder, format=99)
    with pytest.raises(DiffmgError, match=r"format 2, but got 99"):
        write_report(folder)
    assert not (folder / "report.html").exists()


def test_reports_need_no_torch() -> None:
    code = "import diffmg.viz.page, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.details import Beside, Certainty, ClassScore, Confusion, Details, Recommended
from diffmg.core.errors import DiffmgError
from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Data, Evidence, Finalist, Run, Share, Trained, read_run
from diffmg.core.schema import Relation
from diffmg.methods.given import Given
from diffmg.viz.page import page, write_report
from diffmg.viz.report.document import style
from diffmg.viz.report.reads import importances_of
from reports import DETAILS, METAGRAPH, Page, run_of
from run_files import edit, fit

EVIL = "<script>alert('x')</script>"
RUN = run_of("classification")
LOSSES = {"train_loss": 0.7, "val_loss": None}
PHASES = ("search-0", "train-0", "beside-mlp")
TASKS = tuple(DETAILS)
EVIDENCE = Evidence(
    candidates=12,
    failed=0,
    errors=(),
    finalists=(Finalist(3, "auto, depth 2", 0.75, 0.01, 3), Finalist(5, "gcn", 0.7, 0.02, 3)),
    judged_on="validation",
    running_best=(0.5, 0.75),
    gain_of_doubling=0.01,
    shares=(Share(3, 0.75), Share(5, 0.25)),
    single=3,
    single_score=0.75,
    ensemble_score=0.76,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder as far as a report reads it."""
    epochs = [{"phase": phase, "epoch": n, **LOSSES, "val_score": 0.1 * n} for phase in PHASES for n in (1, 2, 3)]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs), encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(RUN.to_dict()), encoding="utf-8")
    return tmp_path


@pytest.fixture
def report(folder: Path) -> str:
    return write_report(folder).read_text(encoding="utf-8")


@pytest.mark.parametrize("task", TASKS)
def test_the_page_of_every_task_is_well_formed_and_its_links_lead_somewhere(task: str, folder: Path) -> None:
    text = page(run_of(task), folder)
    assert text.startswith("<!doctype html>")
    seen = Page(text)
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    links = seen.values("href")
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert {"answer", "reads", "sure", "data", "learning", "again"} <= set(ids)


@pytest.mark.parametrize("task", TASKS)
def test_the_page_needs_no_other_file_no_network_and_no_script(task: str, folder: Path) -> None:
    text = page(run_of(task), folder)
    seen = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "image"} & set(seen.tags)
    assert not {"src", "xlink:href", "onclick", "onload"} & {name for name, _ in seen.attributes}
    assert len(re.findall("https?://", text)) == text.count('xmlns="http://www.w3.org/2000/svg"')
    assert "@import" not in text
    assert "url(" not in text
    assert any(value.startswith("default-src 'none'") for value in seen.values("content"))


@pytest.mark.parametrize("task", TASKS)
def test_what_is_reached_by_keyboard_and_every_column_has_a_name(task: str, folder: Path) -> None:
    text = page(run_of(task), folder)
    boxes = re.findall(r"<div[^>]*tabindex[^>]*>", text)
    assert boxes
    assert all(re.search(r'role="group" aria-label="[^"]+"', box) for box in boxes)
    heads = re.findall(r"<th[^>]*>(.*?)</th>", text)
    assert heads
    assert all(heads)


def test_the_five_questions_are_answered(folder: Path) -> None:
    words = Page(page(RUN, folder)).words
    assert "Predicts the class of author: macro F1 0.625 ± 0.098 on 20 authors" in words
    assert "The best simple way tried, mlp (features only), has 0.500 ± 0.078: the model is surely better" in words
    assert "Answers that know nothing have 0.2500." in words
    assert "95 % between 0.5270 and 0.7230" in words
    assert "An author is judged by" in words
    assert f"diffmg repeat {folder.name} --out {folder.name}-again" in words


@pytest.mark.parametrize(
    ("wins", "said"),
    [(0.99, "surely better"), (0.95, "probably better"), (0.5, "no clear difference"), (0.01, "surely worse")],
)
def test_a_verdict_goes_by_the_share_of_resamples(wins: float, said: str, folder: Path) -> None:
    run = replace(RUN, beside=(replace(RUN.beside[0], wins=wins),))
    assert said in Page(page(run, folder)).words


def test_the_best_rival_of_an_error_is_the_lowest(folder: Path) -> None:
    worse = Beside("svd", "", test={"mae": 0.9})
    run = run_of("regression")
    assert "tried, mlp" in Page(page(replace(run, beside=(worse, *run.beside)), folder)).words


def test_a_rival_that_refused_and_leaks_are_told(report: str) -> None:
    words = Page(report).words
    assert "gat was left out: it reads the whole network at once" in words
    assert "paper.field is the label of 99 % of nodes" in words
    assert "paper.year: number" in words


def test_scores_of_several_trainings_have_a_mean(folder: Path) -> None:
    second = Trained(1, 4, 3, {"macro_f1": 0.7}, {"macro_f1": 0.65})
    run = replace(RUN, trained=(*RUN.trained, second), kept=1)
    words = Page(page(run, folder)).words
    assert "mean ± std of 2 trainings" in words
    assert f"{run.mean('test'):.4f} ± {run.std('test'):.4f}" in words
    assert "mean ± std" not in Page(page(RUN, folder)).words


def test_no_better_than_chance_is_a_warning(folder: Path) -> None:
    doubtful = replace(RUN, certainty=Certainty(0.1, 20, "author", 400, 0.6, above_chance=False))
    assert "No better than chance" in Page(page(doubtful, folder)).words


def test_classes_and_confusion_are_shown(report: str) -> None:
    seen = Page(report)
    assert {"x", "y", "0.7750", "0.5500", "10", "3"} <= set(seen.texts)
    assert "15 of 20 are right" in seen.words


def test_examples_mark_what_was_chosen(folder: Path) -> None:
    words = Page(page(run_of("ranking"), folder)).words
    assert "✓ lamp , rug" in words
    assert "chair" in words


def test_a_run_without_test_scores_says_so(folder: Path) -> None:
    without = replace(
        RUN, trained=tuple(replace(t, test={}) for t in RUN.trained), certainty=None, details=None, beside=()
    )
    assert "There is no test part" in Page(page(without, folder)).words


def test_an_interrupted_run_has_a_page(tmp_path: Path) -> None:
    plain = Run("interrupted", RUN.plan, RUN.data, RUN.versions, "cpu")
    seen = Page(page(plain, tmp_path))
    assert "This run is interrupted: there is no test score yet." in seen.words
    assert not {"reads", "sure", "tried", "learning"} & set(seen.values("id"))


def test_a_run_that_an_older_version_wrote_has_a_page(folder: Path) -> None:
    old = json.loads((folder / "run.json").read_text())
    for name in ("certainty", "details", "beside"):
        del old[name]
    del old["plan"]["beside"]
    (folder / "run.json").write_text(json.dumps(old))
    seen = Page(write_report(folder).read_text(encoding="utf-8"))
    assert "macro F1 0.6250" in seen.words
    assert "sure" not in seen.values("id")


def test_meta_graphs_that_were_given_are_drawn_and_not_spelled_out(folder: Path) -> None:
    given = replace(RUN.plan, method=Given((METAGRAPH,)).spec(), source=Source())
    text = page(replace(RUN, plan=given), folder)
    assert "own network: the class of author" in Page(text).words
    assert '"links"' not in text
    assert "The network was built in Python" in text


def test_a_method_without_meta_graphs_has_none_on_its_page(folder: Path) -> None:
    run = replace(RUN, plan=Plan(MethodSpec("mlp"), Source("academic")), candidates=(Candidate((), 0.5),))
    seen = Page(page(run, folder))
    assert "reads" not in seen.values("id")
    assert "paper -by-> author" in seen.texts


def test_importances_are_bars_with_the_most_important_path_first(folder: Path) -> None:
    small = PathImportance("author", (), 0.01, 0.02)
    large = PathImportance("author", (Relation("paper", "by", "author"),), 0.2, 0.01)
    run = replace(RUN, importances=(small, large))
    assert importances_of(run) == (large, small)
    words = Page(page(run, folder)).words
    assert "without each meta path" in words
    assert words.index("0.200 ± 0.020") < words.index("0.010 ± 0.039")


def test_what_a_race_tried_is_shown(folder: Path) -> None:
    words = Page(page(replace(RUN, evidence=EVIDENCE), folder)).words
    assert "tried 12 candidates" in words
    assert "auto, depth 2 3 trainings, 75 % of the ensemble" in words
    assert "Best score so far" in words
    assert "ensemble that predicts has others beside it" in words


def test_candidates_of_searches_are_listed_with_the_chosen_one(folder: Path) -> None:
    two = (Candidate((METAGRAPH,), 0.5), Candidate((MetaGraph.features_only("author"),), None))
    texts = Page(page(replace(RUN, candidates=two), folder)).texts
    assert {"0 (chosen)", "0.5000", "none", "own features"} <= set(texts)


def test_every_phase_has_a_curve(report: str) -> None:
    texts = Page(report).texts
    assert set(PHASES) <= set(texts)
    assert {"cpu", "ab12cd34", "7", "1.2 s"} <= set(texts)


def evil_run() -> Run:
    """A run in which every name is a piece of HTML."""
    metagraph = MetaGraph(EVIL, ((Relation(EVIL, EVIL, EVIL),),))
    example = Recommended(EVIL, (EVIL,), (True,), (EVIL,), (EVIL,))
    details = Details(
        (ClassScore(EVIL, 1, 1, 1, 1),), Confusion((EVIL,), ((1,),)), {}, of=EVIL, examples=(example,), residuals=()
    )
    facts = {"nodes": {EVIL: 1}, "edges": {EVIL: 1}, "labels": {EVIL: {EVIL: 1}}}
    return Run(
        "done",
        Plan(MethodSpec(EVIL, {EVIL: EVIL}), Source(f"{EVIL}.toml"), device=EVIL),
        Data(EVIL, EVIL, (EVIL, EVIL), EVIL, {}, facts),
        {EVIL: EVIL},
        EVIL,
        {EVIL: 1.0},
        (Candidate((metagraph,), 0.5), Candidate((metagraph,), 0.25)),
        trained=(Trained(0, 1, 1, {EVIL: 0.5}, {EVIL: 0.5}),),
        notes=(EVIL, f"leak: {EVIL}"),
        certainty=Certainty(0.1, 1, EVIL, 1, 0.1, EVIL, above_chance=False),
        details=details,
        beside=(Beside(EVIL, EVIL, test={EVIL: 0.1}), Beside(EVIL, EVIL, refused=EVIL)),
        files={EVIL: EVIL},
    )


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(json.dumps({"phase": EVIL, "epoch": 1, **LOSSES, "val_score": 0.5}) + "\n")
    text = page(evil_run(), tmp_path)
    assert "<script" not in text
    assert "script" not in Page(text).tags
    assert EVIL in Page(text).texts


def test_a_large_run_has_a_small_page(folder: Path) -> None:
    types = [f"a node type with a long name {i}" for i in range(40)]
    links = dict.fromkeys(types, 10**6)
    facts = {
        "nodes": links,
        "edges": {f"{a} -to-> {b}": 9 for a in types for b in types[:20]},
        "labels": {"train": links},
    }
    classes = tuple(ClassScore(f"class {i}", 0.5, 0.5, 0.5, 9) for i in range(300))
    run = replace(RUN, data=replace(RUN.data, facts=facts), details=replace(DETAILS["classification"], classes=classes))
    assert len(page(run, folder).encode()) < 400_000


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_the_ground(place: int) -> None:
    pairs = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\)", style())
    found = {name: colours[place] for name, *colours in pairs}
    for name in ("ink", "mute", "own", "warn", "c0", "c1", "c2", "c3", "c4", "c5"):
        for ground in ("bg", "card"):
            light, dark = sorted((luminance(found[name]), luminance(found[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


def test_no_text_is_smaller_than_eleven_pixels() -> None:
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", style())]
    assert sizes
    assert min(sizes) >= 11


def test_pictures_fit_the_paper() -> None:
    printed = style().partition("@media print")[2]
    assert re.search(r"\.picture svg \{[^}]*max-width: 100%;[^}]*height: auto;", printed)
    whole = [rule for rule in printed.split("}") if "break-inside: avoid" in rule]
    assert {"tr", "pre", ".dots", ".plot", ".picture svg"} <= set(re.findall(r"^  ([^{},]+?)(?:,| {)$", whole[0], re.M))
    assert not any(re.search(r"\bsection\b", rule) for rule in whole)


def test_the_report_of_a_real_run_is_written_by_the_run_and_can_be_written_anew(tmp_path: Path) -> None:
    arguments = ("--method", "features", "-s", "max_epochs=1", "-s", "dim=8", "--beside", "label_propagation")
    path = fit(tmp_path / "run", "academic:120", *arguments)
    report = (path / "report.html").read_text(encoding="utf-8")
    run, texts = read_run(path), Page(report).texts
    assert {run.data.hash, *(f"{score:.4f}" for score in run.scores("test").values())} <= set(texts)
    assert [rival.method for rival in run.beside] == ["label_propagation"]
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
    code = "import diffmg.viz.page, diffmg.viz.compare, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""The runs and the page of the gallery."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from diffmg.core.method import METHODS
from experiments import RESULTS, ROOT
from experiments.gallery import GALLERY, run_gallery, subjects
from experiments.gallery_page import gallery_files, gallery_tables
from experiments.jsonl import read_lines


def test_every_method_that_can_be_run_alone_is_a_subject() -> None:
    alone = {name for name, kind in METHODS.items() if kind.towers} - {"given"}
    assert {name for name, _ in subjects()} == alone


def test_the_stored_runs_are_those_of_the_subjects() -> None:
    stored = {(line["method"], line["data"]): line["options"] for line in read_lines(RESULTS / GALLERY)}
    assert stored == {key: dict(options) for key, options in subjects().items()}


def test_a_run_is_done_once_and_drawn(tmp_path: Path) -> None:
    said: list[str] = []
    sheet = run_gallery(tmp_path, "cpu", methods=["features"], say=said.append)
    assert run_gallery(tmp_path, "cpu", methods=["features"], say=said.append) == sheet
    assert len(said) == 1
    (line,) = read_lines(tmp_path / GALLERY)
    shown = gallery_tables([line], {})["gallery_methods"]()
    assert "`diffmg fit academic:1000 --method features`" in shown
    assert f"macro_f1 {line['test']:.3f}" in shown
    assert "(figures/gallery-features-academic.svg){ .fit }" in shown


def test_the_page_names_its_pictures_and_they_are_small() -> None:
    files = gallery_files(ROOT, {})
    text = files[ROOT / "docs" / "gallery.md"]
    pictures = {path: svg for path, svg in files.items() if path.suffix == ".svg"}
    assert len(pictures) > 10
    for path, svg in pictures.items():
        assert f"](figures/{path.name})" in text
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert len(svg) < 40_000


def test_a_page_that_is_not_there_needs_nothing(tmp_path: Path) -> None:
    assert gallery_files(tmp_path, {}) == {}


def test_without_runs_the_page_says_how_to_make_them() -> None:
    for part in gallery_tables([], {}).values():
        assert "python -m experiments gallery" in part()

"""The piece of a page with picture, sentence and lists."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from diffmg.viz.meaning import meaning_of
from diffmg.viz.meaning_html import BROADEST, meaning_html
from diffmg.viz.meaning_svg import meaning_svg
from hard_pictures import CASES, importances
from pictures import DEAD, PLANTED


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_both_pictures_the_sentence_and_the_lists_are_there() -> None:
    page = meaning_html(meaning_of([DEAD]))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("svg") == 2
    assert "<p>An author is judged by their own features and their papers.</p>" in page
    assert "<li>paper → author: their papers</li>" in page
    assert "<li>writes (author → paper), H0 to H1: leads nowhere</li>" in page
    assert "only hands states on" in meaning_html(meaning_of([PLANTED]))


def test_names_cannot_break_out() -> None:
    tags = Tags()
    tags.feed(meaning_html(meaning_of([CASES["long"]])))
    assert "script" not in tags.seen


def test_what_is_too_wide_for_paper_is_printed_as_the_tree() -> None:
    found = {}
    for metagraph in (PLANTED, *(CASES[f"deep {seed}"] for seed in range(6))):
        meaning = meaning_of([metagraph], importances(metagraph))
        width = float(ElementTree.fromstring(meaning_svg(meaning, caption=False)).get("width", "0"))
        found[width > BROADEST] = meaning_html(meaning)
        assert ('class="diffmg-picture diffmg-wide diffmg-broad"' in found[width > BROADEST]) == (width > BROADEST)
    assert set(found) == {True, False}

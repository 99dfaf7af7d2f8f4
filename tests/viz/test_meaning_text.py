"""The tree a newcomer sees first in a terminal."""

from __future__ import annotations

from diffmg.core.importance import PathImportance
from diffmg.viz import draw, draw_all
from hard_pictures import CASES
from pictures import DEAD, PASSING, PLANTED, PUBLISHES, WRITTEN_BY, published


def test_the_meaning_as_a_newcomer_sees_it() -> None:
    assert draw(PLANTED, "text").splitlines() == [
        "author (own features)",
        "└◀─ paper  (written by)",
        "   └◀─ venue  (publishes)",
        "An author is judged by their own features, their papers, and venues of their",
        "papers.",
    ]


def test_importance_is_a_bar() -> None:
    known = [PathImportance("author", (PUBLISHES, WRITTEN_BY), 0.3, 0.0), PathImportance("author", (), 0.1, 0.0)]
    lines = draw_all([PLANTED], "text", importances=known).splitlines()
    assert [line.split()[-1] for line in lines[:3]] == ["25%", "0%", "75%"]
    assert [line.count("█") for line in lines[:3]] == [2, 0, 7]


def test_what_is_not_used_is_listed() -> None:
    assert draw(DEAD, "text").splitlines()[-1] == "not used: writes (author → paper) at H1"
    assert draw(PASSING, "text").splitlines()[-1] == "not used: published_in (only passes)"
    assert "not used" not in draw(PLANTED, "text")


def test_hard_cases_fit_a_screen() -> None:
    for name, metagraph in CASES.items():
        lines = draw(metagraph, "text").splitlines()
        assert len(lines) < 30, name
        assert max(map(len, lines)) <= 80, name
    assert "more meta paths" in draw(CASES["K = 8"], "text")


def test_windows_are_said_in_words() -> None:
    drawing = draw(CASES["windows"], "text")
    assert "◀─ last 5 standings of the driver\n" in drawing
    assert "◀─ results of the driver in the last 365 days\n" in drawing
    assert "│  └◀─ last 5 results of the constructor\n" in drawing


def test_towers_are_parted_by_a_blank_line() -> None:
    towers = published("douban")
    assert draw_all(towers, "text") == "\n\n".join(draw(tower, "text") for tower in towers)

from __future__ import annotations

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.importance import Contribution, Explanation, PathImportance, PathSource, path_names, path_words
from diffmg.core.schema import Relation

PATH = (Relation("venue", "publishes", "paper"), Relation("paper", "written_by", "author"))


def test_paths_in_words_go_back_from_the_target() -> None:
    assert path_words(PATH, "author") == "author <- paper <- venue"
    assert path_names(PATH) == "written_by, publishes"
    assert path_words((), "author") == "author itself"


def test_the_text_of_an_explanation() -> None:
    contributions = [
        Contribution(PATH, 0.75, 1.5, (PathSource("venue", "KDD", 0.5),)),
        Contribution((), 0.35, -0.25, ()),
        Contribution((), -0.1, 0.0, (), "other paths"),
    ]
    text = str(Explanation("author", 7, "field 1 (p = 0.900)", tuple(contributions), "a note"))
    assert text.splitlines() == [
        "author 7: field 1 (p = 0.900)",
        "   +75.0%  effect +1.500  author <- paper <- venue  (written_by, publishes)",
        "            +50.0%  venue KDD",
        "   +35.0%  effect -0.250  author itself",
        "   -10.0%  effect +0.000  other paths",
        "  a note",
    ]
    many = str(Explanation("author", 7, "x", tuple(contributions[1:2] * 12)))
    assert many.endswith("... 4 more")


def test_importances_are_stored_as_plain_values() -> None:
    one = PathImportance("author", PATH, 0.1, 0.02, 0.5)
    assert from_plain(PathImportance, to_plain(one), "it") == one

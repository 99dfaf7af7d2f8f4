from __future__ import annotations

from diffmg.reproduction import filled, places

TEXT = """# Results

<!-- table: cost -->
| old |
<!-- end -->

Words | between.

<!-- table: ablation -->
<!-- end -->
The end.
"""


def test_a_document_has_places() -> None:
    assert places(TEXT) == ["cost", "ablation"]
    assert places("") == places("words <!-- end -->") == places("<!-- table: cost -->\nno end") == []


def test_a_table_is_put_in_its_place_and_nothing_else_changes() -> None:
    wanted = TEXT.replace("| old |", "| new |")
    assert filled(TEXT, {"cost": "\n| new |\n\n"}) == wanted
    assert filled(TEXT, {}) == filled(TEXT, {"curves": "| new |"}) == TEXT


def test_an_empty_place_is_filled() -> None:
    assert "<!-- table: ablation -->\n| a |\n<!-- end -->\nThe end." in filled(TEXT, {"ablation": "| a |"})


def test_what_is_put_in_again_stays() -> None:
    tables = {"cost": "| 1 |\n\n- a note\n", "ablation": "| 2 |"}
    once = filled(TEXT, tables)
    assert filled(once, tables) == once
    assert places(once) == places(TEXT)


def test_text_is_put_in_as_it_is() -> None:
    table = r"| \\1 \\g<2> {name} |"
    assert table in filled(TEXT, {"cost": table})


def test_every_place_of_a_name_is_filled() -> None:
    assert filled(TEXT + TEXT, {"cost": "| new |"}).count("| new |") == 2

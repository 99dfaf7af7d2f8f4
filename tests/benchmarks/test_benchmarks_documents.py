from __future__ import annotations

from benchmarks.documents import fill, update

TEXT = "before\n<!-- table: a -->\nold\nold\n<!-- end -->\nbetween\n<!-- table: b -->\nkept\n<!-- end -->\nafter\n"


def test_a_table_is_put_between_its_marks_and_others_stay():
    filled = fill(TEXT, {"a": lambda: "\n| new |\n"})
    assert filled == TEXT.replace("old\nold", "| new |")
    assert fill(filled, {"a": lambda: "| new |"}) == filled


def test_a_table_is_not_a_pattern():
    assert r"\1 \g<0>" in fill(TEXT, {"a": lambda: r"\1 \g<0>"})


def test_only_tables_with_a_place_are_made():
    def fails() -> str:
        raise AssertionError("made for nothing")

    assert fill(TEXT, {"c": fails}) == TEXT


def test_outdated_files_are_written_or_only_told(tmp_path):
    old, same, new = (tmp_path / name for name in ("old", "same", "new"))
    old.write_text("x")
    same.write_text("z")
    wanted = {old: "y", same: "z", new: "w"}
    assert update(wanted, check=True) == [old, new]
    assert old.read_text() == "x"
    assert not new.exists()
    assert update(wanted, check=False) == [old, new]
    assert {path: path.read_text() for path in wanted} == wanted
    assert update(wanted, check=True) == []

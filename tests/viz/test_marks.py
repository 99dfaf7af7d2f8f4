"""Which operations are drawn and what for."""

from __future__ import annotations

from diffmg.core.metagraph import MetaGraph
from diffmg.core.schema import Relation
from diffmg.viz.marks import MOST_PATHS, Use, marks_of, path_lines
from pictures import DEAD, PASSING, PLANTED


def test_uses_are_read_off_the_program() -> None:
    assert [m.use for m in marks_of(PLANTED)] == [Use.SENDS, Use.PASSES, Use.SENDS]
    assert [m.use for m in marks_of(DEAD)] == [Use.DEAD, Use.SENDS]
    assert [m.label for m in marks_of(PASSING)] == ["published_in (passes)", "written_by (paper → author)"]


def test_many_meta_paths_are_counted_not_listed() -> None:
    relations = tuple(Relation("a", f"r{n}", "b") for n in range(MOST_PATHS + 3))
    lines = path_lines(MetaGraph("b", (relations,)))
    assert len(lines) == MOST_PATHS + 1
    assert lines[-1] == "… and 3 more"

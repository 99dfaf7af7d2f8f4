"""Meta paths as rows of a tree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.schema import Schema
from diffmg.viz.meaning import meaning_of
from diffmg.viz.outline import rows_of
from worlds import metagraphs, schemas


@given(st.data(), schemas())
def test_each_listed_path_is_one_row_below_the_path_that_ends_it(data: st.DataObject, schema: Schema) -> None:
    (tower,) = meaning_of([data.draw(metagraphs(schema, max_operations=2))]).towers
    rows = rows_of(tower)
    assert sorted(row.path for row in rows) == sorted(p.path for p in tower.paths)
    above: list[tuple[object, ...]] = []
    for row in rows:
        above = above[: len(row.path)]
        assert all(row.path[len(row.path) - n :] == path for n, path in enumerate(above))
        assert len(row.last) == len(row.path) == len(above)
        above.append(row.path)

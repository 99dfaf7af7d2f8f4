"""The picture of a network schema."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

from diffmg.core.schema import Relation, Schema
from diffmg.viz.schema_svg import MOST_RELATIONS, schema_layout, schema_svg
from hard_pictures import FORTY, LONG, LONG_RELATIONS
from pictures import SCHEMA, texts


def drawn(svg: str) -> list[str]:
    links = ElementTree.fromstring(svg).findall(".//{http://www.w3.org/2000/svg}g[@class='link']")
    return [str(link.get("data-relation")) for link in links]


def test_every_relation_is_an_arrow() -> None:
    assert sorted(drawn(schema_svg(SCHEMA))) == sorted(r.name for r in SCHEMA.relations)
    assert len(drawn(schema_svg(FORTY))) == 40


def test_reverse_relations_and_those_beyond_a_number_are_counted() -> None:
    wrote = Relation("author", "wrote", "paper")
    both = Schema(("author", "paper", "alone"), (wrote, Relation("paper", "rev_wrote", "author")))
    svg = schema_svg(both)
    assert drawn(svg) == ["wrote"]
    assert "And 1 relations in reverse." in texts(svg)
    assert "Without relations: alone." in texts(svg)
    many = tuple(Relation("a", f"r{n}", "b") for n in range(MOST_RELATIONS + 7))
    assert "And 7 more relations." in texts(schema_svg(Schema(("a", "b"), many)))


def test_counts_are_told_and_nothing_overlaps() -> None:
    svg = schema_svg(SCHEMA, nodes={"author": 12345}, edges={SCHEMA.relations[0]: 77})
    assert "12 345" in texts(svg)
    assert "venue -publishes-&gt; paper, 77 edges" in svg
    for relations in (FORTY.relations, LONG_RELATIONS):
        layout = schema_layout(relations, dict.fromkeys(LONG, 10))
        rects = [*(n.rect for n in layout.nodes), *(e.label for e in layout.edges)]
        assert not any(one.overlaps(other) for one, other in combinations(rects, 2))

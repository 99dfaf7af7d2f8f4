"""Meta graphs to draw, and readers of the drawings."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.schema import Relation, Schema
from diffmg.datasets import DATASETS

FORMS = ("text", "dot", "mermaid", "svg")
PUBLISHES = Relation("venue", "publishes", "paper")
WRITTEN_BY = Relation("paper", "written_by", "author")
WRITES = Relation("author", "writes", "paper")
PUBLISHED_IN = Relation("paper", "published_in", "venue")
SCHEMA = Schema(("author", "paper", "venue"), (PUBLISHES, WRITTEN_BY, WRITES, PUBLISHED_IN))
PLANTED = MetaGraph.of("author", {Link(1, 0): PUBLISHES, Link(2, 0): IDENTITY, Link(2, 1): WRITTEN_BY})
DEAD = MetaGraph.of("author", {Link(1, 0): WRITES, Link(2, 0): WRITTEN_BY, Link(2, 1): EMPTY})
PASSING = MetaGraph.of("author", {Link(1, 0): PUBLISHED_IN, Link(2, 0): EMPTY, Link(2, 1): WRITTEN_BY})
ODD = 'a<&">#`\\b'
ODD_GRAPH = MetaGraph(ODD, ((Relation("c{", ODD, ODD),),))


def published(name: str) -> tuple[MetaGraph, ...]:
    found = DATASETS.get(name)(name).published()
    assert found is not None
    return tuple(found.metagraphs)


def texts(svg: str, wanted: str = "") -> list[str]:
    """Texts of an SVG, of the class `wanted` if given, blanks made single."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [" ".join("".join(t.itertext()).split()) for t in found if wanted in t.get("class", "")]


def labels(drawing: str, form: str) -> list[str]:
    """Labels of links as a reader of that form would show them."""
    if form == "svg":
        return texts(drawing, "operation")
    if form == "dot":
        raw = re.findall(r'-> \w+ \[label="((?:[^"\\]|\\.)*)"', drawing)
        return [html.unescape(re.sub(r"\\(.)", r"\1", label)) for label in raw]
    raw = re.findall(r'>\|"([^"]*)"\|', drawing)
    return [re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label) for label in raw]

"""Names of node types, relations and meta paths in words; pictures, explanations and reports all say them so."""

from __future__ import annotations

import re

from diffmg.core import MetaPath, Relation
from diffmg.core.text import printable, shortened

WINDOW = re.compile(r"^(?:.*: )?last (?P<reach>\d+)\s*(?P<unit>[a-z]*) of the (?P<key>.+)$")
"""Names of relations by window, as tables give them."""
UNITS = {"s": "second", "min": "minute", "h": "hour", "d": "day", "w": "week"}
REVERSE = "rev_"
BEFORE = " before"
"""Past labels of a task of predictions are a node type whose name ends so: the last 5 earlier labels."""
FAR = 4
"""Paths of more hops are not spelled out."""
LONG = 40
"""Longer names are cut in sentences."""
SAME = ("news", "series", "species", "data", "people")
"""Words that are the same for one and for many."""
PERSONS = frozenset(
    ("actor", "artist", "author", "buyer", "customer", "director", "doctor", "driver", "employee", "expert", "member",
     "patient", "people", "person", "player", "reader", "reviewer", "seller", "student", "supplier", "teacher", "user",
     "viewer", "writer")
)  # fmt: skip


def name_words(name: str) -> str:
    """A name of a table or relation as words: `written_by` is "written by"."""
    return " ".join(printable(name).replace("_", " ").split()) or printable(name)


def one(node_type: str) -> str:
    """The name of one node of a type: a table is often named in the plural."""
    name = name_words(node_type)
    if name.endswith(BEFORE):
        name = f"earlier {name.removesuffix(BEFORE)}"
    if len(name) > LONG:
        return shortened(name, LONG)
    if not name.endswith("s") or name.endswith(("us", "is", "ss", *SAME)) or len(name) < 4:
        return name
    return f"{name[:-3]}y" if name.endswith("ies") else name[:-2] if name.endswith("sses") else name[:-1]


def many(node_type: str) -> str:
    """The name of several nodes of a type; a name that does not end like an English word is left as it is."""
    name = one(node_type)
    if name.endswith(SAME) or not ("a" <= name[-1:] <= "z"):
        return name
    if name.endswith("y") and name[-2:-1] not in ("a", "e", "i", "o", "u"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "z", "ch", "sh")) else f"{name}s"


def with_article(node_type: str) -> str:
    """Such as "an author"."""
    name = one(node_type)
    return f"{'an' if name[:1].lower() in set('aeio') else 'a'} {name}"


def own(node_type: str) -> str:
    """Such as "its", or "their" of a person."""
    return "their" if one(node_type).lower() in PERSONS else "its"


def relation_words(relation: Relation) -> str:
    """A relation as the label of an arrow: windows are spelled out, and reverse relations say so."""
    window = window_words(relation)
    if window is not None:
        return window
    name = relation.name
    if name.startswith(REVERSE) and len(name) > len(REVERSE):
        return f"{name_words(name.removeprefix(REVERSE))}, reversed"
    return name_words(name)


def window_words(relation: Relation) -> str | None:
    """A relation by window, such as "last 5 orders of the customer"; None for any other relation."""
    match = WINDOW.match(printable(relation.name))
    if match is None or (match["unit"] and match["unit"] not in UNITS):
        return None
    reach, key = int(match["reach"]), name_words(match["key"])
    if match["unit"]:
        unit = UNITS[match["unit"]]
        period = unit if reach == 1 else f"{reach} {unit}s"
        return f"{many(relation.source)} of the {key} in the last {period}"
    rows = one(relation.source) if reach == 1 else f"{reach} {many(relation.source)}"
    return f"last {rows} of the {key}"


def path_types(path: MetaPath, target: str) -> str:
    """The node types along a path in message order, such as "venue → paper → author"."""
    return " → ".join(name_words(name) for name in (*(r.source for r in path), target))


def path_words(path: MetaPath, target: str) -> str:
    """A path as seen from its target, such as "venues of its papers"; the empty path is the target's own features."""
    if not path:
        return f"{own(target)} own features"
    if len(path) > FAR:
        other = "other " if path[0].source == target else ""
        return f"{other}{many(path[0].source)} {len(path)} hops away"
    *earlier, nearest = path
    parts = [_rows(relation) for relation in earlier]
    if earlier and earlier[0].source == target and window_words(earlier[0]) is None:
        parts[0] = f"other {parts[0]}"
    return " of ".join([*parts, _nearest(nearest, target)])


def _rows(relation: Relation) -> str:
    window = window_words(relation)
    return many(relation.source) if window is None else f"the {window}"


def _nearest(relation: Relation, target: str) -> str:
    if window_words(relation) is not None:
        return _rows(relation)
    if relation.source == target:
        return f"{own(target)} linked {many(target)} ({relation_words(relation)})"
    return f"{own(target)} {many(relation.source)}"

"""Cards: what is known about a data set, written down once and checked against its files."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from diffmg.core import DiffmgError, Relation


@dataclass(frozen=True)
class Card:
    """Where a data set comes from, what is in it, and what to beware of."""

    source: str
    licence: str
    features: str
    split: str
    traps: tuple[str, ...]
    nodes: Mapping[str, int]
    edges: Mapping[Relation, int]
    parts: Mapping[str, Mapping[str, int]]
    """Part, class, number of labelled nodes or pairs."""
    repository: str = ""
    commit: str = ""
    paper: Mapping[str, int] = field(default_factory=dict)
    """Counts in the paper that differ from those of the files."""
    ratings: Mapping[str, int] = field(default_factory=dict)
    """How ratings become the authors' split."""
    files: tuple[Mapping[str, Any], ...] = ()
    """Per file its name, hashes, number of rows and the public file it is made from, where there is one."""


def read_card(name: str) -> Card:
    """The card of a data set, from `cards/NAME.toml`."""
    file = resources.files("diffmg.datasets") / "cards" / f"{name}.toml"
    if not file.is_file():
        raise DiffmgError(f"every data set has a card, but got no 'cards/{name}.toml'")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    lists = {key: tuple(data.get(key, ())) for key in ("traps", "files")}
    edges = {_relation(text): count for text, count in data["edges"].items()}
    return Card(**data | lists | {"edges": edges})


def _relation(text: str) -> Relation:
    match = re.fullmatch(r"(.+) -(.+)-> (.+)", text)
    if match is None:
        raise DiffmgError(f"a relation in a card is written 'SOURCE -NAME-> TARGET', but got {text!r}")
    return Relation(*match.groups())

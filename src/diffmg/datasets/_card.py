"""Cards: what is known about a data set, written down once and checked against its files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from diffmg.core import DiffmgError, Relation


@dataclass(frozen=True)
class Original:
    """A public file that a stored one is made from."""

    path: str
    """Place in the source repository."""
    sha256: str
    size: int | None = None
    """Bytes, where they are known."""


@dataclass(frozen=True)
class StoredFile:
    """A file of the compact form."""

    name: str
    """Place under the data root."""
    sha256: str
    """Of the file as it was packed first; another packer may give other bytes."""
    content: str
    """Of what is packed: the text, or the arrays (`content_digest`)."""
    rows: int | None = None
    """Lines, for text."""
    original: Original | None = None
    """None where the file is computed from the others."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StoredFile:
        """Read from a card; the content of packed text is that of its original."""
        original = Original(**data["original"]) if "original" in data else None
        content = data.get("content", original.sha256 if original else "")
        return cls(data["name"], data["sha256"], content, data.get("rows"), original)


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
    files: tuple[StoredFile, ...] = ()

    @property
    def originals(self) -> tuple[Original, ...]:
        """The public files to fetch."""
        return tuple(f.original for f in self.files if f.original is not None)


def read_card(name: str) -> Card:
    """The card of a data set, from `cards/NAME.toml`."""
    file = resources.files("diffmg.datasets") / "cards" / f"{name}.toml"
    if not file.is_file():
        raise DiffmgError(f"every data set has a card, but got no 'cards/{name}.toml'")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    data["traps"] = tuple(data["traps"])
    data["edges"] = {_relation(text): count for text, count in data["edges"].items()}
    data["files"] = tuple(StoredFile.from_dict(f) for f in data.get("files", []))
    return Card(**data)


def _relation(text: str) -> Relation:
    match = re.fullmatch(r"(.+) -(.+)-> (.+)", text)
    if match is None:
        raise DiffmgError(f"a relation in a card is written 'SOURCE -NAME-> TARGET', but got {text!r}")
    return Relation(*match.groups())

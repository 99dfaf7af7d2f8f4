"""The files that a card lists, with the public ones they are made from."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.datasets import Card


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


def stored_files(card: Card) -> tuple[StoredFile, ...]:
    """The files of a card; the content of packed text is that of its original."""
    found = []
    for data in card.files:
        original = Original(**data["original"]) if "original" in data else None
        content = data.get("content", original.sha256 if original else "")
        found.append(StoredFile(data["name"], data["sha256"], content, data.get("rows"), original))
    return tuple(found)

"""What a meta graph means, as a tree for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from diffmg.core import MetaGraph
from diffmg.core.importance import PathImportance
from diffmg.core.text import shortened
from diffmg.viz._base import DRAWINGS
from diffmg.viz.marks import Use
from diffmg.viz.meaning import Meaning, Tower, meaning_of
from diffmg.viz.outline import Row, rows_of
from diffmg.viz.words import name_words, relation_words, window_words

COLUMNS, BAR = 80, 10
NAME, MOST_UNUSED = 36, 8
"""The longest name of a type in a row, and the most operations that are listed as not used."""


@DRAWINGS.add("text")
def to_text(metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    """One tree per meta graph, and what they say in words."""
    return meaning_text(meaning_of(metagraphs, importances))


def meaning_text(meaning: Meaning) -> str:
    """Trees with the target on top: each row is a meta path to it."""
    return "\n\n".join("\n".join(_lines(tower)) for tower in meaning.towers)


def _lines(tower: Tower) -> Iterator[str]:
    rows = [(row, _row(row, tower.target)) for row in rows_of(tower)]
    reach = min(COLUMNS - BAR - 6, max((len(words) for _, words in rows), default=0) + 2)
    for row, words in rows:
        yield (
            shortened(words, COLUMNS) if row.share is None else f"{shortened(words, reach):<{reach}} {_bar(row.share)}"
        )
    if tower.more_paths != 0:
        yield f"… and {'many' if tower.more_paths is None else tower.more_paths} more meta paths"
    yield from _broken(tower.sentence)
    unused = _unused(tower)
    if unused:
        yield from _broken(f"not used: {', '.join(unused)}", "          ")


def _row(row: Row, target: str) -> str:
    if not row.path:
        return f"{name_words(target)} (own features)"
    stem = "".join("   " if last else "│  " for last in row.last[:-1])
    relation = row.path[0]
    name = "" if window_words(relation) else f"{shortened(name_words(relation.source), NAME)}  "
    return f"{stem}{'└' if row.last[-1] else '├'}◀─ {name}{_by(relation_words(relation), bool(name))}"


def _by(words: str, named: bool) -> str:
    return f"({words})" if named else words


def _bar(share: float) -> str:
    return f"{'█' * round(BAR * share):<{BAR}} {share:4.0%}"


def _unused(tower: Tower) -> list[str]:
    """Operations that do nothing for the target, each said once."""
    named = [f"{m.label} at H{m.link.k}" for m in tower.unused if m.use is Use.DEAD]
    passed = {m.name for m in tower.unused if m.use is Use.PASSES and m.name != "identity"}
    found = [*dict.fromkeys(named), *(f"{name} (only passes)" for name in sorted(passed))]
    more = [f"and {len(found) - MOST_UNUSED} more"] if len(found) > MOST_UNUSED else []
    return [*found[:MOST_UNUSED], *more]


def _broken(text: str, indent: str = "") -> list[str]:
    return wrap(text, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)

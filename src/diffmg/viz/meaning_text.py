"""What a meta graph means, as a tree for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from diffmg.core import MetaGraph
from diffmg.core.importance import PathImportance
from diffmg.viz._base import DRAWINGS
from diffmg.viz.marks import Use
from diffmg.viz.meaning import Meaning, Tower, meaning_of
from diffmg.viz.outline import Row, rows_of
from diffmg.viz.words import name_words, relation_words, window_words

COLUMNS, BAR = 80, 10


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
        yield words if row.share is None else f"{_cut(words, reach):<{reach}} {_bar(row.share)}"
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
    name = "" if window_words(relation) else f"{name_words(relation.source)}  "
    return f"{stem}{'└' if row.last[-1] else '├'}◀─ {name}{_by(relation_words(relation), bool(name))}"


def _by(words: str, named: bool) -> str:
    return f"({words})" if named else words


def _bar(share: float) -> str:
    return f"{'█' * round(BAR * share):<{BAR}} {share:4.0%}"


def _cut(words: str, reach: int) -> str:
    return words if len(words) <= reach else f"{words[: reach - 1]}…"


def _unused(tower: Tower) -> list[str]:
    """Operations that do nothing for the target, each said once."""
    named = [f"{m.label} at H{m.link.k}" for m in tower.unused if m.use is Use.DEAD]
    passed = {m.name for m in tower.unused if m.use is Use.PASSES and m.name != "identity"}
    return [*dict.fromkeys(named), *(f"{name} (only passes)" for name in sorted(passed))]


def _broken(text: str, indent: str = "") -> list[str]:
    return wrap(text, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)

"""What a meta graph means, as a piece of an HTML page: for reports and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from diffmg.core.text import printable
from diffmg.viz.marks import Use
from diffmg.viz.meaning import Meaning, Tower
from diffmg.viz.meaning_svg import meaning_svg, notes_of
from diffmg.viz.outline_svg import outline_svg
from diffmg.viz.words import path_types, path_words

MOST_UNUSED = 100
BROADEST = 1100
"""Pictures wider than this are printed as the tree: scaled to a page, they could not be read."""
STYLE = """
.diffmg-meaning { container-type: inline-size; contain-intrinsic-inline-size: 640px; overflow-wrap: anywhere; }
.diffmg-narrow { display: none; } .diffmg-picture { overflow-x: auto; direction: rtl; }
.diffmg-picture svg { display: block; max-width: none; height: auto; direction: ltr; margin-right: auto; }
.diffmg-picture.diffmg-narrow { direction: ltr; }
@container (max-width: 540px) { .diffmg-wide { display: none; } .diffmg-narrow { display: block; } }
@media print {
.diffmg-picture { break-inside: avoid; } .diffmg-picture svg { max-width: 100%; max-height: 23cm; }
.diffmg-broad { display: none; } .diffmg-broad + .diffmg-narrow { display: block; }
}
"""
"""The tree stands in where the page, or the column of it, is narrow. What is too wide is first seen from the end
where the target is: a picture from the right, a tree from the left.
"""


def meaning_html(meaning: Meaning, *, edges: Mapping[str, int] | None = None) -> str:
    """The picture (a tree where the page is narrow), the sentence below it, and lists to unfold."""
    picture = meaning_svg(meaning, edges=edges, caption=False)
    broad = " diffmg-broad" if _width(picture) > BROADEST else ""
    return "\n".join(
        [
            f'<div class="diffmg-meaning"><style>{STYLE}</style>',
            f'<div class="diffmg-picture diffmg-wide{broad}">{picture}</div>',
            f'<div class="diffmg-picture diffmg-narrow">{outline_svg(meaning)}</div>',
            *(f"<p>{escape(line)}</p>" for _, line in notes_of(meaning)),
            *(line for tower in meaning.towers for line in _lists(tower)),
            "</div>",
        ]
    )


def _width(svg: str) -> float:
    return float(svg.partition(' width="')[2].partition('"')[0])


def _lists(tower: Tower) -> Iterator[str]:
    target = escape(printable(tower.target))
    more = "many" if tower.more_paths is None else tower.more_paths
    paths = [f"{path_types(p.path, tower.target)}: {path_words(p.path, tower.target)}" for p in tower.paths]
    yield from _folded(f"meta paths of {target}", [*paths, *([f"and {more} more"] if more else [])])
    unused = [f"{m.label}, H{m.link.i} to H{m.link.k}: {_why(m.use)}" for m in tower.unused]
    hidden = [f"and {len(unused) - MOST_UNUSED} more"] if len(unused) > MOST_UNUSED else []
    yield from _folded(f"left out for {target}", [*unused[:MOST_UNUSED], *hidden])


def _why(use: Use) -> str:
    return "only hands states on" if use is Use.PASSES else "leads nowhere"


def _folded(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield f"<details><summary>{title}</summary><ul>{items}</ul></details>"

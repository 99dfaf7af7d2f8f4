"""The document around the sections of a report: head, contents, choice of light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from diffmg.viz.report.html import Section, text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Nothing is fetched, and no script runs."""
THEMES = ("auto", "light", "dark")


def document(title: str, lead: str, sections: Sequence[Section], *, policy: str = POLICY, extra: str = "") -> str:
    """A whole page, self-contained. A server may give another policy, and put `extra` markup before the sections."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f'<meta name="generator" content="diffmg"><title>{text(title)}</title>',
        f"<style>{style()}</style></head><body>",
        '<a class="skip" href="#main">to the answer</a>',
        f'<div class="top"><nav aria-label="Contents">{_contents(sections)}</nav>{_themes()}</div>',
        f'<main id="main"><h1>{text(title)}</h1><p class="lead">{text(lead)}</p>{extra}',
        *(section.html() for section in sections),
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


@cache
def style() -> str:
    """The style sheet of the page."""
    return files("diffmg.viz.report").joinpath("style.css").read_text(encoding="utf-8")


def _contents(sections: Sequence[Section]) -> str:
    return "".join(f'<a href="#{s.anchor}">{text(s.short)}</a>' for s in sections)


def _themes() -> str:
    """Light or dark without a script: the style looks at which one is checked."""
    chosen = {name: " checked" if name == THEMES[0] else "" for name in THEMES}
    items = "".join(
        f'<label><input type="radio" name="theme" id="theme-{name}"{checked}> {name}</label>'
        for name, checked in chosen.items()
    )
    return f'<fieldset><legend class="unseen">colours</legend>{items}</fieldset>'

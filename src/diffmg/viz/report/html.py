"""Small pieces of HTML; every text is escaped here, so that names from data cannot become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from diffmg.core.text import clean

THIN = "\u202f"
"""The space between thousands."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


class Section(NamedTuple):
    """A part of the page with an anchor; left out where its body is empty."""

    anchor: str
    title: str
    body: str
    short: str
    """Its name in the contents."""

    def html(self) -> str:
        """The section as HTML."""
        name = f'<h2 id="{self.anchor}-title">{escape(self.title)}</h2>'
        return f'<section id="{self.anchor}" aria-labelledby="{self.anchor}-title">{name}{self.body}</section>'


def text(value: object) -> str:
    """Escaped, unless it is markup; control characters are shown as such."""
    if isinstance(value, Html):
        return value
    return escape(clean(str(value)))


def paragraph(*parts: object, kind: str = "") -> str:
    """A paragraph, with a class if `kind` is given."""
    about = f' class="{kind}"' if kind else ""
    return f"<p{about}>{''.join(map(text, parts))}</p>"


def strong(value: object) -> Html:
    """Important text."""
    return Html(f"<strong>{text(value)}</strong>")


def code(value: object) -> Html:
    """Code."""
    return Html(f"<code>{text(value)}</code>")


def bullets(lines: Iterable[object]) -> str:
    """A list; empty for no lines."""
    found = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f"<ul>{found}</ul>" if found else ""


def folded(title: object, body: str) -> str:
    """Content that is opened on demand."""
    return f"<details><summary>{text(title)}</summary>{body}</details>" if body else ""


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], caption: object = "", *, kind: str = "", left: int = 1
) -> str:
    """A table in a box of its own that scrolls sideways; columns after the first `left` are numbers."""
    heads = "".join(_head(h, _number(i, left)) for i, h in enumerate(head))
    body = "".join(f"<tr>{_cells(row, left)}</tr>" for row in rows)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    about = f' class="{kind}"' if kind else ""
    top = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    named = caption or ", ".join(str(h) for h in head if h)
    return f"{scrolled(named)}<table{about}>{title}{top}<tbody>{body}</tbody></table></div>"


def scrolled(name: object, kind: str = "wide") -> str:
    """The start of a box that scrolls sideways, by keyboard too; its name is read out when it is reached."""
    return f'<div class="{kind}" tabindex="0" role="group" aria-label="{text(str(name))}">'


def _head(value: object, number: str) -> str:
    return f'<th scope="col"{number}>{text(value)}</th>' if value else f"<td{number}></td>"


def _cells(row: Sequence[object], left: int) -> str:
    first, *rest = row
    cells = "".join(f"<td{_number(i, left)}>{text(c)}</td>" for i, c in enumerate(rest, 1))
    return f'<th scope="row">{text(first)}</th>{cells}'


def _number(place: int, left: int) -> str:
    return ' class="number"' if place >= left else ""

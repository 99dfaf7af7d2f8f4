"""Printing for people: text from data is shown as it is, without markup, and controls no terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from diffmg.core.text import clean
from diffmg.core.trust import without_secrets


class SafeConsole(Console):
    """A console whose texts, those in tables too, have neither markup nor control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text that is printed comes through here."""
        return super().render_str(clean(text), **options)


console = SafeConsole()
errors = SafeConsole(stderr=True)


def say(text: str, where: Console = console) -> None:
    """Print text verbatim: no markup, no line breaks inside a path; but an address is shown without its password."""
    where.print(clean(without_secrets(text)), markup=False, highlight=False, soft_wrap=True)


def emit(text: str) -> None:
    """Print data or a drawing: cleaned on a terminal; to a file or a pipe the same bytes as `--out` writes."""
    if sys.stdout.isatty():
        sys.stdout.write(clean(text))
        return
    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(text)
    else:
        raw.write(text.encode())
        raw.flush()

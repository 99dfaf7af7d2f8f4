"""Options that take several words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand


class SeveralWords(TyperCommand):
    """An option that may be repeated may also have several words: `--data A B` means `--data A --data B`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the option before each of its words."""
        repeatable = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
        return super().parse_args(ctx, list(_spread(args, repeatable)))


def _spread(words: list[str], repeatable: set[str]) -> Iterator[str]:
    option, filled = "", False
    for word in words:
        if word.startswith("-"):
            name, equals, _ = word.partition("=")
            option, filled = name if name in repeatable else "", bool(equals)
        elif option and filled:
            yield option
        else:
            filled = True
        yield word

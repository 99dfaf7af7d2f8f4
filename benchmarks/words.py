"""What `python -m benchmarks` and `python -m experiments` share: options with several words, and how a failure ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from diffmg.cli.common import errors, say
from diffmg.core.errors import DiffmgError, MissingDataError


class SeveralWords(TyperCommand):
    """An option that may be repeated may also have several words: `--data A B` means `--data A --data B`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the option before each of its words."""
        repeatable = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
        return super().parse_args(ctx, list(spread(args, repeatable)))


def spread(words: Sequence[str], repeatable: set[str]) -> Iterator[str]:
    """The words of a command line, with a repeatable option before each of its words."""
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


def run_app(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command line; bad input ends with exit code 2, missing data with 3, each with one message."""
    try:
        app(args=arguments, prog_name=name)
    except DiffmgError as error:
        say(f"error: {error}", errors)
        sys.exit(3 if isinstance(error, MissingDataError) else 2)

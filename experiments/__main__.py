"""`python -m experiments`: all commands; those of `PLAIN` need no library for command lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

PLAIN = (
    "reproduce",
    "exhaustive",
    "regret",
    "proposers",
    "study",
    "steady",
    "planted",
    "explained",
    "gallery",
    "screenshots",
)
"""Commands that are modules of their own, with a function `main`."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] in PLAIN:
        sys.exit(import_module(f"experiments.{words[0]}").main(words[1:]))
    from experiments.commands import main as run

    run(words)


if __name__ == "__main__":
    main()

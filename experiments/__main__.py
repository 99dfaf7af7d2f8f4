"""`python -m experiments`: all commands; `reproduce` needs no library for command lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["reproduce"]:
        from experiments.reproduce import main as reproduce

        sys.exit(reproduce(words[1:]))
    from experiments.commands import main as run

    run(words)


if __name__ == "__main__":
    main()

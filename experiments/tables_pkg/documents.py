"""Documents whose tables are made from results: a table stands between two marks and is put in anew."""

from __future__ import annotations

import re
from collections.abc import Mapping

MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, tables: Mapping[str, str]) -> str:
    """The document with these tables in their places; those of other names stay as they are."""

    def put(found: re.Match[str]) -> str:
        name = found[2]
        return f"{found[1]}{tables[name].strip()}\n{found[3]}" if name in tables else found[0]

    return MARK.sub(put, text)


def places(text: str) -> list[str]:
    """Names of the tables a document has places for."""
    return [name for _, name, _ in MARK.findall(text)]

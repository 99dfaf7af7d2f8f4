"""Documents with generated tables, each between two markers so that it can be replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from diffmg.core.files import write_text

MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The document with these tables replaced; other tables are unchanged."""

    def put(found: re.Match[str]) -> str:
        start, name, end = found.groups()
        return f"{start}{tables[name]().strip()}\n{end}" if name in tables else found[0]

    return MARK.sub(put, text)


def update(files: Mapping[Path, str], check: bool) -> list[Path]:
    """Write the files whose text changed (with `check`, write nothing); returns the outdated ones."""
    outdated = [f for f, text in files.items() if not f.exists() or f.read_text(encoding="utf-8") != text]
    for file in () if check else outdated:
        write_text(file, files[file])
    return outdated

"""Where a problem comes from: a data set by name, a description of tables, or a database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffmg.core.errors import DiffmgError, unknown

if TYPE_CHECKING:
    from diffmg.datasets import Published
    from diffmg.tables import Description
    from diffmg.tasks.problem import Problem
    from diffmg.core.settings import Settings

DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
OPTIONS = ("target", "as_of", "on_unknown")


def is_database(data: str) -> bool:
    """Whether `data` is the file or the address of a database."""
    return "://" in data or data.endswith(DATABASES)


def is_described(data: str) -> bool:
    """Whether `data` is a description of tables, or a database that can be described."""
    return data.endswith(".toml") or is_database(data)


def plain_name(data: str) -> str:
    """Data as part of a file name: the name of a file or a database, or that of a data set with its size."""
    return re.sub(r"[^\w.]+", "-", Path(data).stem if is_described(data) else data)


def describe(data: str, options: Mapping[str, Any]) -> Description:
    """The description behind `data`: read from a TOML file, or made from a database and its target."""
    from diffmg.tables import read_description

    for name in options:
        if name not in OPTIONS:
            raise unknown("option of the data:", name, OPTIONS)
    _check_no_password(data)
    if not is_database(data):
        if "target" in options or "as_of" in options:
            raise DiffmgError(f"a target and a time are for databases, but got {dict(options)} for {data!r}")
        description = read_description(Path(data))
    else:
        from diffmg.tables.database import describe_database

        if not options.get("target"):
            raise DiffmgError(
                f"a database needs a target TABLE.COLUMN to predict, but got none for {data!r}; use --target"
            )
        description = describe_database(data, options["target"], as_of=options.get("as_of"))
    return replace(description, on_unknown=options.get("on_unknown", description.on_unknown))


def _check_no_password(data: str) -> None:
    """An address is written into run files and messages, so it must not hold a password."""
    from diffmg.tables.connecting import without_password

    bare = without_password(data)
    if bare != data:
        raise DiffmgError(
            f"an address must be without a password, which would be written into files, but got one for {bare!r}; "
            "give it in PGPASSWORD or ~/.pgpass"
        )


def open_problem(
    data: str, *, root: Path | None = None, seed: int = 0, options: Mapping[str, Any] | None = None
) -> Problem:
    """The network and the task of a data set, of a description, or of a database."""
    if not is_described(data):
        from diffmg.datasets import load_dataset

        if options:
            raise DiffmgError(
                f"a target, a time and unknown ids are for own tables, but got {dict(options)} for {data!r}"
            )
        return load_dataset(data, root=root, seed=seed)
    from diffmg.tables.problem import problem_from_tables, read_tables

    description = describe(data, options or {})
    folder = Path() if is_database(data) else Path(data).parent
    return problem_from_tables(description, read_tables(description, folder))


def published_for(data: str) -> Published | None:
    """What the paper's authors published for a data set, where there is anything."""
    if is_described(data):
        return None
    from diffmg.datasets import DATASETS, parse_name

    name = parse_name(data)[0]
    return DATASETS.get(name)(name).published()


def starting_point(data: str, strategy: str) -> tuple[dict[str, Any], Settings]:
    """Options of a strategy and settings to start from: the authors' where they published some.

    Without a strategy, which is a baseline's case, the settings are this package's.
    """
    from diffmg.methods.search import known_options
    from diffmg.core.settings import Settings

    published = published_for(data) if strategy else None
    if published is None:
        return {}, Settings()
    return known_options(strategy, published.search), Settings(**published.train)

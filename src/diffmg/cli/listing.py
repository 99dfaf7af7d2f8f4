"""The command that lists everything registered."""

from dataclasses import MISSING, fields
from typing import Any

from rich.table import Table

from diffmg.cli import output
from diffmg.cli.common import console
from diffmg.cli.datasets import listing
from diffmg.core import METHODS, TASKS, Settings


def list_all() -> output.Value:
    """List everything registered: methods with their options, tasks, data sets, column types, formats, settings."""
    from diffmg.tables.columns import COLUMN_TYPES
    from diffmg.viz import DRAWINGS

    for family in sorted({kind.family for _, kind in METHODS.items()}, reverse=True):
        table = Table("method", "what it does", "options", title=f"methods: {family}", title_justify="left")
        for name, kind in METHODS.items():
            if kind.family == family:
                options = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
                table.add_row(name, kind.summary, options or "none")
        console.print(table)
    tasks = Table("task", "what it is", "scores that may choose", "estimator", title="tasks", title_justify="left")
    for name, task in TASKS.items():
        tasks.add_row(name, task.summary, ", ".join(task.metrics), task.estimator)
    console.print(tasks)
    console.print(listing())
    others = Table("kind", "names", title="column types and formats", title_justify="left")
    others.add_row("types of columns", ", ".join(COLUMN_TYPES.names()))
    others.add_row("formats of pictures", ", ".join(DRAWINGS.names()))
    console.print(others)
    settings = Table("setting", "default", title="settings: --set KEY=VALUE", title_justify="left")
    for field in fields(Settings):
        settings.add_row(field.name, str(field.default))
    console.print(settings)
    return _values() | {"column_types": COLUMN_TYPES.names(), "formats": DRAWINGS.names()}


def _values() -> dict[str, Any]:
    """What is listed, by name."""
    from diffmg.datasets import DATASETS

    return {
        "methods": {
            name: {"family": kind.family, "summary": kind.summary, "options": _defaults(kind)}
            for name, kind in METHODS.items()
        },
        "tasks": {
            name: {"summary": task.summary, "metrics": list(task.metrics), "estimator": task.estimator}
            for name, task in TASKS.items()
        },
        "datasets": {name: kind.summary for name, kind in DATASETS.items()},
        "settings": _defaults(Settings),
    }


def _defaults(kind: type) -> dict[str, Any]:
    """The fields of a dataclass with their defaults; None where one must be given."""
    return {f.name: None if f.default is MISSING else f.default for f in fields(kind)}

"""The command that lists what there is."""

from __future__ import annotations

from dataclasses import fields

from rich.table import Table

from diffmg.cli.common import console
from diffmg.cli.datasets import listing


def list_all() -> None:
    """List everything registered: strategies and baselines with their options, data sets, training settings."""
    from diffmg.core.settings import Settings
    from diffmg.methods.baselines import BASELINES
    from diffmg.methods.search import STRATEGIES

    for title, family in (("strategies", STRATEGIES), ("baselines", BASELINES)):
        table = Table(family.kind, "what it does", "options", title=title, title_justify="left")
        for name, kind in family.items():
            options = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
            table.add_row(name, kind.summary, options or "none")
        console.print(table)
    console.print(listing())
    settings = Table("setting", "default", title="settings: --set KEY=VALUE", title_justify="left")
    for field in fields(Settings):
        settings.add_row(field.name, str(field.default))
    console.print(settings)

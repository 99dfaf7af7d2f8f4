"""The command that lists what there is."""

from __future__ import annotations

from dataclasses import fields

from rich.table import Table

from diffmg.cli.common import console
from diffmg.cli.datasets import listing


def list_all() -> None:
    """List everything registered: strategies with their options, data sets, training settings."""
    from diffmg.strategies import STRATEGIES
    from diffmg.train import TrainSettings

    table = Table("strategy", "what it does", "options", title="strategies", title_justify="left")
    for name, kind in STRATEGIES.items():
        options = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
        table.add_row(name, kind.summary, options or "none")
    console.print(table)
    console.print(listing())
    settings = Table("setting", "default", title="settings: --set KEY=VALUE", title_justify="left")
    for field in fields(TrainSettings):
        settings.add_row(field.name, str(field.default))
    console.print(settings)

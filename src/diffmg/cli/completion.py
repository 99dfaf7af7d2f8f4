"""Names that a shell completes: methods, data sets, settings.

A shell waits for every key, so names are read off the source text of their files; importing them would load torch.
"""

import re
from dataclasses import fields
from importlib.metadata import entry_points
from pathlib import Path

import diffmg
from diffmg.core.settings import Settings

REGISTERED = {"METHODS": ("methods", "diffmg.methods"), "DATASETS": ("datasets", "diffmg.datasets")}
"""For each registry, the folder of its members and the group of entry points of other packages."""


def registered_names(registry: str) -> list[str]:
    """The names of a registry's members, as `Registry.names` has them."""
    folder, group = REGISTERED[registry]
    added = re.compile(rf'^@{registry}\.add\("([^"]+)"\)', re.MULTILINE)
    files = sorted((Path(diffmg.__file__).parent / folder).rglob("*.py"))
    found = (name for file in files for name in added.findall(file.read_text(encoding="utf-8")))
    return sorted({*found, *(entry.name for entry in entry_points(group=group))})


def _beginning(registry: str, incomplete: str) -> list[str]:
    return [name for name in registered_names(registry) if name.startswith(incomplete)]


def methods(incomplete: str) -> list[str]:
    """Methods whose name begins so."""
    return _beginning("METHODS", incomplete)


def data_sets(incomplete: str) -> list[str]:
    """Data sets whose name begins so; files are completed by the shell where there is none."""
    return _beginning("DATASETS", incomplete)


def settings(incomplete: str) -> list[str]:
    """Training settings whose name begins so, up to their value."""
    return [f"{f.name}=" for f in fields(Settings) if f.name.startswith(incomplete)]


def devices(incomplete: str) -> list[str]:
    """Devices whose name begins so."""
    return [name for name in ("auto", "cpu", "cuda") if name.startswith(incomplete)]

"""Learning on heterogeneous networks without hand-made meta paths."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "DiffmgError": "diffmg.errors",
    "HeteroGraph": "diffmg.graph",
    "MetaGraph": "diffmg.metagraph",
    "MetaGraphClassifier": "diffmg.estimators",
    "MetaGraphRecommender": "diffmg.estimators",
    "NodeClassification": "diffmg.task",
    "Recommendation": "diffmg.task",
    "Relation": "diffmg.schema",
    "Schema": "diffmg.schema",
    "SearchSpace": "diffmg.space",
    "load_dataset": "diffmg.datasets",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import diffmg` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'diffmg' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Learning on heterogeneous networks without hand-made meta paths."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "DiffmgError": "diffmg.core.errors",
    "HeteroGraph": "diffmg.graph.network",
    "MetaGraph": "diffmg.core.metagraph",
    "MetaGraphClassifier": "diffmg.estimators",
    "MetaGraphRecommender": "diffmg.estimators",
    "NodeClassification": "diffmg.tasks",
    "Recommendation": "diffmg.tasks",
    "Relation": "diffmg.core.schema",
    "Schema": "diffmg.core.schema",
    "SearchSpace": "diffmg.core.space",
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

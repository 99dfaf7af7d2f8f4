"""Learning on heterogeneous networks without hand-made meta paths.

Names are imported on first use, so that `import diffmg` stays quick; type checkers read `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.2.0"

_HOMES = {
    "DATASETS": "datasets",
    "METHODS": "core.method",
    "TASKS": "core.task",
    "Answers": "tasks.answers",
    "DiffMG": "methods.search.diffmg",
    "DiffmgError": "core.errors",
    "Given": "methods.given",
    "HeteroGraph": "graph.network",
    "ItemRanking": "tasks.item_ranking",
    "MetaGraph": "core.metagraph",
    "MetaGraphClassifier": "estimators",
    "MetaGraphRecommender": "estimators",
    "Method": "core.method",
    "Model": "runs.model",
    "NodeClassification": "tasks.node_classification",
    "NodeRegression": "tasks.regression",
    "NodeRegressor": "estimators",
    "Plan": "core.plan",
    "Problem": "tasks.problem",
    "Recommendation": "tasks.recommendation",
    "Relation": "core.schema",
    "Run": "core.run",
    "Schema": "core.schema",
    "SearchSpace": "core.space",
    "Settings": "core.settings",
    "Source": "core.plan",
    "Task": "core.task",
    "export_tables": "tables",
    "load_dataset": "datasets",
    "make_plan": "runs.sources",
    "open_problem": "runs.sources",
    "read_problem": "tables",
    "read_run": "core.run",
    "run": "runs.runner",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    """Import on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'diffmg' has no attribute {name!r}")
    return getattr(import_module(f"diffmg.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

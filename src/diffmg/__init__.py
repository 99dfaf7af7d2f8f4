"""Learning on heterogeneous networks without hand-made meta paths.

Names are imported on first use, so that `import diffmg` stays quick; type checkers see the imports below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffmg.core.errors import DiffmgError as DiffmgError
    from diffmg.core.metagraph import MetaGraph as MetaGraph
    from diffmg.core.method import METHODS as METHODS
    from diffmg.core.method import Method as Method
    from diffmg.core.plan import Plan as Plan
    from diffmg.core.plan import Source as Source
    from diffmg.core.run import Run as Run
    from diffmg.core.run import read_run as read_run
    from diffmg.core.schema import Relation as Relation
    from diffmg.core.schema import Schema as Schema
    from diffmg.core.settings import Settings as Settings
    from diffmg.core.space import SearchSpace as SearchSpace
    from diffmg.core.task import TASKS as TASKS
    from diffmg.core.task import Task as Task
    from diffmg.datasets import DATASETS as DATASETS
    from diffmg.datasets import load_dataset as load_dataset
    from diffmg.estimators import MetaGraphClassifier as MetaGraphClassifier
    from diffmg.estimators import MetaGraphRecommender as MetaGraphRecommender
    from diffmg.graph.network import HeteroGraph as HeteroGraph
    from diffmg.methods.given import Given as Given
    from diffmg.methods.search.diffmg import DiffMG as DiffMG
    from diffmg.runs.model import Model as Model
    from diffmg.runs.runner import run as run
    from diffmg.runs.sources import make_plan as make_plan
    from diffmg.runs.sources import open_problem as open_problem
    from diffmg.tables import export_tables as export_tables
    from diffmg.tables import read_problem as read_problem
    from diffmg.tasks.answers import Answers as Answers
    from diffmg.tasks.node_classification import NodeClassification as NodeClassification
    from diffmg.tasks.problem import Problem as Problem
    from diffmg.tasks.recommendation import Recommendation as Recommendation

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
    "MetaGraph": "core.metagraph",
    "MetaGraphClassifier": "estimators",
    "MetaGraphRecommender": "estimators",
    "Method": "core.method",
    "Model": "runs.model",
    "NodeClassification": "tasks.node_classification",
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

__all__ = [
    "DATASETS",
    "METHODS",
    "TASKS",
    "Answers",
    "DiffMG",
    "DiffmgError",
    "Given",
    "HeteroGraph",
    "MetaGraph",
    "MetaGraphClassifier",
    "MetaGraphRecommender",
    "Method",
    "Model",
    "NodeClassification",
    "Plan",
    "Problem",
    "Recommendation",
    "Relation",
    "Run",
    "Schema",
    "SearchSpace",
    "Settings",
    "Source",
    "Task",
    "__version__",
    "export_tables",
    "load_dataset",
    "make_plan",
    "open_problem",
    "read_problem",
    "read_run",
    "run",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import on first use."""
        if name not in _HOMES:
            raise AttributeError(f"module 'diffmg' has no attribute {name!r}")
        return getattr(import_module(f"diffmg.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

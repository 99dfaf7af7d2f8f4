"""Values and contracts: schema, meta graphs, programs, settings, plans and runs. Nothing here imports torch."""

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError, MissingDataError, unknown
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph, MetaPath, Operation
from diffmg.core.method import METHODS, Method, MethodSpec
from diffmg.core.options import Bounds, Checked, Count, Depth, Fraction, NotNegative, Positive, Share
from diffmg.core.plan import Plan, Predictions, Source
from diffmg.core.program import Program, compile_program
from diffmg.core.registry import Registry
from diffmg.core.run import Run, read_history, read_metagraphs, read_run
from diffmg.core.schema import Relation, Schema
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.core.task import PARTS, TASKS, Part, Task, TaskSpec

__all__ = [
    "EMPTY", "IDENTITY", "METHODS", "PARTS", "TASKS", "Bounds", "Checked", "Count", "Depth",
    "DiffmgError", "Engine", "Fraction", "Link", "MetaGraph", "MetaPath", "Method", "MethodSpec",
    "MissingDataError", "NotNegative", "Operation", "Part", "Plan", "Positive", "Predictions", "Program",
    "Registry", "Relation", "Run", "Schema", "SearchSpace", "Settings", "Share", "Source",
    "Task", "TaskSpec", "compile_program", "derive_seed",
    "read_history", "read_metagraphs", "read_run", "unknown",
]  # fmt: skip

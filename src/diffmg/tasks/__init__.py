"""Tasks: what is predicted, for which target types, on which split, how it is scored."""

from diffmg.tasks._base import Part, Task
from diffmg.tasks.node_classification import NodeClassification
from diffmg.tasks.recommendation import Recommendation

__all__ = ["NodeClassification", "Part", "Recommendation", "Task"]

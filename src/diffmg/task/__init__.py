"""Tasks: what is predicted, for which target types, on which split, how it is scored."""

from diffmg.task._base import Part, Task
from diffmg.task.node_classification import NodeClassification
from diffmg.task.recommendation import Recommendation

__all__ = ["NodeClassification", "Part", "Recommendation", "Task"]

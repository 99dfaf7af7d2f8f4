"""Tasks: what is predicted, for which target types, on which split, how it is scored. One file per member."""

from diffmg.core import PARTS, Part, Task
from diffmg.tasks.answers import Answers
from diffmg.tasks.item_ranking import ItemRanking
from diffmg.tasks.node_classification import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.tasks.recommendation import Recommendation
from diffmg.tasks.regression import NodeRegression

__all__ = [
    "PARTS", "Answers", "ItemRanking", "NodeClassification", "NodeRegression", "Part", "Problem", "Recommendation",
    "Task",
]  # fmt: skip

"""The answers of a classification as a table: the class of each node, and the probability of every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from diffmg.tasks.answers import Answers, free_names
from diffmg.tasks.node_task import with_keys

if TYPE_CHECKING:
    from diffmg.graph.network import HeteroGraph
    from diffmg.tasks.node_classification import NodeClassification


def class_answers(task: NodeClassification, logits: Tensor, graph: HeteroGraph, ids: Any = None) -> Answers:
    """Of all nodes of the labelled type, or of those with these ids; several labels of a node are one text."""
    known = graph.ids_of(task.target)
    if ids is not None:
        index = graph.index_of(task.target, ids)
        logits, known = logits[torch.from_numpy(index)], known[index]
    decided, names = task.decide(logits).numpy(force=True), np.asarray(task.classes)
    if task.multilabel:
        words = np.array([" ".join(map(str, names[row > 0])) for row in decided], dtype=object)
    else:
        words = names[decided]
    columns = [known, words, *task.probabilities(logits).numpy(force=True).T]
    heads = free_names(["class", *(f"p({name})" for name in names)], (task.target,))
    return with_keys(Answers(dict(zip([task.target, *heads], columns, strict=True))), graph, task.target)

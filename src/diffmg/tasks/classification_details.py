"""Details of a classification's test answers: each class, what is confused with what, how sure answers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from diffmg.core import Part
from diffmg.core.details import Details
from diffmg.tasks.details import calibration, class_scores, confusion, rank_curves

if TYPE_CHECKING:
    from diffmg.tasks.node_classification import NodeClassification


def details_of(task: NodeClassification, outputs: tuple[Tensor, ...], part: Part) -> Details | None:
    """Scores of every class; of one class a node also what is confused, of two the curves of the positive one."""
    index = task.parts[part]
    logits = outputs[0][index]
    if not len(index) or bool(logits.isnan().any()):
        return None
    true, decided = (x.numpy(force=True) for x in (task.labels[index], task.decide(logits)))
    names = [str(name) for name in task.classes]
    classes = class_scores(true, decided, names)
    if task.multilabel:
        return Details(classes)
    chances = task.probabilities(logits).double().numpy(force=True)
    if task.positive is None:
        bins = calibration(true == decided, np.asarray(chances.max(axis=1)))
        return Details(classes, confusion(true, decided, names), calibration=bins, of="the class that was chosen")
    positive, chance = true == task.positive, np.asarray(chances[:, task.positive])
    odds = logits.double()[:, task.positive] - logits.double()[:, 1 - task.positive]
    curves, bins = rank_curves(positive, odds.numpy(force=True)), calibration(positive, chance)
    return Details(classes, confusion(true, decided, names), curves, bins, of=f"class {names[task.positive]}")

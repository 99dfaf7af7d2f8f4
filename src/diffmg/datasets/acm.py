"""ACM: research areas of papers."""

from diffmg.core import Relation
from diffmg.datasets._base import DATASETS
from diffmg.datasets._gtn import GtnDataset


@DATASETS.add("acm")
class Acm(GtnDataset):
    """Papers labelled by research area."""

    summary = "classify 3025 papers into 3 research areas; papers, authors, subjects"
    folder = "ACM"
    relations = (
        Relation("author", "PA", "paper"),
        Relation("paper", "AP", "author"),
        Relation("subject", "PS", "paper"),
        Relation("paper", "SP", "subject"),
    )
    target = "paper"
    classes = ("0", "1", "2")

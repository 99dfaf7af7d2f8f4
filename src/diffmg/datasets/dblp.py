"""DBLP: research areas of authors."""

from diffmg.core import Relation
from diffmg.datasets._base import DATASETS
from diffmg.datasets._gtn import GtnDataset


@DATASETS.add("dblp")
class Dblp(GtnDataset):
    """Authors labelled by research area; node types are the ones that agree with the edges."""

    summary = "classify 4057 authors into 4 research areas; papers, authors, conferences"
    folder = "DBLP"
    relations = (
        Relation("author", "PA", "paper"),
        Relation("paper", "AP", "author"),
        Relation("conference", "PC", "paper"),
        Relation("paper", "CP", "conference"),
    )
    target = "author"
    classes = ("0", "1", "2", "3")
    supposed_types = True

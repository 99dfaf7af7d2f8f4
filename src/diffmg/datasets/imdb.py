"""IMDB: genres of movies."""

from diffmg.core import Relation
from diffmg.datasets._base import DATASETS
from diffmg.datasets._gtn import GtnDataset


@DATASETS.add("imdb")
class Imdb(GtnDataset):
    """Movies labelled by genre; 2939 of the 4661 movies carry a label."""

    summary = "classify movies into 3 genres; 4661 movies, directors, actors"
    folder = "IMDB"
    relations = (
        Relation("director", "MD", "movie"),
        Relation("movie", "DM", "director"),
        Relation("actor", "MA", "movie"),
        Relation("movie", "AM", "actor"),
    )
    target = "movie"
    classes = ("0", "1", "2")

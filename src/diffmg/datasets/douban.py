"""Douban Movie: movies for users."""

from typing import ClassVar

from diffmg.datasets._base import DATASETS
from diffmg.datasets._hin import EdgeFile, HinDataset


@DATASETS.add("douban")
class Douban(HinDataset):
    """Users rate movies, befriend users and join groups; movies have actors, a director and types."""

    summary = "recommend 12677 movies to 13367 users; friends, groups, actors, directors, types"
    folder = "Douban_Movie"
    first_id = 1
    num_nodes: ClassVar = {"user": 13367, "movie": 12677, "group": 2753, "actor": 6311, "director": 2449, "type": 38}
    user, item = "user", "movie"
    ratings, seeds = "user_movie.dat.gz", (5, 6)
    observed = ("UM", "MU")
    friends = "UU"
    files = (
        EdgeFile("user_group.dat.gz", "user", "group", "UG", "GU"),
        EdgeFile("movie_actor.dat.gz", "movie", "actor", "MA", "AM"),
        EdgeFile("movie_director.dat.gz", "movie", "director", "MD", "DM"),
        EdgeFile("movie_type.dat.gz", "movie", "type", "MT", "TM"),
    )

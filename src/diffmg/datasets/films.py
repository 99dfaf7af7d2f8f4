"""A synthetic archive of films: viewers watch films of the genres they like, popular ones more often."""

from pathlib import Path

import numpy as np

from diffmg.core import EMPTY, IDENTITY, Link, MetaGraph, Relation
from diffmg.datasets._base import DATASETS, Dataset
from diffmg.datasets._made import Ints, both_ways, counts, hint, random_edges
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.problem import Problem
from diffmg.tasks.ranked_network import rank_along

SIZE = 4000
TASTES = 6
FEATURES = 8
MOST = 50_000
"""Nodes: every viewer chooses among all films, so the time grows with their product."""
LEAST = 8
"""Nodes that every type has."""
WATCHED = 20
"""Films that a viewer watched."""
LOYALTY = 0.8
"""Chance that a film is of the viewer's taste."""
FASHION = 0.5
"""Exponent of how quickly popularity falls from film to film."""
SHARES = {"viewer": 0.5, "film": 0.35, "genre": 0.05, "studio": 0.1}

WATCHES = Relation("viewer", "watches", "film")
WATCHED_BY = Relation("film", "watched_by", "viewer")
HOLDS = Relation("genre", "holds", "film")


@DATASETS.add("films")
class Films(Dataset):
    """Four node types, seven relations. Only genres have features; studios and friendships tell nothing."""

    summary = "made: rank films for viewers; planted paths genre -> film -> viewer and genre -> film"
    planted = (
        MetaGraph.of("viewer", {Link(1, 0): HOLDS, Link(2, 0): EMPTY, Link(2, 1): WATCHED_BY}),
        MetaGraph.of("film", {Link(1, 0): IDENTITY, Link(2, 0): EMPTY, Link(2, 1): HOLDS}),
    )

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Generate a network of about `size` nodes (default 4000)."""
        return make_films(SIZE if size is None else size, seed)


def make_films(size: int = SIZE, seed: int = 0) -> Problem:
    """The network of about `size` nodes; a tenth of what each viewer watched is validation, a tenth the test part."""
    rng, n = np.random.default_rng(seed), counts(size, SHARES, least=LEAST, most=MOST)
    genre_taste = rng.permutation(np.arange(n["genre"]) % TASTES)
    genre = rng.permutation(np.arange(n["film"]) % n["genre"])
    taste = rng.permutation(np.arange(n["viewer"]) % TASTES)
    studio, friends = random_edges(rng, n["studio"], n["film"], 1), random_edges(rng, n["viewer"], n["viewer"], 3)
    edges = {
        **both_ways(WATCHES, WATCHED_BY.name, _watched(rng, taste, genre_taste[genre])),
        **both_ways(HOLDS, "of_genre", np.stack([genre, np.arange(n["film"])])),
        **both_ways(Relation("studio", "makes", "film"), "made_by", studio),
        Relation("viewer", "friend", "viewer"): np.concatenate([friends, friends[::-1]], axis=1),
    }
    features = {"genre": hint(rng, genre_taste, FEATURES, strength=1.0)}
    return rank_along(HeteroGraph.build(n, edges, features), WATCHES, seed=seed)


def _watched(rng: np.random.Generator, taste: Ints, film_taste: Ints) -> Ints:
    """Two rows, viewers and films: of each viewer's taste mostly, the popular ones more often."""
    fashion = rng.permutation((1.0 + np.arange(len(film_taste))) ** -FASHION)
    count, found = min(WATCHED, len(film_taste) // 2), []
    for viewer, own in enumerate(taste):
        liked = film_taste == own
        odds = fashion * np.where(liked, LOYALTY / fashion[liked].sum(), (1 - LOYALTY) / fashion[~liked].sum())
        films = rng.choice(len(film_taste), count, replace=False, p=odds / odds.sum())
        found.append(np.stack([np.full(count, viewer), films]))
    return np.concatenate(found, axis=1)

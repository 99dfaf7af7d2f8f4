"""From a file of ratings to films for people.

People like the films of one genre; stars from one to five say so. What the model learns, it learns from who rated what:
no genre is in the file. Run it with `python examples/films.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from diffmg import MetaGraphRecommender, Problem
from diffmg.tables import read_table

GENRES = 5


def write_ratings(path: Path, people: int = 200, films: int = 120, seed: int = 0) -> None:
    """Write person, film, stars; some films are seen by everybody, whatever their taste."""
    rng = np.random.default_rng(seed)
    fame = 1 / np.arange(1, films + 1) ** 0.5
    lines = ["person,film,stars"]
    for person in range(people):
        likes = np.arange(films) % GENRES == person % GENRES
        chance = fame * np.where(likes, 8.0, 1.0)
        for film in rng.choice(films, 25, replace=False, p=chance / chance.sum()):
            stars = rng.integers(4, 6) if likes[film] else rng.integers(1, 5)
            lines.append(f"p{person},film {film},{stars}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(path: Path) -> None:
    """Read the ratings, race for 12 trainings, and say what to show to whom."""
    problem = Problem.from_ratings(read_table(path), user="person", item="film", rating="stars", liked=4)
    model = MetaGraphRecommender(budget=12).fit(problem)
    scores = model.run_.scores("test")
    print(f"ndcg {scores['ndcg']:.3f}, of popular films {scores['popularity_ndcg']:.3f}")
    print(model.predictions(["p0", "p1"], k=3))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_ratings(Path(folder) / "ratings.csv")
        main(Path(folder) / "ratings.csv")

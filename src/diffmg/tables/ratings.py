"""A ranking from a frame of ratings or interactions."""

from collections.abc import Sequence
from typing import Any

from diffmg.core import DiffmgError, unknown
from diffmg.core.codec import from_plain
from diffmg.graph.network import CONVERTERS
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.guessing import words_of
from diffmg.tables.problem import problem_from_tables
from diffmg.tables.reading import as_table
from diffmg.tasks.item_ranking_spec import RankingSpec
from diffmg.tasks.problem import Problem

USUAL = {
    "user": ("user", "customer", "viewer", "reader", "member", "account", "visitor"),
    "item": ("item", "product", "movie", "film", "book", "article", "song", "track", "asin", "sku"),
    "rating": ("rating", "stars", "score"),
}
"""Usual names of the columns, with or without `id`."""


@CONVERTERS.add("from_ratings")
def problem_from_ratings(
    ratings: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    users: Any = None,
    items: Any = None,
    **options: Any,
) -> Problem:
    """Implements `Problem.from_ratings`: turns the frames and options into a description."""
    table = as_table(ratings, "the ratings")
    given = {"user": user, "item": item, "rating": rating}
    roles = {role: _column(role, name, table.column_names) for role, name in given.items()}
    own, other = str(roles["user"]), str(roles["item"])
    if own == other:
        raise DiffmgError(f"users and items must be in two columns, but got {own!r} for both")
    relation = "rated" if roles["rating"] else "chose"
    tables, nodes = {"ratings": table}, {}
    for name, frame in ((own, users), (other, items)):
        nodes[name] = NodeTable() if frame is None else NodeTable(f"nodes {name!r}")
        if frame is not None:
            tables[f"nodes {name!r}"] = as_table(frame, f"nodes {name!r}")
    asked = {"relation": relation, "rating": roles["rating"]} | options
    task = from_plain(RankingSpec, {k: v for k, v in asked.items() if v is not None}, "the ranking")
    for column in filter(None, (task.split, task.time)):
        _column("", column, table.column_names)
    link = RelationTable("ratings", (own, own), (other, other))
    return problem_from_tables(Description(nodes, {relation: link}, task), tables)


def _column(role: str, given: str | None, columns: Sequence[str]) -> str | None:
    """The column of a role: the given one, or the one with a usual name; a rating may be missing."""
    if given is not None:
        if given not in columns:
            raise unknown("column of the ratings:", given, columns)
        return given
    usual = {text for name in USUAL[role] for text in (name, f"{name}_id", f"{name}id")}
    found = [name for name in columns if words_of(name) in usual]
    if len(found) == 1 or (not found and role == "rating"):
        return found[0] if found else None
    raise DiffmgError(
        f"the {role} must be one column of the ratings with a usual name, but got {found or list(columns)}; "
        f"name it: {role}=..."
    )

"""User tables: from a short description and files or data frames to a network and a task, and back."""

from diffmg.tables.description import Description, read_description, write_description
from diffmg.tables.export import export_tables
from diffmg.tables.problem import problem_from_tables, read_graph, read_problem, read_tables
from diffmg.tables.reading import read_table

__all__ = [
    "Description", "export_tables", "problem_from_tables", "read_description", "read_graph", "read_problem",
    "read_table", "read_tables", "write_description",
]  # fmt: skip

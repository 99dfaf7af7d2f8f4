"""The user's own tables: a short description, files or frames in, a network and a task out."""

from diffmg.tables.description import Description, read_description, write_description
from diffmg.tables.problem import problem_from_tables, read_problem

__all__ = ["Description", "problem_from_tables", "read_description", "read_problem", "write_description"]

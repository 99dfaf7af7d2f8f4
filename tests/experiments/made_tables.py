"""Small tables of programs with made scores."""

from __future__ import annotations

import math

from diffmg.core.program import compile_program
from diffmg.core.space import SearchSpace
from diffmg.runs.provenance import data_of
from diffmg.tasks.problem import Problem
from experiments.exhaustive_programs import Programs
from experiments.exhaustive_table import ExhaustiveTable, Row


def programs_of(problem: Problem, depth: int) -> Programs:
    """The programs of a problem's spaces."""
    schema, targets = problem.graph.schema, problem.task.target_types
    return Programs(tuple(SearchSpace.dag(schema, t, depth) for t in targets))


def made_table(problem: Problem, depth: int = 2, sign: int = 1) -> ExhaustiveTable:
    """Scores rise with the number of sparse products and, a little, with the program's number; one training failed."""
    programs = programs_of(problem, depth)
    rows = []
    for n in range(programs.size):
        products = sum(compile_program(m).products for m in programs.metagraphs(n))
        score = math.nan if n == 1 else sign * (products + n / programs.size) / 10
        rows.append(Row(programs.key(n), programs.picks(n), programs.count(n), score, 0.5, n))
    schema = problem.graph.schema
    about = {
        "data": "made",
        "data_hash": data_of(problem).hash, "depth": depth,
        "targets": list(problem.task.target_types), "sign": sign, "metric": "score",
        "node_types": list(schema.node_types), "relations": [list(r.triple) for r in schema.relations],
        "programs": programs.size, "metagraphs": programs.metagraph_count, "device": "none", "command": "none",
    }  # fmt: skip
    return ExhaustiveTable(tuple(rows), about)

"""Commands on the vectors of a model: embed, similar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common, output
from diffmg.cli.common import say
from diffmg.cli.use import Data, Ids, OutFile, SafeCells, as_ids, check_out, load, write

VectorFile = Annotated[Path, typer.Option("--out", help="File to write: .parquet, .npy, .csv or .jsonl.")]
TYPE = "The target type that is meant."
NodeType = Annotated[str | None, common.option("--type", help=TYPE, show_default="items, in a recommendation")]


def embed(
    run: common.RunPath,
    out: VectorFile,
    node: Ids = None,
    node_type: NodeType = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> output.Value:
    """Write the vector of every node: what the head reads, or whose dot product is a pair's score."""
    from diffmg.runs.vectors import check_vector_ending, target_type

    check_vector_ending(out)
    model = load(run, data, data_root)
    task = model.problem.task
    place = task.target_types.index(target_type(task, node_type))
    vectors = model.embed(as_ids(node, model, place), node_type=node_type)
    vectors.write(out)
    say(f"{len(vectors)} vectors of {vectors.values.shape[1]} columns written to {out}")
    return {"written": out, "count": len(vectors), "columns": vectors.values.shape[1]}


def similar(
    run: common.RunPath,
    node: Ids = None,
    k: Annotated[int, typer.Option("-k", help="Similar nodes for each.")] = 10,
    node_type: NodeType = None,
    out: OutFile = None,
    data: Data = None,
    data_root: common.DataRoot = None,
    safe_cells: SafeCells = False,
) -> output.Value:
    """Find the most similar nodes of the same type, by the cosine of their vectors."""
    from diffmg.runs.vectors import target_type

    check_out(out, safe_cells)
    model = load(run, data, data_root)
    task = model.problem.task
    place = task.target_types.index(target_type(task, node_type))
    return write(out, [model.similar(as_ids(node, model, place), k, node_type=node_type)], safe_cells)

"""What notebooks show of a meta graph, a schema, a network, a run and a model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from diffmg.core import MetaGraph, Run, Schema
from diffmg.core.importance import PathImportance
from diffmg.core.pictured import PICTURES
from diffmg.viz.meaning import meaning_of
from diffmg.viz.meaning_html import meaning_html
from diffmg.viz.meaning_svg import meaning_svg
from diffmg.viz.schema_svg import schema_svg

if TYPE_CHECKING:
    from diffmg.graph.network import HeteroGraph
    from diffmg.runs.model import Model


@PICTURES.add("metagraph.svg")
def metagraph_svg(metagraph: MetaGraph) -> str:
    """What it means."""
    return meaning_svg(meaning_of([metagraph]))


@PICTURES.add("metagraph.html")
def metagraph_html(metagraph: MetaGraph) -> str:
    """What it means, with lists to unfold."""
    return meaning_html(meaning_of([metagraph]))


PICTURES.add("schema.svg")(schema_svg)


@PICTURES.add("schema.html")
def schema_html(schema: Schema) -> str:
    """Node types and relations."""
    return _in_box(schema_svg(schema))


@PICTURES.add("network.html")
def network_html(graph: HeteroGraph) -> str:
    """Its schema with counts, below a line in words."""
    edges = {relation: int(matrix.nnz) for relation, matrix in graph.adjacency.items()}
    nodes, total = sum(graph.num_nodes.values()), sum(edges.values())
    words = f"{nodes} nodes of {len(graph.num_nodes)} types, {total} edges of {len(edges)} relations"
    return f"<p>{escape(words)}</p>{_in_box(schema_svg(graph.schema, nodes=graph.num_nodes, edges=edges))}"


@PICTURES.add("run.html")
def run_html(run: Run) -> str:
    """Its scores, and what its meta graphs mean."""
    return _with_meaning(run, run.metagraphs, run.importances)


@PICTURES.add("model.html")
def model_html(model: Model) -> str:
    """What it is, and what its meta graphs mean."""
    return _with_meaning(model, model.metagraphs)


def _with_meaning(noun: object, metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    words = f"<pre>{escape(repr(noun))}</pre>"
    return words + (meaning_html(meaning_of(metagraphs, importances)) if metagraphs else "")


def _in_box(svg: str) -> str:
    return f'<div style="overflow-x: auto">{svg}</div>'

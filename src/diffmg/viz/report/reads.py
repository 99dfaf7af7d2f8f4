"""What the model reads: the picture of its meta graphs, its relations, and what its meta paths are worth."""

from __future__ import annotations

from collections.abc import Sequence

from diffmg.core import MetaGraph, Run
from diffmg.core.importance import PathImportance
from diffmg.core.run import shown
from diffmg.core.schema import Relation
from diffmg.viz._base import draw_all
from diffmg.viz.marks import MOST_PATHS, Use, marks_of
from diffmg.viz.report.html import Html, Section, bullets, folded, paragraph, table, text
from diffmg.viz.report.rows import Row, bar_rows
from diffmg.viz.report.words import SURE, count, metric_name


def reads(run: Run) -> Section | None:
    """The section; None for a method without a meta graph."""
    if not run.metagraphs:
        return None
    body = _lead(run) + picture(run)
    return Section(
        "reads", "What does it read?", body + _importances(run) + _paths(run) + _relations(run), "What it reads"
    )


def picture(run: Run) -> str:
    """The drawing of the meta graphs, in a box of its own."""
    return f'<div class="picture wide" tabindex="0">{draw_all(run.metagraphs, "svg")}</div>'


def importances_of(run: Run) -> tuple[PathImportance, ...]:
    """What each meta path is worth, most important first; empty where that was not computed."""
    return tuple(sorted(run.importances, key=lambda importance: -importance.drop))


def path_words(target: str, path: Sequence[Relation]) -> Html:
    """A meta path, such as `venue → paper → author`, with the names of its relations."""
    if not path:
        return Html(f"{text(target)} <small>own features</small>")
    steps = "".join(f" <small>{text(r.name)}</small> → {text(r.target)}" for r in path)
    return Html(f"{text(path[0].source)}{steps}")


def _lead(run: Run) -> str:
    kinds = [" and ".join(sources_of(m)) or "nothing" for m in run.metagraphs]
    said = "; ".join(f"for {m.target} it reads {kind}" for m, kind in zip(run.metagraphs, kinds, strict=True))
    several = run.evidence is not None and len(run.evidence.shares) > 1 and not run.plan.single
    whose = " This is the best single model; the ensemble that predicts has others beside it." if several else ""
    return paragraph(f"{said[0].upper()}{said[1:]}.{whose}")


def sources_of(metagraph: MetaGraph) -> list[str]:
    """The node types that messages to the target come from, itself included where its own features are used."""
    found = dict.fromkeys(p[0].source if p else metagraph.target for p in metagraph.longest_paths())
    return [f"{t} (its own features)" if t == metagraph.target else t for t in found]


def _importances(run: Run) -> str:
    rows = [
        Row(
            path_words(i.target, i.path),
            i.drop,
            f"{shown(i.drop)} ± {shown(SURE * i.std)}",
            i.drop - SURE * i.std,
            i.drop + SURE * i.std,
            f"for {i.target}" if len(run.metagraphs) > 1 else "",
        )
        for i in importances_of(run)[:MOST_PATHS]
    ]
    name = metric_name(run.metric)
    return bar_rows(rows, f"How much worse the validation {name} is without each meta path", ("meta path", "drop"))


def _paths(run: Run) -> str:
    """The meta paths in words, where their importances do not list them."""
    if importances_of(run):
        return ""
    found = [(m.target, p) for m in run.metagraphs for p in m.longest_paths()]
    more = [f"and {len(found) - MOST_PATHS} more"] if len(found) > MOST_PATHS else []
    return "<h3>Meta paths</h3>" + bullets([*(path_words(t, p) for t, p in found[:MOST_PATHS]), *more])


def _relations(run: Run) -> str:
    """Every relation of the network: its edges, and whether it carries messages to a target."""
    edges = run.data.facts.get("edges", {})
    sends = {str(m.operation) for g in run.metagraphs for m in marks_of(g) if m.use is Use.SENDS}
    used = [[name, count(edges[name]), "yes"] for name in edges if name in sends]
    unused = [[name, count(edges[name]), "no"] for name in edges if name not in sends]
    if not edges:
        return ""
    body = table(["relation", "edges", "carries messages"], [*used, *unused], "Relations of the network")
    return folded(f"{len(used)} of {len(edges)} relations carry messages", body)

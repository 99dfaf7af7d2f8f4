"""What the model reads: the picture of its meta graphs, its relations, and what its meta paths are worth."""

from __future__ import annotations

from diffmg.core import MetaPath, Run
from diffmg.core.importance import PathImportance
from diffmg.core.run import shown
from diffmg.viz._base import draw_all
from diffmg.viz.marks import MOST_PATHS, Use, marks_of
from diffmg.viz.meaning import meaning_of
from diffmg.viz.meaning_html import meaning_html
from diffmg.viz.report.html import Html, Section, folded, paragraph, scrolled, table, text
from diffmg.viz.report.rows import Row, bar_rows
from diffmg.viz.report.words import SURE, count, metric_name, with_error
from diffmg.viz.words import path_types, path_words


def reads(run: Run) -> Section | None:
    """The section; None for a method without a meta graph."""
    if not run.metagraphs:
        return None
    states = folded("the same as a DAG of states", _box(draw_all(run.metagraphs, "svg", "states"), "the DAG of states"))
    body = _whose(run) + picture(run) + _importances(run) + _relations(run) + states
    return Section("reads", "What does it read?", body, "What it reads")


def picture(run: Run) -> str:
    """What the meta graphs mean, in a box of its own."""
    meaning = meaning_of(run.metagraphs, run.importances)
    return f'<div class="picture">{meaning_html(meaning, edges=run.data.facts.get("edges", {}))}</div>'


def _box(drawing: str, name: str) -> str:
    return f"{scrolled(name, 'picture wide')}{drawing}</div>"


def importances_of(run: Run) -> tuple[PathImportance, ...]:
    """What each meta path is worth, most important first; empty where that was not computed."""
    return tuple(sorted(run.importances, key=lambda importance: -importance.drop))


def path_label(target: str, path: MetaPath) -> Html:
    """A meta path in words, such as "venues of their papers", with the node types along it."""
    types = f" <small>{text(path_types(path, target))}</small>" if path else ""
    return Html(f"{text(path_words(path, target))}{types}")


def _whose(run: Run) -> str:
    """That the picture is the single model's, where others answer beside it or in its place."""
    if run.evidence is None or run.plan.single:
        return ""
    voters = {share.candidate for share in run.evidence.shares}
    score = _single_score(run)
    if run.evidence.single not in voters:
        names = ", ".join(f.described for f in run.evidence.finalists if f.candidate in voters)
        others = f": {names}" if names else ""
        said = (
            f"This is the best single model with a meta graph{score}; the scores above are of the ensemble without it"
        )
        return paragraph(f"{said}{others}.")
    said = f"This is the best single model{score}; the ensemble that predicts has others beside it."
    return paragraph(said) if len(voters) > 1 else ""


def _single_score(run: Run) -> str:
    tested = run.single.test if run.single is not None else {}
    return f" (test {metric_name(run.metric)} {shown(tested[run.metric])})" if run.metric in tested else ""


def _importances(run: Run) -> str:
    rows = [
        Row(
            path_label(i.target, i.path),
            i.drop,
            with_error(i.drop, i.std),
            i.drop - SURE * i.std,
            i.drop + SURE * i.std,
            f"for {i.target}" if len(run.metagraphs) > 1 else "",
        )
        for i in importances_of(run)[:MOST_PATHS]
    ]
    name = metric_name(run.metric)
    return bar_rows(rows, f"How much worse the validation {name} is without each meta path", ("meta path", "drop"))


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

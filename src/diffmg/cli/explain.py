"""The command that explains: where an answer comes from, or what each meta path is worth."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.cli.use import At, Data, at_moment, load_at, load_model
from diffmg.core import DiffmgError, read_run
from diffmg.core.codec import to_plain
from diffmg.core.files import write_text
from diffmg.core.importance import Contribution, Explanation, PathImportance, path_names, path_words
from diffmg.core.text import printable

if TYPE_CHECKING:
    from diffmg.runs.model import Model

ID = "The node, or the user of a recommendation, to explain; may be repeated."
ITEM = "Of a pair, the item whose score to explain; as often as users are given."
Node = Annotated[list[str] | None, common.option("--id", help=ID, show_default="the whole model")]
Item = Annotated[list[str] | None, common.option("--item", help=ITEM)]
Sources = Annotated[int, typer.Option("-k", min=0, help="Source nodes of each path.")]
OutFile = Annotated[Path | None, common.option("--out", help="A .json or .csv file.", show_default="print")]
SHOWN = 12
"""Contributions that are printed."""
HEADS = ("path", "relations", "share", "effect", "from")


def explain(
    run: common.RunPath,
    node: Node = None,
    item: Item = None,
    k: Sources = 5,
    out: OutFile = None,
    at: At = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> output.Value:
    """Explain answers by meta paths and source nodes; without --id, show what each meta path is worth."""
    if out is not None and out.suffix not in (".json", ".csv"):
        raise DiffmgError(f"an explanation is written to a .json or .csv file, but got {str(out)!r}")
    if node is None:
        importances = _importances(run, data, data_root)
        _overall(importances, out)
        return {"importances": importances, "written": out}
    model, wanted = _explainable(run, data, data_root, at)
    explanations = model.explain(_ids(model, at_moment(node, model, wanted), item), k)
    _answers(explanations, out)
    return {"explanations": explanations, "written": out}


def _explainable(run: Path, data: str | None, data_root: Path | None, at: str | None) -> tuple[Model, Any]:
    """The model of a run; in place of an ensemble of rivals alone, its single model, which is said.

    Beside it, the ids of its predictions at a moment.
    """
    from diffmg.runs.explain import has_paths
    from diffmg.runs.folder import SINGLE

    model, wanted = load_at(run, data, data_root, at)
    if has_paths(model) or not (run / SINGLE).is_file():
        return model, wanted
    say("no model of the ensemble, which `predict` uses, has a meta graph: this is the single model", common.errors)
    return load_at(run / SINGLE, data, data_root, at)


def _ids(model: Model, nodes: list[str], items: list[str] | None) -> Any:
    from diffmg.cli.use import typed_ids

    types = model.recipe.data.target_types
    if len(types) == 1:
        if items:
            raise DiffmgError(f"--item is for pairs, but got a model of {types[0]} with --item {items[0]!r}")
        return typed_ids(nodes, model, types[0])
    if items is None or len(items) != len(nodes):
        raise DiffmgError(
            f"a score is explained for a {types[0]} and a {types[1]}, "
            f"but got {len(nodes)} --id and {len(items or ())} --item; give one --item for each --id"
        )
    columns = (typed_ids(texts, model, t).tolist() for texts, t in zip((nodes, items), types, strict=True))
    return list(zip(*columns, strict=True))


def _importances(run: Path, data: str | None, data_root: Path | None) -> Sequence[PathImportance]:
    """Those of the run, or else computed from its model."""
    found = read_run(run).importances if run.is_dir() else ()
    if found:
        return found
    from diffmg.runs.explain import importances_of

    return importances_of(load_model(run, data, data_root))


def _overall(found: Sequence[PathImportance], out: Path | None) -> None:
    words = [(path_words(p.path, p.target), path_names(p.path)) for p in found]
    if out is not None:
        heads = ("target", "path", "relations", "drop", "std", "size")
        rows = [(p.target, *both, p.drop, p.std, p.size) for both, p in zip(words, found, strict=True)]
        _write(out, to_plain(list(found)), heads, rows)
        return
    title = "validation score lost without each meta path"
    lines = [(*both, f"{p.drop:.4f} ± {p.std:.4f}", f"{p.size:.0%}") for both, p in zip(words, found, strict=True)]
    console.print(_table(title, ("path", "relations", "drop ± standard error", "size"), lines))


def _answers(found: Sequence[Explanation], out: Path | None) -> None:
    if out is not None:
        several = [(e, c) for e in found for c in e.contributions]
        rows = [(e.target, e.id, e.answer, *_words(c, e.target), c.share, c.effect, _from(c)) for e, c in several]
        _write(out, to_plain(list(found)), ("target", "id", "answer", *HEADS), rows)
        return
    for each in found:
        title = f"{printable(each.target)} {printable(each.id)}: {printable(each.answer)}"
        console.print(_table(title, HEADS, [_row(c, each.target) for c in each.contributions[:SHOWN]]))
        if len(each.contributions) > SHOWN:
            say(f"... {len(each.contributions) - SHOWN} smaller ones; --out writes all")
        if each.note:
            say(printable(each.note))


def _row(contribution: Contribution, target: str) -> tuple[str, ...]:
    c = contribution
    return *_words(c, target), f"{c.share:+.1%}", f"{c.effect:+.4g}", _from(c)


def _words(contribution: Contribution, target: str) -> tuple[str, str]:
    return contribution.words(target), path_names(contribution.path)


def _from(contribution: Contribution) -> str:
    several = contribution.sources
    return "; ".join(f"{printable(s.node_type)} {printable(s.id)} ({s.share:+.1%})" for s in several)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of plain text: nothing in it is taken for markup."""
    table = Table(*heads, title=Text(title), title_justify="left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _write(out: Path, plain: Any, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    if out.suffix == ".json":
        write_text(out, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    else:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([heads, *rows])
        write_text(out, text.getvalue())
    say(f"written to {out}")

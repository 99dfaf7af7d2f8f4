"""The HTML report of a run."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from diffmg.core import MetaGraph, Run, read_history, read_run
from diffmg.core.files import write_text
from diffmg.core.perfect import perfect_scores
from diffmg.core.run import shown
from diffmg.viz._base import draw_all
from diffmg.viz.curves import curves_svg
from diffmg.viz.evidence import words_of

REPORT = "report.html"
STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 62rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .9rem .25rem 0; text-align: left; }
th { border-bottom: 1px solid #bbb; } td.number { font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; } svg.curves { width: 40rem; font: 11px system-ui, sans-serif; }
.chosen { font-weight: 600; } .note { color: #555; }
"""


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder; it is self-contained."""
    path = folder / REPORT
    write_text(path, page(read_run(folder), folder))
    return path


def page(run: Run, folder: Path) -> str:
    """The report as HTML."""
    title = f"{run.plan.source.label or 'own network'}: {' and '.join(run.data.target_types)}"
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>diffmg: {escape(title)}</title>',
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>",
        f'<p class="note">{escape(_what_was_done(run))}</p>',
        *_section("Scores", _scores(run) + _paragraphs(perfect_scores(run))),
        *_section("Meta graph", draw_all(run.metagraphs, "svg") if run.metagraphs else ""),
        *_section("Search", _race(run)),
        *_section("Candidates", _candidates(run)),
        *_section("Learning curves" if run.evidence is None else "Best score so far", _curves(run, folder)),
        *_section("Notes on the data", _paragraphs(sorted(run.notes, key=lambda note: not note.startswith("leak: ")))),
        *_section("Provenance", _provenance(run)),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _what_was_done(run: Run) -> str:
    plan = run.plan
    options = ", ".join(f"{name} = {value}" for name, value in plan.method.options.items() if name != "metagraphs")
    how = f"method {plan.method.name}" + (f" ({options})" if options else "")
    trainings = len(run.trained) if run.spent is None else run.spent.trainings
    return f"{run.status}: {how}, {trainings} training(s), chosen by validation {run.metric}."


def _section(title: str, body: str) -> list[str]:
    return [f"<h2>{escape(title)}</h2>", body] if body else []


def _scores(run: Run) -> str:
    """Scores of the kept model and, for several trainings, their mean."""
    several, rows = len(run.trained) > 1, []
    for name in {**run.scores("val"), **run.scores("test")}:
        row = [name, *(_number(run.scores(part).get(name)) for part in ("val", "test"))]
        mean = _spread(run, name) if run.values("test", name) else "none"
        rows.append(row + ([mean] if several else []))
    heads = ["score", "validation", "test"]
    return table([*heads, f"test, mean of {len(run.trained)} trainings"] if several else heads, rows)


def _spread(run: Run, name: str) -> str:
    return f"{shown(run.mean('test', name))} ± {shown(run.std('test', name))}"


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _number(value: float | None) -> str:
    return "none" if value is None else shown(value)


def _candidates(run: Run) -> str:
    if len(run.candidates) < 2:
        return ""
    rows = [
        [str(i) + (" (chosen)" if i == run.chosen else ""), _number(c.val_score), _paths(c.metagraphs)]
        for i, c in enumerate(run.candidates)
    ]
    return table(["search seed", f"validation {run.metric}", "longest meta paths"], rows)


def _race(run: Run) -> str:
    """What a race tried, in words, and its finalists."""
    found = run.evidence
    if found is None:
        return ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in words_of(run) if not line.startswith(("  ", "finalists")))
    shares = {s.candidate: f"{s.share:.0%}" for s in found.shares}
    rows = [
        [f"{shown(f.mean)} ± {shown(f.std)}", str(f.trainings), shares.get(f.candidate, ""), f.described]
        for f in found.finalists
    ]
    heads = [f"validation {run.metric}", "trainings", "share in the ensemble", "finalist"]
    return lines + (table(heads, rows) if rows else "")


def _paths(metagraphs: Sequence[MetaGraph]) -> str:
    texts = []
    for metagraph in metagraphs:
        paths = metagraph.longest_paths()
        texts += [" · ".join(r.name for r in path) or "own features" for path in paths]
    return "; ".join(texts)


def _curves(run: Run, folder: Path) -> str:
    curves: dict[str, list[tuple[float, float]]] = {}
    for record in read_history(folder):
        if record["val_score"] is not None:
            curves.setdefault(record["phase"], []).append((record["epoch"], record["val_score"]))
    return curves_svg(curves, "epoch" if run.evidence is None else "trainings", f"validation {run.metric}")


def _provenance(run: Run) -> str:
    rows = [["device", run.device], *([f"version of {k}", str(v)] for k, v in run.versions.items())]
    rows += [[f"seconds, {phase}", f"{seconds:.2f}"] for phase, seconds in run.seconds.items()]
    rows += [["hash of the data", run.data.hash], ["seed", str(run.plan.seed)]]
    return table(["", ""], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table; all cells are escaped."""
    lines = ["<table><tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr>"]
    lines += ["<tr>" + "".join(f'<td class="number">{escape(c)}</td>' for c in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])

"""Render the result files in `benchmarks/results` as Markdown tables, between the marks in README.md and docs.

usage: python benchmarks/render.py [--check]
`--check` writes nothing and exits with 1 if a document is not up to date.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import speed_tables

from diffmg.files import read_json, write_text
from diffmg.run import Run

HERE = Path(__file__).parent
DOCUMENTS = tuple(HERE.parent / name for name in ("README.md", "docs/results.md", "docs/performance.md"))
MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = ("dblp", "acm", "imdb", "amazon", "yelp", "douban")


def load(kind: str, name: str) -> Run | None:
    """The run in a result file, where there is one."""
    path = HERE / "results" / kind / f"{name}.json"
    return Run.from_dict(read_json(path, "a result file"), str(path)) if path.exists() else None


def percent(run: Run | None) -> str:
    """Mean ± standard deviation of the test score, in percent."""
    return "" if run is None else f"{100 * run.mean('test'):.2f} ± {100 * run.std('test'):.2f}"


def published() -> str:
    """The authors' meta graphs, retrained, and our searches, beside the paper."""
    reference = tomllib.loads((HERE / "ding2021.toml").read_text())
    rows = [
        "| data set | score (%) | paper | authors' program, one seed | their meta graph here | DiffMG search here |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in NAMES:
        runs = [load(kind, name) for kind in ("published", "search")]
        metric = next((r.metric for r in runs if r), "")
        mean, std = reference[name]["paper"]
        cells = [name, metric.replace("_", " "), f"{mean:.2f} ± {std:.2f}", f"{reference[name]['program']:.2f}"]
        rows.append("| " + " | ".join([*cells, *map(percent, runs)]) + " |")
    return "\n".join(rows)


def spread() -> str:
    """What each search seed found: validation score after training."""
    rows = ["| data set | validation score of each search seed (%) | chosen |", "|---|---|---:|"]
    for name in NAMES:
        run = load("search", name)
        if run is not None:
            scores = ", ".join(f"{100 * c.val_score:.2f}" for c in run.candidates)
            rows.append(f"| {name} | {scores} | {100 * run.candidates[run.chosen].val_score:.2f} |")
    return "\n".join(rows)


def seeds() -> str:
    """The authors' meta graphs from many seeds: this package and the yardstick."""
    rows = ["| data set | seeds | this package | yardstick | paper |", "|---|---:|---:|---:|---:|"]
    reference = tomllib.loads((HERE / "ding2021.toml").read_text())
    for name in NAMES[:3]:
        run = load("seeds", f"ours_{name}")
        path = HERE / "results" / "seeds" / f"yardstick_{name}.json"
        if run is not None and path.exists():
            other = read_json(path, "a result file")
            theirs = f"{100 * other['mean']:.2f} ± {100 * other['std']:.2f}"
            mean, std = reference[name]["paper"]
            rows.append(f"| {name} | {len(run.trained)} | {percent(run)} | {theirs} | {mean:.2f} ± {std:.2f} |")
    return "\n".join(rows)


TABLES = {"published": published, "spread": spread, "seeds": seeds} | speed_tables.TABLES


def rendered(text: str) -> str:
    """A document with its tables made anew."""
    return MARK.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}\n{m[3]}", text)


def main(check: bool) -> int:
    """Bring the documents up to date, or only look whether they are."""
    stale = [d for d in DOCUMENTS if rendered(d.read_text(encoding="utf-8")) != d.read_text(encoding="utf-8")]
    for document in stale:
        if check:
            print(f"{document.name} is not up to date; run: python benchmarks/render.py")
        else:
            write_text(document, rendered(document.read_text(encoding="utf-8")))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))

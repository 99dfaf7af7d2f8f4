"""Put tables made from the result files in `benchmarks/results` between the marks in README.md and docs; draw pictures.

usage: python benchmarks/render.py [--check]
`--check` writes nothing and exits with 1 if a document or a picture is not up to date.
"""

from __future__ import annotations

import sys
import tomllib
from functools import cache, partial
from pathlib import Path

import speed_tables

from diffmg.core.files import read_json, write_text
from diffmg.core.run import Run
from diffmg.reproduction import FORMS, Reproduction, done_runs, figures, filled, places, read_reproduction, sheets

HERE = Path(__file__).parent
DOCUMENTS = tuple(HERE.parent / name for name in ("README.md", "docs/results.md", "docs/performance.md"))
FIGURES = HERE.parent / "docs" / "figures"
RUNS = HERE / "results" / "reproduce"
REPRODUCED = ("classification", "recommendation", "cost", "curves", "architectures", "ablation", "pipelines")
NAMES = ("dblp", "acm", "imdb", "amazon", "yelp", "douban")


@cache
def _done(name: str) -> tuple[Reproduction, dict[tuple[str, str], Run]]:
    """A table of the paper and its runs, by method and data set."""
    table = read_reproduction(HERE / f"ding2021_{name}.toml")
    return table, done_runs(table, RUNS)


def reproduced(name: str) -> str:
    """A table of the paper again, beside the paper's figures."""
    return FORMS["md"](sheets(*_done(name)))


def load(kind: str, name: str) -> Run | None:
    """The run in a result file, where there is one."""
    path = HERE / "results" / kind / f"{name}.json"
    return Run.from_dict(read_json(path, "a result file"), str(path)) if path.exists() else None


def percent(run: Run | None) -> str:
    """Mean ± standard deviation of the test score, in percent."""
    return "" if run is None else f"{100 * run.mean('test'):.2f} ± {100 * run.std('test'):.2f}"


def summary() -> str:
    """The authors' meta graphs, our searches and the simplest rivals, beside the paper."""
    reference = tomllib.loads((HERE / "ding2021.toml").read_text())
    methods = ("published", "diffmg_authors", "diffmg", "random_search", "average", "gcn", "hgt")
    heads = ["data set", "score (%)", "paper", *methods]
    rows = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    scores = {**_done("classification")[1], **_done("recommendation")[1]}
    for name in NAMES:
        runs = [scores.get((method, name)) for method in methods]
        metric = next((r.metric for r in runs if r), "")
        mean, std = reference[name]["paper"]
        cells = [name, metric.replace("_", " "), f"{mean:.2f} ± {std:.2f}"]
        rows.append("| " + " | ".join([*cells, *map(percent, runs)]) + " |")
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


def memory() -> str:
    """The most memory that training a baseline took on the CPU, libraries and network included."""
    path = HERE / "results" / "memory.json"
    found = read_json(path, "a result file")
    data = list(next(iter(found["peak_bytes"].values())))
    rows = ["| " + " | ".join(["peak, GB", *data]) + " |", "|---|" + "---:|" * len(data)]
    for method, peaks in found["peak_bytes"].items():
        rows.append("| " + " | ".join([method, *(f"{peaks[name] / 1e9:.2f}" for name in data)]) + " |")
    return "\n".join([*rows, "", f"`{found['command']}`; {found['device']}."])


TABLES = {"summary": summary, "seeds": seeds, "memory": memory} | speed_tables.TABLES
TABLES |= {name: partial(reproduced, name) for name in REPRODUCED}


def rendered(text: str) -> str:
    """A document with its tables made anew."""
    return filled(text, {name: TABLES[name]() for name in places(text)})


def wanted() -> dict[Path, str]:
    """What every document and every picture should be."""
    files = {document: rendered(document.read_text(encoding="utf-8")) for document in DOCUMENTS}
    for name in REPRODUCED:
        files |= {FIGURES / file: picture for file, picture in figures(*_done(name), RUNS).items()}
    return files


def main(check: bool) -> int:
    """Bring documents and pictures up to date, or only look whether they are."""
    files = wanted()
    stale = [f for f, text in files.items() if not f.exists() or f.read_text(encoding="utf-8") != text]
    for file in stale:
        if check:
            print(f"{file.name} is not up to date; run: python benchmarks/render.py")
        else:
            write_text(file, files[file])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))

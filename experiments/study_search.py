"""Why the published search scatters: α over the epochs, and what scaling, ε and warm-up change."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import torch

from diffmg.core.errors import DiffmgError
from diffmg.methods.search._exploration import Exploration
from diffmg.methods.search._gradient import Architecture
from diffmg.training.job import Quiet, Search, drive
from experiments.exhaustive_programs import program_key
from experiments.exhaustive_table import ExhaustiveTable
from experiments.study_subject import Line, Subject
from experiments.tables import MISSING, Sheet
from experiments.trained import number

Named = tuple[str, Mapping[str, Any]]
VARIANTS: dict[str, Named] = {
    "published": ("diffmg", {}),
    **{f"epsilon {e:g}": ("diffmg", {"epsilon": e}) for e in (0.0, 0.3, 0.5, 0.9)},
    "messages not scaled": ("diffmg_corrected", {"warm_up": 0.0}),
    "messages not scaled, warm-up": ("diffmg_corrected", {"warm_up": 0.5}),
    "messages not scaled, long warm-up": ("diffmg_corrected", {"warm_up": 0.8}),
}
WATCHED = ("published", "epsilon 0.9", "messages not scaled", "messages not scaled, warm-up")
GRADIENT = ("diffmg", "diffmg_corrected", "darts", "snas", "nasp")
"""Searches whose result is one meta graph with one operation a link."""


class Sampling(Protocol):
    """A search that samples one operation per link in every epoch."""

    towers: list[Architecture]
    exploration: list[Exploration]


def measure_alpha(subject: Subject) -> list[Sheet]:
    """α after every epoch, on the CPU, where every epoch can be looked at."""
    subject = replace(subject, problem=subject.problem.to("cpu"))
    lines = []
    for variant in WATCHED:
        for seed in range(subject.seeds):
            key = {"what": "alpha", "depth": subject.depth, "variant": variant, "seed": seed}
            lines.append(subject.once(key, partial(_watched, subject, variant, seed)))
    return [alpha_sheet(lines)]


def _watched(subject: Subject, variant: str, seed: int) -> Line:
    search: Any = subject.method(*VARIANTS[variant]).search(subject.problem, subject.settings, seed)
    return trajectory(search, search)


def trajectory(search: Search, sampling: Sampling) -> Line:
    """For every epoch: how far the top α is from uniform, links whose arg-max changed, candidates sampled so far."""
    seen: set[tuple[int, int, int]] = set()
    found: dict[str, list[float]] = {"top": [], "flips": [], "sampled": []}
    before = _best(sampling)
    total = sum(int(tower.counts.sum()) for tower in sampling.towers)
    while not search.done:
        seen |= set(_sampled(sampling, search.epoch))
        search.advance()
        now = _best(sampling)
        tops = [float(x) for t in sampling.towers for x in t.alpha().detach().max(dim=1).values.cpu() * t.counts]
        found["top"].append(round(statistics.fmean(tops), 4))
        found["flips"].append(sum(a != b for a, b in zip(before, now, strict=True)))
        found["sampled"].append(round(len(seen) / total, 4))
        before = now
    return {"links": len(before), **found}


def _best(sampling: Sampling) -> list[int]:
    return [int(pick) for tower in sampling.towers for pick in tower.best()]


def _sampled(sampling: Sampling, epoch: int) -> Iterator[tuple[int, int, int]]:
    """Tower, link and candidate of everything that the next epoch uses."""
    done = torch.tensor([epoch])
    for place, (tower, exploration) in enumerate(zip(sampling.towers, sampling.exploration, strict=True)):
        picks = exploration.pick(tower.best(), done).tolist()
        yield from ((place, link, pick) for link, pick in enumerate(picks))


def measure_variants(subject: Subject) -> list[Sheet]:
    """Validation scores of what variants of the search find from several seeds, really trained."""
    lines = []
    for variant in VARIANTS:
        key = {"what": "variants", "depth": subject.depth, "variant": variant, "seeds": subject.seeds}
        lines.append(subject.once(key, partial(_found_and_trained, subject, variant)))
    chance = {"data": subject.data, "variant": "random meta graphs", "scores": subject.trained_at_random()}
    return [variants_sheet([*lines, chance])]


def _found_and_trained(subject: Subject, variant: str) -> Line:
    several = [found_by(subject, VARIANTS[variant], seed) for seed in range(subject.seeds)]
    return {"scores": subject.trained(several), "keys": [program_key(metagraphs) for metagraphs in several]}


def found_by(subject: Subject, named: Named, seed: int) -> tuple[Any, ...]:
    """The meta graphs that a search finds."""
    search = subject.method(*named).search(subject.problem, subject.settings, seed)
    drive("search", search, Quiet())
    return subject.problem.arranged(search.found())


def measure_found(subject: Subject, table: ExhaustiveTable) -> list[Sheet]:
    """The regret of what gradient searches find, by look-up in an exhaustive table of the same depth."""
    if not table.about["data_hash"].startswith(subject.hash):
        raise DiffmgError(f"a table must be of the same data, but got {table.name} for {subject.data} ({subject.hash})")
    subject, lines = replace(subject, depth=table.about["depth"]), []
    for name in GRADIENT:
        key = {"what": "found", "table": table.name, "search": name, "seeds": subject.seeds}
        lines.append(subject.once(key, partial(_regrets, subject, table, name)))
    return [found_sheet(lines)]


def _regrets(subject: Subject, table: ExhaustiveTable, name: str) -> Line:
    rows = [table.row(found_by(subject, (name, {}), seed)) for seed in range(subject.seeds)]
    return {"regrets": [number(table.regret(row.score)) for row in rows], "keys": [row.key for row in rows]}


def alpha_sheet(lines: Sequence[Line]) -> Sheet:
    """Means over search seeds, a row per data set and variant."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line["data"], line["variant"]), []).append(line)
    heads = ("data set, search", "seeds", "top α at the end", "flips", "in the last tenth", "candidates ever sampled")
    rows = tuple((f"{data}, {variant}", *_alpha_cells(several)) for (data, variant), several in groups.items())
    notes = ("top α: 1 is uniform, mean over links; flips: changes of a link's arg-max, per link",)
    return Sheet("α over the epochs", heads, rows, notes)


def _alpha_cells(lines: Sequence[Line]) -> tuple[str, ...]:
    tops, sampled = ([line[name][-1] for line in lines] for name in ("top", "sampled"))
    flips = [sum(line["flips"]) / line["links"] for line in lines]
    late = [sum(line["flips"][-max(1, len(line["flips"]) // 10) :]) / line["links"] for line in lines]
    means = [statistics.fmean(several) for several in (tops, flips, late, sampled)]
    return (str(len(lines)), f"{means[0]:.3f}", f"{means[1]:.2f}", f"{means[2]:.2f}", f"{100 * means[3]:.0f} %")


def variants_sheet(lines: Sequence[Line]) -> Sheet:
    """Spread over search seeds, a row per data set and variant."""
    heads = ("data set, search", "searches", "different", "mean ± std", "worst", "best")
    rows = tuple((f"{line['data']}, {line['variant']}", *_score_cells(line)) for line in lines)
    return Sheet("Really trained validation score of what searches find, in percent", heads, rows)


def _score_cells(line: Line) -> tuple[str, ...]:
    scores = [100 * score for score in line["scores"] if score is not None]
    different = str(len(set(line["keys"]))) if "keys" in line else MISSING
    spread = f"{statistics.fmean(scores):.2f} ± {statistics.pstdev(scores):.2f}" if scores else MISSING
    ends = (f"{min(scores):.2f}", f"{max(scores):.2f}") if scores else (MISSING, MISSING)
    return (str(len(line["scores"])), different, spread, *ends)


def found_sheet(lines: Sequence[Line]) -> Sheet:
    """Regret over search seeds in percentage points."""
    rows = []
    for line in lines:
        regrets = [100 * r for r in line["regrets"] if r is not None]
        ends = (f"{statistics.fmean(regrets):.2f}", f"{min(regrets):.2f}", f"{max(regrets):.2f}") if regrets else ()
        rows.append((f"{line['table']}, {line['search']}", str(len(line["regrets"])), *(ends or [MISSING] * 3)))
    heads = ("table, search", "searches", "mean regret", "least", "most")
    return Sheet("Regret of what one search by gradients finds, in percentage points", heads, tuple(rows))

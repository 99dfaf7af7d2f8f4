"""`python -m experiments study WHAT DATA`: measurements of searches, a JSON line each; validation scores only."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from diffmg.core.errors import DiffmgError
from experiments import RESULTS
from experiments.exhaustive_table import read_table
from experiments.study_low_rank import measure_low_rank
from experiments.study_races import measure_budget, measure_folds
from experiments.study_search import measure_alpha, measure_found, measure_variants
from experiments.study_shared import measure_shared
from experiments.study_subject import STUDY, Subject
from experiments.study_switches import measure_switches
from experiments.tables import Sheet
from experiments.trained import add_places, note, opened, run_command

Measure = Callable[[Subject, Sequence[Path]], list[Sheet]]


def _found(subject: Subject, files: Sequence[Path]) -> list[Sheet]:
    if not files:
        raise DiffmgError("`found` looks results up in tables of `exhaustive`, but got none; name Parquet files")
    return [sheet for file in files for sheet in measure_found(subject, read_table(file))]


def _budget(subject: Subject, files: Sequence[Path]) -> list[Sheet]:
    if not files:
        raise DiffmgError("`budget` reads what races tried, but got none; name run folders or files tried.jsonl")
    return measure_budget(subject, files)


MEASURES: dict[str, tuple[str, int, Measure]] = {
    "shared": ("shared weights as a judge of random meta graphs", 120, lambda s, _: measure_shared(s)),
    "alpha": ("alpha over the epochs of a search", 0, lambda s, _: measure_alpha(s)),
    "variants": ("scaling, epsilon and warm-up of the search", 120, lambda s, _: measure_variants(s)),
    "found": ("regret of what searches by gradients find, in tables of `exhaustive`", 0, _found),
    "switches": ("what each switch is worth on random meta graphs", 16, lambda s, _: measure_switches(s)),
    "low_rank": ("EASE of low rank beside the exact solution", 0, lambda s, _: measure_low_rank(s)),
    "budget": ("best score by number of candidates, of races", 0, _budget),
    "folds": ("agreement of validation and folds, of races or of random candidates", 60, measure_folds),
}
"""What it is, how many random candidates it needs by default, and what measures it."""


def main(arguments: Sequence[str]) -> int:
    """Measure what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    given = _parser().parse_args(arguments)
    subject = _subject(given)
    try:
        return "\n".join(sheet.markdown() for sheet in MEASURES[given.what][2](subject, given.files))
    finally:
        subject.executor.close()


def _subject(given: Namespace) -> Subject:
    problem = opened(given.data, given.device, given.data_root)
    count = MEASURES[given.what][1] if given.candidates is None else given.candidates
    return Subject(given.data, problem, given.out / STUDY, given.depth, given.seeds, count, say=note)


def _parser() -> ArgumentParser:
    words = "; ".join(f"{name}: {about}" for name, (about, _, _) in MEASURES.items())
    parser = ArgumentParser("python -m experiments study", description=f"Measure searches. {words}.")
    parser.add_argument("what", choices=MEASURES, metavar="WHAT", help=", ".join(MEASURES))
    parser.add_argument("data", metavar="DATA", help="a data set, such as acm")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="tables for `found`; run folders of races")
    parser.add_argument("--depth", type=int, default=4, help="states of a meta graph")
    parser.add_argument("--seeds", type=int, default=10, help="searches of each variant")
    parser.add_argument("--candidates", type=int, help="random candidates; the default depends on what is measured")
    add_places(parser, RESULTS)
    return parser

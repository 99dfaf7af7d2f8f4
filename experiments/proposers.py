"""`python -m experiments proposers DATA...`: who proposes best in the wide space, at equal numbers of real trainings.

Our own mix, each of its proposers alone, and Optuna's TPE by ask and tell; nobody gets a start from known candidates.
Candidates are judged on the task's own validation part, all from one seed. Only validation scores are computed.
"""

from __future__ import annotations

import math
import statistics
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from diffmg.core.budget import Budget
from diffmg.core.candidate import Candidate
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.methods._wide import WideSpace
from diffmg.methods.auto import Auto
from diffmg.race.executor import Collect, Executor, Local
from diffmg.race.field import Field
from diffmg.race.loop import Race
from diffmg.race.rules import Rules
from diffmg.race.trial import Outcome, Trial
from diffmg.runs.provenance import data_of
from diffmg.tasks.problem import Problem
from experiments import RESULTS
from experiments.regret_searches import ASKED, MIX
from experiments.samplers import ask_and_tell, make_study
from experiments.steady import checked_names, run_once
from experiments.tables import MISSING, Sheet
from experiments.trained import add_places, note, number, opened, run_command
from experiments.wide_genome import suggested

PROPOSERS = "proposers.jsonl"
MARKS = (10, 20, 50, 100, 150, 200, 300, 500)
"""Numbers of trainings after which the best score is told."""
Line = dict[str, Any]


@dataclass(frozen=True)
class Unaided(WideSpace):
    """The wide space without candidates to begin with."""

    def seeds(self) -> Sequence[Candidate]:
        """None."""
        return ()


@dataclass
class Recorder(Executor):
    """An executor that remembers the values of all trainings, in order; higher is better."""

    executor: Executor
    sign: int
    values: list[float] = field(default_factory=list)

    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:
        """Begin to train all of them."""
        collect = self.executor.begin(field, trials)

        def remembered() -> list[Outcome]:
            outcomes = collect()
            self.values += [-math.inf if o.failed else self.sign * o.score for o in outcomes]
            return outcomes

        return remembered

    def close(self) -> None:
        """Let go of everything that was started."""
        self.executor.close()


@dataclass(frozen=True)
class Contest:
    """What all proposers are given alike."""

    problem: Problem
    trainings: int
    batch: int
    settings: Settings = field(default_factory=Settings)

    def space(self) -> Unaided:
        """Meta graphs with their encoder's settings, as the default method varies them."""
        method = Auto()
        return Unaided.of(self.problem, self.settings, method.depth, method.operations)  # type: ignore[return-value]


def race(proposers: Sequence[str], contest: Contest, recorder: Recorder, seed: int) -> None:
    """The exploring part of our own race."""
    budget = Budget(trainings=contest.trainings, explored=contest.trainings, again=0)
    rules = Rules(budget, seed, contest.batch, proposers=proposers)
    job = Race(Field(contest.problem), contest.space(), rules, recorder)
    job.simplifies = False
    while not job.done:
        job.advance()


def by_optuna(contest: Contest, recorder: Recorder, seed: int) -> None:
    """Optuna's TPE; a candidate that was trained before is answered from memory and costs nothing."""
    space, known = contest.space(), dict[frozenset[tuple[str, Any]], float]()

    def values(candidates: list[Candidate]) -> list[float]:
        keys = [frozenset(space.genes(c).items()) for c in candidates]
        fresh = {k: c for k, c in zip(keys, candidates, strict=True) if k not in known}
        paid = list(fresh.items())[: contest.trainings - len(recorder.values)]
        recorder.run(Field(contest.problem), [Trial(c, derive_seed(seed, "train", 0)) for _, c in paid])
        if paid:
            known.update(zip([key for key, _ in paid], recorder.values[-len(paid) :], strict=True))
        return [known.get(key, -math.inf) for key in keys]

    study = make_study("tpe", seed)
    for _ in range(ASKED * -(-contest.trainings // contest.batch)):
        if len(recorder.values) >= contest.trainings:
            return
        ask_and_tell(study, partial(suggested, space), values, contest.batch, contest.batch)


Proposer = Callable[[Contest, Recorder, int], object]
CONTESTANTS: dict[str, Proposer] = {
    "mix": partial(race, MIX),
    **{name: partial(race, (name,)) for name in ("chance", "evolution", "surrogate")},
    "optuna tpe": by_optuna,
}


def contest_line(contest: Contest, name: str, seed: int, executor: Executor | None = None) -> Line:
    """The values of all trainings of one proposer, in order."""
    recorder = Recorder(executor or Local(), contest.problem.task.sign)
    try:
        CONTESTANTS[name](contest, recorder, seed)
    finally:
        recorder.close()
    return {"metric": contest.problem.task.metric, "values": [number(v) for v in recorder.values]}


def proposers_sheet(lines: Iterable[Line]) -> Sheet:
    """The best validation score after so many trainings: mean ± standard deviation over seeds; of one data set."""
    by_name: dict[str, list[Line]] = {}
    for line in lines:
        if "error" not in line:
            by_name.setdefault(line["proposer"], []).append(line)
    every = [line for several in by_name.values() for line in several]
    marks = [m for m in MARKS if any(len(line["values"]) >= m for line in every)]
    rows = tuple((name, *(_cell(several, m) for m in marks)) for name, several in by_name.items())
    title = f"Best validation {every[0]['metric']} on {every[0]['data']}, in percent" if every else ""
    return Sheet(title, ("proposer", *map(str, marks)), rows)


def _cell(lines: Sequence[Line], mark: int) -> str:
    firsts = [[v for v in line["values"][:mark] if v is not None] for line in lines]
    best = [100 * max(values) for values in firsts if values]
    spread = f" ± {statistics.stdev(best):.2f}" if len(best) > 1 else ""
    return f"{statistics.fmean(best):.2f}{spread}" if best else MISSING


def main(arguments: Sequence[str]) -> int:
    """Run what is missing; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    given = _parser().parse_args(arguments)
    texts = []
    for data in given.data:
        contest = Contest(opened(data, given.device, given.data_root), given.trainings, given.batch)
        about = {"data": data, "hash": data_of(contest.problem).hash[:12], "trainings": given.trainings}
        lines = [
            run_once(path, key, partial(contest_line, contest, name, seed), note)
            for path in [Path(given.out) / PROPOSERS]
            for name in checked_names("proposer", given.proposers, CONTESTANTS)
            for seed in range(given.seeds)
            for key in [{**about, "batch": given.batch, "proposer": name, "seed": seed}]
        ]
        texts.append(proposers_sheet(lines).markdown())
    return "\n".join(texts)


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m experiments proposers", description="Compare proposers by real training.")
    parser.add_argument("data", nargs="+", help="data sets, such as acm amazon")
    parser.add_argument("--proposers", nargs="+", default=[], help=", ".join(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trainings", type=int, default=200)
    parser.add_argument("--batch", type=int, default=48, help="candidates that are proposed and trained at once")
    add_places(parser, RESULTS)
    return parser

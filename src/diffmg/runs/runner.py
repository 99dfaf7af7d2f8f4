"""Running a plan: search, train, select by validation, score once."""

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import torch

from diffmg.core import DiffmgError, MetaGraph, Method, Plan, Run, compile_program, derive_seed
from diffmg.core.run import Candidate, Trained
from diffmg.core.steps import step
from diffmg.engine.device import describe_device, on_host, resolve_device
from diffmg.engine.memory import fit_engine_to_memory
from diffmg.race.executor import Executor
from diffmg.race.rules import batch_of
from diffmg.runs.beside import Rivals
from diffmg.runs.folder import RunFolder
from diffmg.runs.importances import with_importances
from diffmg.runs.judging import judged, with_judgement
from diffmg.runs.model import Model, Recipe, scores_on
from diffmg.runs.provenance import data_of, differences, versions
from diffmg.runs.racing import PHASE, Racing
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import AnyTraining, training_of
from diffmg.training.job import Quiet, Search, Watch, drive
from diffmg.training.training import outputs_of


def run(
    plan: Plan,
    problem: Problem,
    store: RunFolder | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> tuple[Run, Model]:
    """Run a plan on a problem. With a store, it can be stopped at any time and resumed with the same result.

    `executor`: where the candidates of a race are trained; in this process by default.
    """
    with nullcontext() if store is None else store.writing():
        return _run(plan, problem, store, watch or Quiet(), executor)


def _run(
    plan: Plan, problem: Problem, store: RunFolder | None, watch: Watch, executor: Executor | None
) -> tuple[Run, Model]:
    method = plan.method.make()
    plan, placed = place(plan, problem, method)
    where = describe_device(placed.graph.device)
    begun = Run("running", plan, data_of(placed), versions(), where, notes=placed.graph.notes)
    if store is not None:
        store.begin(begun)
    if plan.budget is not None:
        return _race(begun, Racing(plan, method, placed, store, watch, executor), store)
    work = _Work(plan, method, placed, store, watch)
    try:
        candidates = tuple(work.candidate(number) for number in range(method.searches))
        chosen = best_candidate(candidates, placed.task.sign)
        trainings = [work.train(candidates[chosen].metagraphs, repeat) for repeat in range(plan.repeats)]
        work.rivals.train()
    except KeyboardInterrupt:
        if store is not None:
            work.save_interrupted(begun, store)
        raise
    best = max(range(len(trainings)), key=lambda n: (trainings[n].best_score * placed.task.sign, -n))
    done = replace(begun, status="done", candidates=candidates, chosen=chosen, kept=best)
    done = work.judged(replace(done, trained=work.score(trainings)), trainings[best])
    model = work.model(candidates[chosen].metagraphs, trainings[best], done)
    if method.has_metagraph:
        done = with_importances(done, method, model.network, placed)
    if store is not None:
        done = store.write(done, done.metagraphs, model)
        store.finish()
    return done, model


def _race(begun: Run, racing: Racing, store: RunFolder | None) -> tuple[Run, Model]:
    try:
        done, model, single = racing.run(begun)
    except KeyboardInterrupt:
        if store is not None and racing.race.board.models:
            stopped, model, single = racing.finished(begun, "interrupted")
            store.write(stopped, stopped.metagraphs, model)
        raise
    if store is not None:
        done = store.write(done, done.metagraphs, model, single=single, tried=racing.race.board.plain())
        store.finish()
    return done, model


def place(plan: Plan, problem: Problem, method: Method) -> tuple[Plan, Problem]:
    """Move the problem to the plan's device, with engine switches adjusted so that it fits into memory.

    Raises if it does not fit, or if the method does not support the task. On a CPU a race against time starts as many
    trainings at once as there are cores for.
    """
    device = resolve_device(plan.device)
    problem = problem.to(problem.graph.device, plan.engine)
    method.check(problem, plan.settings)
    wanted = {"search": method.needs_search_memory, "training": method.has_metagraph}
    engine = fit_engine_to_memory(problem, plan.settings, method.depth, device, **wanted)
    batch = batch_of(plan, torch.get_num_threads()) if on_host(device) else plan.batch
    return replace(plan, engine=engine, batch=batch), problem.to(device, engine)


def phases_of(plan: Plan) -> tuple[str, ...]:
    """The names of the jobs that a run may have, in order; a method without a search leaves those of it out."""
    if plan.budget is not None:
        return (PHASE,)
    numbers = range(plan.method.make().searches)
    trained = tuple(f"{what}-{number}" for number in numbers for what in ("search", "train"))
    return (*trained, *(f"repeat-{number}" for number in range(1, plan.repeats)))


def best_candidate(candidates: Sequence[Candidate], sign: int = 1) -> int:
    """Index of the best on validation (`sign`: 1 if higher is better); ties go to the simplest, then the first."""

    def merit(number: int) -> tuple[float, int, int]:
        found = candidates[number]
        score = -float("inf") if found.val_score is None else sign * found.val_score
        return score, -sum(compile_program(m).products for m in found.metagraphs), -number

    return max(range(len(candidates)), key=merit)


def check_same_data(begun: Run, problem: Problem) -> None:
    """Raise unless a run is resumed on the data it was started on."""
    changes = differences(begun.data, data_of(problem))
    if changes:
        raise DiffmgError(f"a run goes on with the data it started on, but got others: {'; '.join(changes[:5])}")


@dataclass
class _Work:
    """The jobs of one run, and their computing times."""

    plan: Plan
    method: Method
    problem: Problem
    store: RunFolder | None
    watch: Watch
    seconds: dict[str, float] = field(default_factory=dict)
    jobs: list[tuple[Search | AnyTraining, tuple[MetaGraph, ...]]] = field(default_factory=list)
    """Every job that was started, with its meta graphs."""
    trained: dict[tuple[tuple[MetaGraph, ...], int], AnyTraining] = field(default_factory=dict)
    rivals: Rivals = field(init=False)

    def __post_init__(self) -> None:
        self.rivals = Rivals(self.plan, self.problem, self.store, self.watch)

    def candidate(self, number: int) -> Candidate:
        """Search with seed `number` and train the result."""
        seed = derive_seed(self.plan.seed, "search", number)
        search = self.method.search(self.problem, self.plan.settings, seed)
        if not search.done:
            self.jobs.append((search, ()))
            drive(f"search-{number}", search, self.watch, self.store)
            self.seconds[f"search-{number}"] = search.seconds
        found = search.found()
        score = self.train(found, 0, f"train-{number}").best_score
        return Candidate(found, score if math.isfinite(score) else None)

    def train(self, metagraphs: tuple[MetaGraph, ...], repeat: int, phase: str = "") -> AnyTraining:
        """Train meta graphs with seed `repeat`; trainings already done are reused."""
        key, name = (metagraphs, repeat), phase or f"repeat-{repeat}"
        if key not in self.trained:
            seed = self._seed(repeat)
            network = self.method.network(self.problem, self.plan.settings, seed, metagraphs)
            training = training_of(self.problem, network, self.plan.settings, seed)
            self.jobs.append((training, metagraphs))
            drive(name, training, self.watch, self.store)
            self.seconds[name] = training.seconds
            self.trained[key] = training
        return self.trained[key]

    def score(self, trainings: Sequence[AnyTraining]) -> tuple[Trained, ...]:
        """Score every training on validation and test, after all selection is done."""
        step("scoring")
        start, found = time.perf_counter(), []
        for repeat, training in enumerate(trainings):
            outputs = outputs_of(training.best_model(), self.problem)
            val, test = (scores_on(self.problem, outputs, part) for part in ("val", "test"))
            found.append(Trained(repeat, training.epoch, training.best_epoch, val, test))
        self.seconds["score"] = time.perf_counter() - start
        return tuple(found)

    def judged(self, run: Run, kept: AnyTraining) -> Run:
        """The run with how sure its test score is, and its rivals."""
        start, score = time.perf_counter(), run.scores("test").get(run.metric)
        found = judged(self.problem, outputs_of(kept.best_model(), self.problem), score)
        beside = self.rivals.judged(found.resampled if found else None, score)
        seconds = {**self.seconds, **self.rivals.seconds}
        seconds["score"] += time.perf_counter() - start
        return replace(with_judgement(run, found), beside=beside, seconds=seconds)

    def model(self, metagraphs: tuple[MetaGraph, ...], training: AnyTraining, about: Run) -> Model:
        """The model of a training's best epoch."""
        plan, graph = self.plan, self.problem.graph
        source = self.problem.source if self.problem.source.name else plan.source
        parts = (plan.method, plan.settings, training.seed, metagraphs, about.data, source, graph.encoders)
        return Model.of(Recipe(*parts, self.problem.description), training.best_model(), self.problem)

    def save_interrupted(self, begun: Run, store: RunFolder) -> None:
        """After Ctrl-C, save the best meta graphs and model so far, without test scores."""
        run = replace(begun, status="interrupted", seconds=self.seconds)
        trained = [(job, about) for job, about in self.jobs if not isinstance(job, Search) and job.best]
        if trained:
            best, metagraphs = max(trained, key=lambda pair: pair[0].best_score * self.problem.task.sign)
            run = replace(run, candidates=(Candidate(metagraphs, best.best_score),))
            store.write(run, metagraphs, self.model(metagraphs, best, run))
            return
        searches = [job for job, _ in self.jobs if isinstance(job, Search)]
        found = searches[-1].found() if searches else ()
        store.write(replace(run, candidates=(Candidate(found),) if found else ()), found)

    def _seed(self, repeat: int) -> int:
        return derive_seed(self.plan.seed, "train", repeat)

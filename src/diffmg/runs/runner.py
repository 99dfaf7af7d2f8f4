"""An experiment: search, derive, retrain, choose by validation, score once."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor, nn

import diffmg
from diffmg.methods.baselines import make_baseline
from diffmg.engine.device import describe_device, resolve_device
from diffmg.core.errors import DiffmgError
from diffmg.graph.fingerprint import graph_fingerprint
from diffmg.runs.folder import RunFolder
from diffmg.engine.memory import fit_engine_to_memory
from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan
from diffmg.core.program import compile_program
from diffmg.engine.randomness import derive_seed
from diffmg.core.run import Candidate, Run, Trained, read_run
from diffmg.methods.search import STRATEGIES, Search, make_strategy
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import ModelTraining, Quiet, Training, Watch, drive
from diffmg.training.training import build_model, outputs_of


@dataclass(frozen=True)
class Outcome:
    """A finished run with its model, on the device it ran on."""

    run: Run
    problem: Problem
    model: nn.Module

    def outputs(self) -> tuple[Tensor, ...]:
        """Logits, or the representations of the two towers."""
        return outputs_of(self.model, self.problem)


class Experiment:
    """Carries out a plan on a problem. With a folder it can be stopped at any moment and taken up again."""

    def __init__(
        self, plan: Plan, problem: Problem, folder: RunFolder | None = None, watch: Watch | None = None
    ) -> None:
        self.plan, self.folder = plan, folder
        self.watch: Watch = Quiet() if watch is None else watch
        device = resolve_device(plan.device)
        problem = problem.to(problem.graph.device, plan.engine)
        search = not plan.metagraphs and not plan.baseline and STRATEGIES.get(plan.strategy).searches
        depth = max((m.depth for m in plan.metagraphs), default=plan.depth)
        engine = fit_engine_to_memory(problem, plan.train, depth, device, search=search, training=not plan.baseline)
        self.plan = plan = replace(plan, engine=engine)
        self.problem = problem.to(device, engine)
        self.given = self.problem.arranged(plan.metagraphs) if plan.metagraphs else ()
        self.strategy = make_strategy(plan.strategy, plan.strategy_options)
        self.baseline = make_baseline(plan.baseline, plan.baseline_options) if plan.baseline else None
        if self.baseline is not None:
            self.baseline.check(self.problem, plan.train)
        self.seconds: dict[str, float] = {}
        self.jobs: list[Search | ModelTraining] = []
        self.finished: dict[tuple[tuple[MetaGraph, ...], int], ModelTraining] = {}
        self.start = Run("running", plan.to_dict(), problem.task.metric, self._data(), versions(), self._device(), {})

    def execute(self) -> Outcome:
        """Carry the plan out. Ctrl-C leaves a folder that can be looked at, used and resumed."""
        if self.folder is not None:
            self.folder.write_run(self.start)
        try:
            candidates = [self._candidate(i) for i in range(self._searches())]
            chosen = max(range(len(candidates)), key=lambda i: (*_merit(candidates[i]), -i), default=0)
            metagraphs = candidates[chosen].metagraphs if candidates else ()
            repeats = [self._train(metagraphs, i) for i in range(self.plan.repeats)]
        except KeyboardInterrupt:
            self._leave_usable()
            raise
        trained = self._score(repeats)
        kept = max(range(len(repeats)), key=lambda i: (repeats[i].best_score, -i))
        run = replace(
            self.start,
            status="done",
            seconds=self.seconds,
            candidates=tuple(candidates),
            chosen=chosen,
            trained=trained,
            kept=kept,
        )
        outcome = Outcome(run, self.problem, repeats[kept].best_model())
        if self.folder is not None:
            save_outcome(outcome, self.folder)
        return outcome

    def _searches(self) -> int:
        """How many candidates there are: none for a baseline, one where meta graphs were given."""
        return 0 if self.baseline is not None else 1 if self.given else self.plan.search_seeds

    def _candidate(self, number: int) -> Candidate:
        """Search from seed `number` (or take what was given) and train what was found."""
        metagraphs = self.given
        if not metagraphs:
            seed = derive_seed(self.plan.seed, "search", number)
            search = self.strategy.start(self.problem, self.plan.depth, self.plan.train, seed)
            self.jobs.append(search)
            drive(f"search-{number}", search, self.watch, self.folder)
            self.seconds[f"search-{number}"] = search.seconds
            metagraphs = search.found()
        training = self._train(metagraphs, 0, f"train-{number}")
        return Candidate(metagraphs, training.best_score)

    def _train(self, metagraphs: tuple[MetaGraph, ...], repeat: int, phase: str = "") -> ModelTraining:
        """Train meta graphs (or the baseline) from seed `repeat`; what was trained already is not trained again."""
        key = (metagraphs, repeat)
        if key not in self.finished:
            name = phase or f"repeat-{repeat}"
            training = self._training(metagraphs, derive_seed(self.plan.seed, "train", repeat))
            self.jobs.append(training)
            drive(name, training, self.watch, self.folder)
            self.seconds[name] = training.seconds
            self.finished[key] = training
        return self.finished[key]

    def _training(self, metagraphs: tuple[MetaGraph, ...], seed: int) -> ModelTraining:
        settings = self.plan.train
        if self.baseline is None:
            return Training(self.problem, metagraphs, settings, seed)
        return ModelTraining(self.problem, self.baseline.build(self.problem, settings, seed), settings, seed)

    def _score(self, repeats: Sequence[ModelTraining]) -> tuple[Trained, ...]:
        """Score every training on validation and test, after every choice has been made."""
        start = time.perf_counter()
        trained = []
        for number, training in enumerate(repeats):
            outputs = outputs_of(training.best_model(), self.problem)
            val = {n: float(s) for n, s in self.problem.task.final_scores(outputs, "val").items()}
            test = score_on_test(self.problem, outputs)
            trained.append(Trained(number, training.epoch, training.best_epoch, val, test))
        self.seconds["score"] = time.perf_counter() - start
        return tuple(trained)

    def _leave_usable(self) -> None:
        """After Ctrl-C: the best meta graphs and model so far, without test scores."""
        if self.folder is None:
            return
        run = replace(self.start, status="interrupted", seconds=self.seconds)
        trained = [j for j in self.jobs if isinstance(j, ModelTraining) and j.best]
        if trained:
            best = max(trained, key=lambda t: t.best_score)
            kept = 0 if self.baseline is None else self.jobs.index(best)
            run = replace(run, candidates=_known(best, best.best_score), kept=kept)
            self.folder.write_model(best.best_model().state_dict())
        else:
            run = replace(run, candidates=_known(self.jobs[-1], float("-inf")))
        self.folder.write_metagraphs(run.metagraphs)
        self.folder.write_run(run)

    def _data(self) -> dict[str, Any]:
        task = self.problem.task
        data: dict[str, Any] = {
            "graph": graph_fingerprint(self.problem.graph),
            "task": task.fingerprint(),
            "kind": type(task).__name__,
            "target_types": list(task.target_types),
        }
        return data | ({"classes": [str(c) for c in task.classes]} if isinstance(task, NodeClassification) else {})

    def _device(self) -> str:
        return describe_device(self.problem.graph.device)


def _known(job: Search | ModelTraining, score: float) -> tuple[Candidate, ...]:
    """What an unfinished job is about: its meta graphs, none for a baseline."""
    if isinstance(job, Search):
        return (Candidate(job.found(), score),)
    return (Candidate(job.metagraphs, score),) if isinstance(job, Training) else ()


def _merit(candidate: Candidate) -> tuple[float, int]:
    """What chooses: the validation score; of equal ones, the simpler meta graphs, which are easier to explain."""
    return candidate.val_score, -sum(compile_program(m).products for m in candidate.metagraphs)


def score_on_test(problem: Problem, outputs: tuple[Tensor, ...]) -> dict[str, float]:
    """The only function that reads test labels; it is called once a training, after every choice has been made."""
    return {name: float(score) for name, score in problem.task.final_scores(outputs, "test").items()}


def save_outcome(outcome: Outcome, folder: RunFolder) -> None:
    """Write the files of a finished run; `run.json` comes last, so that it is only there with the rest."""
    folder.write_metagraphs(outcome.run.metagraphs)
    folder.write_model(outcome.model.state_dict())
    folder.write_run(outcome.run)
    folder.finish()


def load_outcome(path: Path, problem: Problem) -> Outcome:
    """The run, with its model, from a run folder and the problem it was for."""
    run = read_run(path)
    plan = Plan.from_dict(run.plan)
    if not run.metagraphs and not plan.baseline:
        raise DiffmgError(
            f"a run must have come as far as a meta graph, but got {str(path)!r}; go on with `diffmg resume`"
        )
    device = resolve_device(plan.device if plan.device != "cuda" or torch.cuda.is_available() else "auto")
    problem = problem.to(device, plan.engine)
    model: nn.Module
    if plan.baseline:
        seed = derive_seed(plan.seed, "train", run.kept)
        model = make_baseline(plan.baseline, plan.baseline_options).build(problem, plan.train, seed)
    else:
        model = build_model(problem, run.metagraphs, plan.train, plan.seed)
    try:
        model.load_state_dict(RunFolder(path).read_model())
    except RuntimeError as error:
        raise DiffmgError(
            f"the model of {str(path)!r} must fit the network it is used on, "
            f"but got: {str(error).splitlines()[-1].strip()}"
        ) from error
    return Outcome(run, problem, model)


def versions() -> dict[str, str | None]:
    """Versions of what computes, and the commit where the package runs from its repository, with a word on changes."""
    return {
        "diffmg": diffmg.__version__,
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str | None:
    here = Path(diffmg.__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, capture_output=True)
        found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        changes = subprocess.run([*git, "status", "--porcelain", "--", "."], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() + (" with changes" if changes.stdout.strip() else "")

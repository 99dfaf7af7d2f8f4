"""Running a plan with a budget: a race, then the models it chose, scored once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from diffmg.core import DiffmgError, Method, Plan, Run, Settings, derive_seed
from diffmg.core.details import Beside, Certainty
from diffmg.core.run import Candidate, Evidence, Trained
from diffmg.core.steps import step
from diffmg.methods.ensemble import Ensemble, EnsembleNetwork, Joined, Member
from diffmg.race.board import Board
from diffmg.race.choice import Pick
from diffmg.race.evidence import evidence_of
from diffmg.race.executor import Executor, Local
from diffmg.race.field import Field
from diffmg.race.loop import Race
from diffmg.race.result import Chosen, choose
from diffmg.race.rules import Rules
from diffmg.race.trial import Trial
from diffmg.runs.beside import Rivals
from diffmg.runs.folder import RunFolder
from diffmg.runs.importances import with_importances
from diffmg.runs.judging import judged, with_judgement
from diffmg.runs.model import Model, Recipe, scores_on
from diffmg.tasks.problem import Problem
from diffmg.training.job import Watch, drive
from diffmg.training.training import outputs_of

PHASE = "race"
Members = list[tuple[Member, dict[str, Tensor]]]
"""Members of an ensemble with their weights."""


class Racing:
    """One run of a race, from its plan to its models."""

    def __init__(
        self,
        plan: Plan,
        method: Method,
        problem: Problem,
        store: RunFolder | None,
        watch: Watch,
        executor: Executor | None = None,
    ) -> None:
        assert plan.budget is not None, "a race has a budget"
        self.plan, self.problem, self.store, self.watch = plan, problem, store, watch
        self.executor: Executor = executor or Local()
        self.rivals = Rivals(plan, problem, store, watch)
        self.field = Field.of(problem, seed=plan.seed)
        space = method.space(problem, plan.settings)
        self.race = Race(
            self.field, space, Rules.of(self.field, plan.budget, plan.seed, method, plan.batch), self.executor
        )

    def run(self, begun: Run) -> tuple[Run, Model, Model]:
        """Race, choose by validation, then score; the run, the model for prediction, and the single model."""
        try:
            drive(PHASE, self.race, self.watch, self.store)
            self.rivals.train()
            return self.finished(begun, status="done")
        finally:
            self.executor.close()

    def finished(self, begun: Run, status: str) -> tuple[Run, Model, Model]:
        """What the race has come to; test scores only where it is done."""
        start = time.perf_counter()
        board, done = self.race.board, status == "done"
        step(f"choosing among {len(board.entries)} candidates, then scoring")
        chosen = choose(board, self.field)
        single, members = self._members((chosen.single,)), self._members(chosen.members)
        if self.plan.single:
            members = single
        evidence = evidence_of(board, self.field, chosen)
        metric = self.problem.task.metric
        scores = {metric: chosen.single_score if self.plan.single else chosen.ensemble_score}
        trained = [
            self._scored(m, s, done=done) for m, s in ((members, scores), (single, {metric: chosen.single_score}))
        ]
        found, beside = None, tuple[Beside, ...]()
        if done:
            score = trained[0].test.get(metric)
            found = judged(self.problem, self._outputs(members), score)
            beside = self.rivals.judged(found.resampled if found else None, score)
            evidence = evidence if found is None else _with_chance(evidence, found.certainty)
        chosen_single = single
        if self.plan.refit != "no" and done:
            members, single = self._refitted(chosen, members), self._refitted(chosen, single)
        run = replace(
            begun,
            status=status,  # type: ignore[arg-type]
            candidates=(Candidate(board.entries[chosen.single.number].metagraphs, chosen.single_score),),
            trained=(trained[0],) if done else (),
            single=trained[1] if done and not self.plan.single else None,
            evidence=evidence,
            spent=self.race.spent if done else None,
            seconds={PHASE: self.race.seconds, **self.rivals.seconds, "score": time.perf_counter() - start},
            beside=beside,
        )
        if done and run.metagraphs:
            run = with_importances(run, self._ensemble(chosen_single), self._network(chosen_single), self.problem)
        run = with_judgement(run, found)
        return run, self._model(members, run), self._model(single, run)

    def _members(self, picks: Sequence[Pick]) -> Members:
        """The chosen models as members of an ensemble, with their weights."""
        found = []
        for pick in picks:
            entry, outcome = self.race.board.entries[pick.number], self.race.board.models[pick.number, pick.turn]
            member = Member(
                entry.candidate.method.spec(),
                entry.candidate.settings,
                self.race.seed_of(pick.turn),
                pick.weight,
                outcome.metagraphs,
                pick.turn.fold,
            )
            found.append((member, dict(outcome.weights)))
        return found

    def _scored(self, members: Members, val: dict[str, float], *, done: bool) -> Trained:
        """Validation scores as the choice saw them; test scores after all selection is done."""
        epochs = max(m.settings.max_epochs for m, _ in members)
        test = scores_on(self.problem, self._outputs(members), "test") if done else {}
        return Trained(0, epochs, epochs, val, test)

    def _outputs(self, members: Members) -> tuple[Tensor, ...]:
        return outputs_of(self._network(members), self.problem)

    def _network(self, members: Members) -> EnsembleNetwork:
        method = self._ensemble(members)
        network = method.network(self.problem, Settings(), 0)
        assert isinstance(network, EnsembleNetwork), "an ensemble builds one"
        for part, (_, weights) in zip(network.members, members, strict=True):
            part.load_state_dict(weights)
        return network

    def _ensemble(self, members: Members) -> Ensemble:
        used = self.field.count if any(m.fold for m, _ in members) else 0
        return Ensemble(tuple(m for m, _ in members), used, self.plan.seed if used else 0)

    def _model(self, members: Members, run: Run) -> Model:
        """The model of one member, or of an ensemble."""
        plan, graph = self.plan, self.problem.graph
        source = self.problem.source if self.problem.source.name else plan.source
        about = (run.data, source, graph.encoders, self.problem.description)
        if len(members) == 1 and members[0][0].fold == 0 and not members[0][0].joined:
            member, weights = members[0]
            parts = (member.method, member.settings, member.seed, member.metagraphs)
            recipe = Recipe(*parts, *about)
            network = member.method.make().network(self.problem, member.settings, member.seed, member.metagraphs)
            network.load_state_dict(weights)
            return Model.of(recipe, network, self.problem)
        spec = self._ensemble(members).spec()
        recipe = Recipe(spec, Settings(), plan.seed, run.metagraphs, *about)
        return Model.of(recipe, self._network(members), self.problem)

    def _refitted(self, chosen: Chosen, members: Members) -> Members:
        """Every candidate of an ensemble trained again on more labels, for as many epochs as were best before."""
        joined: Joined = "val" if self.plan.refit == "val" else "all"
        task = self.problem.task.joined(test=joined == "all")
        if task is None:
            raise DiffmgError(f"a refit needs a task whose parts can be joined, but got {self.problem.task.describe()}")
        step("training the chosen again on more labels")
        field, board = Field(replace(self.problem, task=task)), self.race.board
        weights = _by_candidate(chosen.members if len(members) > 1 else (chosen.single,))
        numbers = [n for n in weights for _ in range(2 if len(members) > 1 else 1)]
        trials = [self._refit(board, n, repeat % 2) for repeat, n in enumerate(numbers)]
        found = []
        for number, trial, outcome in zip(numbers, trials, self.executor.run(field, trials), strict=True):
            if outcome.failed:
                raise DiffmgError(f"a refit must come to an end, but got {outcome.error}; fit without it")
            spec, share = trial.candidate.method.spec(), weights[number] / numbers.count(number)
            settings = trial.candidate.settings
            member = Member(spec, settings, trial.seed, share, outcome.metagraphs, 0, joined)
            found.append((member, dict(outcome.weights)))
        return found

    def _refit(self, board: Board, number: int, repeat: int) -> Trial:
        entry = board.entries[number]
        epochs = max(1, round(statistics.fmean(entry.epochs.values())))
        settings = replace(entry.candidate.settings, select="last", max_epochs=epochs, patience=None)
        return Trial(replace(entry.candidate, settings=settings), derive_seed(self.plan.seed, "refit", repeat))


def _with_chance(evidence: Evidence, found: Certainty) -> Evidence:
    return replace(evidence, chance=found.chance, above_chance=found.above_chance, blind=found.blind)


def _by_candidate(picks: Sequence[Pick]) -> dict[int, float]:
    weights: dict[int, float] = {}
    for pick in picks:
        weights[pick.number] = weights.get(pick.number, 0.0) + pick.weight
    return weights

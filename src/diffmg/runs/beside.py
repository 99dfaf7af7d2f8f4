"""Simple methods trained beside a model on the same split, so that its score can be read against theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from diffmg.core import METHODS, DiffmgError, Method, Plan, Settings, derive_seed
from diffmg.core.details import Beside
from diffmg.core.errors import WriteError
from diffmg.core.rivals import USUAL
from diffmg.runs.folder import RunFolder
from diffmg.runs.model import scores_on
from diffmg.tasks.problem import Problem
from diffmg.tasks.resampling import Resampled
from diffmg.training.fitted import AnyTraining, training_of
from diffmg.training.job import Watch, drive
from diffmg.training.training import outputs_of

NUMBER = 2
"""How many of a task's usual rivals are trained."""


@dataclass
class Rivals:
    """The rivals of one run: trained after the choice was made, scored with the model."""

    plan: Plan
    problem: Problem
    store: RunFolder | None
    watch: Watch
    trained: dict[str, AnyTraining] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def train(self) -> None:
        """Train each with its default options; those that refuse the problem are left out, and noted if asked for."""
        for name, usual in self._names():
            if usual and (self._enough or not self._serves(name)):
                continue
            try:
                self.trained[name] = self._train(name, cheap=usual)
            except WriteError:
                raise
            except (DiffmgError, RuntimeError, MemoryError) as error:
                self.refused[name] = str(error).splitlines()[0]

    def judged(self, model: Resampled | None, score: float | None) -> tuple[Beside, ...]:
        """Their scores beside the model's, read at the same moment."""
        found = [self._judged(name, training, model, score) for name, training in self.trained.items()]
        return (*found, *(Beside(name, _summary(name), refused=why) for name, why in self.refused.items()))

    @property
    def seconds(self) -> dict[str, float]:
        """Computing time by phase."""
        return {_phase(name): training.seconds for name, training in self.trained.items()}

    @property
    def _usual(self) -> tuple[str, ...]:
        return self.problem.task.rivals

    @property
    def _enough(self) -> bool:
        return sum(name in self._usual for name in self.trained) >= NUMBER

    def _serves(self, name: str) -> bool:
        try:
            METHODS.get(name)().check(self.problem, self._settings(name))
        except DiffmgError:
            return False
        return True

    def _names(self) -> Iterator[tuple[str, bool]]:
        """Each rival, and whether it is one of the usual ones; the model's own method is none."""
        seen = {self.plan.method.name}
        for given in self.plan.beside:
            for name in self._usual if given == USUAL else (given,):
                if name not in seen:
                    seen.add(name)
                    yield name, given == USUAL

    def _train(self, name: str, *, cheap: bool) -> AnyTraining:
        method, settings = METHODS.get(name)(), self._settings(name)
        method.check(self.problem, settings)
        if cheap and not method.is_cheap(self.problem):
            raise DiffmgError(f"{name!r} would take long on a network of this size; ask for it with --beside {name}")
        seed = derive_seed(self.plan.seed, "beside", name)
        network = method.network(self.problem, settings, seed, _found(method, self.problem, settings, seed))
        training = training_of(self.problem, network, settings, seed)
        drive(_phase(name), training, self.watch, self.store)
        return training

    def _settings(self, name: str) -> Settings:
        """Its defaults, with no more epochs than the model's own trainings may have."""
        usual = Settings(**METHODS.get(name).default_settings)
        return replace(usual, max_epochs=min(usual.max_epochs, self.plan.settings.max_epochs))

    def _judged(self, name: str, training: AnyTraining, model: Resampled | None, score: float | None) -> Beside:
        outputs, task = outputs_of(training.best_model(), self.problem), self.problem.task
        val, test = (scores_on(self.problem, outputs, part) for part in ("val", "test"))
        found = Beside(name, _summary(name), val, test)
        own = test.get(task.metric)
        if own is None or score is None:
            return found
        found = replace(found, lead=task.sign * (score - own))
        drawn = task.resampled(outputs, "test")
        return found if drawn is None or model is None else compared(found, model, drawn, task.sign)


def compared(found: Beside, model: Resampled, rival: Resampled, sign: int) -> Beside:
    """With the spread of the lead over the resamples that both were scored on."""
    leads = sign * model.minus(rival)
    if len(leads) < 2:
        return replace(found, error=rival.error)
    wins = float(((leads > 0) + 0.5 * (leads == 0)).mean())
    return replace(found, error=rival.error, lead_error=float(leads.std(ddof=1)), wins=wins)


def _found(method: Method, problem: Problem, settings: Settings, seed: int) -> tuple[()]:
    """What its search finds: nothing, since it has none."""
    search = method.search(problem, settings, seed)
    if not search.done or search.found():
        raise DiffmgError(f"a method beside the model has no search, but got {method.name!r}")
    return ()


def _phase(name: str) -> str:
    return f"beside-{name}"


def _summary(name: str) -> str:
    return METHODS.get(name).summary

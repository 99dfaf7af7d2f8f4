"""The default: meta graphs, the switches of their encoder and plain rivals in one race, each really trained."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

from diffmg.core import METHODS, Count, Depth, DiffmgError, Method, MethodSpec, Settings
from diffmg.core.candidate import CandidateSpace, OptionSpace
from diffmg.engine.backend import Backend
from diffmg.methods._union import UnionSpace
from diffmg.methods._wide import MOST_RELATIONS, RANKING, WideSpace
from diffmg.methods.search._base import MetaGraphMethod
from diffmg.tasks.problem import Problem
from diffmg.training.job import Search

RIVALS = {
    1: ("sehgnn", "boosting", "rgcn", "svd", "label_propagation", "gcn", "gtn", "hgt", "mlp"),
    2: ("lightgcn", "ease", "item_knn", "mlp", "matrix_factorisation", "hgt", "rgcn", "popularity"),
}
"""By number of target types, in the order they are tried."""


@METHODS.add("auto")
@dataclass(frozen=True)
class Auto(MetaGraphMethod):
    """Races candidates within a budget, and keeps the best single model and an ensemble, both chosen by validation.

    The single model always has a meta graph; rivals may be members of the ensemble.
    """

    depth: Depth = 6
    """Most states of a meta graph."""
    operations: Count = 3
    """Most operations on a link."""
    rivals: bool = True
    """Whether plain rivals are candidates too."""
    searches_too: bool = True
    """Whether what the gradient searches find is tried too."""
    random: bool = False
    """Whether all candidates are drawn at random: the baseline for the proposers."""

    summary = "races meta graphs, their encoder's switches and plain rivals, each really trained; the default"
    races: ClassVar = True

    def space(self, problem: Problem, settings: Settings) -> CandidateSpace:
        """Meta graphs with their encoder's settings; rivals with their options."""
        wide = WideSpace.of(problem, settings, self.depth, self.operations)
        others: dict[str, CandidateSpace] = {}
        last: dict[str, CandidateSpace] = {}
        if self.rivals:
            for name in RIVALS.get(len(problem.task.target_types), ()):
                others |= rival_space(name, problem, settings)
        if self.searches_too and len(problem.graph.schema.relations) <= MOST_RELATIONS:
            for name in ("diffmg", "multigraph"):
                last |= rival_space(name, problem, settings, depth=min(self.depth, 4), search_seeds=1)
        if Backend.of(problem.graph).accelerated:  # there a search takes no longer than a training
            others, last = others | last, {}
        return UnionSpace(wide, others, last)

    @property
    def proposers(self) -> tuple[str, ...]:
        """Who proposes candidates, by turns."""
        return ("chance",) if self.random else super().proposers

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """Never called: its candidates are raced."""
        raise DiffmgError(f"`auto` needs a budget, but got none for {problem.task.describe()}, {settings}, seed {seed}")


def rival_space(name: str, problem: Problem, settings: Settings, **options: int) -> dict[str, CandidateSpace]:
    """The space of one method by its name; empty if it is not there, or does not serve the problem."""
    if name not in METHODS.names():
        return {}
    kind: type[Method] = METHODS.get(name)
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    method = MethodSpec(name, {n: v for n, v in options.items() if n in known}).make()
    chosen = Settings().changed({**dict(kind.default_settings), **_shared(settings)})
    try:
        method.check(problem, chosen)
    except DiffmgError:
        return {}
    if not method.is_cheap(problem):
        lighter = {n: v[0] for n, v in method.tunable_on(problem).items() if getattr(method, n) not in v}
        method = MethodSpec(name, {**method.spec().options, **lighter}).make()
    return {name: _begun(method.space(problem, chosen), problem)} if method.is_cheap(problem) else {}


def _begun(space: CandidateSpace, problem: Problem) -> CandidateSpace:
    """The space; where all items are ranked, a rival of learned vectors begins with as wide ones as meta graphs do."""
    wide = RANKING[0]
    if problem.task.kind == "ranking" and isinstance(space, OptionSpace) and wide.keys() <= space.settings.keys():
        return replace(space, base=replace(space.base, settings=space.base.settings.changed(wide)))
    return space


def _shared(settings: Settings) -> dict[str, object]:
    """What the user set for any method: everything that differs from the defaults, but for the encoder's switches."""
    names = ("dim", "lr", "weight_decay", "dropout", "balance", "max_epochs", "patience", "select")
    return {name: getattr(settings, name) for name in names if getattr(settings, name) != getattr(Settings(), name)}

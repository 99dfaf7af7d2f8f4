"""The wide space in Optuna's terms: one named parameter for each choice."""

from __future__ import annotations

from typing import Any

from diffmg.core.candidate import Candidate
from diffmg.core.metagraph import MetaGraph
from diffmg.core.space import SearchSpace
from diffmg.methods._wide import WideSpace, _ordered
from diffmg.methods.given import Given


def suggested(space: WideSpace, trial: Any) -> Candidate:
    """A candidate of the wide space from one of Optuna's trials.

    Links are named by their distance from the last state, so that what is learned of one depth serves the others.
    """
    depth = trial.suggest_int("depth", 1, len(space.targets))
    metagraphs = tuple(_metagraph(tower, max(space.operations), trial) for tower in space.targets[depth - 1])
    settings = {n: trial.suggest_categorical(n, list(dict.fromkeys(v))) for n, v in sorted(space.values.items())}
    return Candidate(Given(metagraphs), space.base.changed(settings))


def _metagraph(space: SearchSpace, most: int, trial: Any) -> MetaGraph:
    links = []
    for link, candidates in space.items():
        name = f"{space.target} {space.depth - link.k}<-{space.depth - link.i}"
        count = trial.suggest_int(f"{name} operations", 1, min(most, len(candidates)))
        picks = {trial.suggest_categorical(f"{name} #{n}", range(len(candidates))) for n in range(count)}
        links.append(_ordered([candidates[p] for p in sorted(picks)], candidates))
    return MetaGraph(space.target, tuple(links))

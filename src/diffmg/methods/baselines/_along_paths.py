"""What baselines have in common that go along meta paths."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.core import Count, MetaPath, Settings
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._paths import path_texts, paths_by_target
from diffmg.tasks.problem import Problem


@dataclass(frozen=True)
class AlongPaths(Baseline):
    """Takes meta paths as an option."""

    paths: tuple[str, ...] = ()
    """Meta paths such as `author -> paper -> author`; none: those usual for the schema, or derived from it."""
    longest: Count = 4
    """Relations a derived meta path has at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", path_texts(self.paths))
        super().__post_init__()

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also meta paths must lead to every target type."""
        super().check(problem, settings)
        self.by_target(problem)

    def by_target(self, problem: Problem) -> dict[str, tuple[MetaPath, ...]]:
        """The meta paths of every target type."""
        return paths_by_target(problem.graph, problem.task.target_types, self.paths, self.longest)

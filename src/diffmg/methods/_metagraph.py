"""Methods whose model is that of a meta graph."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from diffmg.core import MetaGraph, Method, Settings
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model


class MetaGraphMethod(Method):
    """Its network is the encoder along the meta graphs that were found."""

    family = "search"
    has_metagraph = True

    def network(
        self, problem: Problem, settings: Settings, seed: int, metagraphs: Sequence[MetaGraph] = ()
    ) -> nn.Module:
        """The encoder of these meta graphs, one per target type."""
        return build_model(problem, metagraphs, settings, seed)

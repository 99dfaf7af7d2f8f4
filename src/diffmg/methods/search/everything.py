"""No search: the meta graph with every candidate of every link.

Messages of several operations on a link are summed, or averaged with the training setting `links = "mean"`. The two
differ: in a sum, every link of a path multiplies its weight by the number of candidates, so long paths outweigh short
ones; LayerNorm removes only a common factor. EMPTY adds nothing to a sum but counts in an average.
"""

from dataclasses import dataclass

from diffmg.core import METHODS, Depth, Settings
from diffmg.methods.search._base import MetaGraphMethod, spaces_of
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search


@METHODS.add("everything")
@dataclass(frozen=True)
class Everything(MetaGraphMethod):
    """The meta graph with all candidates on every link: a baseline for any selection among them."""

    depth: Depth = 4
    """K, the number of states of a meta graph."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' code does."""

    summary = "no search: all candidates on every link; averaged with --set links=mean"

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """No search: finishes at once."""
        return Immediate(tuple(space.everything() for space in spaces_of(problem, self.depth, self.identity_last)))

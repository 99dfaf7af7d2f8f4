"""Several candidate spaces as one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from diffmg.core.candidate import Candidate, CandidateSpace, Genes


@dataclass(frozen=True)
class UnionSpace:
    """One main space and further ones by method name; a share of the draws is from the further ones.

    Those in `last` are only tried once, after the other seeds, and changed if they are good.
    """

    main: CandidateSpace
    others: dict[str, CandidateSpace]
    last: dict[str, CandidateSpace]
    share: float = 0.25

    def seeds(self) -> Sequence[Candidate]:
        """Those of the main space and of the others by turns, then the last ones."""
        others, last = (chain(*(s.seeds() for s in some.values())) for some in (self.others, self.last))
        return [*by_turns(self.main.seeds(), others), *last]

    def draw(self, rng: random.Random) -> Candidate:
        """From the main space, or from one of the others."""
        if self.others and rng.random() < self.share:
            return self.others[rng.choice(sorted(self.others))].draw(rng)
        return self.main.draw(rng)

    def mutate(self, candidate: Candidate, rng: random.Random) -> Candidate:
        """Within the candidate's own space."""
        return self._space(candidate).mutate(candidate, rng)

    def cross(self, one: Candidate, other: Candidate, rng: random.Random) -> Candidate:
        """Within one space; of two spaces, a mutation of one of the two."""
        if self._space(one) is self._space(other):
            return self._space(one).cross(one, other, rng)
        return self.mutate(rng.choice((one, other)), rng)

    def genes(self, candidate: Candidate) -> Genes:
        """Those of the candidate's own space."""
        return self._space(candidate).genes(candidate)

    def _space(self, candidate: Candidate) -> CandidateSpace:
        name = candidate.method.name
        return self.others.get(name) or self.last.get(name) or self.main


def by_turns(*several: Iterable[Candidate]) -> list[Candidate]:
    """The first of each, the second of each, and so on."""
    return [c for c in chain(*zip_longest(*several)) if c is not None]

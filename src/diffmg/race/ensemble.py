"""Greedy ensemble selection by validation (Caruana et al., ICML 2004)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from torch import Tensor

ROUNDS = 20
"""Additions to an ensemble, with replacement."""
POOL = 40
"""Models an ensemble is chosen from: the best by themselves."""


def choose_ensemble(
    votes: Sequence[Tensor], score: Callable[[Tensor], float], rounds: int = ROUNDS
) -> dict[int, float]:
    """The shares of models whose averaged votes score highest; `score` is maximised.

    Starts from the best model, then adds whichever helps most, in every round; the best of all rounds is kept. Ties go
    to the earlier model.
    """
    alone = [score(v) for v in votes]
    order = sorted(range(len(votes)), key=lambda n: -alone[n])[:POOL]
    chosen = [order[0]]
    total, best, kept = votes[order[0]].clone(), alone[order[0]], 1
    for _ in range(rounds - 1):
        gains = [score((total + votes[n]) / (len(chosen) + 1)) for n in order]
        place = max(range(len(order)), key=lambda i: (gains[i], -i))
        chosen.append(order[place])
        total += votes[order[place]]
        if gains[place] > best:
            best, kept = gains[place], len(chosen)
    counts = Counter(chosen[:kept])
    return {n: count / kept for n, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}

"""Greedy ensemble selection by validation (Caruana et al., ICML 2004), from a pool of models that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

ROUNDS = 20
"""Additions to an ensemble, with replacement."""
POOL = 60
"""Most models an ensemble is chosen from."""
FIRST = 5
"""Most models an ensemble begins with."""
COMPARED = 2**18
"""About how many numbers of the votes are compared, where there are more."""
ALIKE = 0.98
"""Correlation of votes from which on two models are taken to say the same."""


def diverse_pool(votes: Sequence[Tensor], kinds: Sequence[str], most: int = POOL) -> list[int]:
    """The models an ensemble is chosen from; they are given best first.

    The best of every kind, then the others in order, without those whose votes are much like those of a better one:
    the best models of a search are often close relatives, and add little to each other. Where that leaves room, the
    best of the rest.
    """
    step = max(1, votes[0].numel() // COMPARED)
    flat = torch.stack([v.flatten()[::step].double() for v in votes])
    flat = flat - flat.mean(dim=1, keepdim=True)
    flat /= flat.norm(dim=1, keepdim=True).clamp_min(1e-12)
    firsts = [n for n, kind in enumerate(kinds) if kinds.index(kind) == n][:most]
    chosen = list(firsts)
    for number in range(len(votes)):
        if len(chosen) >= most:
            break
        if number not in firsts and float((flat[chosen] @ flat[number]).max()) < ALIKE:
            chosen.append(number)
    rest = [number for number in range(len(votes)) if number not in chosen]
    return sorted([*chosen, *rest[: most - len(chosen)]])


def choose_ensemble(
    votes: Sequence[Tensor], score: Callable[[Tensor], float], margin: float = 0.0, rounds: int = ROUNDS
) -> dict[int, float]:
    """The shares of models whose averaged votes score highest; `score` is maximised.

    Starts from the best model and up to four others within the margin of it, which validation cannot tell apart: where
    examples are few, the best by chance is no better than they are. Then adds whichever helps most, in every round; the
    best of all rounds is kept. Ties go to the earlier model.
    """
    alone = [score(v) for v in votes]
    ranked = sorted(range(len(votes)), key=lambda n: (-alone[n], n))[:FIRST]
    chosen = [n for n in ranked if n == ranked[0] or alone[n] > alone[ranked[0]] - margin]
    total = torch.stack([votes[n] for n in chosen]).sum(dim=0)
    best, kept = score(total / len(chosen)), len(chosen)
    for _ in range(rounds - len(chosen)):
        gains = [score((total + v) / (len(chosen) + 1)) for v in votes]
        place = max(range(len(votes)), key=lambda n: (gains[n], -n))
        chosen.append(place)
        total += votes[place]
        if gains[place] > best:
            best, kept = gains[place], len(chosen)
    counts = Counter(chosen[:kept])
    return {n: count / kept for n, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}

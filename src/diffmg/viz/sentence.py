"""What a target type is judged by, as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diffmg.core import MetaPath
from diffmg.viz.words import path_words, with_article

MOST_NAMED = 4
"""The most paths that a sentence names."""
MOSTLY = 0.5
"""From this share on, a path is what a target is mostly judged by."""


def sentence_of(target: str, paths: Sequence[tuple[MetaPath, float | None]], count: int | None) -> str:
    """Such as "A paper is judged by its own features, its authors, and other papers of its authors."

    `paths` with their shares of the importance, where known; `count` of all paths, None if there are too many to count.
    """
    who = with_article(target)
    who = who[:1].upper() + who[1:]
    if not paths:
        return f"{who} is judged by nothing: no message reaches it."
    if any(share for _, share in paths):
        return f"{who} is judged {_by_share(target, paths)}."
    phrases = _phrases(target, [path for path, _ in paths])
    named = phrases[: MOST_NAMED if len(phrases) > MOST_NAMED + 1 or count != len(paths) else None]
    return f"{who} is judged by {_listed([*named, *_further(count, len(paths), phrases, named)])}."


def _further(count: int | None, listed: int, phrases: Sequence[str], named: Sequence[str]) -> list[str]:
    if count is None:
        return ["many more meta paths"]
    left = len(phrases) - len(named) + count - listed
    return [] if not left else ["one more meta path" if left == 1 else f"{left} more meta paths"]


def _by_share(target: str, paths: Sequence[tuple[MetaPath, float | None]]) -> str:
    """Paths by their share, the largest first."""
    shares: dict[str, float] = {}
    for path, share in paths:
        shares[path_words(path, target)] = shares.get(path_words(path, target), 0.0) + (share or 0.0)
    ranked = sorted(((share, words) for words, share in shares.items() if share >= 0.005), key=lambda pair: -pair[0])
    phrases = [f"{words} ({share:.0%})" for share, words in ranked[:MOST_NAMED]]
    if len(phrases) == 1:
        return f"by {phrases[0]}"
    if ranked[0][0] >= MOSTLY:
        return f"mostly by {phrases[0]}, and also by {_listed(phrases[1:])}"
    return f"by {_listed(phrases)}"


def _phrases(target: str, paths: Iterable[MetaPath]) -> list[str]:
    """Paths in words; those that read alike are said once, with their number."""
    counts: dict[str, int] = {}
    for path in paths:
        words = path_words(path, target)
        counts[words] = counts.get(words, 0) + 1
    return [words if number == 1 else f"{words} (by {number} relations)" for words, number in counts.items()]


def _listed(phrases: Sequence[str]) -> str:
    if len(phrases) < 3:
        return " and ".join(phrases)
    return f"{', '.join(phrases[:-1])}, and {phrases[-1]}"

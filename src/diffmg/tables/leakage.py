"""Detects columns that may leak the label, judging by their names."""

import re
from collections.abc import Iterable

SMALL_WORDS = (
    "a an and are at be been by date day days did does flag for had has in is month months next of on or quarter "
    "since the time to until was week weeks were will within year years"
)
"""Words of a label that are ignored."""
ENDINGS = ("ation", "ated", "ment", "ness", "ing", "ion", "ity", "ate", "al", "ed", "er", "es", "s", "e")
"""Suffixes to strip from a word to get its stem; the first match is used."""
SHORTEST_STEM = 3


def held_back(label: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Other columns whose names contain the stem of the label: `churned` holds back `churned_at`, `churn_reason`."""
    words = _words(label)
    stems = [_stem(word) for word in words if word not in _words(SMALL_WORDS)] or [_stem(word) for word in words]
    if not stems:
        return ()
    return tuple(c for c in columns if c != label and _holds([_stem(w) for w in _words(c)], stems))


def _words(name: str) -> list[str]:
    """The words of a snake_case or CamelCase name, without digits."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.findall(r"[^\W\d_]+", apart.lower())


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word.removesuffix(ending)
            break
    doubled = len(word) > SHORTEST_STEM and word[-1] == word[-2]
    return word[:-1] if doubled else word


def _holds(words: list[str], part: list[str]) -> bool:
    return any(words[i : i + len(part)] == part for i in range(len(words)))

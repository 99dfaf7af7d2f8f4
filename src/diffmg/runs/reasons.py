"""Why an item is recommended: the meta path that adds most to its score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from diffmg.core import DiffmgError
from diffmg.core.importance import Explanation
from diffmg.core.text import printable
from diffmg.tasks.answers import Answers, free_names

if TYPE_CHECKING:
    from diffmg.runs.model import Model


def with_reasons(model: Model, blocks: Iterable[Answers]) -> Iterator[Answers]:
    """Recommendations with a last column, `why`: the strongest meta path of either tower, and its main source node."""
    types = model.recipe.data.target_types
    if len(types) != 2:
        raise DiffmgError(f"reasons are for recommendations, but got a model of {types[0]}; use `explain`")
    for block in blocks:
        pairs = list(zip(*(block[t].tolist() for t in types), strict=True))
        found = model.explain(pairs, 1) if pairs else []
        reasons = [reason(found[number : number + 2]) for number in range(0, len(found), 2)]
        (why,) = free_names(("why",), block.columns)
        yield Answers({**block.columns, why: np.array(reasons, dtype=object)}, block.exact)


def reason(towers: Sequence[Explanation]) -> str:
    """The contribution of a path with the largest effect, in words; empty if none adds to the score."""
    paths = [(c.effect, tower.target, c) for tower in towers for c in tower.contributions if not c.label]
    effect, target, best = max(paths, key=lambda found: found[0], default=(0.0, "", None))
    if best is None or effect <= 0:
        return ""
    source = f" ({printable(best.sources[0].node_type)} {printable(best.sources[0].id)})" if best.sources else ""
    return best.words(target) + source

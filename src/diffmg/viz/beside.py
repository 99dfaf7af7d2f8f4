"""What stands beside a model's test score, in words."""

from __future__ import annotations

from diffmg.core import Run
from diffmg.core.run import shown
from diffmg.viz.words import many


def beside_words(run: Run) -> list[str]:
    """Lines for a person: the score with its standard error, each rival, and chance; none without a test score."""
    score, found = run.scores("test").get(run.metric), run.certainty
    if score is None or found is None:
        return []
    error = (
        "" if found.error is None else f" ± {shown(found.error)} (standard error over {found.units} {many(found.of)})"
    )
    lines = [f"test {run.metric} {shown(score)}{error}"]
    for rival in run.beside:
        own = rival.test.get(run.metric)
        if own is not None:
            spread = "" if rival.error is None else f" ± {shown(rival.error)}"
            wins = "" if rival.wins is None else f"; the model is better in {rival.wins:.0%} of resamples"
            lines.append(f"  beside it {rival.method}: {shown(own)}{spread}{wins}")
        else:
            lines.append(f"  {rival.method} was left out: {rival.refused}")
    if found.chance is not None:
        lines.append(f"  chance: {shown(found.chance)}" + (f" ({found.blind})" if found.blind else ""))
    return lines

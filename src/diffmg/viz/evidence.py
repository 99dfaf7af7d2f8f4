"""What a race found, in words."""

from __future__ import annotations

from diffmg.core import Run
from diffmg.core.run import Evidence, shown

SHOWN = 5


def words_of(run: Run) -> list[str]:
    """Lines for a person; none for a run without a race."""
    found = run.evidence
    if found is None:
        return []
    return [*_tried(run, found), *_chosen(run, found), *_finalists(run, found), *_doubts(run, found)]


def _tried(run: Run, found: Evidence) -> list[str]:
    trainings = f" in {run.spent.trainings} trainings" if run.spent is not None else ""
    lines = [f"tried {found.candidates} candidates{trainings}; judged on {_judged(found)}"]
    if found.failed:
        lines.append(f"  {found.failed} candidates failed: {'; '.join(found.errors)}")
    if found.cut:
        lines.append(f"  {found.cut} were first judged on fewer epochs, to judge enough of them in time")
    return lines


def _judged(found: Evidence) -> str:
    return "the validation part" if found.judged_on == "validation" else "folds of the training and validation parts"


def _chosen(run: Run, found: Evidence) -> list[str]:
    lines = [f"single model: validation {run.metric} {shown(found.single_score)}{_test(run, single=True)}"]
    if run.plan.single:
        return lines
    number = len(found.shares)
    who = f"ensemble of {number} candidates" if number > 1 else "ensemble of one candidate"
    return [*lines, f"{who}: validation {run.metric} {shown(found.ensemble_score)}{_test(run)}", *_drawn(found)]


def _drawn(found: Evidence) -> list[str]:
    """How much of what predicts the picture shows, where that is not all."""
    share = sum(s.share for s in found.shares if s.candidate == found.single)
    votes = f"has {share:.0%} of its votes" if share > 0 else "has none of its votes"
    return [f"  the picture is of the single model, which {votes}"] if share < 1 else []


def _test(run: Run, *, single: bool = False) -> str:
    scores = run.single.test if single and run.single is not None else run.scores("test")
    return f", test {shown(scores[run.metric])}" if run.metric in scores else ""


def _finalists(run: Run, found: Evidence) -> list[str]:
    if not found.finalists:
        return []
    head = f"finalists, by validation {run.metric} (mean ± standard deviation of their trainings):"
    lines = [f"  {shown(f.mean)} ± {shown(f.std)} ({f.trainings})  {f.described}" for f in found.finalists[:SHOWN]]
    hidden = len(found.finalists) - SHOWN
    return [head, *lines, *([f"  and {hidden} more"] if hidden > 0 else [])]


def _doubts(run: Run, found: Evidence) -> list[str]:
    lines = []
    if found.gain_of_doubling == found.gain_of_doubling:  # not NaN
        lines.append(f"twice the budget: the last doubling brought {shown(found.gain_of_doubling)} on validation")
    if found.above_chance is False and found.chance is not None:
        who = f"{found.blind} has" if found.blind else "the same answers dealt out at random have"
        lines.append(f"no better than chance: {who} a test {run.metric} of {shown(found.chance)}; {nothing(run)}")
    return lines


def nothing(run: Run) -> str:
    """What it may mean that a score is no better than chance; of two classes, their order may be known all the same."""
    words, area = "the data may hold nothing that tells the answer", run.scores("test").get("roc_auc")
    if area is None or run.metric == "roc_auc":
        return words
    return (
        f"{words}, unless the roc_auc of {shown(area)} is far above 0.5: then a class is too rare to be predicted, and "
        "`metric` or `class_weight` in [task] help"
    )

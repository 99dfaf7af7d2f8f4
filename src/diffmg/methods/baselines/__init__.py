"""Rivals: one file per method, all behind the same training, tasks and scores."""

from diffmg.methods.baselines._base import BASELINES, Baseline, make_baseline

__all__ = ["BASELINES", "Baseline", "make_baseline"]

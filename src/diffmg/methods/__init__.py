"""Methods turn a problem into a trained model: one file per method, one registry. These are the base classes."""

from diffmg.methods.baselines._base import Baseline
from diffmg.methods.search._base import MetaGraphMethod, SearchMethod

__all__ = ["Baseline", "MetaGraphMethod", "SearchMethod"]

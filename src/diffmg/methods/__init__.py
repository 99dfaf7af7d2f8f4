"""Methods: what turns a problem into a model. One file per member, one registry; these are the bases to build on."""

from diffmg.methods.baselines._base import Baseline
from diffmg.methods.search._base import MetaGraphMethod, SearchMethod

__all__ = ["Baseline", "MetaGraphMethod", "SearchMethod"]

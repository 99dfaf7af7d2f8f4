"""Strategies: how a meta graph is looked for. One file per member."""

from diffmg.methods.search._base import STRATEGIES, Search, Strategy, known_options, make_strategy

__all__ = ["STRATEGIES", "Search", "Strategy", "known_options", "make_strategy"]

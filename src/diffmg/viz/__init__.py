"""Drawings of meta graphs and the HTML report of a run. Does not import torch."""

from diffmg.viz._base import DRAWINGS, STATES, draw, draw_all
from diffmg.viz.compare import write_comparison
from diffmg.viz.page import write_report

__all__ = ["DRAWINGS", "STATES", "draw", "draw_all", "write_comparison", "write_report"]

"""Pictures of meta graphs and the page of a run, for people. Imports no torch."""

from diffmg.viz._base import DRAWINGS, draw, draw_all
from diffmg.viz.page import write_report

__all__ = ["DRAWINGS", "draw", "draw_all", "write_report"]

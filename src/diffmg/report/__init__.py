"""Reports: read run folders, write pages. Imports no torch."""

from diffmg.report.page import write_report

__all__ = ["write_report"]

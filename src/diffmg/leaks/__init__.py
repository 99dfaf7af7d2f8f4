"""Looks for columns and relations that know the answer, before anything is trained."""

from diffmg.leaks.finding import Finding
from diffmg.leaks.guard import leak_notes

__all__ = ["Finding", "leak_notes"]

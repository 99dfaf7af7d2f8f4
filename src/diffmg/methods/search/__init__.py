"""Searches for a meta graph. One file per member."""

"""Rivals behind the same training, tasks and scores. One file per member."""

"""Executing a plan: the runner, the run folder and the resulting model."""

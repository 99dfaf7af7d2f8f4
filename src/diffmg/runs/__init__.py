"""Carrying out a plan: the runner, the run folder, the model it leaves behind."""

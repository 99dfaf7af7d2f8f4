"""Baseline methods with the same training loop, tasks and scores. One file per method."""

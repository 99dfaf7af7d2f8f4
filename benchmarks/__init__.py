"""Benchmarks: the paper as it would first be written, and what the engine gains over it."""

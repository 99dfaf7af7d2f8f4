"""Benchmarks of `diffmg`: a naive reference implementation, and what the engine gains over it."""

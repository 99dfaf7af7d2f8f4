"""Fuzzing: inputs that are mostly valid with a few things wrong, and oracles for what comes of them."""

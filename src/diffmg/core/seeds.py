"""Seeds split by purpose: the same seed and purpose give the same numbers, whatever else is drawn."""

import hashlib


def derive_seed(seed: int, *purpose: object) -> int:
    """A seed of its own for a purpose, a fixed function of both."""
    text = ":".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

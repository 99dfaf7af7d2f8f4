"""Seeds split by purpose: the same seed and purpose give the same numbers, whatever else is drawn."""

import hashlib


def derive_seed(seed: int, *purpose: object) -> int:
    """Derive an independent seed for a purpose, by hashing both."""
    text = ":".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

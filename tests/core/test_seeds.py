from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.seeds import derive_seed

purposes = st.lists(st.one_of(st.integers(0, 99), st.sampled_from(["search", "train", "split"])), max_size=3)


@given(st.integers(0, 2**63), purposes)
def test_a_seed_fits_every_generator(seed: int, purpose: list[object]) -> None:
    assert 0 <= derive_seed(seed, *purpose) < 2**63
    assert derive_seed(seed, *purpose) == derive_seed(seed, *purpose)


def test_the_function_is_fixed_for_ever() -> None:
    """Runs are repeated from their seed: another function would give other numbers."""
    assert derive_seed(0, "search", 1) == 2285309676859345082


def test_purposes_and_seeds_do_not_share_a_seed() -> None:
    made = {derive_seed(seed, purpose, i) for seed in range(20) for purpose in ("search", "train") for i in range(20)}
    assert len(made) == 20 * 2 * 20

from __future__ import annotations

import pytest
import torch

from diffmg.nn.dropout import dropout


def test_dropout_zeroes_a_share_and_scales_up_the_rest():
    h = torch.ones(100, 100)
    dropped = dropout(h, 0.25, torch.Generator().manual_seed(0))
    assert torch.equal(dropped.unique(), torch.tensor([0.0, 1 / 0.75]))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_every_entry_is_dropped_with_the_same_probability(share):
    """Four draws share one random number, and the row ends within one: each entry is dropped independently."""
    draw = torch.Generator().manual_seed(0)
    kept = torch.stack([dropout(torch.ones(3, 5), share, draw) for _ in range(4000)]) > 0
    assert (kept.float().mean(dim=0) - (1 - share)).abs().max().item() < 0.03
    flat = kept.flatten(1).double()
    assert (torch.corrcoef(flat.T) - torch.eye(15)).abs().max() < 0.08

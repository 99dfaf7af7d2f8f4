"""Scores of pairs are dot products, whichever way they are computed."""

from __future__ import annotations

import pytest
import torch

import diffmg.tasks.dot_products as module
from diffmg.tasks.dot_products import dot_products


@pytest.mark.parametrize("few", [True, False])
def test_rows_of_zeros_give_the_same_scores(few, monkeypatch):
    draw = torch.Generator().manual_seed(0)
    z_user, z_item = torch.randn(40, 600, generator=draw), torch.randn(30, 600, generator=draw)
    if few:
        z_user[torch.rand(40, 600, generator=draw) < 0.99] = 0
        z_user[3] = 0
        monkeypatch.setattr(module, "_of_few_numbers", sparse := Counted(module._of_few_numbers))
    scored, users = dot_products(z_user, z_item), torch.tensor([5, 3, 39, 5])
    for some in (slice(None), slice(0, 10), slice(10, 30)):
        torch.testing.assert_close(scored(users, some), z_user[users] @ z_item[some].T)
    scored(users, slice(None)).fill_(0)  # it is memory of its own
    torch.testing.assert_close(scored(users, slice(None)), z_user[users] @ z_item.T)
    assert not few or sparse.calls == 1


def test_narrow_representations_are_multiplied_as_they_are(monkeypatch):
    monkeypatch.setattr(module, "_of_few_numbers", lambda *_: pytest.fail("a sparse product of few columns"))
    z_user, z_item = torch.zeros(5, 64), torch.ones(4, 64)
    assert dot_products(z_user, z_item)(torch.arange(5), slice(None)).shape == (5, 4)


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *given):
        self.calls += 1
        return self.function(*given)

from __future__ import annotations

import pytest
import torch
from torch import nn

from diffmg.core.errors import DiffmgError
from diffmg.nn.fitted import Fitted


class Mean(Fitted):
    """Keeps two buffers; `problem` is a tensor here."""

    def fit(self, problem, seed):
        self.keep(mean=problem.mean(dim=0), count=torch.tensor(len(problem)))

    def forward(self, graph, generator=None):
        return (graph - self.kept("mean"),)


def fitted(columns: int = 3) -> Mean:
    network = Mean()
    network.fit(torch.arange(2.0 * columns).view(2, columns), 0)
    return network


def test_what_is_kept_is_the_state_and_there_are_no_parameters():
    network = fitted()
    assert set(network.state_dict()) == {"mean", "count"}
    assert not list(network.parameters())
    assert not any(t.requires_grad for t in network.state_dict().values())


@pytest.mark.parametrize("start", [Mean, lambda: fitted(5)], ids=["never fitted", "of another shape"])
def test_any_network_takes_the_state_of_a_fitted_one(start):
    network = start()
    network.load_state_dict(fitted().state_dict())
    assert network.is_fitted
    assert torch.equal(network.kept("mean"), torch.tensor([1.5, 2.5, 3.5]))
    assert network.kept("count").dtype == torch.int64
    assert torch.equal(network(torch.zeros(1, 3))[0], -network.kept("mean")[None])


def test_a_part_of_another_network_takes_its_own_state_only():
    whole = nn.ModuleDict({"one": fitted(), "two": fitted(4), "rest": nn.Linear(2, 2)})
    empty = nn.ModuleDict({"one": Mean(), "two": Mean(), "rest": nn.Linear(2, 2)})
    empty.load_state_dict(whole.state_dict())
    for name, value in whole.state_dict().items():
        assert torch.equal(empty.state_dict()[name], value)
    assert set(empty["one"].state_dict()) == {"mean", "count"}


def test_a_loaded_copy_shares_no_memory():
    one, other = fitted(), Mean()
    other.load_state_dict(one.state_dict())
    one.kept("mean").zero_()
    assert other.kept("mean").all()


def test_buffers_are_where_the_network_is():
    network = Mean().to("meta")
    assert network.device.type == "meta"
    network.fit(torch.ones(2, 3), 0)
    assert {t.device.type for t in network.state_dict().values()} == {"meta"}


def test_a_network_must_be_fitted_before_it_is_used():
    assert not Mean().is_fitted
    with pytest.raises(DiffmgError, match="must be fitted before it is used, but got one without 'mean'"):
        Mean()(torch.zeros(1, 3))

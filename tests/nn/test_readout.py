from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from diffmg.core.settings import Settings
from diffmg.nn.readout import Attention, Readout

DIM = 4
BARE = Settings(dim=DIM, dropout=0.0, layer_norm=False, activation="none")


def readout(settings: Settings, depth: int = 2) -> Readout:
    return Readout(settings, depth, torch.Generator().manual_seed(0), learned_norm=True)


def some_states(count: int, rows: int = 5) -> list[Tensor]:
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(rows, DIM, generator=draw) for _ in range(count)]


def test_with_everything_off_it_is_the_last_state():
    first, *states = some_states(3)
    assert torch.equal(readout(BARE)(states, first, None), states[-1])
    assert torch.equal(readout(BARE)(states, None, None), states[-1])
    assert not list(readout(BARE).parameters())


def test_the_mean_is_over_state_0_too():
    first, *states = some_states(3)
    torch.testing.assert_close(readout(replace(BARE, states="mean"))(states, first, None), (first + sum(states)) / 3)


@pytest.mark.parametrize(("gate", "share"), [(0.0, 0.5), (100.0, 1.0), (-100.0, 0.0)])
def test_the_gate_says_how_much_of_the_result_is_new(gate, share):
    """It starts in the middle; the share of the result is a sigmoid."""
    first, last = some_states(2)
    module = readout(replace(BARE, residual=True))
    assert not module.gate.any()
    with torch.no_grad():
        module.gate.fill_(gate)
    torch.testing.assert_close(module([last], first, None), share * last + (1 - share) * first)


def test_the_norm_comes_before_the_activation():
    (z,) = some_states(1)
    wanted = torch.relu(torch.nn.functional.layer_norm(z, (DIM,)))
    module = readout(replace(BARE, layer_norm=True, activation="relu"))
    torch.testing.assert_close(module([z], None, None), wanted)
    torch.testing.assert_close(module.finish(z), wanted)


@pytest.mark.parametrize(
    ("changes", "first", "everything"),
    [({}, False, False), ({"residual": True}, True, False), ({"states": "mean"}, True, True)],
    ids=str,
)
def test_says_which_states_it_reads(changes, first, everything):
    module = readout(replace(BARE, **changes))
    assert (module.needs_first, module.needs_all) == (first, everything)


def test_message_dropout_zeroes_entries_of_the_result():
    z = torch.ones(200, DIM)
    module = readout(replace(BARE, message_dropout=0.25))
    dropped = module([z], None, torch.Generator().manual_seed(0))
    assert torch.equal(dropped.unique(), torch.tensor([0.0, 1 / 0.75]))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.05)
    assert torch.equal(module.eval()([z], None, None), z)


def test_message_dropout_acts_after_the_gate_and_before_the_norm():
    """Dropped entries are those of the mixture; the norm then sees zeros, so no entry stays at zero."""
    first, last = some_states(2, rows=50)
    mixed = readout(replace(BARE, residual=True, message_dropout=0.5))([last], first, torch.Generator().manual_seed(0))
    kept = mixed != 0
    torch.testing.assert_close(mixed[kept], ((first + last) / 2)[kept] * 2)
    assert 0.3 < kept.float().mean().item() < 0.7
    settings = replace(BARE, layer_norm=True, message_dropout=0.5)
    normed = readout(settings)([last], None, torch.Generator().manual_seed(0))
    dropped = readout(replace(BARE, message_dropout=0.5))([last], None, torch.Generator().manual_seed(0))
    torch.testing.assert_close(normed, torch.nn.functional.layer_norm(dropped, (DIM,)))


@pytest.mark.parametrize("states", ["concat", "attention"])
def test_dropout_of_the_projected_states_acts_in_training_only(states):
    first, *later = some_states(3)
    module = readout(replace(BARE, states=states, dropout=0.5))

    def once(seed: int) -> Tensor:
        return module(later, first, torch.Generator().manual_seed(seed))

    assert torch.equal(once(0), once(0))
    assert not torch.equal(once(0), once(1))
    module.eval()
    assert torch.equal(once(0), once(1))


def test_all_states_joined_by_their_formula():
    first, *states = some_states(3)
    module = readout(replace(BARE, states="concat"))
    h = [torch.nn.functional.layer_norm(m(z), (DIM,)) for m, z in zip(module.maps, [first, *states], strict=True)]
    wanted = torch.cat(h, dim=1) @ module.joined.weight + module.joined.bias
    torch.testing.assert_close(module(states, first, None), wanted)


def test_states_must_be_as_many_as_the_depth_says():
    first, *states = some_states(3)
    with pytest.raises(ValueError, match="zip"):
        readout(replace(BARE, states="concat"))(states[:1], first, None)


def test_attention_by_its_formula():
    """`h + β softmax(q k^T) v`, node by node and vector by vector."""
    attention, h = Attention(DIM, torch.Generator().manual_seed(0)), torch.stack(some_states(3), dim=1)
    with torch.no_grad():
        attention.beta.fill_(0.7)
    q, k, v = (h @ attention.maps[:, n * DIM : (n + 1) * DIM] for n in range(3))
    wanted = torch.empty_like(h)
    for node in range(5):
        for i in range(3):
            scores = torch.exp(torch.stack([q[node, i] @ k[node, j] for j in range(3)]))
            values = sum(scores[j] * v[node, j] for j in range(3)) / scores.sum()
            wanted[node, i] = h[node, i] + 0.7 * values
    torch.testing.assert_close(attention(h), wanted)
